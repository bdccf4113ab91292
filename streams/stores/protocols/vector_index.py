"""The index of statements by meaning and by words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from streams.models.protocols import ModelInfo
from streams.stores.protocols.api_access import Site
from streams.stores.statement_payload import StatementPayload


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Term ids and their weights: two tuples of the same length."""

    indices: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """One statement in the vector index."""

    id: UUID
    dense: Sequence[float]
    sparse: SparseVector
    payload: StatementPayload


@dataclass(frozen=True, slots=True)
class Visible:
    """The pages that a reader may see, by their audiences (`streams.crawl.audiences`) and their domains.

    It is an argument of each read for a reader, without a default: who asks is never forgotten.
    """

    audiences: tuple[str, ...]
    """The private audiences that the reader belongs to. Pages for everybody are visible to each reader."""
    hidden: tuple[str, ...]
    """Domains whose pages are not visible whatever audience they have: those that were indexed before their site was
    private have none yet. Each includes its subdomains."""
    is_all: bool = False
    """True: by meaning all statements, for operators and stages, and for everybody where no site is private. By words,
    statements for everybody and for these audiences: the words of each private audience are counted apart."""
    only: tuple[str, ...] = ()
    """Domains of which the reader sees pages, with their subdomains, and no others. Empty: of all."""
    site: Site | None = None
    """The site whose search the reader uses: its own words count. It says nothing about who sees what."""

    @property
    def is_limited(self) -> bool:
        """True if pages of some domains are not visible."""
        return bool(self.only or self.hidden)


EVERYTHING = Visible((), (), is_all=True)
FOR_EVERYBODY = Visible((), ())


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions that results must meet. None and empty are no condition."""

    page_id: UUID | None = None
    host: str | None = None
    languages: tuple[str, ...] = ()
    """Languages that a result may have, as the points spell them. An empty text means points without a language."""
    sites: tuple[str, ...] = ()
    """Hosts that a result may have. Each includes its subdomains."""
    exclude_sites: tuple[str, ...] = ()
    """Hosts that no result may have. Each includes its subdomains."""
    exclude_pages: tuple[UUID, ...] = ()
    phrases: tuple[str, ...] = ()
    """Words in a row that a result must have in its text, a part of its context, or its title (`has_words`)."""
    title_phrases: tuple[str, ...] = ()
    """Words in a row that the title of a result must have."""
    exclude_phrases: tuple[str, ...] = ()
    """Words in a row that no result may have in its text, a part of its context, or its title."""
    page_types: tuple[str, ...] = ()
    """Types of which the page of a result must have one, in lower case."""
    from_day: int = 0
    """The first day of publication, as `StatementPayload.day` has it. 0: any day, also an unknown one."""
    before_day: int = 0
    """The day before which a page was published. 0: no such condition."""
    extensions: tuple[str, ...] = ()
    """Extensions of which the file of a page must have one (`StatementPayload.extension`)."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A statement that matched."""

    id: UUID
    score: float
    payload: StatementPayload


@dataclass(frozen=True, slots=True)
class PageHits:
    """The statements of one page that matched, best first."""

    page_id: UUID
    hits: tuple[Hit, ...]
    score: float
    """The page's own score. It is no statement's score: the best of each list may be two statements."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The two lists from which a search is answered, each with the best first and with its engine's scores."""

    dense: tuple[Hit, ...] = ()
    sparse: tuple[Hit, ...] = ()
    limit: int = 0
    """Maximum number of statements of a list. A shorter list has all statements that match."""


