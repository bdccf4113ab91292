"""The frontier's own activity: visits hosts that are due, and schedules what may be fetched.

It waits until a host is due or something was taken in. A visit holds the host's lock, so that an event of the same host
waits for it. What fails in a visit is read again from the store a second later.
"""

import asyncio
from collections.abc import Callable
from uuid import uuid5

import structlog

from schemas import Event, PageRemoved, PageScheduled
from schemas.envelope import utc_from_micros
from schemas.ids import page_id as page_id_of
from streams.crawl.frontier import decisions as frontier
from streams.crawl.frontier.decisions import SECOND, Lease, Policy
from streams.crawl.frontier.hosts import RETRY_MICROS, Hosts, LiveHost
from streams.crawl.frontier.robots_cache import RulesCache
from streams.crawl.frontier.url_aliases import Spellings
from streams.errors import MissingBlob
from streams.runtime.agent import Emit
from streams.stores.protocols import FrontierStore, FrontierUrl, QueueEntry

log = structlog.get_logger(__name__)

VISITS_AT_ONCE = 16
STEPS_PER_VISIT = 64
"""Then the host's lock is released, so that its events are not held up by a long run of refusals."""
MAX_WAIT_SECONDS = 5.0


async def _not_started(event: Event, cause: str) -> None:
    raise RuntimeError("the dispatcher has no way to send events before the stage was started")


