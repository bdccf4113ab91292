"""Filters of results: which pages are left out or moved, in order, with the number of pages for each reason.

    conditions   the operators of the query (phrases, sites, dates, ...)
    language     pages in other languages than the ones asked for
    empty        pages without a title, or without text
    blocked      hosts of the block lists
    adult        pages with the words of adult content
    duplicate    pages whose text is nearly that of a better result; the result counts them
    host         further pages of one host move behind the first page; none is left out

The pages come with the best first, and are read only as far as they are needed.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import numpy as np
import numpy.typing as npt

from streams.search.ranking.adult import is_adult
from streams.search.ranking.block_list import BlockList
from streams.search.ranking.matching import fold
from streams.search.ranking.operators import Conditions, meets
from streams.stores.protocols import PageHits

DUPLICATE_SIMILARITY = 0.8
"""Minimum Jaccard similarity of the trigrams of two results' texts that makes them near-duplicates."""
MIN_DUPLICATE_CHARS = 40
"""Minimum length of a text that is compared (characters). Shorter ones are alike by chance."""
MAX_WINDOW = 20
"""Maximum pages behind the first page of results that may come before further pages of a host."""
RESULTS_PER_HOST = 3
"""Maximum results of one host on the first page, as long as there are others."""
NAMES = ("conditions", "language", "empty", "blocked", "adult", "duplicate", "host")
"""The names of all filters, in the order in which they are applied."""
_CODE_BITS, _TWO_CODES_BITS = np.uint64(21), np.uint64(42)
_FEW_BITS = np.uint64(3)
"""The bits of the first letter by which a third of the trigrams is chosen: those where they are 0."""


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
    per_host: int = RESULTS_PER_HOST
    """0: any number."""


@dataclass(slots=True)
class Filtered:
    """The pages that are shown, and what happened to the others."""

    pages: list[PageHits] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    """Number of pages that each filter left out or moved."""
    similar: dict[UUID, list[PageHits]] = field(default_factory=dict)
    """The near-duplicates of a page that are not shown."""


def filtered(pages: Iterable[PageHits], rules: Rules, wanted: int) -> Filtered:
    """The first `wanted` pages that pass all filters."""
    found = Filtered()
    passing = _distinct(_passing(pages, rules, found.counts), found)
    for page in passing:
        found.pages.append(page)
        if len(found.pages) >= max(wanted, _window(rules)):
            break
    found.pages = _spread(found.pages, rules, found.counts)[:wanted]
    return found


def _passing(pages: Iterable[PageHits], rules: Rules, counts: Counter[str]) -> Iterator[PageHits]:
    checks: tuple[tuple[str, Callable[[PageHits], bool]], ...] = (
        ("conditions", lambda page: not rules.conditions or meets(page, rules.conditions)),
        ("language", lambda page: not rules.languages or _payload(page, "language") in rules.languages),
        ("empty", lambda page: bool(_payload(page, "title").strip() or _payload(page, "url")) and _has_text(page)),
        ("blocked", lambda page: not rules.block_list.blocks(_payload(page, "host"))),
        ("adult", lambda page: not (rules.hide_adult and is_adult(page))),
    )
    for page in pages:
        failed = next((name for name, passes in checks if not passes(page)), None)
        if failed is None:
            yield page
        else:
            counts[failed] += 1


def _distinct(pages: Iterable[PageHits], found: Filtered) -> Iterator[PageHits]:
    """The pages without near-duplicates of better ones."""
    kept: list[tuple[UUID, frozenset[int], frozenset[int]]] = []
    for page in pages:
        codes = _codes(_shown_text(page))
        own, few = frozenset(codes.tolist()), frozenset(codes[codes & _FEW_BITS == 0].tolist())
        original = next(
            (
                other
                for other, theirs, few_of_theirs in kept
                if _may_be_near(own, theirs, few, few_of_theirs) and similarity(own, theirs) >= DUPLICATE_SIMILARITY
            ),
            None,
        )
        if original is None:
            kept.append((page.page_id, own, few))
            yield page
        else:
            found.counts["duplicate"] += 1
            found.similar.setdefault(original, []).append(page)


def trigrams(text: str) -> frozenset[int]:
    """All runs of three characters of a text, each as one number; none of a short text."""
    return frozenset(_codes(text).tolist())


def _codes(text: str) -> npt.NDArray[np.uint64]:
    """The number of each run of three characters; none of a short text."""
    folded = fold(text)
    if len(folded) < MIN_DUPLICATE_CHARS:
        return np.empty(0, dtype=np.uint64)
    # A code point has 21 bits. NumPy makes the numbers in a third of the time that slices of the text take.
    codes = np.frombuffer(folded.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint64)
    runs: npt.NDArray[np.uint64] = codes[:-2] | codes[1:-1] << _CODE_BITS | codes[2:] << _TWO_CODES_BITS
    return runs


def similarity(first: frozenset[int], second: frozenset[int]) -> float:
    """The Jaccard similarity: the share of the common trigrams in all. 0 without trigrams."""
    small, large = (first, second) if len(first) < len(second) else (second, first)
    if len(small) < DUPLICATE_SIMILARITY * len(large) or not small:  # it can't be reached
        return 0.0
    common = len(first & second)
    return common / (len(first) + len(second) - common)


def _may_be_near(
    first: frozenset[int], second: frozenset[int], few_of_first: frozenset[int], few_of_second: frozenset[int]
) -> bool:
    """False if the sets can't be near-duplicates, by a third of their members: that takes a third of the time."""
    others = min(len(first) - len(few_of_first), len(second) - len(few_of_second))
    # The Jaccard similarity is at least s where s / (1 + s) of both numbers together are common members.
    needed = (len(first) + len(second)) * DUPLICATE_SIMILARITY / (1 + DUPLICATE_SIMILARITY)
    return others + min(len(few_of_first), len(few_of_second)) >= needed and (
        others + len(few_of_first & few_of_second) >= needed
    )


def _window(rules: Rules) -> int:
    """Number of pages that the first page of results is chosen from: the same for each page of results."""
    return rules.first_page + min(2 * rules.first_page, MAX_WINDOW) if rules.per_host else rules.first_page


def _spread(pages: Sequence[PageHits], rules: Rules, counts: Counter[str]) -> list[PageHits]:
    """The pages in their order, but that further pages of a host come behind the first page of results."""
    window, rest = pages[: _window(rules)], pages[_window(rules) :]
    of_host: Counter[str] = Counter()
    first: list[PageHits] = []
    moved: list[PageHits] = []
    for page in window:
        host = _payload(page, "host")
        full = len(first) == rules.first_page or (rules.per_host and of_host[host] >= rules.per_host)
        of_host[host] += not full
        (moved if full else first).append(page)
    before = {page.page_id for page in window[: rules.first_page]}
    if count := len(before - {page.page_id for page in [*first, *moved][: rules.first_page]}):
        counts["host"] += count
    return [*first, *moved, *rest]


def _payload(page: PageHits, name: str) -> str:
    return str(page.hits[0].payload.get(name) or "")


def _has_text(page: PageHits) -> bool:
    return any(str(hit.payload.get("text") or "").strip() for hit in page.hits)


def _shown_text(page: PageHits) -> str:
    return " ".join([_payload(page, "title"), *(str(hit.payload.get("text") or "") for hit in page.hits[:3])])
