"""The pages that a query names: by their address, their title, the name of their site, or identifiers. Pure.

A person who types an address, a title, or the name of a site, looks for that page. Words and meaning find pages that
speak of it as well, often with better statements than the page itself has. So the page at the address is the first
result, a page gains if the query has the words of its title, in any order, and the first page of a site gains if the
query is the site's name. A title is what a page says about itself: it gains a fixed amount, and among several pages
with the title the other signals decide. The name of a site is its domain, which nobody else can have
(docs/decisions/0070).

Identifiers (names, versions and codes) mean only themselves, so pages that have them all come first. Where no page has
the identifiers, the order stays.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial
from itertools import chain
from urllib.parse import urlsplit
from uuid import UUID

from streams.crawl.domains import registrable_domain
from streams.language.function_words import shown_language, without_function_words
from streams.pages.text.language import identify, primary
from streams.pages.text.tokens import words
from streams.search.query_language.matching import CheckedPage, fold, has_folded, identifiers
from streams.search.ranking.context import RankingContext
from streams.search.ranking.priors import authority
from streams.stores.protocols import HostRank, PageHits
from streams.vectors.stemming import stems

PAGES = 100
"""Maximum pages whose names are compared with the query."""
MAX_QUERY_WORDS = 16
"""Maximum words of a query that may be a name."""
MAX_TITLE_CHARS = 200
"""Maximum length of a title that is compared (characters)."""
MIN_NAME_CHARS = 3
MAX_FOLDERS = 1
"""Maximum folders above the first page of a site: `https://git-scm.test/docs/index.html` may be one."""
FIRST_PAGE_SLASHES = 3
"""Number of slashes in the address of a host: `https://sqlite.org/`."""
MIN_SITE_TITLES = 4
"""Minimum pages of a host among those compared whose titles show what all its titles have."""
COMMON_SHARE = 0.6
"""Minimum share of these titles that have a word of the site: "Manual Page" in "git-revert(1) Manual Page"."""
_ASKED_BESIDE = frozenset({"home", "homepage", "official", "page", "site", "web", "website", "www"})
"""Words that people write beside the name of a site."""
_INDEX = re.compile(r"(?:index|default|home)(?:\.\w{1,8})?", re.IGNORECASE)
_NUMBER = re.compile(
    r"(?:(?:appendix|chapter|part|section)\s{1,3})?(?:\d{1,3}|[A-Z]\.|[IVX]{1,5}\.)(?:\.?\d{1,3}){0,5}\.?\s{1,3}",
    re.IGNORECASE,
)
"""The number of a chapter before its name."""
_SECTION = re.compile(r"(?<=\w)\(\d[a-z]{0,2}\)")
"""The section of a manual page: "git-revert(1)"."""


def title_values(context: RankingContext, pages: Sequence[PageHits]) -> Mapping[UUID, float]:
    """Return the values of the signal `title`: 1 for a page whose title the query is, in any order of words.

    The name of a file is a title only where no page has that title.
    """
    asked, first = words(context.text), pages[:PAGES]
    if not 0 < len(asked) <= MAX_QUERY_WORDS:
        return {}
    language = primary(context.language) or shown_language(asked, identify(context.text).language)
    wanted, common = _forms(asked, language), cache(partial(find_common_words, first, language))
    for is_named in (partial(_is_title, common=common, language=language), partial(_is_file, language=language)):
        found: dict[UUID, float] = {}
        for page in first:
            context.check_time()
            if is_named(wanted, page):
                found[page.page_id] = 1.0
        if found:
            return found
    return {}


def site_values(context: RankingContext, pages: Sequence[PageHits]) -> Mapping[UUID, float]:
    """Return the values of the signal `site`: 1 for the first page of a site whose name the query is."""
    asked = words(context.text)
    if not 0 < len(asked) <= MAX_QUERY_WORDS:
        return {}
    return {pages[place].page_id: 1.0 for place in _first_pages_of_named_sites(context, asked, pages[:PAGES])}


def put_addressed_first(context: RankingContext, pages: list[PageHits]) -> list[PageHits]:
    """Apply the pass `addresses`: put the pages at the query's addresses first, and note that there are such.

    The first page of a host is often at another address than the host itself: `/index.html`.
    """
    if not context.addresses:
        return pages
    named = [page for page in pages if page.hits[0].payload.url in context.addresses]
    if not named and any(url.endswith("/") and url.count("/") == FIRST_PAGE_SLASHES for url in context.addresses):
        fronts = _first_pages_of_named_sites(context, words(context.text), pages)
        named = [page for place, page in enumerate(pages) if place in fronts]
    if not named:
        return pages
    first = pages[0].score
    for page in named:
        context.notes.note_part(page.page_id, "address", max(first - page.score, 0.0) + 1.0)
    context.notes.is_addressed = True
    ids = {page.page_id for page in named}
    return [*(replace(page, score=first + 1.0) for page in named), *(page for page in pages if page.page_id not in ids)]


def put_identifiers_first(context: RankingContext, pages: list[PageHits]) -> list[PageHits]:
    """Apply the pass `identifiers`: note the number of pages that have all identifiers, and those that no page has.

    Each text is folded once, however many identifiers the query has.
    """
    names = {name: fold(name) for name in identifiers(context.text)}
    if not names:
        return pages
    exact: list[bool] = []
    found: set[str] = set()
    for page in pages:
        context.check_time()
        texts = CheckedPage(page).texts
        of_texts = [{name for name, wanted in names.items() if has_folded(text, wanted)} for text in texts]
        exact.append(any(len(of_text) == len(names) for of_text in of_texts))
        found.update(*of_texts)
    context.notes.passes["identifiers"] = {"pages": sum(exact)}
    if not any(exact):
        context.notes.missing_names = tuple(name for name in names if name not in found)
    return [page for wanted in (True, False) for page, has in zip(pages, exact, strict=True) if has is wanted]


def _is_title(
    wanted: frozenset[str], page: PageHits, common: Callable[[], Mapping[str, frozenset[str]]], language: str
) -> bool:
    """Return whether query and title have the same stems, as far as they do not name the page's site.

    `common` returns the words that the titles of each host have.
    """
    payload = page.hits[0].payload
    titles = _titles(payload.title[:MAX_TITLE_CHARS], language)
    if wanted in titles:
        return True
    named = _site_forms(payload.host, language)
    if not any(wanted - named <= title for title in titles):
        return False
    site = named | common().get(payload.host, frozenset())
    return bool(wanted - site) and any(wanted - site == title - site for title in titles)


def _is_file(wanted: frozenset[str], page: PageHits, language: str) -> bool:
    """Return whether the query names the page's site and its file: `sqlite faq` for sqlite.org/faq.html."""
    payload = page.hits[0].payload
    named = _site_forms(payload.host, language)
    name = wanted - named
    return bool(wanted & named) and bool(name) and name == _file_forms(payload.url, language)