class Dispatcher:
    """Schedules the pages of the hosts that this worker owns."""

    def __init__(
        self,
        hosts: Hosts,
        store: FrontierStore,
        rules: RulesCache,
        spellings: Spellings,
        policy: Policy,
        in_flight: int,
        now: Callable[[], int],
        random: Callable[[], float],
    ) -> None:
        self.emit: Emit = _not_started
        self._hosts = hosts
        self._store = store
        self._rules = rules
        self._spellings = spellings
        self._policy = policy
        self._in_flight = in_flight
        self._now = now
        self._random = random
        self._wanted: frozenset[int] = frozenset()
        self.woken = asyncio.Event()

    def assign(self, partitions: frozenset[int]) -> None:
        """Own these partitions from the next round on; stop scheduling for all others now."""
        self._wanted = partitions
        self._hosts.owned &= partitions
        self.wake()

    def wake(self) -> None:
        self.woken.set()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            self.woken.clear()
            try:
                when = await self.round()
            except Exception:
                log.exception("the frontier could not read its hosts; trying again")
                when = self._now() + RETRY_MICROS
            await self._wait(when)

    async def round(self) -> int | None:
        """Visit all hosts that are due. Returns when the next one is, or None when only an event can change that."""
        if self._wanted != self._hosts.owned:
            await self._hosts.own(self._wanted)
        while self._hosts.leased < self._in_flight:
            due = [name for name in (self._pop() for _ in range(VISITS_AT_ONCE)) if name]
            if not due:
                return self._hosts.due.next_at()
            await asyncio.gather(*(self._visit_safely(name) for name in due))
        return self._now() + RETRY_MICROS

    def _pop(self) -> str | None:
        return self._hosts.due.pop(self._now(), self._random)

    async def _wait(self, when: int | None) -> None:
        seconds = MAX_WAIT_SECONDS if when is None else min((when - self._now()) / SECOND, MAX_WAIT_SECONDS)
        try:
            async with asyncio.timeout(max(seconds, 0.0)):
                await self.woken.wait()
        except TimeoutError:
            return

    async def _visit_safely(self, name: str) -> None:
        partition = self._hosts.partition_of(name)
        if partition is None or partition not in self._hosts.owned:
            return
        try:
            await self._visit(name, partition)
        except Exception as error:
            log.warning("a visit of a host failed; it is read again", host=name, error=str(error) or repr(error))

    async def _visit(self, name: str, partition: int) -> None:
        async with self._hosts.holding(name, partition) as live:
            await self._send_again(live)
            await self._end_leases(live)
            for _ in range(STEPS_PER_VISIT):
                if not await self._step(live):
                    break
            if live.persisted_due is not None and live.next_due(1) is None:
                await self._hosts.persist(live)  # nothing waits any more
            await self._hosts.trim(live)

    async def _step(self, live: LiveHost) -> bool:
        """Deal with the first entry of the queue. False when there is none to deal with now."""
        host, now = live.host, self._now()
        if not self._may_ask(live, now):
            return False
        await self._hosts.fill(live)
        entry = live.head.first()
        if entry is None or entry.position > now:
            return False
        if host.robots_due(self._policy, now):
            await self._schedule_robots(live, now)
            return False
        url = await self._hosts.url(live, entry.page_id)
        if url is None or url.position != entry.position or _is_leased(live, url):
            self._hosts.take(live)
        elif url.state == "done":
            await self._say_end(url)  # again, after a crash
            self._hosts.take(live)
        elif not await self._rules_are_there(live):
            return False
        elif end := await self._end_of(live, url):
            await self._end(live, url, *end)
        else:
            await self._schedule(live, entry, url)
        return True

    def _may_ask(self, live: LiveHost, now: int) -> bool:
        host = live.host
        return (
            live.partition in self._hosts.owned
            and not host.banned
            and host.next_at <= now
            and len(host.leases) < host.concurrency(self._policy)
            and self._hosts.leased + len(host.leases) - live.leased < self._in_flight
        )

    async def _end_of(self, live: LiveHost, url: FrontierUrl) -> tuple[str, str] | None:
        """Outcome and reason, when the URL is not to be fetched."""
        known = live.host.robots
        if known.status == "unreachable":
            return "unreachable", f"robots.txt can't be read, so nothing is fetched: {known.detail}"
        limit = url.max_pages or self._policy.max_pages_per_host
        if not url.attempt and live.host.share(url.crawl_id).scheduled >= limit:
            return "over_budget", f"{limit} pages of this host were fetched in this crawl, and no more are wanted"
        if known.ref and not (await self._rules.get(known.ref)).allowed(url.url):
            return "disallowed", f"robots.txt of {url.host} disallows it"
        return None

    async def _rules_are_there(self, live: LiveHost) -> bool:
        """False when the blob of the robots.txt is gone: then it is fetched again."""
        known = live.host.robots
        try:
            if known.ref:
                await self._rules.get(known.ref)
        except MissingBlob:
            live.host.robots = frontier.Robots()
            return False
        return True

    async def _end(self, live: LiveHost, url: FrontierUrl, outcome: str, detail: str) -> None:
        """End a URL without a fetch. The entry stays before the written cursor, so a crash repeats the event."""
        ended = frontier.end_url(url, outcome, detail, self._now())
        if ended.crawl_id:
            await self._store.mark(ended.crawl_id, ended.page_id, frontier.crawl_state(ended), ended.at)
        await self._hosts.put_url(live, ended)
        await self._say_end(ended)
        if outcome == "disallowed":  # its other spellings may be allowed
            await self._spellings.release_for(url.host, url.page_id, self.emit)
        self._hosts.take(live)
        live.persisted_due = live.persisted_due or 0

    async def _say_end(self, url: FrontierUrl) -> None:
        if frontier.removes(url):
            await self.emit(_refused(url), f"{url.page_id}/{url.at}")

    async def _schedule(self, live: LiveHost, entry: QueueEntry, url: FrontierUrl) -> None:
        now = self._now()
        host = live.host
        lease = frontier.lease_of(url, self._policy, now)
        self._hosts.take(live)
        host.leases[lease.lease_id] = lease
        host.next_at = now + host.delay(self._policy, self._random())
        if lease.attempt == 1:
            host.share(url.crawl_id).scheduled += 1
        if url.crawl_id:
            await asyncio.gather(
                self._hosts.persist(live), self._store.mark(url.crawl_id, url.page_id, "leased", url.at + 1)
            )
        else:
            await self._hosts.persist(live)
        await self.emit(_scheduled(url, lease), str(lease.lease_id))

    async def _schedule_robots(self, live: LiveHost, now: int) -> None:
        host = live.host
        page_id = page_id_of(host.robots_url())
        attempt = host.robots.failures + 1
        until = now + round(self._policy.lease_seconds * SECOND)
        lease = Lease(uuid5(page_id, f"{now}/{attempt}"), page_id, until, attempt, robots=True)
        host.leases[lease.lease_id] = lease
        host.next_at = now + host.delay(self._policy, self._random())
        await self._hosts.persist(live)
        await self.emit(_robots_scheduled(live, lease), str(lease.lease_id))

    async def _send_again(self, live: LiveHost) -> None:
        """What a worker before us may have stored and not sent. Fetchers know a lease that they answered."""
        for lease_id in sorted(live.unsent):
            lease = live.host.leases[lease_id]
            if lease.until > self._now():
                if lease.robots:
                    await self.emit(_robots_scheduled(live, lease), str(lease_id))
                else:
                    url = await self._hosts.url(live, lease.page_id)
                    if url and frontier.holds(lease, url):
                        await self.emit(_scheduled(url, lease), str(lease_id))
            live.unsent.discard(lease_id)

    async def _end_leases(self, live: LiveHost) -> None:
        """Leases that ran out: their pages are queued again, with one attempt more."""
        over = [lease for lease in live.host.leases.values() if lease.until <= self._now()]
        for lease in over:
            if lease.robots:
                robots = live.host.robots
                live.host.robots = frontier.robots_failed(robots, self._now(), "no answer", self._policy)
            else:
                await self._queue_again(live, lease)
            del live.host.leases[lease.lease_id]
        if over:
            await self._hosts.fill(live)
            await self._hosts.persist(live)

    async def _queue_again(self, live: LiveHost, lease: Lease) -> None:
        url = await self._hosts.url(live, lease.page_id)
        if url is None or not frontier.holds(lease, url):
            return
        now = self._now()
        later = frontier.ran_out(url, lease, live.host.position(now), self._policy, now)
        entry = QueueEntry(later.position, later.page_id)
        if later.state == "queued":
            await self._store.push(live.name, entry, later.at)
        if later.crawl_id:
            await self._store.mark(later.crawl_id, later.page_id, frontier.crawl_state(later), later.at)
        await self._hosts.put_url(live, later)
        if later.state == "queued":
            live.head.push(entry)


