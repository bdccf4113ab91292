"""The collection of unreferenced blobs, over stores in memory and a clock of its own."""

import random
from collections import deque
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.ids import page_id
from streams.errors import MissingBlob, UsageError
from streams.maintenance import saved_progress
from streams.maintenance.reference_set import ReferenceSet
from streams.maintenance.sweeping import DAY, Counts, Progress, Sweeper, minimum_grace_seconds
from streams.settings import MIN_BLOB_TTL_DAYS, CassandraSettings
from streams.stores.blobs import BlobPlace, blob_ref, page_blob_ref, references_in
from streams.stores.memory import MemoryBlobCollection, MemoryBlobs, MemoryFingerprints, MemoryPages
from streams.stores.packing import pack
from streams.stores.page_record import Deduplicated, Normalized
from streams.stores.protocols import Fingerprint
from tests.sizes import examples

SALT = bytes(range(32))
RETENTION_SECONDS = 7 * DAY
PAGES = [UUID(int=number) for number in range(3)]


class Interrupted(Exception):
    pass


class World:
    """Stores, a clock, and the pages' events: each waits for at most the retention, in the order of its page."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0
        self.blobs = MemoryBlobs(lambda: self.now)
        self.pages = MemoryPages(self.blobs)
        self.fingerprints = MemoryFingerprints(self.pages)
        self.collection = MemoryBlobCollection(self.blobs, self.pages, self.fingerprints)
        self.normalized: dict[UUID, deque[tuple[float, str]]] = {page: deque() for page in PAGES}
        self.deduplicated: dict[UUID, deque[tuple[float, str]]] = {page: deque() for page in PAGES}

    async def sweep(self, *, delete: bool = True, elsewhere: tuple[str, ...] = ()) -> Counts:
        async def report(_: Progress, __: int) -> None: ...

        references = ReferenceSet(1 << 12, random.Random(self.now).randbytes(32))
        grace = minimum_grace_seconds()
        progress = Progress(self.now)
        sweeper = Sweeper(self.collection, self.pages, references, progress, report, grace_seconds=grace, delete=delete)
        return await sweeper.run([bytes.fromhex(ref) for ref in elsewhere])

    async def store(self, page: UUID, content: bytes) -> str:
        """A stage stores a blob, its record, and sends its event."""
        ref = await self.blobs.put(content)
        await self.pages.put(page, Normalized.of_row({"document_ref": ref}), int(self.now * 1e6))
        self.normalized[page].append((self.now, ref))
        return ref

    async def dedup(self, page: UUID) -> None:
        """The next stage handles the page's oldest event, and sends another one about the same blob."""
        if self.normalized[page]:
            sent_at, ref = self.normalized[page].popleft()
            await self.blobs.get(ref)
            await self.pages.put(page, Deduplicated.of_row({"document_ref": ref}), int(sent_at * 1e6))
            self.deduplicated[page].append((self.now, ref))

    async def promote(self, page: UUID) -> None:
        """An event of another page has this page's event sent again, as its record has it."""
        if ref := (await self.pages.get(page)).deduplicated.document_ref:
            self.deduplicated[page].append((self.now, ref))

    async def statements(self, page: UUID) -> None:
        if self.deduplicated[page]:
            await self.blobs.get(self.deduplicated[page].popleft()[1])

    async def pass_time(self, seconds: float) -> None:
        """Let time pass. An event that would be deleted by Kafka is handled just before."""
        end = self.now + seconds
        while due := [
            (queue[0][0] + RETENTION_SECONDS, number, page)
            for number, queues in enumerate((self.normalized, self.deduplicated))
            for page, queue in queues.items()
            if queue and queue[0][0] + RETENTION_SECONDS <= end
        ]:
            at, number, page = min(due)
            self.now = max(self.now, at)
            await (self.dedup if number == 0 else self.statements)(page)
        self.now = end

    async def needed(self) -> set[str]:
        """The blobs to which rows or events refer."""
        rows = [record["document_ref"] for page in PAGES for record in (await self.pages.get(page)).rows.values()]
        queues = (queue for queues in (self.normalized, self.deduplicated) for queue in queues.values())
        return {*rows, *(ref for queue in queues for _, ref in queue)}

    async def stored(self) -> set[str]:
        return set(self.blobs.written_at)