def find_common_words(pages: Sequence[PageHits], language: str) -> dict[str, frozenset[str]]:
    """Return the words that most titles of a host have, by host; only for hosts with several pages."""
    titles: defaultdict[str, list[frozenset[str]]] = defaultdict(list)
    for page in pages:
        titles[page.hits[0].payload.host] += _titles(page.hits[0].payload.title[:MAX_TITLE_CHARS], language)[:1]
    return {
        host: frozenset(word for word, count in Counter(chain(*found)).items() if count >= COMMON_SHARE * len(found))
        for host, found in titles.items()
        if len(found) >= MIN_SITE_TITLES
    }


@lru_cache(maxsize=8_192)
def _titles(title: str, language: str) -> tuple[frozenset[str], ...]:
    """Return the words of a title, and of the title without the number of its chapter."""
    plain = _SECTION.sub("", title)
    texts = dict.fromkeys((plain, without_number(plain)))
    return tuple(forms for text in texts if (forms := _forms(words(text), language)))


def without_number(title: str) -> str:
    """Return a title without the number of its chapter: "WAL Configuration" for "30.5. WAL Configuration"."""
    number = _NUMBER.match(title)
    return title[number.end() :] if number and number.end() < len(title) else title


def _forms(found: Sequence[str], language: str) -> frozenset[str]:
    """Return the stems of the words in the query's language, without its function words where there are others."""
    return frozenset(forms[-1] for forms in stems(without_function_words(found, language), language))


