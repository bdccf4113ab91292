"""The robots rules in memory: read once while they are used, and bounded in number and in bytes."""

import pytest

from streams.crawl.frontier.host_caches import MAX_BYTES, MAX_FILES, RightsCache, RobotsCache
from streams.crawl.robots import MAX_ROBOTS_BYTES
from streams.errors import MissingBlob
from streams.robot_name import ROBOT
from streams.stores.memory import MemoryBlobs


class CountedBlobs(MemoryBlobs):
    """Blobs that count how often one is read."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0

    async def get(self, ref: str) -> bytes:
        self.reads += 1
        return await super().get(ref)


def robots_of(number: int, length: int = 0) -> bytes:
    return f"User-agent: *\nDisallow: /{number}\n#".encode().ljust(length, b"#")


async def test_a_file_is_read_once_while_it_is_used() -> None:
    blobs = CountedBlobs()
    cache = RobotsCache(blobs, ROBOT)
    ref = await blobs.put(robots_of(1))
    for _ in range(3):
        assert not (await cache.get(ref)).allowed("https://a.example/1")
    assert blobs.reads == 1


@pytest.mark.parametrize(("length", "kept"), [(0, MAX_FILES), (MAX_ROBOTS_BYTES, MAX_BYTES // MAX_ROBOTS_BYTES)])
async def test_number_and_bytes_of_the_files_are_bounded(length: int, kept: int) -> None:
    blobs = CountedBlobs()
    cache = RobotsCache(blobs, ROBOT)
    refs = [await blobs.put(robots_of(number, length)) for number in range(kept + 3)]
    for ref in refs:
        await cache.get(ref)
    reads = blobs.reads
    for ref in refs[3:]:
        await cache.get(ref)
    assert blobs.reads == reads, "the last ones"
    await cache.get(refs[0])
    assert blobs.reads == reads + 1


async def test_a_missing_file_is_reported() -> None:
    with pytest.raises(MissingBlob):
        await RightsCache(MemoryBlobs()).get("0" * 64)
