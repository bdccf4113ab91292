"""The frontier stage: which URL is fetched next, and when.

One agent owns a partition, and so all hosts whose keys fall into it. Order of every step: the store first, then the
event. A crash between the two is made good: what a lease says is sent again (with the same ids) by whoever reads the
host next, and a queue entry is behind the cursor only when the host was written after it.
"""

import asyncio
import random as randomness
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import structlog

from schemas import Event, OriginChanged, PageDiscovered, PageFetched, PageRemoved, PageSettled
from schemas.envelope import micros_from_utc, utc_from_micros
from schemas.ids import page_id as page_id_of
from streams.crawl import robots
from streams.crawl.fetch.outcomes import retry_after_seconds
from streams.crawl.frontier import decisions as frontier
from streams.crawl.frontier.decisions import Policy
from streams.crawl.frontier.dispatcher import Dispatcher
from streams.crawl.frontier.hosts import Hosts, LiveHost
from streams.crawl.frontier.robots_cache import RulesCache
from streams.crawl.frontier.seen_cache import SeenCache
from streams.crawl.frontier.url_aliases import Spelling, Spellings, stands_in
from streams.crawl.urls import InvalidUrl, canonicalize, host_of
from streams.errors import PoisonError
from streams.runtime.agent import Agent, Delivery, Emit
from streams.settings import CrawlSettings, Settings
from streams.stores.opener import Stores
from streams.stores.protocols import FrontierUrl, QueueEntry

log = structlog.get_logger(__name__)


def now_micros() -> int:
    return micros_from_utc(datetime.now(UTC))


