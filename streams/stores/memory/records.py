"""Blobs, records, the ledger, keys of the API and sites, in memory.

Values pass through the same packing as in the real store, so the fake returns what Cassandra would return: tuples as
lists, and no object that is shared with the caller. It refuses the same types.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

import xxhash

from streams.errors import MissingBlob
from streams.stores.blobs import admitted, blob_ref
from streams.stores.memory.host_links import MemoryHostLinks
from streams.stores.packing import pack, unpack
from streams.stores.page_record import Normalized, PageRecord, StoredPart
from streams.stores.protocols import ApiKey, Hook, LinkGroup, Site, Transition
from streams.stores.rows import pack_row, unpack_row

_Cell = tuple[int, bytes]
"""Write time and value. The greater wins: the later write, and of two at one time the greater bytes (as Cassandra)."""


class MemoryBlobs:
    """Content-addressed bytes. `clock` returns the time in seconds since 1970 UTC."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._contents: dict[str, bytes] = {}
        self._clock = clock
        self.written_at: dict[str, int] = {}
        """When each blob was stored last, by reference (microseconds since 1970 UTC)."""

    async def put(self, content: bytes) -> str:
        ref = blob_ref(admitted(content))
        self._contents[ref] = bytes(content)
        self.written_at[ref] = int(self._clock() * 1e6)
        return ref

    async def get(self, ref: str) -> bytes:
        try:
            return self._contents[ref]
        except KeyError:
            raise MissingBlob(f"no blob {ref!r} in memory: it was never stored, or is deleted") from None

    def hand_on(self, ref: str, content: bytes) -> None:
        """Keep nothing: the content is stored."""

    def put_of_page(self, contents: Mapping[str, bytes]) -> None:
        """Store blobs of a page by their references."""
        self._contents.update({ref: bytes(content) for ref, content in contents.items()})
        self.written_at.update(dict.fromkeys(contents, int(self._clock() * 1e6)))

    def of_page(self, page_id: UUID) -> dict[str, int]:
        """Return when each blob of a page was stored last, by its reference."""
        return {ref: at for ref, at in self.written_at.items() if ref.startswith(f"{page_id.hex}.")}

    def delete(self, ref: str, written_at: int) -> None:
        """Delete a blob, unless it was stored again after `written_at`."""
        if self.written_at.get(ref, written_at + 1) <= written_at:
            del self._contents[ref], self.written_at[ref]


class MemoryPages:
    """Records in memory: each stage's latest facts about a page. `blobs` and `links` have what is stored with them."""

    def __init__(self, blobs: MemoryBlobs | None = None, links: MemoryHostLinks | None = None) -> None:
        self._blobs = blobs or MemoryBlobs()
        self._links = links or MemoryHostLinks()
        self._cells: dict[UUID, dict[str, _Cell]] = {}
        self._erased: dict[UUID, int] = {}

    async def put(
        self,
        page_id: UUID,
        part: StoredPart,
        at: int,
        contents: Mapping[str, bytes] | None = None,
        links: Collection[LinkGroup] = (),
    ) -> None:
        self._blobs.put_of_page(contents or {})
        for group in links:
            await self._links.put_links_of(page_id, group)
        if at >= self._erased.get(page_id, at):
            _write(self._cells.setdefault(page_id, {}), part.PART, (at, pack(part.row())))

    async def get(self, page_id: UUID) -> PageRecord:
        cells = self._cells.get(page_id, {})
        return PageRecord({part: unpack(packed) for part, (_, packed) in sorted(cells.items())})

    async def get_with_links(self, page_id: UUID) -> tuple[PageRecord, list[LinkGroup]]:
        return await self.get(page_id), await self._links.links_of(page_id)

    async def write_times(self, page_id: UUID) -> dict[str, int]:
        return {part: at for part, (at, _) in self._cells.get(page_id, {}).items()}

    async def get_normalized(self, page_ids: Sequence[UUID]) -> dict[UUID, Normalized]:
        records = {page_id: await self.get(page_id) for page_id in page_ids}
        return {page_id: one.normalized for page_id, one in records.items() if Normalized.PART in one.rows}

    async def scan(self, after: int, upto: int, limit: int) -> list[tuple[int, UUID]]:
        tokens = ((_token(page_id), page_id) for page_id in self._cells)
        return sorted(one for one in tokens if after < one[0] <= upto)[:limit]

    async def erase(self, page_id: UUID, before: int) -> None:
        _erase(self._cells, self._erased, page_id, before)
        for ref in self._blobs.of_page(page_id):
            self._blobs.delete(ref, before - 1)
        for group in await self._links.links_of(page_id):
            if group.generation < before:
                await self._links.remove_links_of(page_id, group)

    def iter_rows(self) -> Iterator[tuple[UUID, bytes]]:
        """Yield all parts of all pages, as they are stored."""
        yield from ((page_id, packed) for page_id, cells in self._cells.items() for _, packed in cells.values())


