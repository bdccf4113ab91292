"""The collection of blobs, in memory and in Cassandra."""

import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from uuid import UUID, uuid4

import pytest

from streams.errors import MissingBlob
from streams.maintenance.reference_set import ReferenceSet
from streams.maintenance.sweeping import DAY, Counts, Progress, Sweeper, minimum_grace_seconds
from streams.stores import cassandra
from streams.stores.blobs import page_blob_ref
from streams.stores.cassandra.blobs import CHUNK_BYTES
from streams.stores.host_buckets import bucket_of
from streams.stores.memory import MemoryBlobCollection, MemoryBlobs, MemoryFingerprints, MemoryPages
from streams.stores.page_record import PART_TYPES, Fetched, Indexed, Normalized, Removed
from streams.stores.protocols import (
    BlobCollection,
    Blobs,
    Fingerprint,
    Fingerprints,
    FrontierHost,
    HostRows,
    Pages,
    StoredBlob,
)
from tests.integration.contracts.conftest import BOTH

NOW = time.time()
Refs = set[str]


@dataclass
class Clock:
    """A clock that the test moves. It starts in the past, so that the server's own time is later."""

    now: float = NOW - 90 * DAY

    def __call__(self) -> float:
        return self.now


@dataclass
class Stored:
    """The stores of a collection."""

    clock: Clock
    blobs: Blobs
    pages: Pages
    fingerprints: Fingerprints
    collection: BlobCollection

    async def sweep(self, delete: bool = True) -> Counts:
        async def report(_: Progress, __: int) -> None: ...

        sweeper = Sweeper(
            self.collection,
            self.pages,
            ReferenceSet(1 << 16, os.urandom(32)),
            Progress(self.clock.now),
            report,
            grace_seconds=minimum_grace_seconds(),
            delete=delete,
        )
        return await sweeper.run()

    async def is_stored(self, ref: str) -> bool:
        try:
            await self.blobs.get(ref)
        except MissingBlob:
            return False
        return True


@pytest.fixture(params=BOTH)
def stored(request: pytest.FixtureRequest) -> Stored:
    clock = Clock()
    if request.param == "memory":
        pages = MemoryPages(blobs := MemoryBlobs(clock))
        fingerprints = MemoryFingerprints(pages)
        return Stored(clock, blobs, pages, fingerprints, MemoryBlobCollection(blobs, pages, fingerprints))
    session = request.getfixturevalue("cassandra_session")
    return Stored(
        clock,
        cassandra.CassandraBlobs(session, clock=clock),
        cassandra.CassandraPages(session, clock=clock),
        cassandra.CassandraFingerprints(session),
        cassandra.CassandraBlobCollection(session),
    )


async def all_of(read: Callable[[int, int], Awaitable[tuple[list[object], int | None]]], limit: int) -> list[object]:
    found, position = [], 0
    for _ in range(10_000):
        rows, following = await read(position, limit)
        found += rows
        if following is None:
            return found
        assert following > position
        position = following
    raise AssertionError("the reads did not end")


@pytest.mark.parametrize("limit", [3, 1_000])
async def test_every_reference_and_every_blob_is_read_in_parts(stored: Stored, limit: int) -> None:
    refs = [await stored.blobs.put(uuid4().bytes) for _ in range(8)]
    page = uuid4()
    for part, ref in zip(list(PART_TYPES.values())[:4], refs[:4], strict=True):
        await stored.pages.put(page, part.of_row({"some_ref": ref}), 1)
    for ref in refs[4:]:
        made = Fingerprint(uuid4(), uuid4().hex, 1, "https://a.test/", 1, document_ref=ref)
        await stored.fingerprints.put(made, 1)

    async def blobs(table: str, position: int, count: int) -> tuple[list[object], int | None]:
        rows, following = await stored.collection.stored(table, position, count)
        return [blob.ref for blob in rows], following

    async def references(source: str, without: tuple[UUID, ...] = ()) -> set[object]:
        async def read(position: int, count: int) -> tuple[list[object], int | None]:
            rows, following = await stored.collection.references(source, position, max(count, 8), without)
            return [ref.hex() for ref in rows], following

        return set(await all_of(read, limit))

    own = {page_blob_ref(page, content): content for content in (b"a", b"b", b"c", b"d", b"e")}
    await stored.pages.put(page, Fetched.of_row({}), 1, own)
    found = [await all_of(partial(blobs, table), limit) for table in stored.collection.tables]
    assert {*refs, *own} <= {ref for of_table in found for ref in of_table}
    assert set(refs) <= await references("pages"), "of records and of fingerprints"
    assert not set(refs[:4]) & await references("pages", (page,))