class FrontierAgent(Agent):
    """Takes in what was discovered, fetched and settled; its dispatcher schedules on its own."""

    def __init__(
        self,
        settings: CrawlSettings,
        stores: Stores,
        now: Callable[[], int] = now_micros,
        random: Callable[[], float] = randomness.random,
    ) -> None:
        self._policy = Policy.of(settings)
        self._store = stores.frontier
        self._blobs = stores.blobs
        self._now = now
        self._random = random
        self._seen = SeenCache()
        self._rules = RulesCache(stores.blobs, robots.product_token(settings.user_agent))
        self._spellings = Spellings(stores.fingerprints, stores.frontier, now)
        self.hosts = Hosts(stores.frontier, now, lambda host: host.concurrency(self._policy), self._wake)
        self.dispatcher = Dispatcher(
            self.hosts, stores.frontier, self._rules, self._spellings, self._policy, settings.in_flight, now, random
        )
        self._task: asyncio.Task[None] | None = None

    async def start(self, emit: Emit) -> None:
        self.dispatcher.emit = emit
        self._task = asyncio.create_task(self.dispatcher.run(), name="frontier-dispatcher")

    async def stop(self) -> None:
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def assigned(self, partitions: frozenset[int]) -> None:
        """The lost partitions are let go at once; the hosts of the new ones are read by the dispatcher."""
        self._spellings.forget()
        self.dispatcher.assign(partitions)

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        match delivery.event:
            case PageDiscovered() as event:
                events = await self._discovered(event, delivery)
                await self._spellings.release(event.host, self.dispatcher.emit)
                return events
            case PageFetched(purpose="robots") as event:
                return await self._robots_fetched(event, delivery.partition)
            case PageFetched() as event:
                return await self._fetched(event, delivery.partition)
            case PageSettled() as event:
                events = await self._settled(event, delivery.partition)
                # What the page taught is in the store by now: a rule that it disagreed with ends here. Under the
                # host's lock, so that nothing is held back by the former rules meanwhile.
                async with self.hosts.holding(event.host, delivery.partition):
                    await self._spellings.of(event.host, fresh=True)
                    await self._spellings.release(event.host, self.dispatcher.emit)
                    await self._spellings.probe(event.host, event.page_id, self.dispatcher.emit)
                return events
        raise PoisonError(f"the frontier has no use for {type(delivery.event).__name__}")

    def _wake(self) -> None:
        self.dispatcher.wake()

    async def _discovered(self, event: PageDiscovered, delivery: Delivery) -> Sequence[Event]:
        cause = str(delivery.envelope.id)
        if not event.force and not frontier.seeds(event) and self._seen.has(event.crawl_id, event.page_id):
            return []
        _must_be_canonical(event)
        if await self._spellings.is_held(event, cause):
            return []
        said: list[Event] = []
        async with self.hosts.holding(event.host, delivery.partition) as live:
            if frontier.seeds(event) and not live.host.share(event.crawl_id).seeded:
                live.host.share(event.crawl_id).seeded = True
                live.persisted_due = None  # to be written with what follows
            known = await self.hosts.url(live, event.page_id)
            if known and known.cause == cause:
                await self._write(known, live)  # a second delivery: the first may have been cut short
                return []
            reason = frontier.reason_to_skip(event, live.host, known, self._policy, cause)
            if reason:
                return await self._skip(event, known, reason, live, delivery)
            if known is None and (other := await self._spellings.other(event)):
                event, known, said = await self._respelled(event, other, live, delivery)
                if known and known.cause == cause:
                    await self._write(known, live)
                    return said
            if not (said and known):
                await self._queue(event, known, live, cause)
        self._seen.add(event.crawl_id, event.page_id)
        return said

    async def _respelled(
        self, event: PageDiscovered, other: Spelling, live: LiveHost, delivery: Delivery
    ) -> tuple[PageDiscovered, FrontierUrl | None, list[Event]]:
        """What is to be fetched in the place of a URL that is another spelling of it, what is known of that, and what
        to say of the URL; the event itself, and nothing to say, when it is to be fetched as it is."""
        own = other.host == event.host
        known = await (self.hosts.url(live, other.page_id) if own else self._store.url(other.page_id))
        if not stands_in(event, other, known):
            return event, None, []
        await self._spellings.hold(event, other, str(delivery.envelope.id), delivery.at)
        instead = event.model_copy(update={"url": other.url, "page_id": other.page_id})
        return instead, known, [_held(event, other, delivery.at)]

    async def _queue(self, event: PageDiscovered, known: FrontierUrl | None, live: LiveHost, cause: str) -> None:
        """Queue it. All writes may go side by side: whichever is missing after a crash, a redelivery makes good."""
        now = self._now()
        leased = known is not None and any(lease.page_id == known.page_id for lease in live.host.leases.values())
        position = known.position if known and leased else live.host.position(now)
        url = frontier.queue_url(event, known, cause, position, now)
        if known and leased:
            url = replace(url, attempt=known.attempt)  # the fetch that is on its way will do
        if known and known.state == "queued" and known.crawl_id not in ("", event.crawl_id):
            await self._store.mark(known.crawl_id, known.page_id, "seen", url.at)
        await self._write(url, live)

    async def _skip(
        self, event: PageDiscovered, known: FrontierUrl | None, reason: str, live: LiveHost, delivery: Delivery
    ) -> Sequence[Event]:
        """A link is dropped without a trace; of a seed, the person who gave it is told."""
        if live.persisted_due is None and frontier.seeds(event):
            await self.hosts.persist(live)
        if known:
            self._seen.add(event.crawl_id, event.page_id)
        if not frontier.seeds(event) or not event.crawl_id or (known and known.cause == str(delivery.envelope.id)):
            return []
        if known and known.crawl_id == event.crawl_id:
            return []
        await self._store.mark(event.crawl_id, event.page_id, "seen" if known else "refused", delivery.at)
        return [] if known else [_removed(event, delivery.at, reason)]

    async def _fetched(self, event: PageFetched, partition: int) -> Sequence[Event]:
        async with self.hosts.holding(event.host, partition) as live:
            now = self._now()
            url = await self.hosts.url(live, event.page_id) or frontier.url_of_import(event, now)
            position = live.host.position(now + frontier.backoff(event.attempt, self._random()))
            later = frontier.take_in(url, event, position, self._policy, now)
            ended = self._end_lease(live, event)
            if later.generation == event.generation:
                await self._write(later, live, persist=ended)
            elif ended:
                await self.hosts.persist(live)
        self._seen.add(later.crawl_id, later.page_id)
        if later.state == "done" and later.outcome not in ("ok", "not_modified"):
            await self._spellings.release_for(later.host, later.page_id, self.dispatcher.emit)
        return _outputs(event, later) if later.generation == event.generation else []

    async def _write(self, url: FrontierUrl, live: LiveHost, *, persist: bool = False) -> None:
        """Write a URL as it is now, its place in the queue, where it stands in its crawl, and the host if need be.

        Side by side, and as often as one likes: the same URL is always written the same way.
        """
        await self.hosts.fill(live)  # before the push: what memory takes for the whole queue must be it
        writes = [self.hosts.put_url(live, url), self._mark(url)]
        entry = QueueEntry(url.position, url.page_id)
        cursor = live.host.cursor
        if url.state == "queued" and (cursor is None or cursor < entry):
            writes.append(self._store.push(url.host, entry, url.at))
            live.head.push(entry)
            persist = persist or not self.hosts.covers(live, entry.position)
        if persist:
            writes.append(self.hosts.persist(live))
        await asyncio.gather(*writes)

    def _end_lease(self, live: LiveHost, event: PageFetched) -> bool:
        """End the lease, if it is still held, and set the host's pace."""
        lease = live.host.leases.pop(event.lease_id, None) if event.lease_id else None
        if lease is None:
            return False
        live.unsent.discard(lease.lease_id)
        now = self._now()
        retry_after = retry_after_seconds(event.headers.get("retry-after"), utc_from_micros(now))
        frontier.answered(live.host, event, self._policy, now, self._random(), retry_after)
        return True

    async def _robots_fetched(self, event: PageFetched, partition: int) -> Sequence[Event]:
        async with self.hosts.holding(event.host, partition) as live:
            known = live.host.robots
            if event.lease_id and event.lease_id in live.host.leases:
                known = await self._robots_of(event, live)
                live.host.robots = known
                self._end_lease(live, event)
                await self.hosts.persist(live)
            failures, next_at, banned = live.host.failures, live.host.next_at, live.host.banned
        if known.fetched_at != event.generation:
            return []
        blocked = failures >= frontier.BLOCKED_AFTER_FAILURES or known.status == "unreachable"
        return [
            OriginChanged(
                host=event.host,
                robots="allowed" if known.status == "unknown" else known.status,
                robots_ref=known.ref,
                robots_fetched_at=utc_from_micros(known.fetched_at),
                crawl_delay_seconds=known.delay_seconds,
                failures_in_a_row=failures,
                blocked_until=utc_from_micros(next_at) if blocked else None,
                banned=banned,
                reason=known.detail or None,
            )
        ]

    async def _robots_of(self, event: PageFetched, live: LiveHost) -> frontier.Robots:
        before = live.host.robots
        match robots.consequence(event.outcome, before.redirects):
            case "rules" if event.body_ref:
                rules = await self._rules.get(event.body_ref)
                return frontier.Robots("rules", event.body_ref, event.generation, rules.delay_seconds)
            case "redirect" if event.redirect_to:
                return replace(before, url=event.redirect_to, redirects=before.redirects + 1, fetched_at=0,
                               status="unknown")  # fmt: skip
            case "unreachable":
                detail = event.error or event.outcome
                return frontier.robots_failed(before, event.generation, detail, self._policy, final=not event.retryable)
        return frontier.Robots("allowed", fetched_at=event.generation)

    async def _settled(self, event: PageSettled, partition: int) -> Sequence[Event]:
        """The stages behind are done with this content. It may come before the answer itself: both are in flight."""
        async with self.hosts.holding(event.host, partition) as live:
            url = await self.hosts.url(live, event.page_id) or frontier.url_of_settled(event)
            if url.settled_generation < event.generation:
                at = frontier.next_version(url, self._now())
                url = replace(url, at=at, settled_generation=event.generation)
            if url.settled_generation == event.generation:
                await asyncio.gather(self.hosts.put_url(live, url), self._mark(url))
        return []

    async def _mark(self, url: FrontierUrl) -> None:
        if url.crawl_id:
            await self._store.mark(url.crawl_id, url.page_id, frontier.crawl_state(url), url.at)