CONTENTS = [b"%d" % number for number in range(30)]
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("store"), st.sampled_from(PAGES), st.sampled_from(CONTENTS)),
        st.tuples(st.just("leave"), st.sampled_from(CONTENTS)),
        st.tuples(st.sampled_from(["dedup", "promote", "statements", "erase"]), st.sampled_from(PAGES)),
        st.tuples(st.just("pass"), st.sampled_from([0.1, 2.1, 3.0, 6.9])),
        st.just(("sweep",)),
        st.just(("sweep",)),
    ),
    min_size=5,
    max_size=40,
)


async def act(world: World, action: tuple[object, ...]) -> None:
    match action:
        case ("store", UUID() as page, bytes() as content):
            await world.store(page, content)
        case ("leave", bytes() as content):
            await world.blobs.put(content)  # a worker is killed before it writes the record
        case ("erase", UUID() as page):
            await world.pages.erase(page, int(world.now * 1e6) + 1)
        case ("pass", float() as days):
            await world.pass_time(days * DAY)
        case ("sweep",):
            await world.pass_time(DAY)
            await world.sweep()
        case (str() as name, UUID() as page):
            await getattr(world, name)(page)


@given(actions=ACTIONS)
@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.too_slow])
async def test_no_history_loses_a_referenced_blob_and_every_other_one_is_deleted_in_the_end(
    actions: list[tuple[object, ...]],
) -> None:
    world = World()
    for action in actions:
        await act(world, action)
        assert await world.needed() <= await world.stored()
    await world.pass_time(2 * RETENTION_SECONDS)
    for _ in range(4):
        await world.pass_time(minimum_grace_seconds() + 1)
        await world.sweep()
    assert await world.stored() == await world.needed()


async def test_a_blob_is_noted_then_waits_then_is_deleted() -> None:
    world = World()
    ref = await world.blobs.put(b"lost")
    kept = await world.store(PAGES[0], b"kept")
    assert await world.sweep() == Counts(references=1, blobs=2, young=1)
    world.now += 3 * DAY
    assert await world.sweep() == Counts(references=1, blobs=2, noted=1)
    world.now += minimum_grace_seconds() - 1
    assert await world.sweep() == Counts(references=1, blobs=2, waiting=1)
    world.now += 1
    assert await world.sweep() == Counts(references=1, blobs=2, deleted=1, deleted_bytes=4)
    with pytest.raises(MissingBlob):
        await world.blobs.get(ref)
    assert await world.blobs.get(kept) == b"kept"


async def test_a_dry_run_changes_nothing_and_counts_what_would_be_deleted() -> None:
    world = World()
    await world.blobs.put(b"lost")
    world.now += 3 * DAY
    assert (await world.sweep(delete=False)).noted == 1
    assert (await world.sweep()).noted == 1
    world.now += minimum_grace_seconds()
    for _ in range(2):
        assert (await world.sweep(delete=False)).deleted == 1
    assert (await world.sweep()).deleted == 1


async def test_what_a_fingerprint_or_a_dead_letter_refers_to_stays() -> None:
    world = World()
    document, letter = await world.blobs.put(b"document"), await world.blobs.put(b"letter")
    page = Fingerprint(PAGES[0], "hash", 1, "https://a.test/", 1, document_ref=document)
    await world.fingerprints.put(page, 1)
    for _ in range(3):
        world.now += minimum_grace_seconds()
        await world.sweep(elsewhere=(letter,))
    assert await world.stored() == {document, letter}


async def test_a_candidate_that_is_referenced_again_starts_anew() -> None:
    world = World()
    ref = await world.blobs.put(b"a")
    world.now += 3 * DAY
    assert (await world.sweep()).noted == 1
    await world.pages.put(PAGES[0], Normalized.of_row({"document_ref": ref}), 1)
    assert (await world.sweep()).noted == 0
    await world.pages.erase(PAGES[0], 2)
    world.now += minimum_grace_seconds()
    assert (await world.sweep()).noted == 1