async def test_a_blob_of_a_page_is_read_swept_and_erased(stored: Stored) -> None:
    pages = [uuid4() for _ in range(3)]
    content, refs = os.urandom(100), list[str]()
    for page in pages:
        refs.append(page_blob_ref(page, content))
        await stored.pages.put(page, Fetched.of_row({"body_ref": refs[-1]}), 1, {refs[-1]: content})
    assert [await stored.blobs.get(ref) for ref in refs] == [content] * 3
    assert not await stored.is_stored(refs[0].rpartition(".")[-1]), "it is no blob of all pages"
    found = await stored.collection.find(refs[0])
    assert found is not None
    assert found == StoredBlob(refs[0], int(stored.clock.now * 1e6))
    assert [found] == await stored.collection.of_page(pages[0])
    assert await stored.collection.size_bytes(refs[0]) >= len(content)
    await stored.pages.erase(pages[2], int(stored.clock.now * 1e6) + 1)
    assert [await stored.is_stored(ref) for ref in refs] == [True, True, False]
    for page in pages[:2]:
        await stored.pages.put(page, Fetched.of_row({}), 2)
    stored.clock.now += 3 * DAY
    assert (await stored.sweep()).noted >= 2
    assert {*refs[:2]} <= (await stored.collection.candidates_since(refs)).keys()
    stored.clock.now += 60
    await stored.pages.put(pages[1], Fetched.of_row({}), 2, {refs[1]: content})
    stored.clock.now += minimum_grace_seconds()
    assert (await stored.sweep()).deleted >= 1
    assert [await stored.is_stored(ref) for ref in refs] == [False, True, False], "the other was stored again"
    await stored.collection.delete(found)
    assert (await stored.pages.get(pages[0])).has(Fetched), "only the blob is deleted"


@pytest.mark.parametrize("size_bytes", [10, 3 * CHUNK_BYTES], ids=["one chunk", "several chunks"])
async def test_an_unreferenced_blob_is_deleted_by_the_sweep_after_the_grace(stored: Stored, size_bytes: int) -> None:
    lost, kept = await stored.blobs.put(os.urandom(size_bytes)), await stored.blobs.put(os.urandom(size_bytes))
    await stored.pages.put(uuid4(), Fetched.of_row({"body_ref": kept}), 1)
    stored.clock.now += 3 * DAY
    assert (await stored.sweep(delete=False)).noted >= 1
    assert (await stored.sweep()).noted >= 1
    assert (await stored.sweep()).waiting >= 1
    stored.clock.now += minimum_grace_seconds()
    assert await stored.is_stored(lost)
    counts = await stored.sweep()
    assert counts.deleted >= 1
    assert counts.deleted_bytes >= size_bytes
    assert [await stored.is_stored(ref) for ref in (lost, kept)] == [False, True]
    assert await stored.collection.find(lost) is None
    assert await stored.collection.candidates_since([lost]) == {}


@pytest.mark.parametrize("size_bytes", [10, 3 * CHUNK_BYTES], ids=["one chunk", "several chunks"])
async def test_a_blob_that_is_stored_again_is_not_deleted(stored: Stored, size_bytes: int) -> None:
    content = os.urandom(size_bytes)
    ref = await stored.blobs.put(content)
    stored.clock.now += 3 * DAY
    await stored.sweep()
    seen = await stored.collection.find(ref)
    stored.clock.now += minimum_grace_seconds()
    await stored.blobs.put(content)
    assert seen is not None
    await stored.collection.delete(seen)
    assert await stored.blobs.get(ref) == content
    await stored.sweep()
    assert await stored.blobs.get(ref) == content


