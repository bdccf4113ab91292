"""The hosts that the frontier holds in memory: loaded from the store, locked while used, forgotten when idle.

Memory is a cache. After a failure half-way the host is read again: only the store is the truth.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from uuid import UUID

from streams.crawl.frontier.crawl_marks import CrawlMarks
from streams.crawl.frontier.fence import Fence, LostPartition
from streams.crawl.frontier.hosts.due_hosts import HORIZON_MICROS, BucketSweep, DueHosts
from streams.crawl.frontier.hosts.gathering import Gathering
from streams.crawl.frontier.hosts.host_memory import IdleHosts, NewHosts
from streams.crawl.frontier.hosts.host_state import CrawlShare, Host
from streams.crawl.frontier.hosts.live_host import HEAD_ENTRIES, Head, LiveHost
from streams.crawl.frontier.hosts.unwritten import UnwrittenRows, end_all, will_be_settled
from streams.crawl.frontier.policy import SECOND
from streams.crawl.host_quality import host_quality
from streams.stores.host_buckets import bucket_of, buckets_of, partition_of
from streams.stores.protocols import FIRST_URLS, ROWS_TOGETHER, FrontierStore, FrontierUrl, HostRows, QueueEntry

RETRY_MICROS = SECOND
"""Time until a host is tried again after a failure of the store (microseconds)."""
TRIM_ENTRIES = 1_000
"""Minimum number of passed entries before they are deleted, with one range tombstone for all."""
EVENTS_AT_ONCE = 64
"""Maximum number of events that change their hosts side by side. Events that wait for their rows are not counted."""


class Hosts:
    """All hosts of this worker's partitions that are due or in use."""

    def __init__(
        self,
        store: FrontierStore,
        fence: Fence,
        marks: CrawlMarks,
        gathering: Gathering,
        now: Callable[[], int],
        partitions: Callable[[], int],
    ) -> None:
        self._store = store
        self._fence = fence
        self._marks = marks
        self.gathering = gathering
        self._slots = asyncio.Semaphore(EVENTS_AT_ONCE)
        self._now = now
        self._partitions = partitions
        self.changed = asyncio.Event()
        """Set when a host may have become due."""
        self._live: dict[str, LiveHost] = {}
        self._idle = IdleHosts()
        self._new = NewHosts()
        self._partition_of: dict[str, int] = {}
        self._assigned: frozenset[int] = frozenset()
        self._claiming = asyncio.Lock()
        self.owned: frozenset[int] = frozenset()
        """The assigned partitions that this worker has claimed."""
        self.due = DueHosts()
        self._sweep = BucketSweep(now)
        self.expiring = DueHosts()
        """Hosts with leases, by the time at which the first of them expires."""
        self.leased = 0
        self.paused = False
        """The partitions are being reassigned, so nothing is scheduled."""

    def may_schedule(self, partition: int) -> bool:
        return partition in self.owned and not self.paused

    def partition_of(self, name: str) -> int | None:
        return self._partition_of.get(name)

    async def own(self, partitions: frozenset[int]) -> None:
        """Own these partitions from now on. Hosts of lost partitions are forgotten; `read_more` reads the new ones."""
        self.keep(partitions)
        for partition in sorted(partitions - self.owned):
            with suppress(LostPartition):  # the assignment changed meanwhile: the next round has the new one
                await self.claim(partition)

    async def claim(self, partition: int) -> None:
        """Claim an assigned partition before any of its hosts is read. Does nothing if this worker has claimed it.

        Raises LostPartition if the partition is not assigned to this worker.
        """
        if partition in self.owned:
            return
        async with self._claiming:
            if partition in self._assigned and not self._fence.has_claimed(partition):
                await self._fence.claim(partition)
                if partition in self._assigned:
                    self.owned |= {partition}
                    self._sweep.begin(buckets_of(partition, self._partitions()))
        if partition not in self.owned:
            raise LostPartition(f"partition {partition} of the frontier is not assigned to this worker")

    async def read_more(self) -> bool:
        """Read some of the hosts that wait in the store. Return False if none are to be read now."""
        buckets = self._sweep.take()
        try:
            active = await self._store.active_hosts(buckets) if buckets else []
        except BaseException:
            self._sweep.give_back(buckets)
            raise
        for name, due in active:
            partition = partition_of(name, self._partitions())
            # What is in memory is newer than what was read.
            if partition in self.owned and name not in self._partition_of and self._sweep.keeps(due):
                self._partition_of[name] = partition
                self.due.put(name, due)
        return bool(buckets)

    def next_at(self) -> int | None:
        """Return when the next host is due, or hosts are to be read. The time may be past."""
        return min((when for when in (self.due.next_at(), self._sweep.next_at()) if when is not None), default=None)

    def keep(self, partitions: frozenset[int]) -> None:
        """Own only these partitions, of those that are owned. Hosts that another worker may change are forgotten."""
        self._assigned = partitions
        self.owned &= partitions
        self._fence.keep(self.owned)
        self._sweep.keep({bucket for one in self.owned for bucket in buckets_of(one, self._partitions())})
        self._idle.clear()
        self._new.clear()
        for name in [name for name, partition in self._partition_of.items() if partition not in self.owned]:
            del self._partition_of[name]
            self.due.forget(name)
            self.expiring.put(name, None)
        for live in [live for live in self._live.values() if live.partition not in self.owned]:
            self._forget(live)

    @asynccontextmanager
    async def lock(self, name: str, partition: int) -> AsyncIterator[LiveHost]:
        """Lock the host, and read it if it is not in memory. After an error inside, it is read again."""
        with self._use(name, partition) as live:
            async with live.lock:
                try:
                    await self._fence.require(partition)
                    if live.state is None:
                        await self._read(live)
                    yield live
                except BaseException as error:
                    live.state = None
                    live.drop_rows(error)
                    self._new.forget(name)
                    raise
                finally:
                    self._put_due(live)

    @asynccontextmanager
    async def lock_for_event(self, name: str, partition: int) -> AsyncIterator[LiveHost]:
        """Lock the host for an event. After the block, return when the rows that the event led to are written.

        Rows of a busy host wait for the rows of later events, without the lock. Raises if they were not written.
        """
        with self._use(name, partition):
            async with self.lock(name, partition) as live:
                before = {rows: rows.changes for rows in (live.rows, live.answers)}
                async with self._slots:
                    yield live
                changed = [rows for rows in (live.rows, live.answers) if rows.changes > before.get(rows, 0)]
                event = object()
                for rows in changed:
                    rows.events.add(event)
                if changed and not self.gathering.may_wait(live, self._now()):
                    await self.write(live)
            for rows in changed:
                await self._end_rows(live, rows)

    async def _end_rows(self, live: LiveHost, rows: UnwrittenRows) -> None:
        """Return when rows are written. The first of the events that wait for them writes them."""

        async def write() -> None:
            with suppress(Exception):  # `require_written` raises it
                async with self.lock(live.name, live.partition) as locked:
                    if not rows.is_ended:
                        await self.write(locked, answers=rows is locked.answers)

        if not rows.is_ended:
            await self.gathering.wait(rows, write)
        rows.require_written()

    async def write(self, live: LiveHost, *, answers: bool = True) -> None:
        """Write what the store lacks of a locked host, or all but answered URLs. The row of a new host is among it.

        The states in crawls are written side by side with it: after a crash, the redelivery of the events repeats the
        missing ones. Raises as `require_written` does.
        """
        taken = live.take_rows(answers=answers)
        try:
            await self._require(live)
            await self._write_rows(live, taken)
        except BaseException as error:
            self.gathering.keep_apart(live.name, self._now())
            end_all(taken, error)
            raise
        end_all(taken)

    async def _write_rows(self, live: LiveHost, taken: Sequence[UnwrittenRows]) -> None:
        marks = [item for rows in taken for item in rows.states.items()]
        writes = [self._marks.mark(crawl, live.name, live.partition, states) for crawl, states in marks]
        has_urls = any(rows.urls or rows.entries for rows in taken)
        ends_lease = has_urls and live.has_ended_lease and not live.is_written_soon(self._now())  # in the same write
        with_host = any(rows.with_host for rows in taken) or (any(taken) and not live.is_stored) or ends_lease
        if has_urls or with_host:
            writes.append(self._write_host(live, taken, with_host=with_host))
        await asyncio.gather(*writes)

    async def _write_host(self, live: LiveHost, taken: Sequence[UnwrittenRows], *, with_host: bool) -> None:
        """Write URLs and entries of a host, and the host itself or not: one write, unless they are very many."""
        urls = list({page_id: url for rows in taken for page_id, url in rows.urls.items()}.values())
        entries = [entry for rows in taken for entry in rows.entries]
        rows = HostRows(live.name, None, urls, entries, max((url.at for url in urls), default=0))
        if not with_host:
            await self._store.write(rows)
            return
        due = self._now() if live.host.leases else live.next_due()
        is_listed_early, is_listed_late = self.is_stored_early(live), not self._is_listed_by(live, due)
        listed = due if is_listed_early or is_listed_late else live.listed_due
        state = live.host.to_row(listed, self._now())
        live.is_changed = live.must_be_written = False
        if is_listed_late:  # before: whatever waits must be found after a crash
            await self._store.put_due(state)
        if live.is_growing or not (live.is_stored or len(urls) + len(entries) < ROWS_TOGETHER):
            await self._store.write(HostRows(live.name, state))  # before its URLs, which tell nobody of it
            live.is_growing = False
        await self._store.write(replace(rows, state=state))
        if is_listed_early:
            await self._store.put_due(state)
        live.listed_due = listed
        live.is_stored, live.has_ended_lease = True, False

    @contextmanager
    def _use(self, name: str, partition: int) -> Iterator[LiveHost]:
        """Keep the host in memory."""
        live = self._live.get(name) or self._idle.take(name) or LiveHost(name, partition)
        self._live[name] = live
        live.users += 1
        try:
            yield live
        finally:
            live.users -= 1
            self._end_use(live)

    def surplus(self, most: int) -> Sequence[LiveHost]:
        """Return idle hosts that are too many, at most N of them."""
        return self._idle.surplus(most)

    async def put_away(self, live: LiveHost) -> None:
        """Write what changed of an idle host, and forget it unless it is used meanwhile. Raises LostPartition."""
        async with self.lock(live.name, live.partition) as locked:
            if locked.is_unsaved:
                await self.persist(locked)
        self._idle.take(live.name)

    async def fill(self, live: LiveHost) -> None:
        """Read the head of the queue, if it isn't in memory. Its URLs are read when their turn comes (`first_url`)."""
        if not live.head.known:
            if live.rows.entries:
                await self.write(live, answers=False)  # a complete head in memory must hold the whole queue
            live.head.fill(await self._store.queued(live.name, live.host.cursor, HEAD_ENTRIES))
            if live.head.complete:
                live.host.queued = len(live.head)

    async def first_url(self, live: LiveHost, first: QueueEntry) -> FrontierUrl | None:
        """Return the row of the first URL of the queue. If it must be read, the next entries' are read with it."""
        is_known = live.unwritten(first.page_id) or first.page_id in live.urls
        pages = [first.page_id] if is_known else live.pages_ahead()
        return (await self.urls(live, pages))[first.page_id]

    async def url(self, live: LiveHost, page_id: UUID) -> FrontierUrl | None:
        """Return the frontier's row of a URL of this host."""
        return (await self.urls(live, [page_id]))[page_id]

    async def urls(self, live: LiveHost, page_ids: Iterable[UUID]) -> dict[UUID, FrontierUrl | None]:
        """Return the frontier's rows of some URLs of this host. Those that are not in memory are read together."""
        found = {page_id: live.unwritten(page_id) or live.urls.get(page_id) for page_id in page_ids}
        unread = [each for each, url in found.items() if url is None and not self._new.has_no(live.name, each)]
        if unread:
            stored = await self._store.urls(live.name, unread, further=live.host.urls >= FIRST_URLS)
            for url in stored.values():
                live.remember(url)
            found.update(stored)
        return found

    async def find_share(self, live: LiveHost, crawl_id: str) -> CrawlShare | None:
        """Return the crawl's share of the host, or None if it has none yet."""
        if share := live.host.use_share(crawl_id):
            return share
        row = await self._store.share(live.name, crawl_id) if live.host.has_other_shares else None
        return await self._add_share(live, crawl_id, CrawlShare(*row)) if row else None

    async def share(self, live: LiveHost, crawl_id: str) -> CrawlShare:
        """Return the crawl's share of the host. The next write of the host makes a new share durable."""
        return await self.find_share(live, crawl_id) or await self._add_share(live, crawl_id, CrawlShare())

    async def _add_share(self, live: LiveHost, crawl_id: str, share: CrawlShare) -> CrawlShare:
        """Add a share to the host's row. The share that was used first moves to a row of its own if the row is full."""
        host = live.host
        for other in host.shares_to_move():
            await self._require(live)
            await self._store.put_share(live.name, other, host.crawls[other].own_row(), host.next_version(self._now()))
            host.has_other_shares = True
            del host.crawls[other]
        host.crawls[crawl_id] = share
        return share

    def put_url(self, live: LiveHost, url: FrontierUrl) -> None:
        """Put a URL among the rows to write. A new one gets its part of the host."""
        if url.part is None:
            url = replace(url, part=live.place_new_url(url.page_id))
        self._new.add(live.name, url.page_id)
        live.answers.urls.pop(url.page_id, None)
        (live.answers if will_be_settled(url) else live.rows).put_url(url)
        live.remember(url)

    async def persist(self, live: LiveHost) -> None:
        """Write the host, with all URLs and entries that the store lacks. Only states go on waiting.

        States of several crawls don't: a redelivery does not know any more which crawl a URL has left. A host with
        leases is written as due now, so that its next owner visits it at once. Raises LostPartition.
        """
        if len(live.rows.states) > 1:
            live.rows.put_host()
            await self.write(live)
            return
        await self._require(live)
        try:
            await self._write_host(live, [live.answers, live.rows], with_host=True)
        except BaseException:
            self.gathering.keep_apart(live.name, self._now())
            raise
        live.note_urls_written()

    def is_stored_early(self, live: LiveHost) -> bool:
        """Return whether the host is listed as due long before it is, so that it would be read again and again."""
        due = live.next_due()
        return live.listed_due is not None and (due is None or due > max(live.listed_due, self._now()) + HORIZON_MICROS)

    def _is_listed_by(self, live: LiveHost, due: int | None) -> bool:
        """Return whether the host is listed as due by this time."""
        return due is None or (live.listed_due is not None and live.listed_due <= due)

    def covers(self, live: LiveHost, when: int) -> bool:
        """Return whether the host is listed as due by this time. If not, it must be written again."""
        return (
            not live.must_be_written
            and live.listed_due is not None
            and self._is_listed_by(live, max(when, live.host.next_at))
        )

    def take(self, live: LiveHost) -> None:
        """Move the cursor past the first entry, in memory. The next write of the host makes it durable."""
        live.host.cursor = live.head.take()
        live.is_changed = True
        self.due.note_taken(live.name, live.host.cursor.page_id)
        live.host.trimmed += 1
        live.host.queued = max(live.host.queued - 1, 0)

    async def trim(self, live: LiveHost) -> None:
        """Delete the entries before the written cursor, if they are many."""
        host = live.host
        if host.cursor and host.trimmed >= TRIM_ENTRIES:
            await self._store.trim(live.name, host.cursor, self._now())
            host.trimmed = 0

    async def _require(self, live: LiveHost) -> None:
        """Raise LostPartition if the host's partition has another owner, or had one since the host was read."""
        await self._fence.require(live.partition)
        if live.reassigned:
            raise LostPartition(f"partition {live.partition} of the frontier was assigned anew")

    async def _read(self, live: LiveHost) -> None:
        row = await self._store.host(live.name)
        live.state = Host.from_row(row) if row else Host(bucket_of(live.name), live.name)
        live.listed_due = row.due if row else None
        live.is_stored, live.has_ended_lease, live.is_changed = row is not None, False, False
        live.must_be_written = live.is_growing = False
        live.unsent = set(live.state.leases)
        live.head, live.urls, live.ahead = Head(), {}, 1
        if row is None:  # the row of a new host is written before its URLs (`begin`), so its queue is empty
            live.head.fill([])
            if live.partition in self.owned and self._fence.is_sole(live.partition):
                self._new.begin(live.name)

    def _put_due(self, live: LiveHost) -> None:
        """Count the host's leases, and put it among the due hosts."""
        if live.partition not in self.owned or live.reassigned:
            self.leased -= live.leased
            live.leased, live.state, live.reassigned = 0, None, False
            live.drop_rows(LostPartition(f"partition {live.partition} of the frontier was assigned anew"))
            self._new.forget(live.name)
            self.expiring.put(live.name, None)
            if live.partition not in self.owned:
                return
        self.changed.set()
        self._partition_of[live.name] = live.partition
        if live.state is None:
            self.due.put(live.name, self._now() + RETRY_MICROS)
            self.expiring.put(live.name, self._now() + RETRY_MICROS if live.leased else None)
            return
        self.leased += len(live.host.leases) - live.leased
        live.leased = len(live.host.leases)
        due = live.next_due()
        if due is not None and not self._sweep.keeps(due):
            due = None  # its row is due by then, and is read again in time
        self.due.put(live.name, due, host_quality(live.host.record))
        self.expiring.put(live.name, min((lease.until for lease in live.host.leases.values()), default=None))

    def _end_use(self, live: LiveHost) -> None:
        """Let a host that nobody uses be idle. A host with leases stays, and one that failed is read again."""
        if live.users or live.leased:
            return
        del self._live[live.name]
        if live.rows or live.answers:  # all events that waited for them were cancelled
            live.drop_rows(asyncio.CancelledError())
            return
        if live.state is None:
            return
        due = live.next_due()
        if due is None or due > self._now() + HORIZON_MICROS:
            self._partition_of.pop(live.name, None)
        self._idle.put(live)

    def _forget(self, live: LiveHost) -> None:
        if live.users:
            live.reassigned = True
        else:
            self.leased -= live.leased
            del self._live[live.name]
