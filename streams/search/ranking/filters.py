"""Filters of results: the pages that are left out or moved, in order, with the number of pages for each reason.

    conditions   the operators of the query (phrases, sites, dates, ...)
    language     pages in other languages than the requested ones
    empty        pages without a title, or without text
    blocked      hosts of the block lists
    hidden       sites that the person hides
    adult        pages with the words of adult content
    duplicate    copies of a better result (`copies`); the result counts them
    host         further pages of one host move behind others that are nearly as good; none is left out

The pages come with the best first, and are read only as far as they are needed. The pass `checks` does all down to
`adult`, and finds the near-duplicates; the pass `filters` does the rest, once the texts of near-duplicates are known.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from streams.search.query_language.operators import Conditions, meets
from streams.search.ranking.context import RankingContext
from streams.search.ranking.near_duplicates import ComparedPages, Near, Texts, group_copies, group_versions
from streams.search.ranking.rules import BlockList, PersonalRules, is_adult
from streams.stores.protocols import PageHits

MAX_WINDOW = 20
"""Maximum pages behind the first page of results that may come before further pages of a host."""
SHARE_OF_SCORE = 0.7
"""Minimum share of a page's score that a page of another host has to come before it."""
NAMES = ("conditions", "language", "empty", "blocked", "hidden", "adult", "duplicate", "host")
"""The names of all filters, in the order in which they are applied."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules by which the results of one query are filtered."""

    conditions: Conditions = field(default_factory=dict)
    languages: tuple[str, ...] = ()
    """The languages that are searched, as the index spells them; empty: all."""
    block_list: BlockList = field(default_factory=BlockList)
    hide_adult: bool = True
    first_page: int = 10
    """Number of results of a page."""
    per_host: int = 3
    """Maximum results of one host on the first page, as long as results of others are nearly as good. 0: any number."""
    personal: PersonalRules = field(default_factory=PersonalRules)
    reader: tuple[str, ...] = ()
    """The languages that the reader prefers (primary subtags), the preferred one first."""


@dataclass(slots=True)
class Checked:
    """The pages that pass the checks, among them near-duplicates."""

    pages: list[PageHits] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    """Number of pages that each check left out."""
    near: dict[UUID, list[UUID]] = field(default_factory=dict)
    """The earlier pages that a page nearly repeats."""


@dataclass(slots=True)
class Filtered:
    """The pages that are shown, and the numbers of the other pages by reason."""

    pages: list[PageHits] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    """Number of pages that each filter left out or moved."""
    similar: dict[UUID, list[PageHits]] = field(default_factory=dict)
    """The copies of a page that are not shown."""


def check_results(context: RankingContext, pages: list[PageHits]) -> list[PageHits]:
    """Apply the pass `checks`: note the number of pages that each check left out, and which pages are alike."""
    found = check_pages(_check_time(pages, context), _rules_of(context), context.wanted)
    context.notes.passes["filters"] = dict(found.counts)
    context.notes.near |= found.near
    return found.pages


def filter_results(context: RankingContext, pages: list[PageHits]) -> list[PageHits]:
    """Apply the pass `filters`: note the number of pages that each filter left out or moved, and copies."""
    texts: Texts = context.read.get("copies") or {}
    found = apply_filters(pages, _rules_of(context), context.wanted, context.notes.near, texts)
    context.notes.passes["filters"] = {**context.notes.passes.get("filters", {}), **found.counts}
    context.notes.near_duplicates |= found.similar
    return found.pages


def _rules_of(context: RankingContext) -> Rules:
    return Rules(
        context.conditions,
        context.languages,
        context.block_list,
        context.options.hide_adult or context.personal.hide_adult,
        context.per_page,
        0 if context.is_of_one_site else context.options.results_per_host,
        context.personal,
        context.reader,
    )


def _check_time(pages: Iterable[PageHits], context: RankingContext) -> Iterator[PageHits]:
    for page in pages:
        context.check_time()
        yield page


