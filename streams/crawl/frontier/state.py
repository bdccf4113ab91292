"""The parts of a running frontier, shared by its intake and its dispatcher."""

from collections.abc import Callable
from dataclasses import dataclass

from schemas import Event
from streams.crawl.cancelled import CancelledCrawls
from streams.crawl.frontier.crawl_marks import CrawlMarks
from streams.crawl.frontier.host_caches import HostOrders, RankCache, RightsCache, RobotsCache
from streams.crawl.frontier.hosts.host_state import Host
from streams.crawl.frontier.hosts.live_hosts import Hosts
from streams.crawl.frontier.hosts.new_hosts import NewHostBudget
from streams.crawl.frontier.policy import Policy
from streams.crawl.frontier.scheduling.recrawl import plan_visit
from streams.crawl.frontier.url_aliases import HeldUrls, UrlAliases
from streams.crawl.frontier.url_table import UrlTable
from streams.crawl.frontier.url_writer import UrlWriter
from streams.crawl.host_quality import budget_factor, host_quality
from streams.runtime.agent import Emit
from streams.stores.protocols import FrontierStore, FrontierUrl


class Sender:
    """Sends events without an input. It is connected when the stage starts."""

    def __init__(self) -> None:
        self._emit: Emit | None = None

    def connect(self, emit: Emit) -> None:
        self._emit = emit

    async def __call__(self, event: Event, cause: str) -> None:
        if self._emit is None:
            raise RuntimeError("the frontier can't send events before the stage was started")
        await self._emit(event, cause)


@dataclass(slots=True)
class Counts:
    """Counts since the start, for the metrics."""

    leases_expired: int = 0
    """Number of leases that ended without a request, because no fetcher received them in time."""


@dataclass(frozen=True, slots=True)
class FrontierState:
    """The store, and the frontier's state in memory."""

    policy: Policy
    store: FrontierStore
    hosts: Hosts
    urls: UrlWriter
    marks: CrawlMarks
    seen: UrlTable
    """The last seen URLs: most links lead to known pages, and cost no read of the store."""
    robots: RobotsCache
    rights: RightsCache
    aliases: UrlAliases
    held: HeldUrls
    orders: HostOrders
    cancelled: CancelledCrawls
    new_hosts: NewHostBudget
    ranks: RankCache
    emit: Sender
    counts: Counts
    now: Callable[[], int]
    random: Callable[[], float]

    def forget(self) -> None:
        """Forget what is in memory of all hosts together, after another worker may have changed the store."""
        self.aliases.forget()
        self.held.forget()
        self.marks.forget()

    def plan_visit(self, url: FrontierUrl, host: Host) -> FrontierUrl:
        """Return a URL of the host with its next visit, if pages are visited again."""
        if not self.policy.recrawl:
            return url
        factor = budget_factor(host_quality(host.record))
        return plan_visit(url, self.now(), self.random(), host.position, host.hints, host.visits, factor)