def _first_pages_of_named_sites(
    context: RankingContext, asked: Sequence[str], pages: Sequence[PageHits]
) -> frozenset[int]:
    """Return the places of the first pages of the sites that the query names: of a domain the nearest to its root.

    Several domains may have one name (`example.org`, `example.net`). Then it is the one that other sites link to.
    """
    name = [word for word in asked if word not in _ASKED_BESIDE] or asked
    ranks: Mapping[str, HostRank] = context.read.get("priors") or {}
    best: dict[str, tuple[int, int]] = {}
    known: dict[str, float] = {}
    for place, page in enumerate(pages):
        host = _plain(page.hits[0].payload.host)
        if not names_host(name, host):
            continue
        domain = registrable_domain(host)
        known[domain] = max(known.get(domain, 0.0), authority(ranks.get(page.hits[0].payload.host)))
        if (folders := folders_above(page.hits[0].payload.url)) is not None:
            found = (host.count(".") + folders, place)
            best[domain] = min(best.get(domain, found), found)
    most = max(known.values(), default=0.0)
    return frozenset(place for domain, (_, place) in best.items() if known[domain] == most)


def folders_above(url: str) -> int | None:
    """Return the number of folders above the index page of a host or folder; None for another page, or a deep one."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    *folders, name = parts.path.strip("/").split("/") if not parts.path.endswith("/") else [*parts.path.split("/"), ""]
    above = [folder for folder in folders if folder]
    is_index = not parts.query and (not name or bool(_INDEX.fullmatch(name)))
    return len(above) if is_index and len(above) <= MAX_FOLDERS else None


def names_host(asked: Sequence[str], host: str) -> bool:
    """Return whether the words are a host, its domain, or the name in them: `sqlite` and `SQLite.org` for sqlite.org.

    A label before the domain is no name by itself: who has a domain may give its hosts any name.
    """
    name = "".join(asked).replace(".", "")
    return len(name) >= MIN_NAME_CHARS and name in _host_names(_plain(host))


@lru_cache(maxsize=8_192)
def _host_names(plain: str) -> frozenset[str]:
    domain = registrable_domain(plain)
    label, _, suffix = domain.partition(".")
    before = plain.removesuffix(domain).strip(".")
    orders = (label, domain, plain, f"{before}{label}", f"{label}{before}") if suffix else (plain,)
    return frozenset("".join(words(order.replace(".", " "))) for order in orders)


@lru_cache(maxsize=8_192)
def _file_forms(url: str, language: str) -> frozenset[str]:
    """Return the stems of the name of a page's file without extension, or of an index page's folder."""
    try:
        *folders, name = urlsplit(url).path.split("/")
    except ValueError:
        return frozenset()
    if not name or _INDEX.fullmatch(name):
        name = folders[-1] if folders else ""
    return _forms(words(name[:MAX_TITLE_CHARS].partition(".")[0].replace("_", " ").replace("-", " ")), language)


@lru_cache(maxsize=8_192)
def _site_forms(host: str, language: str) -> frozenset[str]:
    """Return the stems of the name of a host's domain."""
    return _forms(words(registrable_domain(_plain(host)).partition(".")[0]), language)


def _plain(host: str) -> str:
    return host.partition(":")[0].removeprefix("www.")
