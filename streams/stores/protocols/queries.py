"""The counts of queries that enough people asked, suggestions by prefix, and what the tasks of a build hand on."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol
from uuid import UUID

from streams.stores.rows import Row

KEPT_DAYS = 90
"""Time for which the counts of a day are kept (days)."""
MAX_ROWS = 64
"""Maximum rows of a prefix that are read. Writers remove what is above it."""

NoteKind = Literal["current", "began", "hidden"]
"""The parts of a build that say nothing of pages but what is hidden."""
PartKind = Literal["sums", "list", "word sums", "words", "statements", "private", NoteKind]


@dataclass(frozen=True, slots=True)
class DayCounts:
    """The counts of one query on one day."""

    asked: int = 0
    empty: int = 0
    """Number of times that no page answered the query: it had no result, or only the nearest ones by meaning."""
    quarters: Mapping[int, int] = field(default_factory=dict)
    """Number of times asked by quarter of an hour of the day (0 to 95)."""
    partition: int = -1
    offset: int = -1
    """Place in Kafka of the last counted event. An event at or before it was counted already."""
    stored: Row | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class CountedQuery:
    """A query of a day, with its counts."""

    language: str
    query: str
    counts: DayCounts


@dataclass(frozen=True, slots=True)
class PlaceCounts:
    """The number of times that a page was shown and clicked for one query, by its place (from 1)."""

    shown: Mapping[int, int] = field(default_factory=dict)
    clicked: Mapping[int, int] = field(default_factory=dict)
    stored: Row | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class PageClicks:
    """The pages of one query on one day, by the events with one key."""

    pages: Mapping[UUID, PlaceCounts] = field(default_factory=dict)
    offset: int = -1
    """Offset of the last counted event. An event at or before it was counted already."""
    stored: Row | None = field(default=None, repr=False, compare=False)


class QueryCounts(Protocol):
    """Counts of queries by day. Days are numbers since 1970-01-01 (UTC). A query with counts was asked by enough people
    on that day."""

    async def days(self, language: str, query: str) -> dict[int, DayCounts]:
        """Return the counts of a query by day."""

    async def put(self, language: str, query: str, day: int, counts: DayCounts, at: int) -> None:
        """Store the counts of a day. An older write never replaces a newer one."""

    async def of_day(self, day: int, limit: int) -> list[CountedQuery]:
        """Return queries of a day, at most `limit`, in no order."""

    async def put_digest(self, digest: str, language: str, query: str, at: int) -> None:
        """Store for a day which counted query has this hash."""

    async def of_digest(self, digest: str) -> tuple[str, str] | None:
        """Return language and query of a hash; None for a query that is not counted."""

    async def put_clicks(self, language: str, query: str, day: int, source: str, clicks: PageClicks, at: int) -> None:
        """Store what a source (all events with one key) has of a query on a day. The newest write stays."""

    async def clicks_of(self, language: str, query: str) -> dict[tuple[int, str], PageClicks]:
        """Return the clicks of a query by day and source."""

    async def put_examination(self, probabilities: Sequence[float], at: int) -> None:
        """Store the probability for each place that a person looks at it."""

    async def examination(self) -> tuple[float, ...]:
        """Return these probabilities; empty before the first estimate."""

    async def purge(self) -> None:
        """Delete all counts and clicks."""


@dataclass(frozen=True, slots=True)
class StoredSuggestion:
    """A suggestion of a prefix."""

    text: str
    language: str = ""
    weight: float = 0.0
    """The long-term weight. Below 0: the text is hidden until a build replaces the row."""
    recent: float = 0.0
    """The count of the last two hours at the time of the write."""
    quarter: int = 0
    """The number of the quarter of an hour since 1970 (UTC) in which `recent` was counted."""
    hosts: tuple[str, ...] = ()
    """Some hosts whose pages have the text: who reads it may see `needs` of them, or sees only the part `apart`."""
    needs: int = 1
    apart: float = 0.0
    """The part of the weight that has no page as its source: of queries that enough people asked, and of entities."""


@dataclass(frozen=True, slots=True)
class StoredWord:
    """A word that queries may be corrected to, with the sources that its reader must see, as of a suggestion."""

    text: str
    weight: int
    """The number of pages with the word, of which one site counts only some."""
    hosts: tuple[str, ...] = ()
    needs: int = 1


@dataclass(frozen=True, slots=True)
class PrefixRow:
    """A suggestion in the list of a prefix: of one language, or of all (empty)."""

    language: str
    prefix: str
    suggestion: StoredSuggestion


@dataclass(frozen=True, slots=True)
class NewTitle:
    """The title of a page that became searchable after the last build began."""

    key: str
    """The normal form by which titles are sorted and found. It is not empty."""
    suggestion: StoredSuggestion
    at: int
    """The time of the page's event (microseconds since 1970 UTC)."""


class BuildNotes(Protocol):
    """The notes of builds."""

    async def parts(self, build: str, kind: NoteKind, shard: int) -> list[bytes]:
        """Return the values of all parts of a shard, by part."""


class Suggestions(Protocol):
    """Suggestions by language and prefix, and new titles by their beginning. An older write never replaces a newer one.

    A suggestion has a row in the list of each of its prefixes, so that the best of a prefix are found among millions. A
    new title has one row, in the order of keys: all new titles are worth about the same, and a build ends them.
    """

    async def of_prefix(self, language: str, prefix: str, since: int = 0) -> list[StoredSuggestion]:
        """Return the rows of a prefix that were written at this time or later, of at most MAX_ROWS, in no order."""

    async def of_prefixes(self, language: str, prefixes: Collection[str]) -> dict[str, list[StoredSuggestion]]:
        """Return the rows of each of a few prefixes of a language, each as `of_prefix` does, with one request."""

    async def put(self, rows: Iterable[PrefixRow], at: int) -> None:
        """Write rows, each of which replaces the row with its text."""

    async def replace(self, rows: Sequence[PrefixRow], at: int) -> None:
        """Write all rows of one or several prefixes, and remove the older rows of these prefixes."""

    async def remove(self, rows: Iterable[PrefixRow], at: int) -> None:
        """Remove rows, by their texts."""

    async def add_titles(self, titles: Sequence[NewTitle]) -> None:
        """Store new titles, each at its own time. The titles with the same first character are one write."""

    async def titles(self, beginning: str) -> list[StoredSuggestion]:
        """Return new titles whose key begins with these characters, at most MAX_ROWS, by key. Empty: none."""

    async def remove_title(self, title: NewTitle) -> None:
        """Remove a title, unless it was stored after the time of `title`."""

    async def drop_titles(self, before: int) -> None:
        """Remove all titles that were stored with a time before this one."""

    async def purge(self) -> None:
        """Delete all suggestions and new titles, also the parts of builds."""

    async def put_part(self, build: str, kind: PartKind, shard: int, part: str, value: bytes) -> None: ...

    async def parts(self, build: str, kind: PartKind, shard: int) -> list[bytes]:
        """Return the values of all parts of a shard, by part."""

    async def drop_parts(self, build: str, kind: PartKind, shard: int) -> None: ...
