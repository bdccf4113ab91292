"""The import of a dump: items are read, parsed in other processes, compared with what is stored, and sent as events.

Blob -> event (delivered) -> note of the place. So an import that ends at any moment goes on from its last note, and
sends some events twice, which changes nothing. If the machine ended, it goes on from the last place before which all
seen entities are on disk. An item that says the same as at the last import is not sent.

Behind the last item, the entities of this source that the dump no longer has are removed. An unfinished dump must not
remove the rest: its end is looked for, and an import that would remove more than a tenth asks first.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import structlog

from schemas import EntityChanged
from streams.errors import PoisonError, Refused, UsageError
from streams.knowledge.dumps.progress import Saved, Seen, day_of, fingerprint, load, save
from streams.knowledge.dumps.reading import Cut, Dump, Item, Place
from streams.knowledge.dumps.tasks import ITEMS, OWN, PAGES, Row, Rows, pack_items, read_answer
from streams.stores.blobs import blob_ref
from streams.stores.opener import Stores
from streams.stores.protocols import PartPlace

log = structlog.get_logger(__name__)

BATCH_ITEMS = 64
BATCH_BYTES = 2 << 20
"""Size of the items from which a batch is not filled further (bytes)."""
IN_FLIGHT = 6
"""Maximum number of batches that are parsed or delivered at once."""
SAVE_SECONDS = 5.0
FLUSH_SECONDS = 60.0
WALK_ROWS = 1_000
MAX_REMOVED_SHARE = 0.1
"""Maximum share of the known entities of a source that an import removes without being told to."""
MIN_ASKED = 20
"""Minimum number of entities to remove for which the share counts."""


class Sandbox(Protocol):
    """Processes that run the tasks."""

    async def run(self, task: str, payload: bytes) -> bytes: ...


class Send(Protocol):
    """Sends events, and returns when they are delivered."""

    async def __call__(self, events: Sequence[EntityChanged], cause: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Source:
    """A kind of dump."""

    name: str
    cut: Cut
    task: str
    prefixes: tuple[str, ...]
    """The beginnings of the ids of its entities."""

    def has(self, place: PartPlace) -> bool:
        """Return whether a stored part is of this source."""
        own = place.source == self.name or (self.name == "wikipedia" and place.source.startswith("redirect:"))
        return own and place.entity_id.startswith(self.prefixes)


def source_of(name: str, language: str) -> Source:
    if name == "wikidata":
        return Source(name, "lines", ITEMS, ("Q", "P"))
    if name == "own":
        return Source(name, "lines", OWN, ("",))
    return Source("wikipedia", "pages", PAGES, (f"{language}wiki:",))


@dataclass(slots=True)
class Importing:
    """The tools of an import: stores, processes, a clock that never goes back, and a folder for its notes."""

    stores: Stores
    sandbox: Sandbox
    send: Send
    clock: Callable[[], float]
    folder: Path
    boot: str = ""
    """The id of the machine's start. Empty: it is not known."""
    language: str = "en"
    remove_missing: bool = True
    is_confirmed: bool = False
    """Remove missing entities, however many they are."""
    progress: Callable[[Saved, Dump], None] = lambda _, __: None
    wait_for_room: Callable[[], Awaitable[None]] | None = None


