"""The records of pages, their history, and content-addressed bytes."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol
from uuid import UUID

from streams.stores.page_record import Normalized, PageRecord, StoredPart
from streams.stores.protocols.host_links import LinkGroup


class Pages(Protocol):
    """Records: each stage's latest facts about a page. Values are of types that MessagePack has."""

    async def put(
        self,
        page_id: UUID,
        part: StoredPart,
        at: int,
        contents: Mapping[str, bytes] | None = None,
        links: Collection[LinkGroup] = (),
    ) -> None:
        """Store a part, and with it, all or nothing, what else the stage keeps of the page.

        `contents`: blobs by their references (`page_blob_ref`). `links`: groups of links, as `HostLinks` has them.
        """

    async def get(self, page_id: UUID) -> PageRecord:
        """Return the record of the page. It is empty if nothing is known."""

    async def get_with_links(self, page_id: UUID) -> tuple[PageRecord, list[LinkGroup]]:
        """Return the record of the page and its groups of links (`HostLinks.links_of`), by one read."""

    async def write_times(self, page_id: UUID) -> dict[str, int]:
        """Return when each stored part of the page was written (`at`), by the name of the part."""

    async def get_normalized(self, page_ids: Sequence[UUID]) -> dict[UUID, Normalized]:
        """Return the part `normalized` of each page that has one."""

    async def scan(self, after: int, upto: int, limit: int) -> list[tuple[int, UUID]]:
        """Return the next pages with a record and a token above `after` and at most `upto`: for jobs over all pages.

        They come by token. Tokens are hashes of page ids, from -2^63 to 2^63 - 1.
        """

    async def erase(self, page_id: UUID, before: int) -> None:
        """Erase all parts that were written before this time. A later write with such a time is lost, too."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One step of a page's life, as the ledger keeps it."""

    COLUMNS: ClassVar = frozenset({"page_id", "event_id"})

    page_id: UUID
    event_id: UUID
    topic: str
    source: str
    at: int
    """The event's time, microseconds since 1970 UTC."""
    outcome: str = ""
    """One line for people: what was found or decided."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """The event's data."""


class Ledger(Protocol):
    """Every transition of every page, by page."""

    async def record(self, *transitions: Transition) -> None:
        """Store transitions of one page together: all or none of them."""

    async def history(self, page_id: UUID) -> list[Transition]:
        """Return the transitions of the page, the oldest first."""

    async def delete(self, *transitions: Transition) -> None:
        """Delete transitions of one page together. A copy that is recorded later is lost, unless its time is later."""

    async def erase(self, page_id: UUID, before: int) -> None:
        """Erase the transitions before this time. A transition that is recorded later with such a time is lost, too."""


class Blobs(Protocol):
    """Content-addressed bytes: bodies, documents, statements, vectors. `streams.stores.blobs` has their references."""

    async def put(self, content: bytes) -> str:
        """Store the content and return its reference: 64 hexadecimal digits, blake2b-256 of the content."""

    async def get(self, ref: str) -> bytes:
        """Return the content, also of a blob that is stored with the record of its page. Raises MissingBlob."""

    def hand_on(self, ref: str, content: bytes) -> None:
        """Note that this process has stored a content with the record of its page, and that readers come at once."""


@dataclass(frozen=True, slots=True)
class StoredBlob:
    """A blob without its content."""

    ref: str
    """A reference of either form."""
    written_at: int
    """When the blob was stored last, microseconds since 1970 UTC."""


class BlobCollection(Protocol):
    """All blobs and all references to blobs, for the collection of blobs that nothing refers to.

    Rows are read in an order of positions from 0 to 2^64. A read from a position returns about `limit` rows, and the
    position where the next read starts, or None at the end.
    """

    @property
    def sources(self) -> Sequence[str]:
        """The tables with rows that refer to blobs."""

    @property
    def tables(self) -> Sequence[str]:
        """The tables with blobs."""

    async def references(
        self, source: str, position: int, limit: int, without: Collection[UUID] = ()
    ) -> tuple[list[bytes], int | None]:
        """Return references in the rows of a source, 32 bytes each, `without` references in the rows of these pages."""

    async def stored(self, table: str, position: int, limit: int) -> tuple[list[StoredBlob], int | None]:
        """Return blobs of a table, also blobs that were stored only in part. A blob may come twice."""

    async def of_page(self, page_id: UUID) -> list[StoredBlob]:
        """Return the blobs that are stored with the record of the page."""

    async def candidates(self, position: int, limit: int) -> tuple[list[str], int | None]:
        """Return references of the blobs that a former sweep found unreferenced."""

    async def candidates_since(self, refs: Sequence[str]) -> dict[str, int]:
        """Return when each of these blobs became a candidate (microseconds since 1970 UTC), without other blobs."""

    async def note_candidates(self, refs: Sequence[str], at: int) -> None: ...

    async def drop_candidates(self, refs: Sequence[str]) -> None: ...

    async def find(self, ref: str) -> StoredBlob | None: ...

    async def size_bytes(self, ref: str) -> int:
        """Return the stored size of the blob."""

    async def delete(self, blob: StoredBlob) -> None:
        """Delete the blob, unless it was stored again since. Afterwards the blob is no candidate."""
