"""The pace of requests: a host, a domain or an address is never asked faster than it allows, whatever happens to
workers and clocks. Simulated: days of a crawl in milliseconds.
"""

import asyncio
import heapq
import random
from collections import defaultdict
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.crawl.fetch.pace import MIN_KEYS, Pace, Window, windows_of
from streams.crawl.fetch.shared_pace import HOLD_SECONDS, SharedPace
from streams.crawl.frontier.policy import JITTER
from streams.settings import CrawlSettings
from streams.stores.memory import MemoryPaceHolds

SETTINGS = CrawlSettings(delay_seconds=1.0, requests_per_domain=2, requests_per_address=3)
TOLERANCE_SECONDS = 1e-6
"""Rounding of the simulated times (seconds)."""


def test_the_windows_of_a_request() -> None:
    windows = windows_of("www.a.example", ["192.0.2.1", "2001:db8::1"], SETTINGS, 30.0)
    assert windows == [
        Window("host www.a.example", 1, 30.0),
        Window("domain a.example", 2, 1.0),
        Window("address 192.0.2.1", 3, 1.0),
        Window("address 2001:db8::1", 3, 1.0),
    ]


def test_a_host_speeds_up_its_domain_and_no_address_that_others_may_have() -> None:
    seconds = [window.seconds for window in windows_of("a.example", ["192.0.2.1", "127.0.0.1"], SETTINGS, 0.1)]
    assert seconds == [0.1, 0.1, 1.0, 0.1]


@pytest.mark.parametrize("delay", [None, 0.0])
def test_without_a_delay_there_are_no_windows(delay: float | None) -> None:
    unbounded = CrawlSettings(delay_seconds=0.0)
    assert windows_of("a.example", ["192.0.2.1"], unbounded, delay) == []
    only_hosts = CrawlSettings(requests_per_domain=0, requests_per_address=0)
    assert windows_of("a.example", ["192.0.2.1"], only_hosts, None) == [Window("host a.example", 1, 1.0)]


def test_the_window_slides() -> None:
    pace, window = Pace(), [Window("address", 2, 10.0)]
    for now in (0.0, 4.0):
        assert pace.wait(window, now) == 0
        pace.count(window, now)
    assert [pace.wait(window, now) for now in (4.0, 9.0, 10.0)] == [6.0, 1.0, 0.0]
    pace.count(window, 10.0)
    assert pace.wait(window, 10.0) == 4.0


def test_memory_is_bounded_and_no_key_is_forgotten_too_early() -> None:
    pace = Pace()
    pace.count([Window("slow", 1, 1e9)], 0.0)
    for number in range(10 * MIN_KEYS):
        pace.count([Window(f"host {number}", 1, 1.0)], number / 100)
        assert pace.wait([Window(f"host {max(number - 50, 0)}", 1, 1.0)], number / 100) > 0, "asked half a second ago"
    assert pace.wait([Window("slow", 1, 1e9)], 100.0) > 1e8
    assert len(pace._begun) == len(pace._ends) <= MIN_KEYS + 1


async def test_a_worker_forgets_the_keys_that_it_held() -> None:
    now = 0.0
    pace = SharedPace(MemoryPaceHolds(lambda: now), "worker", lambda: now)
    for number in range(3 * MIN_KEYS):
        now += 0.1
        assert await pace.take([Window(f"address {number}", 1, 1.0)]) == 0
    assert len(pace._held_until) == len(pace._turn_began) <= MIN_KEYS + 1


def test_a_worker_forgets_what_it_sent_back() -> None:
    now = 0.0
    pace = SharedPace(MemoryPaceHolds(lambda: now), "worker", lambda: now)
    for number in range(3 * MIN_KEYS):
        now += 0.1
        assert pace.postpone([Window(f"address {number}", 1, 1.0)], 2.0) == pytest.approx(2.0)
    assert len(pace._promised) <= MIN_KEYS + 1


async def test_a_key_that_was_forgotten_while_the_store_answered_is_asked_for_again() -> None:
    now = 1.0

    class SlowHolds(MemoryPaceHolds):
        async def hold(self, key: str, holder: str, seconds: int) -> float:
            nonlocal now
            if key == "address slow":
                now += 60.0
                for number in range(2 * MIN_KEYS):
                    await pace.take([Window(f"address {number}", 1, 1.0)])
            return await super().hold(key, holder, seconds)

    pace = SharedPace(SlowHolds(lambda: now), "worker", lambda: now)
    assert await pace.take([Window("domain a.example", 1, 1.0), Window("address slow", 1, 1.0)]) > 0