class DumpImport:
    """The import of one dump."""

    def __init__(self, path: Path, source: Source, importing: Importing, salt: str) -> None:
        self._source, self._own = source, importing
        name = f"{source.name}-{importing.language}"
        self._file = importing.folder / f"{name}.json"
        identity = fingerprint(path, source.name, importing.language)
        seen = importing.folder / f"{name}.seen"
        found = load(self._file, identity) if seen.exists() else None
        self.is_continued = found is not None and not found.is_done
        self.saved = found if found and not found.is_done else Saved(identity, salt)
        self.saved.go_on_under(importing.boot)
        if not self.is_continued:
            seen.unlink(missing_ok=True)
        self._seen = Seen(seen, self.saved.salt)
        self._day = day_of(path)
        self._dump = Dump(path, source.cut, self.saved.place, in_array=self.saved.in_array)
        self._saved_at = self._flushed_at = importing.clock()

    async def run(self) -> Saved:
        """Import the dump. Raises UsageError for a damaged dump, or if too many entities would be removed."""
        try:
            if not self.saved.is_read:
                await self._read()
                self.saved.is_read = True
                self._note(is_due=True)
            if self._own.remove_missing:
                await self._remove_missing()
            self.saved.is_done = True
            self._note(is_due=True)
        finally:
            self._seen.close()
        return self.saved

    async def _read(self) -> None:
        """Read all items, with some batches under way. Their places are noted in order."""
        batches = _batches(self._dump.items())
        running: deque[tuple[Place, int, asyncio.Task[None]]] = deque()
        try:
            while batch := await asyncio.to_thread(next, batches, None):
                if self._own.wait_for_room:
                    await self._own.wait_for_room()
                running.append((batch[-1].place, len(batch), asyncio.create_task(self._deliver(batch))))
                if len(running) >= IN_FLIGHT:
                    await self._finish(*running.popleft())
            while running:
                await self._finish(*running.popleft())
        finally:
            for _, _, task in running:
                task.cancel()
        if self._dump.too_large:
            self.saved.skip("too large", self._dump.too_large)
        if self._own.remove_missing and not self._dump.is_whole:
            raise UsageError(
                f"{self._dump.path} has no end: it is a part of a dump. All its entities are imported. To keep the "
                "others, import it with --keep-missing"
            )

    async def _finish(self, place: Place, items: int, task: "asyncio.Task[None]") -> None:
        await task
        self.saved.place, self.saved.in_array = place, self._dump.in_array
        self.saved.items += items
        self._note()

    def _note(self, *, is_due: bool = False) -> None:
        now = self._own.clock()
        if is_due or now - self._flushed_at >= FLUSH_SECONDS:
            self._seen.flush()
            self.saved.note_flush()
            self._flushed_at = now
        if is_due or now - self._saved_at >= SAVE_SECONDS:
            save(self._file, self.saved)
            self._saved_at = now
        self._own.progress(self.saved, self._dump)

    async def _deliver(self, batch: Sequence[Item]) -> None:
        found = await self._parse([item.content for item in batch])
        for reason, count in found.skipped.items():
            self.saved.skip(reason, count)
        for template, count in found.lost.items():
            self.saved.lose(template, count)
        if not found.rows:
            return
        refs = {row: blob_ref(row.part) if row.part else "" for row in found.rows}
        known = await self._known(found.rows)
        changed = [row for row in found.rows if known.get((row.entity_id, row.source)) != (refs[row], row.alias)]
        await asyncio.gather(*(self._own.stores.blobs.put(row.part) for row in changed if row.part))
        await self._own.send([_event(row, refs[row] or None) for row in changed], self.saved.salt)
        for row in found.rows:
            self._seen.add(_key(row.entity_id, row.source))
        self.saved.sent += len(changed)
        self.saved.unchanged += len(found.rows) - len(changed)

    async def _known(self, rows: Sequence[Row]) -> dict[tuple[str, str], tuple[str, str]]:
        """Return the stored references and aliases of these rows."""
        by_source: dict[str, list[str]] = {}
        for row in rows:
            by_source.setdefault(row.source, []).append(row.entity_id)
        sources = list(by_source)
        answers = await asyncio.gather(*(self._own.stores.entities.stored(one, by_source[one]) for one in sources))
        return {
            (entity_id, source): (part.ref, part.alias)
            for source, stored in zip(sources, answers, strict=True)
            for entity_id, part in stored.items()
        }

    async def _parse(self, items: list[bytes]) -> Rows:
        """Parse some items; each by itself if one of them breaks a limit. That one is skipped."""
        try:
            payload = pack_items(self._own.language, items, self._day)
            return read_answer(await self._own.sandbox.run(self._source.task, payload))
        except PoisonError as error:
            if len(items) == 1:
                log.warning("an item is skipped", source=self._source.name, error=str(error), begins=items[0][:80])
                return Rows((), {"breaks a limit" if isinstance(error, Refused) else "can't be parsed": 1})
        parts = [await self._parse([item]) for item in items]
        skipped, lost = Counter[str](), Counter[str]()
        for part in parts:
            skipped.update(part.skipped)
            lost.update(part.lost)
        return Rows(tuple(row for part in parts for row in part.rows), skipped, lost)

    async def _remove_missing(self) -> None:
        """Remove the entities of this source that the dump does not have."""
        if not self._own.is_confirmed:
            missing, known = await self._count_missing()
            if missing >= MIN_ASKED and missing > known * MAX_REMOVED_SHARE:
                save(self._file, self.saved)
                raise UsageError(
                    f"{missing:,} of {known:,} entities of {self._source.name} are not in {self._dump.path}. If "
                    "that is right, import it again with --remove-missing. If it is a part of a dump: --keep-missing"
                )
        position: int | None = self.saved.walk
        while position is not None:
            rows, position = await self._own.stores.entities.walk(position, WALK_ROWS)
            gone = [row for row in rows if self._is_missing(row)]
            await self._own.send([_removal(row) for row in gone], self.saved.salt)
            self.saved.removed += len(gone)
            self.saved.walk = position or self.saved.walk
            self._note()

    async def _count_missing(self) -> tuple[int, int]:
        missing = known = 0
        position: int | None = 0
        while position is not None:
            rows, position = await self._own.stores.entities.walk(position, WALK_ROWS)
            mine = [row for row in rows if self._source.has(row) and (row.part.ref or row.part.alias)]
            known += len(mine)
            missing += sum(self._is_missing(row) for row in mine)
        return missing, known

    def _is_missing(self, row: PartPlace) -> bool:
        is_there = row.part.ref or row.part.alias
        return bool(is_there) and self._source.has(row) and _key(row.entity_id, row.source) not in self._seen


def _key(entity_id: str, source: str) -> str:
    return f"{entity_id} {source}"


def _removal(row: PartPlace) -> EntityChanged:
    return EntityChanged(entity_id=row.entity_id, source=row.source)


def _event(row: Row, ref: str | None) -> EntityChanged:
    return EntityChanged(
        entity_id=row.entity_id,
        source=row.source,
        record_ref=ref,
        alias=row.alias,
    )


def _batches(items: Iterator[Item]) -> Iterator[list[Item]]:
    """Yield the items in lists: some together, large ones with fewer others."""
    batch: list[Item] = []
    size_bytes = 0
    for item in items:
        batch.append(item)
        size_bytes += len(item.content)
        if len(batch) >= BATCH_ITEMS or size_bytes >= BATCH_BYTES:
            yield batch
            batch, size_bytes = [], 0
    if batch:
        yield batch