class VectorIndex(Protocol):
    """The index of statements by meaning and by words: a collection for each model version, and an alias for one."""

    async def ensure(self, model: ModelInfo) -> str:
        """Create the model's collection and payload indexes if they are missing. Returns the collection's name.

        If there is no alias yet, it points to this collection.
        """

    async def active(self) -> str | None:
        """Return the collection that the alias points to, or None."""

    async def activate(self, collection: str) -> None:
        """Point the alias to this collection: searches read it from now on."""

    async def upsert(self, collection: str, points: Sequence[Point]) -> None: ...

    async def remove_page(
        self, collection: str, page_id: UUID, *, before_generation: int | None = None, keep: Sequence[UUID] = ()
    ) -> None:
        """Remove a page's points except `keep`; with `before_generation`, only points of an older generation."""

    async def candidates(
        self,
        *,
        dense: Sequence[float] | None,
        sparse: SparseVector | None,
        visible: Visible,
        filters: Filters = Filters(),
        limit: int = 100,
        collection: str | None = None,
    ) -> Candidates:
        """Return the best statements by meaning and by words. Without a vector, or without terms, a list is empty.

        They are read from this collection. None, and a collection that was dropped: from the one that searches read.

        The weight of a word counts the statements of one audience only. So the scores for a reader are the same with
        and without the pages that are not visible.
        """

    async def search_pages(
        self,
        pages: Sequence[UUID],
        *,
        dense: Sequence[Sequence[float]],
        sparse: SparseVector | None,
        visible: Visible,
        filters: Filters = Filters(),
        limit: int = 10,
        collection: str | None = None,
    ) -> list[tuple[Hit, ...]]:
        """Return the best statements of each of these pages, for each of these vectors, in one request.

        The lists of the first page come first, one for each vector; with `sparse`, one by words is behind them. Scores
        are as of `candidates`.
        """

    async def pages_with_words(
        self,
        words: Sequence[SparseVector],
        *,
        visible: Visible,
        filters: Filters = Filters(),
        limit: int = 100,
        collection: str | None = None,
    ) -> list[list[UUID]]:
        """Return the pages of the best statements by each of these vectors of words, in one request: at most `limit`
        statements each. A page is named once for each of its statements."""

    async def set_audience(self, collection: str, host: str, audience: str) -> None:
        """Give the pages of a domain and its subdomains another audience; empty: everybody.

        Searches by meaning follow at once. The words of these pages count where they counted before, so their first
        statements say that the pages are to be made anew (`made_normalize` is 0).
        """

    async def dense_vectors(self, ids: Sequence[UUID], collection: str | None = None) -> list[Sequence[float]]:
        """Return the dense vectors of these statements, in the order of the ids, without statements that are missing.

        None: the vectors are read from the collection that searches read. Engines may return them scaled to length 1.
        """

    async def text_and_vector(self, collection: str, id: UUID) -> tuple[str, Sequence[float]] | None:
        """Return a statement's text with its dense vector, of one write. None: the point or collection is missing."""

    async def nearest(self, collection: str, dense: Sequence[float], limit: int, *, exact: bool = False) -> list[Hit]:
        """Return the statements with the nearest vectors, as a search finds them. With `exact`, all are compared."""

    async def scroll(self, collection: str, page_id: UUID) -> list[Hit]:
        """Return all points of a page, by ordinal. Scores are 0."""

    async def pages_with(
        self, collection: str, fact: str, *, below: int | None = None, limit: int = 0
    ) -> tuple[int, list[Hit]]:
        """Return the number of pages that have a fact (`left_out`, `made_STAGE`), and the first statements of some.

        The fact is an integer above 0; with `below`, it is 0 or more, and less than that. `limit`: maximum number of
        these statements.
        """

    async def first_statements(self, page_ids: Sequence[UUID], count: int) -> list[Hit]:
        """Return the statements of these pages with an ordinal below `count`, by ordinal, in one request. Scores are 0.

        They are read from the collection that searches read. At most `count` per page are returned: while a new version
        of a page is written, some may be missing.
        """

    async def count(self, collection: str, page_id: UUID | None = None, generation: int | None = None) -> int:
        """Return the number of statements, or only of this page, or only of this generation of the page."""

    async def collections(self) -> list[str]: ...

    async def drop(self, collection: str) -> None:
        """Remove a former model's collection. Raises UsageError if searches still read the collection."""

    async def close(self) -> None: ...