@dataclass
class Crawl:
    """Workers that ask hosts of a few domains at a few addresses, as often as they may."""

    rng: random.Random
    now: float = 0.0
    store_ahead: float = 0.0
    log: list[tuple[float, Window]] = field(default_factory=list)
    """The requests as the servers saw them: time and window."""

    def __post_init__(self) -> None:
        self.holds = MemoryPaceHolds(lambda: self.now + self.store_ahead)
        self.delays = {f"h{n}.d{n % 5}.example": self.rng.choice([1.0, 1.0, 0.4, 7.0, 120.0]) for n in range(12)}
        self.address = {host: f"192.0.2.{self.rng.randrange(3)}" for host in self.delays}
        self.workers = [self.worker() for _ in range(3)]
        self.owner = {host: self.rng.randrange(3) for host in self.delays}

    def worker(self) -> SharedPace:
        return SharedPace(self.holds, f"{self.rng.random()}", lambda: self.now)

    async def run(self, seconds: float, trouble: bool) -> None:
        asked = [(self.rng.random(), host) for host in self.delays]
        heapq.heapify(asked)
        while self.now < seconds:
            self.now, host = heapq.heappop(asked)
            if trouble and self.rng.random() < 0.01:  # a worker is killed, or the hosts go to other workers
                self.workers[self.rng.randrange(3)] = self.worker()
                self.owner = {name: self.rng.randrange(3) for name in self.owner}
            pace = self.workers[self.owner[host]]
            windows = windows_of(host, [self.address[host]], SETTINGS, self.delays[host])
            wait = await pace.take(windows)
            if not wait:
                self.log += [(self.now, window) for window in windows]
            wait = pace.postpone(windows, wait) * (1 + JITTER * self.rng.random()) if wait else 0.0
            heapq.heappush(asked, (self.now + max(wait, 0.01), host))

    def too_fast(self) -> list[str]:
        """Return the requests that came before their window had a place."""
        found: list[str] = []
        begun: defaultdict[str, list[float]] = defaultdict(list)
        for at, window in self.log:
            before = begun[window.key]
            if len(before) >= window.requests and at - before[-window.requests] < window.seconds - TOLERANCE_SECONDS:
                found.append(f"{window.key} at {at}")
            before.append(at)
        return found


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_asked_too_fast_across_kills_and_rebalances(seed: int) -> None:
    crawl = Crawl(random.Random(seed))
    asyncio.run(crawl.run(400, trouble=True))
    assert crawl.too_fast() == []
    assert len(crawl.log) > 300


@given(st.integers(0, 2**32), st.booleans())
def test_no_window_has_too_many_requests(seed: int, trouble: bool) -> None:
    crawl = Crawl(random.Random(seed))
    asyncio.run(crawl.run(20, trouble))
    assert crawl.too_fast() == []


def test_workers_take_turns_at_an_address() -> None:
    """Twelve sites of three workers are at one address. It is asked most of the time, and no site starves."""
    crawl = Crawl(random.Random(1))
    sites = [f"www.s{number}.example" for number in range(12)]
    crawl.delays = dict.fromkeys(sites, 1.0)
    crawl.address = dict.fromkeys(sites, "192.0.2.1")
    crawl.owner = {site: number % 3 for number, site in enumerate(sites)}
    asyncio.run(crawl.run(600, trouble=False))
    requests = [window.key for _, window in crawl.log]
    assert crawl.too_fast() == []
    assert requests.count("address 192.0.2.1") > 0.5 * 600 * SETTINGS.requests_per_address
    assert min(requests.count(f"host {site}") for site in sites) > 30, "an equal share were 100"


async def test_a_worker_that_comes_after_a_killed_one_waits_for_the_window_of_its_last_request() -> None:
    crawl = Crawl(random.Random(1))
    windows = [Window("host a.example", 1, 3_600.0), Window("domain a.example", 2, 1.0)]
    assert await crawl.worker().take(windows) == 0
    crawl.now = HOLD_SECONDS + 60.0
    assert await crawl.worker().take(windows) > 3_500


async def test_a_worker_that_stops_leaves_its_keys_to_others_where_the_window_has_passed() -> None:
    crawl = Crawl(random.Random(1))
    first = crawl.worker()
    windows = [Window("domain a.example", 1, 1.0)]
    assert await first.take(windows) == 0
    crawl.now = 1.1
    assert await crawl.worker().take(windows) > 0
    await first.release()
    assert await crawl.worker().take(windows) == 0
