"""The index of statements by meaning and by words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from streams.models.protocols import ModelInfo
from streams.stores.statement_payload import StatementPayload


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Term ids and weights, same length."""

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
class Filters:
    """Conditions that results must meet. None and empty are no condition."""

    page_id: UUID | None = None
    host: str | None = None
    languages: tuple[str, ...] = ()
    """Any of these, as the points spell them; an empty one means points without a language."""
    sites: tuple[str, ...] = ()
    """Hosts, of which any is meant with its subdomains."""
    exclude_sites: tuple[str, ...] = ()
    """Hosts that are left out with their subdomains."""
    exclude_pages: tuple[UUID, ...] = ()


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
    """The page's own score: the best of each list may be two statements."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The two lists that a search is answered from, each with the best first and with its engine's scores."""

    dense: tuple[Hit, ...] = ()
    sparse: tuple[Hit, ...] = ()
    limit: int = 0
    """Maximum statements of a list. A shorter one has all that match."""


class VectorIndex(Protocol):
    """The index of statements by meaning and by words: a collection for each model version, and an alias for one."""

    async def ensure(self, model: ModelInfo) -> str:
        """Create the model's collection and payload indexes if need be; point the alias to it if there is none.

        Returns the collection's name.
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
        filters: Filters = Filters(),
        limit: int = 100,
    ) -> Candidates:
        """The best statements by meaning and by words. A list whose vector is None, or has no terms, is empty."""

    async def dense_vectors(self, ids: Sequence[UUID]) -> list[Sequence[float]]:
        """The dense vectors of these statements, in the order of the ids. Statements that are not there are left out.

        They are read from the collection that searches read. Engines may return them scaled to length 1.
        """

    async def nearest(self, collection: str, dense: Sequence[float], limit: int, *, exact: bool = False) -> list[Hit]:
        """The statements with the nearest vectors, as a search finds them; with `exact`, all vectors are compared."""

    async def scroll(self, collection: str, page_id: UUID) -> list[Hit]:
        """Return all points of a page, by ordinal. Scores are 0."""

    async def count(self, collection: str, page_id: UUID | None = None, generation: int | None = None) -> int:
        """Return the number of statements; of one page, and of one generation of it."""

    async def collections(self) -> list[str]: ...

    async def drop(self, collection: str) -> None:
        """Remove a former model's collection. Raises UsageError when searches still read it."""

    async def close(self) -> None: ...
