"""Frontier and pace together in the simulated web: sites of one owner and one address are asked no faster than they
allow, every page is fetched, and waiting costs no attempt, while workers are killed and clocks jump.
"""

from collections import defaultdict
from collections.abc import Coroutine
from typing import Any
from uuid import uuid4

import pytest

from schemas import PageScheduled
from schemas.ids import event_id
from streams.crawl.fetch.pace import Window, windows_of
from streams.crawl.fetch.shared_pace import SharedPace
from streams.settings import CrawlSettings
from streams.stores.memory import MemoryPaceHolds
from tests.stages.frontier_world import SECOND, Site, World

SETTINGS = CrawlSettings(delay_seconds=1, requests_per_domain=2, requests_per_address=3, lease_seconds=60, in_flight=16)
HOSTS = [f"h{number}.d{number % 4}.example" for number in range(16)]
PAGES = 4
HOUR = 3_600 * SECOND


def run_now(work: Coroutine[Any, Any, float]) -> float:
    """Return the result of a coroutine that waits for nothing outside of this process."""
    try:
        work.send(None)
    except StopIteration as done:
        return float(done.value)
    raise AssertionError("the stores in memory answer at once")


class PacedWorld(World):
    """A world whose fetchers keep the pace. Half of the hosts are at one address."""

    fetchers: int = 2

    def __init__(self, kill: float = 0.0) -> None:
        sites = {host: Site(links={f"/{page}": [] for page in range(PAGES)}) for host in HOSTS}
        super().__init__(sites, SETTINGS, 1, kill)
        self.holds = MemoryPaceHolds(lambda: self.now / SECOND)
        self.paces = [self.new_pace() for _ in range(self.fetchers)]
        self.begun: defaultdict[str, list[tuple[float, Window]]] = defaultdict(list)
        self.postponed = 0
        for host in HOSTS:
            for page in range(PAGES):
                self.seed(f"https://{host}/{page}", max_depth=0)

    def new_pace(self) -> SharedPace:
        return SharedPace(self.holds, str(uuid4()), lambda: self.now / SECOND)

    def _fetch(self, scheduled: PageScheduled) -> None:
        if scheduled.lease_id in self._leases:
            super()._fetch(scheduled)
            return
        place = HOSTS.index(scheduled.host)
        pace = self.paces[place % 3 % self.fetchers]
        address = "192.0.2.1" if place % 2 else f"192.0.2.{10 + place}"
        windows = windows_of(scheduled.host, [address], self.settings, scheduled.delay_seconds)
        wait = run_now(pace.take(windows))
        if not wait:
            for window in windows:
                self.begun[window.key].append((self.now / SECOND, window))
            super()._fetch(scheduled)
            return
        self.postponed += 1
        seconds = pace.postpone(windows, wait)
        fields = {"outcome": "rate_limited", "retryable": True, "postponed_seconds": seconds}
        answer = self._answer(scheduled, self.now, fields)
        self.inputs.append((answer, event_id(answer.event_type(), f"{scheduled.lease_id}/{self.now}", answer.key())))

    def too_fast(self) -> list[str]:
        return [
            f"{window.key} at {at}"
            for begun in self.begun.values()
            for (before, _), (at, window) in zip(begun, begun[begun[0][1].requests :], strict=False)
            if at - before < window.seconds - 1e-6
        ]

    def all_pages(self) -> set[str]:
        return {f"https://{host}/{page}" for host in HOSTS for page in range(PAGES)}


@pytest.mark.parametrize(
    "kill", [pytest.param(0.0, marks=pytest.mark.night), 0.002], ids=["", "while the frontier is killed"]
)
async def test_sites_of_one_owner_and_address_share_their_pace(kill: float) -> None:
    world = PacedWorld(kill)
    await world.run(hours=4)
    assert set(world.pages()) == world.all_pages()
    assert world.too_fast() == []
    assert world.postponed
    assert {event.attempt for event in world.scheduled} == {1}
    assert world.postponed < 4 * len(world.scheduled) / 5, "few requests are sent back more than a few times"


@pytest.mark.parametrize("jump", [HOUR, -HOUR, 3 * SECOND], ids=["an hour ahead", "an hour back", "within the bound"])
async def test_the_pace_is_kept_while_clocks_jump_and_fetchers_are_replaced(jump: int) -> None:
    world = PacedWorld(0.001)
    for step in range(40):
        await world.run(hours=3 / 3_600)
        if step % 3 == 0:
            world.paces[step % world.fetchers] = world.new_pace()
        if step % 5 == 0:
            world.frontier_clock_ahead = jump if step % 2 else 0
    world.frontier_clock_ahead = 0
    await world.run(hours=6)
    assert world.too_fast() == []
    assert set(world.pages()) == world.all_pages()
