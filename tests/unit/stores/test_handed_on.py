"""Blobs that stages of a process hand on: read from memory for a while, within a bound, and never instead of a put."""

from uuid import UUID

import pytest

from streams.errors import MissingBlob, StoreUnavailable
from streams.stores.blobs import (
    FRESH_SECONDS,
    MAX_BLOB_BYTES,
    MAX_BYTES,
    MAX_PAGE_BLOB_BYTES,
    HandedOnBlobs,
    PartWriter,
    is_of_page,
)
from streams.stores.memory import MemoryBlobs, MemoryPages
from streams.stores.page_record import Normalized


class CountedBlobs(MemoryBlobs):
    """Blobs that count what reaches the store."""

    def __init__(self) -> None:
        super().__init__()
        self.puts = self.gets = 0
        self.is_away = False

    async def put(self, content: bytes) -> str:
        if self.is_away:
            raise StoreUnavailable("Cassandra is away")
        self.puts += 1
        return await super().put(content)

    async def get(self, ref: str) -> bytes:
        self.gets += 1
        return await super().get(ref)


class World:
    """A store, the blobs of a process above it, and their clock."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.stored = CountedBlobs()
        self.blobs = HandedOnBlobs(self.stored, lambda: self.now)


async def test_what_was_stored_here_is_read_from_memory() -> None:
    world = World()
    ref = await world.blobs.put(b"a document")
    assert [await world.blobs.get(ref) for _ in range(3)] == [b"a document"] * 3
    assert (world.stored.puts, world.stored.gets) == (1, 0)


async def test_what_was_stored_here_with_a_record_is_read_from_memory() -> None:
    world, page = World(), UUID(int=7)
    writer = PartWriter(world.blobs, pages := MemoryPages(world.stored), page, with_record=True)
    ref, large = await writer.add(b"a document"), await writer.add(bytes(MAX_PAGE_BLOB_BYTES + 1))
    with pytest.raises(MissingBlob):
        await world.blobs.get(ref)  # it is stored with the part
    await writer.put(Normalized.of_row({"document_ref": ref}), 1)
    assert [await world.blobs.get(ref) for _ in range(3)] == [b"a document"] * 3
    assert (world.stored.puts, world.stored.gets) == (1, 1), "the large one has a write of its own"
    assert [is_of_page(one) for one in (ref, large)] == [True, False]
    assert (await pages.get(page)).normalized.document_ref == ref


async def test_the_blobs_of_a_page_that_is_read_often_are_stored_by_themselves() -> None:
    world = World()
    writer = PartWriter(world.blobs, MemoryPages(world.stored), UUID(int=7), with_record=False)
    assert not is_of_page(await writer.add(b"a document"))
    assert world.stored.puts == 1


async def test_what_another_process_stored_is_read_from_the_store() -> None:
    world = World()
    ref = await world.stored.put(b"of another worker")
    assert [await world.blobs.get(ref) for _ in range(2)] == [b"of another worker"] * 2
    assert world.stored.gets == 2, "a blob that is only read is not kept: most are read once"


async def test_each_put_reaches_the_store() -> None:
    """The write time of a blob shows a sweep that it is in use."""
    world = World()
    assert len({await world.blobs.put(b"the same") for _ in range(3)}) == 1
    assert world.stored.puts == 3


async def test_a_put_that_failed_hands_on_nothing() -> None:
    world = World()
    world.stored.is_away = True
    with pytest.raises(StoreUnavailable):
        await world.blobs.put(b"lost")
    world.stored.is_away = False
    ref = await World().blobs.put(b"lost")
    with pytest.raises(MissingBlob):
        await world.blobs.get(ref)


@pytest.mark.parametrize(("age", "is_read"), [(FRESH_SECONDS, True), (FRESH_SECONDS + 1, False)])
async def test_a_deleted_blob_is_missing_after_a_while(age: float, is_read: bool) -> None:
    world = World()
    ref = await world.blobs.put(b"to be erased")
    world.stored.delete(ref, 2**63)
    world.now += age
    if is_read:
        assert await world.blobs.get(ref) == b"to be erased"
    else:
        with pytest.raises(MissingBlob):
            await world.blobs.get(ref)


async def test_memory_is_bounded_and_the_oldest_go_first() -> None:
    world = World()
    contents = [bytes([number]) * MAX_BLOB_BYTES for number in range(MAX_BYTES // MAX_BLOB_BYTES + 3)]
    refs = [await world.blobs.put(content) for content in contents]
    for ref, content in zip(reversed(refs), reversed(contents), strict=True):
        assert await world.blobs.get(ref) == content
    assert world.stored.gets == 3


async def test_a_large_blob_pushes_out_no_other() -> None:
    world = World()
    small, large = await world.blobs.put(b"small"), await world.blobs.put(bytes(MAX_BLOB_BYTES + 1))
    assert (await world.blobs.get(small), len(await world.blobs.get(large))) == (b"small", MAX_BLOB_BYTES + 1)
    assert world.stored.gets == 1


async def test_a_blob_that_is_put_again_and_again_takes_its_place_once() -> None:
    world = World()
    first = await world.blobs.put(b"first")
    for _ in range(2 * MAX_BYTES // MAX_BLOB_BYTES):
        await world.blobs.put(bytes(MAX_BLOB_BYTES))
    await world.blobs.get(first)
    assert world.stored.gets == 0
