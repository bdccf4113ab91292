"""The frontier stage: which URL is fetched next, and when.

One agent owns a partition, and so all its hosts. Each step writes to the store first and sends the event afterwards. A
crash between the two does no harm: the next owner of the host sends the event of each lease again, with the same id,
and the cursor passes a queue entry only when the host is written.
"""

import asyncio
import random as randomness
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from uuid import uuid4

from schemas import Event, LinkFound, PageDeduplicated, PageDiscovered, PageFetched, PageSettled
from streams.clock import now_micros
from streams.crawl.cancelled import CancelledCrawls
from streams.crawl.frontier.crawl_marks import CrawlMarks
from streams.crawl.frontier.fence import Fence
from streams.crawl.frontier.host_caches import HostOrders, RankCache, RightsCache, RobotsCache
from streams.crawl.frontier.hosts.gathering import MAX_SECONDS, Gathering
from streams.crawl.frontier.hosts.live_hosts import Hosts
from streams.crawl.frontier.hosts.new_hosts import NewHostBudget
from streams.crawl.frontier.intake.answers import take_fetched, take_host_file, take_settled
from streams.crawl.frontier.intake.discovered import take_discovered
from streams.crawl.frontier.policy import Policy
from streams.crawl.frontier.scheduling.purposes import PURPOSES, Intake
from streams.crawl.frontier.state import Counts, FrontierState, Sender
from streams.crawl.frontier.url_aliases import HeldUrls, UrlAliases
from streams.crawl.frontier.url_table import UrlTable
from streams.crawl.frontier.url_writer import UrlWriter
from streams.crawl.frontier.visits.dispatcher import Dispatcher
from streams.errors import PoisonError, TransientError
from streams.runtime.agent import Agent, Delivery, Emit
from streams.settings import CrawlSettings, Settings
from streams.stores.host_buckets import partition_of
from streams.stores.opener import Stores

MAX_SEEN = 1 << 19
"""Maximum number of seen URLs in memory: 4 MB. Any other URL costs one read of the store."""
_INTAKES: Mapping[Intake, Callable[[FrontierState, PageFetched, int], Awaitable[Sequence[Event]]]] = {
    "fetched": take_fetched,
    "host_file": take_host_file,
}


class MovedHost(TransientError):
    """Another worker owns the host now. The retry topic brings the event there: it has the current partitions."""


class FrontierAgent(Agent):
    """The frontier's agent. Inputs go to its intake; its dispatcher schedules on its own."""

    def __init__(
        self,
        settings: CrawlSettings,
        stores: Stores,
        now: Callable[[], int] = now_micros,
        random: Callable[[], float] = randomness.random,
        policy: Policy | None = None,
        *,
        max_gathering_seconds: float = 0.0,
    ) -> None:
        """`policy`: another one than the settings have. `max_gathering_seconds`: see `hosts.gathering`."""
        rules = policy or Policy.of(settings)
        gathering = Gathering(max_gathering_seconds)
        self.state = _new_state(settings, rules, stores, gathering, now, random, lambda: self.partition_count)
        self.dispatcher = Dispatcher(self.state, settings.in_flight, lambda: self.later_stage_behind())
        self._task: asyncio.Task[None] | None = None

    def connect(self, emit: Emit) -> None:
        """Use `emit` for the events without an input."""
        self.state.emit.connect(emit)

    async def start(self, emit: Emit) -> None:
        self.connect(emit)
        self._task = asyncio.create_task(self.dispatcher.run(), name="frontier-dispatcher")

    async def stop(self) -> None:
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def hurry(self, *, is_on: bool) -> None:
        self.state.hosts.gathering.hurry(is_on=is_on)

    async def assigned(self, partitions: frozenset[int]) -> None:
        """Give up the hosts of lost partitions at once. The dispatcher reads the hosts of the new partitions.

        A new partition is claimed by the first event or round that needs it.
        """
        self.state.forget()
        self.dispatcher.assign(partitions)

    async def revoked(self) -> None:
        await self.dispatcher.pause()

    def measurements(self) -> Mapping[str, float]:
        return {
            "frontier_leases": self.state.hosts.leased,
            "frontier_leases_expired": self.state.counts.leases_expired,
        }

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        event = _part_for_the_frontier(delivery.event)
        if event is None:
            return []
        delivery = self._with_current_partition(replace(delivery, event=event))
        await self.state.hosts.claim(delivery.partition)
        match delivery.event:
            case PageDiscovered() as event:
                return await take_discovered(self.state, event, delivery)
            case PageFetched() as event:
                take = _INTAKES[PURPOSES[event.purpose].intake]
                return await take(self.state, event, delivery.partition)
            case PageSettled() as event:
                await take_settled(self.state, event, delivery.partition)
                return []
        raise PoisonError(f"the frontier has no use for {type(delivery.event).__name__}")

    def _with_current_partition(self, delivery: Delivery) -> Delivery:
        """Return the delivery with the host's current partition. Raises MovedHost if another worker owns the host.

        An event that was sent before the topics got more partitions is in the former partition of its host.
        """
        today = partition_of(delivery.event.key(), self.partition_count)
        if today == delivery.partition:
            return delivery
        if not self.dispatcher.is_wanted(today):
            raise MovedHost(f"{delivery.event.key()} is in partition {today} now, which another worker owns")
        return replace(delivery, partition=today)


def _part_for_the_frontier(event: Event) -> Event | None:
    """Return what an event says about fetches. None: nothing, such as links that the crawl may not follow."""
    match event:
        case LinkFound():
            return event.followed()
        case PageDeduplicated():
            return event.settled()
    return event


def _new_state(
    settings: CrawlSettings,
    policy: Policy,
    stores: Stores,
    gathering: Gathering,
    now: Callable[[], int],
    random: Callable[[], float],
    partitions: Callable[[], int],
) -> FrontierState:
    store, emit = stores.frontier, Sender()
    fence = Fence(store, str(uuid4()), now)
    marks = CrawlMarks(store, fence, now, partitions)
    hosts = Hosts(store, fence, marks, gathering, now, partitions)
    held = HeldUrls(store, emit)
    return FrontierState(
        policy=policy,
        store=store,
        hosts=hosts,
        urls=UrlWriter(hosts, store),
        marks=marks,
        seen=UrlTable(MAX_SEEN),
        robots=RobotsCache(stores.blobs, settings.robot_name),
        rights=RightsCache(stores.blobs),
        aliases=UrlAliases(stores.fingerprints, held, now),
        held=held,
        orders=HostOrders(store, now),
        cancelled=CancelledCrawls(stores.notes, now),
        new_hosts=NewHostBudget(now),
        ranks=RankCache(stores.host_links, now),
        emit=emit,
        counts=Counts(),
        now=now,
        random=random,
    )


async def build(settings: Settings, stores: Stores) -> Agent:
    """Return the stage's agent, for the runtime."""
    return FrontierAgent(settings.crawl, stores, max_gathering_seconds=MAX_SECONDS)