async def test_the_texts_of_a_page_that_left_leave_its_record_and_then_the_blobs(stored: Stored) -> None:
    """A body that another page has, too, stays. Neither a redelivery nor a killed sweep brings a text back."""
    own, shared = await stored.blobs.put(os.urandom(10)), await stored.blobs.put(os.urandom(10))
    left, other, early = uuid4(), uuid4(), int(stored.clock.now * 1e6)
    answer = {"generation": early, "outcome": "ok", "status": 200, "body_ref": shared, "page_id": str(left)}
    text = Normalized.of_row({"title": "secret", "document_ref": own, "generation": early, "directives": ["noindex"]})
    await stored.pages.put(other, Fetched.of_row({**answer, "page_id": str(other)}), early)
    await stored.pages.put(left, Removed.of_row({"reason": "noindex", "generation": early}), early)
    stored.clock.now += 3 * DAY
    for _ in range(2):  # as if only one part had been written before the sweep was killed
        await stored.pages.put(left, Fetched.of_row(answer), early)
        await stored.pages.put(left, text, early)
        await stored.sweep(delete=False)
        await stored.sweep()
        rows = (await stored.pages.get(left)).rows
        assert rows["normalized"] == {"generation": early, "directives": ["noindex"]}
        assert rows["fetched"] == {name: value for name, value in answer.items() if name != "body_ref"}
        assert (rows["removed"]["reason"], (await stored.pages.get(other)).fetched.body_ref) == ("noindex", shared)
        assert await stored.is_stored(own), "events in flight may refer to it"
    stored.clock.now += minimum_grace_seconds()
    await stored.sweep()
    assert [await stored.is_stored(ref) for ref in (own, shared)] == [False, True]
    await stored.pages.put(left, text, int(stored.clock.now * 1e6))  # it comes back
    assert (await stored.pages.get(left)).normalized.title == "secret"


async def test_candidates_are_noted_and_dropped(stored: Stored) -> None:
    refs = [uuid4().hex * 2 for _ in range(3)]
    await stored.collection.note_candidates(refs[:2], 7)
    assert await stored.collection.candidates_since(refs) == dict.fromkeys(refs[:2], 7)
    assert set(refs[:2]) <= set(await all_of(stored.collection.candidates, 2))  # type: ignore[arg-type]  # a method with two arguments
    await stored.collection.drop_candidates(refs[:1])
    assert await stored.collection.candidates_since(refs) == {refs[1]: 7}
    await stored.collection.delete(StoredBlob(refs[1], 1))
    assert await stored.collection.candidates_since(refs) == {}


async def test_erased_records_are_gone_and_late_ones_of_an_earlier_time_too(stored: Stored) -> None:
    page = uuid4()
    await stored.pages.put(page, Normalized.of_row({"title": "secret"}), 4)
    await stored.pages.put(page, Removed.of_row({"reason": "request"}), 5)
    for _ in range(2):
        await stored.pages.erase(page, 5)
        assert (await stored.pages.get(page)).rows == {"removed": {"reason": "request"}}
        await stored.pages.put(page, Indexed.of_row({"title": "secret"}), 4)
    await stored.pages.put(page, Fetched.of_row({"title": "new"}), 6)
    assert sorted((await stored.pages.get(page)).rows) == ["fetched", "removed"]


@pytest.mark.integration("cassandra")
async def test_a_host_keeps_its_robots_txt(cassandra_session: cassandra.CassandraSession) -> None:
    host, ref = f"{uuid4().hex}.test", uuid4().hex * 2
    row = FrontierHost(bucket_of(host), host, None, {"robots": {"ref": ref}}, 1)
    await cassandra.CassandraFrontier(cassandra_session).write(HostRows(host, row))
    collection = cassandra.CassandraBlobCollection(cassandra_session)

    async def read(position: int, count: int) -> tuple[list[object], int | None]:
        rows, following = await collection.references("hosts", position, count)
        return [found.hex() for found in rows], following

    assert ref in await all_of(read, 1_000)


@pytest.mark.integration("cassandra")
async def test_a_part_of_a_blob_is_swept_too(cassandra_session: cassandra.CassandraSession) -> None:
    """A worker was killed between two chunks."""
    key, old = uuid4().bytes * 2, int((NOW - 200 * DAY) * 1e6)
    put = "INSERT INTO blobs (ref, chunk, chunks, content) VALUES (:ref, 1, 2, :content) USING TIMESTAMP :at"
    await cassandra_session.execute(put, {"ref": key, "content": b"part"}, at=old)
    collection = cassandra.CassandraBlobCollection(cassandra_session)
    blob = await collection.find(key.hex())
    assert blob == StoredBlob(key.hex(), old)
    await collection.delete(blob)
    assert await collection.find(key.hex()) is None


@pytest.mark.integration("cassandra")
async def test_blobs_expire_after_the_ttl_of_the_settings(cassandra_session: cassandra.CassandraSession) -> None:
    ref = await cassandra.CassandraBlobs(cassandra_session, ttl_days=30).put(uuid4().bytes)
    forever = await cassandra.CassandraBlobs(cassandra_session).put(uuid4().bytes)
    statement = "SELECT TTL(content) FROM blobs WHERE ref = :ref"
    ((seconds,),) = await cassandra_session.execute(statement, {"ref": bytes.fromhex(ref)})
    assert 29 * DAY < seconds <= 30 * DAY
    assert await cassandra_session.execute(statement, {"ref": bytes.fromhex(forever)}) == [(None,)]