def _must_be_canonical(event: PageDiscovered) -> None:
    """A producer that skips the law of URLs would make two pages of one, or steer a host's events elsewhere."""
    try:
        canonical = canonicalize(event.url)
    except InvalidUrl as error:
        raise PoisonError(f"discovered {event.url[:200]!r}: {error}") from None
    if (canonical, host_of(canonical), page_id_of(canonical)) != (event.url, event.host, event.page_id):
        raise PoisonError(f"discovered {event.url[:200]!r} is not canonical, or its host or page id is of another URL")


def _removed(event: PageDiscovered, generation: int, detail: str, same_as: Spelling | None = None) -> PageRemoved:
    return PageRemoved(
        page_id=event.page_id,
        url=event.url,
        generation=generation,
        crawl_id=event.crawl_id,
        reason="duplicate" if same_as else "refused",
        canonical_page_id=same_as.page_id if same_as else None,
        detail=detail,
    )


def _held(event: PageDiscovered, other: Spelling, generation: int) -> PageRemoved:
    """Tells those who ask for the page where it is."""
    rules = ", ".join(other.rules)
    detail = f"not fetched: another spelling of it, as duplicates of {event.host} taught ({rules})"
    return _removed(event, generation, detail, other)


def _outputs(event: PageFetched, url: FrontierUrl) -> list[Event]:
    """What an answer leads to: the redirect's target to be discovered, and a page that is gone to be removed."""
    events: list[Event] = []
    if event.outcome in ("gone", "redirect") and url.ok_generation:
        detail = f"moved to {event.redirect_to}" if event.redirect_to else event.error
        events.append(
            PageRemoved(
                page_id=url.page_id,
                url=url.url,
                generation=event.generation,
                crawl_id=url.crawl_id,
                reason="gone",
                detail=detail,
            )
        )
    if event.redirect_to and event.redirect_to != url.url and event.source == "crawl":
        events.append(
            PageDiscovered(
                page_id=page_id_of(event.redirect_to),
                url=event.redirect_to,
                host=host_of(event.redirect_to),
                why="redirect",
                depth=url.depth,
                max_depth=url.max_depth,
                max_pages=url.max_pages,
                same_host=url.same_host,
                crawl_id=url.crawl_id,
                referrer=url.url,
                force=url.forced,
                redirects=url.redirects + 1,
            )
        )
    return events


async def build(settings: Settings, stores: Stores) -> Agent:
    """The stage's agent, for the runtime."""
    return FrontierAgent(settings.crawl, stores)
