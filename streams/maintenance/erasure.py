"""Erasure of pages that were removed on request: of their blobs, records and history.

The URL and the removal itself stay, so that no older event brings the page back. Blobs that another page refers to as
well stay, too.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass, replace
from uuid import UUID

from schemas import PageRemoved
from streams.errors import TransientError
from streams.maintenance.sweeping import BATCH, POSITIONS
from streams.stores.blobs import references_in
from streams.stores.opener import Stores
from streams.stores.packing import pack
from streams.stores.page_record import Removed
from streams.stores.rows import pack_row

Report = Callable[[str, float], Awaitable[None]]
"""A function called after each batch of rows, with the table and the share of the table that is read."""


@dataclass(frozen=True, slots=True)
class Erased:
    """The blobs that an erasure deleted, and the blobs that it left to other pages."""

    blobs: int
    bytes: int
    shared: int


class Eraser:
    """The eraser of pages. The stages must have removed them from the index and from the groups of duplicates."""

    def __init__(self, stores: Stores, report: Report) -> None:
        self._stores = stores
        self._report = report

    async def is_removed(self, page_id: UUID, generation: int) -> bool:
        """Return True if the index and dedup stages have handled a removal on request of this generation."""
        removed = (await self._stores.pages.get(page_id)).removed
        if removed.reason != "request" or removed.generation < generation:
            return False
        if await self._stores.fingerprints.get(page_id) is not None:
            return False
        collections = await self._stores.vectors.collections()
        return not any([await self._stores.vectors.scroll(collection, page_id) for collection in collections])

    async def references_of(self, page_id: UUID) -> set[bytes]:
        """Return the references in the page's records and in its whole history, earlier fetches included."""
        records = [pack(row) for row in (await self._stores.pages.get(page_id)).rows.values()]
        steps = [pack_row(step) for step in await self._stores.ledger.history(page_id)]
        return {ref for packed in (*records, *steps) for ref in references_in(packed)}

    async def erase(
        self, pages: Collection[UUID], before: int, elsewhere: Iterable[bytes] = (), more: Iterable[bytes] = ()
    ) -> Erased:
        """Erase everything that was written about the pages before `before` (microseconds since 1970 UTC).

        The removals of the pages are written again with that time, so they stay.
        `elsewhere` are references of other pages outside of the stores, and `more` are further blobs of the pages.
        Blobs come first: until they are deleted, the records lead to them, so a broken erasure can be repeated.
        Raises TransientError if a page was written again meanwhile.
        """
        refs = set(more)
        for page_id in pages:
            refs |= await self.references_of(page_id)
        shared = (refs & set(elsewhere)) | (await self._shared(refs, pages) if refs else set())
        collection, count, size = self._stores.blob_collection, 0, 0
        blobs = [await collection.find(ref.hex()) for ref in sorted(refs - shared)]
        for blob in [*filter(None, blobs), *[one for page_id in pages for one in await collection.of_page(page_id)]]:
            count, size = count + 1, size + await collection.size_bytes(blob.ref)
            await collection.delete(blob)
        for page_id in pages:
            await self._erase_rows(page_id, before)
        kept = [ref for ref in shared if await self._stores.blob_collection.find(ref.hex())]
        return Erased(count, size, len(kept))

    async def _shared(self, refs: set[bytes], pages: Collection[UUID]) -> set[bytes]:
        """Return the references that other pages have as well. All references are read, as nothing counts them."""
        found: set[bytes] = set()
        for source in self._stores.blob_collection.sources:
            position: int | None = 0
            while position is not None:
                references, position = await self._stores.blob_collection.references(source, position, BATCH, pages)
                found |= refs.intersection(references)
                await self._report(source, 1.0 if position is None else position / POSITIONS)
        return found

    async def _erase_rows(self, page_id: UUID, before: int) -> None:
        removed = (await self._stores.pages.get(page_id)).removed
        await self._stores.pages.put(page_id, replace(removed, at=before), before)
        for step in await self._stores.ledger.history(page_id):
            if step.topic == PageRemoved.topic and step.data.get("reason") == "request":
                await self._stores.ledger.record(replace(step, at=before))
        await self._stores.pages.erase(page_id, before)
        await self._stores.ledger.erase(page_id, before)
        if others := sorted(set((await self._stores.pages.get(page_id)).rows) - {Removed.PART}):
            raise TransientError(
                f"page {page_id} was written again meanwhile ({', '.join(others)}). Repeat the removal"
            )
