"""The context that the passes of a ranking share: the query, its lists, the options, and the notes of each pass."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from streams.search.options import SearchOptions
from streams.search.query_language.operators import Conditions
from streams.search.ranking.other_languages import UNSURE, AskedIn
from streams.search.ranking.rules import BlockList, PersonalRules
from streams.stores.protocols import Candidates, PageHits, Visible


@dataclass(frozen=True, slots=True)
class RareWord:
    """A word of the query that few statements of the index have, or none."""

    text: str
    """The word as it was typed."""
    pages: frozenset[UUID] = frozenset()
    """All pages that have it, among those that the search may find."""


@dataclass(slots=True)
class Notes:
    """Notes of the passes beside the order. `explain` shows the first two generically."""

    passes: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Facts of the whole ranking, by the name of a pass or signal: numbers and words."""
    parts: dict[UUID, dict[str, float]] = field(default_factory=dict)
    """The part of a page's score from each signal, by the signal's name."""
    near_duplicates: dict[UUID, list[PageHits]] = field(default_factory=dict)
    """The copies of a page that are not shown."""
    near: dict[UUID, list[UUID]] = field(default_factory=dict)
    """The earlier pages that a page nearly repeats, by what was found of them. Not all of them are copies."""
    facets: dict[str, dict[str, int]] = field(default_factory=dict)
    """The numbers of candidates by the values of each facet."""
    site_pages: list[PageHits] = field(default_factory=list)
    """The first pages of the site that the query names; they may be among the results, too."""
    frame: frozenset[UUID] = frozenset()
    """The statements that are lines of a site's frame."""
    is_addressed: bool = False
    """The query is the address of a page that was found."""
    nearest_only: bool = False
    """Nothing was found: the results are only the nearest pages by meaning."""
    far: frozenset[UUID] = frozenset()
    """The pages at the end of the order that share little with the query: the nearest by meaning, and no more."""
    missing_names: tuple[str, ...] = ()
    """The identifiers of the query that no candidate has."""
    rare: tuple[RareWord, ...] = ()
    """The words of the query that few pages have, or none."""

    @property
    def missing(self) -> tuple[str, ...]:
        """The words and identifiers of the query that no page has, each once."""
        absent = (word.text for word in self.rare if not word.pages)
        named = " ".join(self.missing_names).casefold()
        return (*self.missing_names, *(text for text in absent if text.casefold() not in named))

    def note_part(self, page: UUID, signal: str, value: float) -> None:
        self.parts.setdefault(page, {})[signal] = value


@dataclass(frozen=True, slots=True)
class RankingContext:
    """One ranking: its query, its lists, the options, and the notes of the passes."""

    text: str
    """The query without its operators."""
    found: Candidates
    meaning: float
    """The weight of the dense list; the sparse list has the rest to 1."""
    options: SearchOptions
    now: datetime
    wanted: int
    """Number of results to look for."""
    visible: Visible
    """The pages that the client may see."""
    per_page: int = 10
    conditions: Conditions = field(default_factory=dict)
    languages: tuple[str, ...] = ()
    """The languages that are searched, as the index spells them; empty: all."""
    is_of_one_site: bool = False
    """True if the request names a host or sites, and so asks for many results of one host."""
    personal: PersonalRules = field(default_factory=PersonalRules)
    block_list: BlockList = field(default_factory=BlockList)
    words: tuple[tuple[int, ...], ...] = ()
    """The terms of each word of the query. A statement has the word if it has one of them."""
    addresses: tuple[str, ...] = ()
    """The URLs that the query may be, if it is the address of a page."""
    pinned: str = ""
    """The URL of the page that the site has pinned for the query; empty: none."""
    min_confidence: float | None = None
    """The bound below which nothing was found (`confidence.py`). None: the results are not judged."""
    asked_in: AskedIn = UNSURE
    """The language that the query shows."""
    min_lead: float | None = None
    """The bound for statements in other languages (`other_languages.py`). None: they are judged as all others."""
    read: dict[str, Any] = field(default_factory=dict)
    """Values that the readers of passes have read from stores and models, by the name of the pass."""
    notes: Notes = field(default_factory=Notes)
    asked: str = ""
    """The query as it was asked, with its operators."""
    language: str = ""
    """The language that the request names; empty: none."""
    reader: tuple[str, ...] = ()
    """The languages that the reader prefers (primary subtags): the query's, and the browser's."""
    check_time: Callable[[], None] = lambda: None
    """A function that raises DeadlineExceeded after the end of the search. Long loops call it."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """Pages in their order, and the notes of the passes that made the order."""

    pages: list[PageHits] = field(default_factory=list)
    notes: Notes = field(default_factory=Notes)


_SCORE_DIGITS = 5


def add_gains(pages: Sequence[PageHits], gains: Mapping[UUID, float]) -> list[PageHits]:
    """Return the pages in the order of their scores with these gains. Pages with equal scores stay in their order."""
    changed = [replace(one, score=one.score + gains[one.page_id]) if one.page_id in gains else one for one in pages]
    return sorted(changed, key=lambda page: -round(page.score, _SCORE_DIGITS))


Apply = Callable[[RankingContext, list[PageHits]], list[PageHits]]


@dataclass(frozen=True, slots=True)
class Pass:
    """A step of the ranking: it gets the pages with the best first, and returns them in its order. Pure."""

    name: str
    apply: Apply
    reads: tuple[str, ...] = ()
    """The names of the readers that read for it, side by side (`streams.search.readers`)."""