def check_pages(pages: Iterable[PageHits], rules: Rules, wanted: int) -> Checked:
    """Return the first pages that pass the checks: `wanted` different ones, and the near-duplicates among them."""
    found = Checked()
    compared, different = ComparedPages(), 0
    for page in pass_checks(pages, rules, found.counts):
        if near := compared.find_near(page):
            found.near[page.page_id] = near
        different += not near
        found.pages.append(page)
        if different >= max(wanted, _window(rules)):
            break
    return found


def apply_filters(pages: Sequence[PageHits], rules: Rules, wanted: int, near: Near, texts: Texts) -> Filtered:
    """Return the first `wanted` pages of those that passed the checks, with one page of each group of copies."""
    found = Filtered()
    window = _window(rules)
    groups = group_versions(group_copies(pages, near, texts, window), rules.reader)[: max(wanted, window)]
    found.similar = {first.page_id: others for first, *others in groups if others}
    if duplicates := sum(map(len, found.similar.values())):
        found.counts["duplicate"] = duplicates
    found.pages = limit_per_host([group[0] for group in groups], rules, found.counts)[:wanted]
    return found


def pass_checks(pages: Iterable[PageHits], rules: Rules, counts: Counter[str]) -> Iterator[PageHits]:
    """Yield the pages that pass the checks, and count the others."""
    checks: tuple[tuple[str, Callable[[PageHits], bool]], ...] = (
        ("conditions", lambda page: not rules.conditions or meets(page, rules.conditions)),
        ("language", lambda page: not rules.languages or page.hits[0].payload.language in rules.languages),
        ("empty", lambda page: _has_name(page) and _has_text(page)),
        ("blocked", lambda page: not rules.block_list.blocks(page.hits[0].payload.host)),
        ("hidden", lambda page: rules.personal.rule_of(page.hits[0].payload.host) != "hidden"),
        ("adult", lambda page: not (rules.hide_adult and is_adult(page))),
    )
    for page in pages:
        failed = next((name for name, passes in checks if not passes(page)), None)
        if failed is None:
            yield page
        else:
            counts[failed] += 1


def _window(rules: Rules) -> int:
    """Return the number of pages that the first page of results is chosen from: the same for each page of results."""
    return rules.first_page + min(2 * rules.first_page, MAX_WINDOW) if rules.per_host else rules.first_page


def limit_per_host(pages: Sequence[PageHits], rules: Rules, counts: Counter[str]) -> list[PageHits]:
    """Return the pages in their order, but with the further pages of a host behind others that are nearly as good.

    A page is moved only behind pages with at least SHARE_OF_SCORE of its score: diversity costs little relevance.
    Where the hosts are fewer than the results of a page, as in an index of a few sites, all pages stay in their order.
    """
    window = pages[: _window(rules)]
    if not rules.per_host or len({page.hits[0].payload.host for page in window}) < rules.first_page:
        return list(pages)
    of_host: Counter[str] = Counter()
    first: list[PageHits] = []
    waiting = list(window)

    def is_preferred(page: PageHits) -> bool:
        return of_host[page.hits[0].payload.host] < rules.per_host

    while waiting and len(first) < rules.first_page:
        least = SHARE_OF_SCORE * waiting[0].score
        chosen = next((page for page in waiting if is_preferred(page) and page.score >= least), waiting[0])
        waiting.remove(chosen)
        of_host[chosen.hits[0].payload.host] += 1
        first.append(chosen)
    kept = {page.page_id for page in first}
    if moved := sum(page.page_id not in kept for page in window[: rules.first_page]):
        counts["host"] += moved
    return [*first, *waiting, *pages[len(window) :]]


def _has_name(page: PageHits) -> bool:
    payload = page.hits[0].payload
    return bool(payload.title.strip() or payload.url)


def _has_text(page: PageHits) -> bool:
    return any(hit.payload.text.strip() for hit in page.hits)