def _token(page_id: UUID) -> int:
    return xxhash.xxh3_64_intdigest(page_id.bytes) - 2**63


class MemoryLedger:
    """Every transition of every page."""

    def __init__(self) -> None:
        self._cells: dict[UUID, dict[UUID, _Cell]] = {}
        self._erased: dict[UUID, int] = {}
        self._deleted: dict[tuple[UUID, UUID], int] = {}

    async def record(self, *transitions: Transition) -> None:
        for transition in transitions:
            deleted = self._deleted.get((transition.page_id, transition.event_id), transition.at - 1)
            if transition.at > deleted and transition.at >= self._erased.get(transition.page_id, transition.at):
                rows = self._cells.setdefault(transition.page_id, {})
                _write(rows, transition.event_id, (transition.at, pack_row(transition)))

    async def history(self, page_id: UUID) -> list[Transition]:
        rows = self._cells.get(page_id, {})
        found = [
            unpack_row(Transition, packed, page_id=page_id, event_id=event_id) for event_id, (_, packed) in rows.items()
        ]
        return sorted(found, key=lambda transition: (transition.at, transition.event_id))

    async def delete(self, *transitions: Transition) -> None:
        for transition in transitions:
            key, rows = (transition.page_id, transition.event_id), self._cells.get(transition.page_id, {})
            self._deleted[key] = max(transition.at, self._deleted.get(key, transition.at))
            if transition.event_id in rows and rows[transition.event_id][0] <= transition.at:
                del rows[transition.event_id]

    async def erase(self, page_id: UUID, before: int) -> None:
        _erase(self._cells, self._erased, page_id, before)


def _erase(cells: dict[UUID, dict[Any, _Cell]], erased: dict[UUID, int], page_id: UUID, before: int) -> None:
    erased[page_id] = max(before, erased.get(page_id, before))
    kept = {key: cell for key, cell in cells.pop(page_id, {}).items() if cell[0] >= before}
    if kept:
        cells[page_id] = kept


def _write(cells: dict[Any, _Cell], key: Any, cell: _Cell) -> None:
    cells[key] = max(cells.get(key, cell), cell)


class MemoryApiKeys:
    """See `ApiKeys`."""

    def __init__(self) -> None:
        self._keys: dict[str, tuple[int, ApiKey]] = {}
        self._sites: dict[str, tuple[int, Site | None]] = {}
        self._hooks: dict[str, tuple[int, Hook | None]] = {}

    async def put(self, key: ApiKey, at: int) -> None:
        if key.id not in self._keys or self._keys[key.id][0] <= at:
            self._keys[key.id] = at, key

    async def get(self, key_id: str) -> ApiKey | None:
        return self._keys[key_id][1] if key_id in self._keys else None

    async def put_hook(self, hook: Hook, at: int) -> None:
        self._write_hook(hook.id, at, hook)

    async def remove_hook(self, hook_id: str, at: int) -> None:
        self._write_hook(hook_id, at, None)

    async def hooks(self) -> list[Hook]:
        return [hook for _, (_, hook) in sorted(self._hooks.items()) if hook]

    def _write_hook(self, hook_id: str, at: int, hook: Hook | None) -> None:
        if hook_id not in self._hooks or self._hooks[hook_id][0] <= at:
            self._hooks[hook_id] = at, hook

    async def all(self) -> list[ApiKey]:
        return [key for _, (_, key) in sorted(self._keys.items())]

    async def put_site(self, site: Site, at: int) -> None:
        self._write_site(site.name, site, at)

    async def remove_site(self, name: str, at: int) -> None:
        self._write_site(name, None, at)

    async def sites(self) -> list[Site]:
        return [site for _, (_, site) in sorted(self._sites.items()) if site]

    def _write_site(self, name: str, site: Site | None, at: int) -> None:
        if name not in self._sites or self._sites[name][0] <= at:
            self._sites[name] = at, site
