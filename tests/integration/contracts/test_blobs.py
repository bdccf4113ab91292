"""The contract of blobs, in memory and in Cassandra."""

import asyncio
import random
from hashlib import blake2b
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streams.errors import MissingBlob, PoisonError, Refused
from streams.stores.blobs import MAX_STORED_BYTES
from streams.stores.cassandra import CassandraBlobs, CassandraSession
from streams.stores.cassandra.blobs import CHUNK_BYTES
from streams.stores.memory import MemoryBlobs
from streams.stores.protocols import Blobs
from tests.integration.contracts.conftest import BOTH

NOISE = random.Random(1)


@pytest.fixture(params=BOTH)
def blobs(request: pytest.FixtureRequest) -> Blobs:
    if request.param == "memory":
        return MemoryBlobs()
    return CassandraBlobs(request.getfixturevalue("cassandra_session"))


CONTENTS = {
    "nothing": b"",
    "one byte": b"\x00",
    "text": "Zürich, 東京".encode(),
    "exactly one chunk of noise": NOISE.randbytes(CHUNK_BYTES),
    "5 MB that compress to nothing": b"a" * 5_000_000,
    "5 MB that do not compress": NOISE.randbytes(5_000_000),
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS.keys())
async def test_a_blob_comes_back_under_the_hash_of_its_content(blobs: Blobs, content: bytes) -> None:
    ref = await blobs.put(content)
    assert ref == blake2b(content, digest_size=32).hexdigest()
    assert await blobs.get(ref) == content


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS.keys())
async def test_putting_it_again_changes_nothing(blobs: Blobs, content: bytes) -> None:
    refs = {await blobs.put(content) for _ in range(3)}
    assert len(refs) == 1
    assert await blobs.get(refs.pop()) == content


async def test_many_writers_of_one_blob_agree(blobs: Blobs) -> None:
    content = NOISE.randbytes(2 * CHUNK_BYTES + 5)
    refs = await asyncio.gather(*(blobs.put(content) for _ in range(16)))
    assert len(set(refs)) == 1
    assert await blobs.get(refs[0]) == content


async def test_a_flood_of_large_blobs_is_slowed_down_not_refused(blobs: Blobs) -> None:
    """48 MB at once are more than a socket takes: what doesn't fit waits its turn."""
    contents = [NOISE.randbytes(2 * CHUNK_BYTES) for _ in range(48)]
    refs = await asyncio.gather(*map(blobs.put, contents))
    assert [await blobs.get(ref) for ref in refs] == contents


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=2_000))
async def test_any_content_comes_back(blobs: Blobs, content: bytes) -> None:
    assert await blobs.get(await blobs.put(content)) == content


REFS = ["0" * 64, "", "0" * 63, "G" * 64, "../../etc/passwd", "é" * 64, "." + "0" * 64, f"{'1' * 31}.{'0' * 64}"]


@pytest.mark.parametrize("ref", [*REFS, f"{'1' * 32}.{'0' * 64}", f"{'G' * 32}.{'0' * 64}", f"{'1' * 32}."])
async def test_a_reference_to_nothing_is_a_missing_blob(blobs: Blobs, ref: str) -> None:
    with pytest.raises(MissingBlob, match="blob"):
        await blobs.get(ref)


async def test_a_content_above_the_limit_is_refused_before_it_is_sent(blobs: Blobs) -> None:
    with pytest.raises(Refused, match="blob size"):
        await blobs.put(bytes(MAX_STORED_BYTES + 1))


@pytest.mark.integration("cassandra")
class TestChunksInCassandra:
    """The contract that the layout of chunks adds."""

    async def rows(self, session: CassandraSession, ref: str) -> list[tuple[Any, ...]]:
        return await session.execute(
            "SELECT chunk, chunks, content FROM blobs WHERE ref = :ref", {"ref": bytes.fromhex(ref)}
        )

    async def change(self, session: CassandraSession, ref: str, **row: Any) -> None:
        insert = "INSERT INTO blobs (ref, chunk, chunks, content) VALUES (:ref, :chunk, :chunks, :content)"
        await session.execute(insert, {"ref": bytes.fromhex(ref), **row})

    async def test_no_cell_is_larger_than_a_chunk(self, cassandra_session: CassandraSession) -> None:
        ref = await CassandraBlobs(cassandra_session).put(NOISE.randbytes(3 * CHUNK_BYTES))
        rows = await self.rows(cassandra_session, ref)
        assert [number for number, _, _ in rows] == list(range(4))  # the frame's header makes it one more
        assert max(len(content) for _, _, content in rows) == CHUNK_BYTES

    async def test_a_put_that_was_cut_off_is_a_missing_blob(self, cassandra_session: CassandraSession) -> None:
        ref = blake2b(b"cut off", digest_size=32).hexdigest()
        await self.change(cassandra_session, ref, chunk=1, chunks=2, content=b"second half")
        with pytest.raises(MissingBlob, match="only in part"):
            await CassandraBlobs(cassandra_session).get(ref)

    async def test_chunks_left_by_a_longer_put_that_was_cut_off_are_not_read(
        self, cassandra_session: CassandraSession
    ) -> None:
        blobs = CassandraBlobs(cassandra_session)
        ref = await blobs.put(b"whole")
        await self.change(cassandra_session, ref, chunk=1, chunks=2, content=b"left over")
        assert await blobs.get(ref) == b"whole"

    @pytest.mark.parametrize("frame", [b"", b"no zstd frame", b"\x28\xb5\x2f\xfd\xe0" + b"\xff" * 8 + b"\x00" * 3])
    async def test_what_is_damaged_is_never_given_out(self, cassandra_session: CassandraSession, frame: bytes) -> None:
        blobs = CassandraBlobs(cassandra_session)
        ref = await blobs.put(b"to be damaged")
        await self.change(cassandra_session, ref, chunk=0, chunks=1, content=frame)
        with pytest.raises(PoisonError, match="damaged"):
            await blobs.get(ref)
