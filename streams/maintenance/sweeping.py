"""The sweep: delete the blobs that no row and no dead letter refers to.

0. Empty: take the texts out of the records of pages that left.
1. Mark: read all references (records, fingerprints, hosts, dead letters) into a set.
2. Forget the candidates that are referenced again.
3. Sweep: read the keys of all blobs. An unreferenced one becomes a candidate, with the time. A candidate is deleted by
   the first sweep after the grace, if it is still unreferenced and was not written again.

So a deleted blob was unreferenced at two sweeps that are the grace apart. The grace is longer than an event can wait in
Kafka, so no event in flight refers to the blob either. A blob that is stored again at the same moment stays, as the
deletion has the write time of the deleted row.

A page that is gone, says `noindex` or is forbidden by robots.txt leaves the index and the fingerprints at once. Its
record goes on referring to its body, document, statements and vectors, which other pages may have as well, until the
phase `empty` writes it again without them. A part is written a microsecond after the part that was read. So a page that
comes back meanwhile has the later write and keeps all its parts, and a redelivery of the former event writes nothing. A
phase that is interrupted is repeated.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from streams.errors import UsageError
from streams.maintenance.reference_set import ReferenceSet
from streams.maintenance.sampling import FIRST_TOKEN, LAST_TOKEN
from streams.stores.blobs import BlobPlace
from streams.stores.page_record import Indexed
from streams.stores.protocols import BlobCollection, Pages, StoredBlob
from streams.stores.removals import has_left, without_text
from streams.topology import STAGES, TOPICS

DAY = 86_400
YOUNG_SECONDS = 2 * DAY
"""Age (seconds) below which an unreferenced blob is no candidate: its record is still to be written."""
BATCH = 1_000
"""Maximum number of rows that are read at once."""
POSITIONS = 1 << 64
"""Number of positions in the order in which rows are read."""


def minimum_grace_seconds() -> int:
    """Return how long events may refer to a blob after its last reference in a row is gone (seconds).

    An event may wait in its topic, the event that follows from it may wait as long, and an operator may replay the
    second event. One day is added for retries. Events that no stage reads or writes refer to no blob.
    """
    events = {event.topic for stage in STAGES for event in (*stage.inputs, *stage.outputs)}
    replays = {topic for stage in STAGES for topic in stage.own_topics}
    journey = max(topic.retention_hours for topic in TOPICS if topic.name in events)
    replay = max(topic.retention_hours for topic in TOPICS if topic.name in replays)
    return (2 * journey + replay + 24) * 3_600


@dataclass
class Counts:
    """Counts of one sweep."""

    left: int = 0
    """Pages that left and whose record still had their text."""
    references: int = 0
    blobs: int = 0
    young: int = 0
    """Unreferenced blobs of the last days: an event in flight may refer to them."""
    noted: int = 0
    """New candidates."""
    waiting: int = 0
    """Candidates within the grace."""
    deleted: int = 0
    deleted_bytes: int = 0


@dataclass
class Progress:
    """The place of a sweep, from which it can continue."""

    started_at: float
    phase: str = "empty"
    source: int = 0
    position: int = 0
    counts: Counts = field(default_factory=Counts)

    @property
    def share(self) -> float:
        """The share of the present source that is read."""
        return self.position / POSITIONS


Report = Callable[[Progress, int], Awaitable[None]]
"""A function called after each batch, with its number of rows: it prints, saves and slows down."""


class Sweeper:
    """One sweep over a collection of blobs. It fills the set `references`, or continues to fill it."""

    def __init__(
        self,
        collection: BlobCollection,
        pages: Pages,
        references: ReferenceSet,
        progress: Progress,
        report: Report,
        *,
        grace_seconds: float,
        delete: bool,
    ) -> None:
        if grace_seconds < minimum_grace_seconds():
            days = minimum_grace_seconds() // DAY
            raise UsageError(f"a grace of {grace_seconds / DAY:g} days is too short: events may wait for {days} days")
        self._collection, self._pages = collection, pages
        self._references = references
        self._progress = progress
        self._report = report
        self._grace_seconds = grace_seconds
        self._delete = delete
        self._sent_before = int((progress.started_at - YOUNG_SECONDS) * 1e6)
        """The time before which every answer was sent (microseconds since 1970 UTC)."""

    async def run(self, elsewhere: Sequence[bytes] = ()) -> Counts:
        """Sweep from the place of the progress on. `elsewhere` are the references of dead letters."""
        progress = self._progress
        self._references.add(elsewhere)
        if progress.phase == "empty":
            await self._empty()
            self._next_phase("mark")
        if progress.phase == "mark":
            await self._mark()
            self._next_phase("forget" if self._delete else "sweep")
        if progress.phase == "forget":
            await self._forget()
            self._next_phase("sweep")
        await self._sweep()
        return progress.counts

    def _next_phase(self, phase: str) -> None:
        self._progress.phase, self._progress.source, self._progress.position = phase, 0, 0

    async def _empty(self) -> None:
        """Take the texts out of the records of pages that left. A position is the distance from the first token."""
        position: int | None = self._progress.position
        while position is not None:
            found = await self._pages.scan(position + FIRST_TOKEN, LAST_TOKEN, BATCH)
            self._progress.counts.left += sum([await self._empty_record(page_id) for _, page_id in found])
            position = found[-1][0] - FIRST_TOKEN if len(found) == BATCH else None
            await self._advance(position, len(found))

    async def _empty_record(self, page_id: UUID) -> bool:
        """Take the text out of a record. Returns whether it had some."""
        record = await self._pages.get(page_id)
        if not has_left(record, self._sent_before) or not without_text(record):
            return False
        if self._delete:
            times = await self._pages.write_times(page_id)
            record = await self._pages.get(page_id)  # after the times: what is newer than they are stays
            if not has_left(record, self._sent_before):
                return False
            for part in without_text(record):
                if at := times.get(part.PART):
                    dated = replace(part, at=at + 1) if isinstance(part, Indexed) else part
                    await self._pages.put(page_id, dated, at + 1)
        return True

    async def _mark(self) -> None:
        sources = self._collection.sources
        while self._progress.source < len(sources):
            found, position = await self._collection.references(
                sources[self._progress.source], self._progress.position, BATCH
            )
            self._references.add(found)
            self._progress.counts.references += len(found)
            await self._advance(position, len(found))
            if position is None:
                self._progress.source += 1
                self._progress.position = 0

    async def _forget(self) -> None:
        position: int | None = self._progress.position
        while position is not None:
            refs, position = await self._collection.candidates(position, BATCH)
            await self._collection.drop_candidates(
                [ref for ref, is_known in zip(refs, self._known(refs), strict=True) if is_known]
            )
            await self._advance(position, len(refs))

    async def _sweep(self) -> None:
        tables = self._collection.tables
        while self._progress.source < len(tables):
            table = tables[self._progress.source]
            blobs, position = await self._collection.stored(table, self._progress.position, BATCH)
            self._progress.counts.blobs += len(blobs)
            known = self._known([blob.ref for blob in blobs])
            await self._judge([blob for blob, is_known in zip(blobs, known, strict=True) if not is_known])
            await self._advance(position, len(blobs))
            if position is None:
                self._progress.source += 1
                self._progress.position = 0

    async def _judge(self, unreferenced: Sequence[StoredBlob]) -> None:
        counts, now = self._progress.counts, self._progress.started_at
        old = [blob for blob in unreferenced if blob.written_at <= (now - YOUNG_SECONDS) * 1e6]
        counts.young += len(unreferenced) - len(old)
        since = await self._collection.candidates_since([blob.ref for blob in old])
        # A candidate that was written since it was noted may have been referenced in between.
        new = [blob for blob in old if since.get(blob.ref, 0) <= blob.written_at]
        counts.noted += len(new)
        if self._delete:
            await self._collection.note_candidates([blob.ref for blob in new], int(now * 1e6))
        for blob in old:
            noted_at = since.get(blob.ref, 0)
            if noted_at <= blob.written_at:
                continue
            if noted_at > (now - self._grace_seconds) * 1e6:
                counts.waiting += 1
                continue
            counts.deleted += 1
            counts.deleted_bytes += await self._collection.size_bytes(blob.ref)
            if self._delete:
                await self._collection.delete(blob)

    def _known(self, refs: Sequence[str]) -> list[bool]:
        return self._references.contains([BlobPlace.of(ref).hash for ref in refs]) if refs else []

    async def _advance(self, position: int | None, rows: int) -> None:
        self._progress.position = POSITIONS if position is None else position
        await self._report(self._progress, rows)
