"""The frontier's own activity: visits of the hosts that are due.

The dispatcher waits until a host is due or an input changed something. A failed visit is repeated a second later, with
the host read from the store again.
"""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from streams.crawl.frontier.fence import LostPartition
from streams.crawl.frontier.hosts.live_hosts import RETRY_MICROS
from streams.crawl.frontier.policy import SECOND
from streams.crawl.frontier.state import FrontierState
from streams.crawl.frontier.visits.host_visit import visit
from streams.grouped_calls import is_cancelled

log = structlog.get_logger(__name__)

VISITS_AT_ONCE = 16
"""Maximum number of hosts that are visited side by side."""
PUT_AWAY_AT_ONCE = 64
"""Maximum number of idle hosts that are written and forgotten side by side."""
MAX_PAUSE_SECONDS = 2.0
"""Maximum time that a reassignment of partitions waits for the visits in progress (seconds)."""
CLAIM_AGAIN_SECONDS = 60.0
"""Time until a worker claims a lost partition again, if Kafka has not taken it away (seconds). It is longer than a
worker needs to learn of a reassignment."""
MAX_WAIT_SECONDS = 5.0
"""Maximum wait between two rounds (seconds)."""


class Dispatcher:
    """Visits the hosts that this worker owns."""

    def __init__(self, state: FrontierState, in_flight: int, behind: Callable[[], str] = lambda: "") -> None:
        """`behind` returns why nothing may be scheduled, or ""."""
        self._behind = behind
        self._state = state
        self._hosts = state.hosts
        self._in_flight = in_flight
        self._wanted: frozenset[int] = frozenset()
        self._visiting = asyncio.Lock()
        self._claim_again: dict[int, int] = {}
        self.woken = self._hosts.changed

    def assign(self, partitions: frozenset[int]) -> None:
        """Own these partitions from the next round on. Scheduling for all other partitions stops now."""
        self._hosts.paused = False
        self._claim_again.clear()
        self._wanted = partitions
        self._hosts.keep(partitions)
        self.woken.set()

    def is_wanted(self, partition: int) -> bool:
        """Return whether the partition is assigned to this worker, and no other worker has claimed it since."""
        return partition in self._wanted

    async def pause(self) -> None:
        """Schedule nothing until the next assignment. Returns when no visit is in progress, or after a while."""
        self._hosts.paused = True
        try:
            async with asyncio.timeout(MAX_PAUSE_SECONDS), self._visiting:
                return
        except TimeoutError:
            log.warning("a visit of the frontier outlasts the reassignment of its partitions")

    async def run(self) -> None:
        """Visit hosts until cancelled."""
        while True:
            self.woken.clear()
            try:
                when = await self.visit_due()
            except (Exception, asyncio.CancelledError) as error:
                if is_cancelled(error):
                    raise
                log.exception("the frontier could not read its hosts; trying again")
                when = self._state.now() + RETRY_MICROS
            await self._wait(when)

    async def visit_due(self) -> int | None:
        """Visit all hosts that are due. Returns the time of the next visit, or None if it waits for an input."""
        async with self._visiting:
            return await self._visit_due()

    async def _visit_due(self) -> int | None:
        if self._hosts.paused:
            return None
        self._claim_due()
        if self._wanted != self._hosts.owned:
            await self._hosts.own(self._wanted)
        await self._expire_leases()
        await self._put_away()
        if self._behind():
            return self._state.now() + RETRY_MICROS
        pop = self._hosts.due.pop
        while self._hosts.leased < self._in_flight and not self._hosts.paused:
            due = [name for name in (pop(self._state.now(), self._state.random) for _ in range(VISITS_AT_ONCE)) if name]
            if not due and not await self._hosts.read_more():
                return self._hosts.next_at()
            await asyncio.gather(*(self._visit(name) for name in due))
            await self._put_away()
        return self._state.now() + RETRY_MICROS

    async def _expire_leases(self) -> None:
        """Visit all hosts with an expired lease, even if no slot is free: expired leases may hold all slots."""
        expiring = self._hosts.expiring
        while not self._hosts.paused and (name := expiring.pop(self._state.now(), self._state.random)):
            await self._visit(name)

    async def _put_away(self) -> None:
        """Forget idle hosts that are too many, a bounded number of them at once."""
        if surplus := self._hosts.surplus(PUT_AWAY_AT_ONCE):
            ends = (self._try(live.name, live.partition, self._hosts.put_away(live)) for live in surplus)
            await asyncio.gather(*ends)

    def _give_up(self, partition: int) -> None:
        self._wanted -= {partition}
        self._state.forget()
        self._hosts.keep(self._wanted)
        self._claim_again[partition] = self._state.now() + round(CLAIM_AGAIN_SECONDS * SECOND)

    def _claim_due(self) -> None:
        """Claim lost partitions again if they are still assigned to this worker.

        The other claim came from a worker that has learned of its loss by now.
        """
        now = self._state.now()
        due = {partition for partition, when in self._claim_again.items() if when <= now}
        for partition in due:
            del self._claim_again[partition]
        self._wanted |= due

    async def _visit(self, name: str) -> None:
        partition = self._hosts.partition_of(name)
        if partition is None or not self._hosts.may_schedule(partition):
            return
        await self._try(name, partition, visit(self._state, name, partition, self._in_flight))

    async def _try(self, name: str, partition: int, work: Awaitable[None]) -> None:
        """Await work with a host. After a failure the host is read again."""
        try:
            await work
        except LostPartition:
            if partition in self._hosts.owned:  # else it was assigned anew meanwhile, and is claimed in the next round
                log.warning("another worker owns a partition of this frontier", partition=partition)
                self._give_up(partition)
        except (Exception, asyncio.CancelledError) as error:
            if is_cancelled(error):
                raise
            log.warning("a visit of a host failed; it is read again", host=name, error=str(error) or repr(error))

    async def _wait(self, when: int | None) -> None:
        now = self._state.now()
        seconds = MAX_WAIT_SECONDS if when is None else min((when - now) / SECOND, MAX_WAIT_SECONDS)
        try:
            async with asyncio.timeout(max(seconds, 0.0)):
                await self.woken.wait()
        except TimeoutError:
            return