async def test_a_blob_that_is_stored_again_while_it_is_deleted_stays() -> None:
    world = World()
    ref = await world.blobs.put(b"a")
    blob = await world.collection.find(ref)
    world.now += 60
    await world.blobs.put(b"a")
    assert blob is not None
    await world.collection.delete(blob)
    assert await world.blobs.get(ref) == b"a"


def test_a_grace_shorter_than_events_wait_is_refused() -> None:
    async def report(_: Progress, __: int) -> None: ...

    world = World()
    stores = (world.collection, world.pages)
    with pytest.raises(UsageError, match="too short: events may wait for 22 days"):
        Sweeper(*stores, ReferenceSet(64, SALT), Progress(0), report, grace_seconds=21 * DAY, delete=True)
    assert minimum_grace_seconds() == MIN_BLOB_TTL_DAYS * DAY
    with pytest.raises(ValueError, match="21 days: events may refer"):
        CassandraSettings(blob_ttl_days=21)


@pytest.mark.parametrize("phase_end", range(1, 12))
async def test_an_interrupted_sweep_continues_where_it_was(phase_end: int, tmp_path: Path) -> None:
    world, file = World(), tmp_path / "below" / "sweep.npz"
    lost = [await world.blobs.put(b"lost %d" % number) for number in range(5)]
    await world.store(PAGES[0], b"kept")
    world.now += 3 * DAY
    await world.sweep()
    world.now += minimum_grace_seconds()
    references, progress, left = ReferenceSet(64, SALT), Progress(world.now), [phase_end]

    async def report(_: Progress, __: int) -> None:
        left[0] -= 1
        if not left[0]:
            raise Interrupted

    async def run() -> None:
        grace = minimum_grace_seconds()
        sweeper = Sweeper(world.collection, world.pages, references, progress, report, grace_seconds=grace, delete=True)
        await sweeper.run()

    try:
        await run()
    except Interrupted:
        saved_progress.save(file, progress, references, "mode")
        assert saved_progress.load(file, world.now, "other mode") is None
        assert saved_progress.load(file, world.now + 2 * DAY, "mode") is None
        continued = saved_progress.load(file, world.now, "mode")
        assert continued is not None
        progress, references = continued
        await run()
    assert progress.counts.deleted == len(lost)
    assert progress.counts.references == 1


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04"])
def test_a_damaged_file_starts_a_sweep_anew(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "sweep.npz"
    file.write_bytes(content)
    assert saved_progress.load(file, 0, "mode") is None


def test_references_are_found_whatever_the_fields_are() -> None:
    refs = [blob_ref(b"%d" % number) for number in range(3)]
    row = pack({"document_ref": refs[0], "unknown": [{"deep": refs[1]}], "lease_until": 9, "body_ref": refs[2]})
    assert {ref.hex() for ref in references_in(row)} == set(refs)
    of_pages = [page_blob_ref(page_id(f"https://a.test/{number}"), b"%d" % number) for number in range(300)]
    packed = [pack({"body_ref": ref, "exchange_ref": ref}) for ref in of_pages]
    assert [references_in(row) for row in packed] == [[BlobPlace.of(ref).hash] * 2 for ref in of_pages]
    assert references_in(b'{"page_id": "' + b"0" * 32 + b'"}') == []


@given(st.sets(st.binary(min_size=32, max_size=32), max_size=60), st.binary(min_size=32, max_size=32))
def test_a_reference_set_never_misses_one(references: set[bytes], salt: bytes) -> None:
    known = ReferenceSet(256, salt)
    known.add(references)
    assert all(known.contains(sorted(references)))


def test_a_reference_set_takes_few_others_for_references() -> None:
    chance = random.Random(1)
    known = ReferenceSet(10 * 10_000 // 8 * 2, SALT)
    known.add([chance.randbytes(32) for _ in range(10_000)])
    wrong = sum(known.contains([chance.randbytes(32) for _ in range(10_000)]))
    assert wrong < 300
    assert 0.1 < known.fill < 0.5