def _is_leased(live: LiveHost, url: FrontierUrl) -> bool:
    return any(lease.page_id == url.page_id for lease in live.host.leases.values())


def _scheduled(url: FrontierUrl, lease: Lease) -> PageScheduled:
    return PageScheduled(
        page_id=url.page_id,
        url=url.url,
        host=url.host,
        lease_id=lease.lease_id,
        lease_until=utc_from_micros(lease.until),
        attempt=lease.attempt,
        depth=url.depth,
        max_depth=url.max_depth,
        max_pages=url.max_pages,
        same_host=url.same_host,
        crawl_id=url.crawl_id,
        etag=url.etag if url.ok_generation else None,
        last_modified=url.last_modified if url.ok_generation else None,
    )


def _robots_scheduled(live: LiveHost, lease: Lease) -> PageScheduled:
    return PageScheduled(
        page_id=lease.page_id,
        url=live.host.robots_url(),
        host=live.name,
        purpose="robots",
        lease_id=lease.lease_id,
        lease_until=utc_from_micros(lease.until),
        attempt=lease.attempt,
    )


def _refused(url: FrontierUrl) -> PageRemoved:
    return PageRemoved(
        page_id=url.page_id,
        url=url.url,
        generation=url.at,
        crawl_id=url.crawl_id,
        reason="refused",
        detail=url.detail,
    )
