"""The round trip of a page, over stores in memory and a search that this test plays."""

import pytest

from schemas import Event, PageFetched, PageRemoved
from schemas.ids import page_id
from streams.crawl.archives.round_trip import HOST, Clock, round_trip
from streams.errors import StoreUnavailable
from streams.stores.memory import MemoryBlobs


class Journey:
    """Events that were sent, and a search that follows them after some looks."""

    def __init__(self, looks: int, *, forgets: bool = True) -> None:
        self.sent: list[Event] = []
        self.now = 0.0
        self.looks = looks
        self.forgets = forgets
        self.failures = 0

    async def emit(self, event: Event, cause: str) -> None:
        self.sent.append(event)

    async def find(self, word: str, host: str) -> list[str]:
        assert host == HOST
        self.looks -= 1
        if self.failures:
            self.failures -= 1
            raise StoreUnavailable("the gateway starts")
        removed = any(isinstance(event, PageRemoved) for event in self.sent)
        return [] if self.looks >= 0 or (removed and self.forgets) else [f"https://{HOST}/{word}.html"]

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.now, lambda: 1_700_000_000_000_000, self.sleep)


@pytest.mark.parametrize(("looks", "seconds"), [(0, 0.0), (3, 6.0)])
async def test_a_page_is_found_removed_and_not_found(looks: int, seconds: float) -> None:
    journey, blobs = Journey(looks), MemoryBlobs()
    done = await round_trip("zebrafish", blobs, journey.emit, journey.find, journey.clock, timeout_seconds=60)
    fetched, removed = journey.sent
    assert isinstance(fetched, PageFetched)
    assert isinstance(removed, PageRemoved)
    assert fetched.page_id == removed.page_id == page_id(done.url)
    assert fetched.body_ref is not None
    assert b"zebrafish" in await blobs.get(fetched.body_ref)
    assert removed.generation >= 1_700_000_000_000_000
    assert (done.whole, done.searchable_seconds, done.removed_seconds) == (True, seconds, 0.0)


async def test_a_page_that_is_never_found_is_removed_all_the_same() -> None:
    journey = Journey(looks=1_000)
    done = await round_trip("zebrafish", MemoryBlobs(), journey.emit, journey.find, journey.clock, timeout_seconds=20)
    assert (done.whole, done.searchable_seconds) == (False, None)
    assert isinstance(journey.sent[-1], PageRemoved)


async def test_a_page_that_stays_is_a_failure() -> None:
    journey = Journey(looks=0, forgets=False)
    done = await round_trip("zebrafish", MemoryBlobs(), journey.emit, journey.find, journey.clock, timeout_seconds=20)
    assert (done.whole, done.searchable_seconds, done.removed_seconds) == (False, 0.0, None)


async def test_a_gateway_that_starts_late_is_asked_again() -> None:
    journey = Journey(looks=0)
    journey.failures = 2
    done = await round_trip("zebrafish", MemoryBlobs(), journey.emit, journey.find, journey.clock, timeout_seconds=60)
    assert (done.whole, done.searchable_seconds) == (True, 4.0)
