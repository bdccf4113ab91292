"""The hosts that the frontier holds in memory: loaded from the store, locked while used, forgotten when idle.

Memory is a cache. What fails half-way is thrown away and read again, so that the store alone says what is true.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from uuid import UUID

from streams.crawl.frontier.decisions import SECOND, Host
from streams.crawl.frontier.queue_head import HEAD_ENTRIES, DueHosts, Head
from streams.stores.protocols import FrontierStore, FrontierUrl

RETRY_MICROS = SECOND
"""After a store's failure, before the host is tried again."""
KEPT_MICROS = 30 * SECOND
"""A host for which nothing is to be done for longer is forgotten, and read again in time."""
KEPT_URLS = 4 * HEAD_ENTRIES
TRIM_ENTRIES = 1_000
"""Entries that the cursor passes before they are deleted: one range tombstone for so many."""


class LiveHost:
    """One host in memory. `state` is None until it is read, and after a failure."""

    def __init__(self, name: str, partition: int) -> None:
        self.name = name
        self.partition = partition
        self.lock = asyncio.Lock()
        self.users = 0
        self.leased = 0
        self.read: Host | None = None
        self.head = Head()
        self.urls: dict[UUID, FrontierUrl] = {}
        """Of the head and the leases, so that a page's way through costs no reads."""
        self.persisted_due: int | None = None
        self.lost = False
        """Its partition went to another worker while it was in use: what was read is outdated."""
        self.unsent: set[UUID] = set()
        """Leases found in the store: their events may never have been sent."""

    @property
    def host(self) -> Host:
        assert self.read is not None, f"{self.name} is used outside of `holding`"
        return self.read

    def next_due(self, concurrency: int) -> int | None:
        """When something is to be done, as far as memory knows; when the store must be asked, as soon as it may be."""
        host = self.host
        if self.unsent:
            return 0
        times = [lease.until for lease in host.leases.values()]
        if len(host.leases) < concurrency and not host.banned:
            first = self.head.first()
            if first:
                times.append(max(first.position, host.next_at))
            elif not self.head.known:
                times.append(host.next_at)
        return min(times, default=None)


class Hosts:
    """All hosts of this worker's partitions for which something is going on."""

    def __init__(
        self,
        store: FrontierStore,
        now: Callable[[], int],
        concurrency: Callable[[Host], int],
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._now = now
        self._concurrency = concurrency
        self._changed = changed
        self._live: dict[str, LiveHost] = {}
        self._partition_of: dict[str, int] = {}
        self.owned: frozenset[int] = frozenset()
        self.due = DueHosts()
        self.leased = 0

    def partition_of(self, name: str) -> int | None:
        return self._partition_of.get(name)

    async def own(self, partitions: frozenset[int]) -> None:
        """Own these partitions from now on: forget the hosts of the lost ones, and find those of the new ones."""
        gained = partitions - self.owned
        self.owned = self.owned & partitions
        for name in [name for name, partition in self._partition_of.items() if partition not in partitions]:
            self._forget(name)
        for partition in sorted(gained):
            # Owned first: a host that an event makes active while the others are read must not be missed.
            self.owned |= {partition}
            try:
                active = await self._store.active_hosts(partition)
            except BaseException:
                self.owned -= {partition}
                raise
            for name, due in active:
                self._partition_of[name] = partition
                self.due.put(name, due)

    @asynccontextmanager
    async def holding(self, name: str, partition: int) -> AsyncIterator[LiveHost]:
        """The host, read and locked. What raises inside makes it be read again."""
        live = self._live.setdefault(name, LiveHost(name, partition))
        live.users += 1
        try:
            async with live.lock:
                try:
                    if live.read is None:
                        await self._read(live)
                    yield live
                except BaseException:
                    live.read = None
                    raise
                finally:
                    self._settle(live)
        finally:
            live.users -= 1
            self._release(live)

    async def fill(self, live: LiveHost) -> None:
        """Read the head of the queue and its URLs, if they aren't known."""
        if live.head.known:
            return
        entries = await self._store.queued(live.name, live.host.cursor, HEAD_ENTRIES)
        live.head.fill(entries)
        await asyncio.gather(*(self.url(live, entry.page_id) for entry in entries))

    async def url(self, live: LiveHost, page_id: UUID) -> FrontierUrl | None:
        """What is known of a URL of this host."""
        url = live.urls.get(page_id)
        if url is None:
            url = await self._store.url(page_id)
            if url:
                self._remember(live, url)
        return url

    async def put_url(self, live: LiveHost, url: FrontierUrl) -> None:
        await self._store.put_url(url)
        self._remember(live, url)

    def _remember(self, live: LiveHost, url: FrontierUrl) -> None:
        kept = live.urls.get(url.page_id)
        if kept and kept.at > url.at:
            return  # a write that ended late, beside one that had failed
        if len(live.urls) >= KEPT_URLS:
            wanted = live.head.pages() | {lease.page_id for lease in live.host.leases.values()}
            live.urls = {page_id: old for page_id, old in live.urls.items() if page_id in wanted}
        live.urls[url.page_id] = url

    async def persist(self, live: LiveHost) -> None:
        """Write the host. A host with leases is written as due, so that whoever reads it next sees to them at once."""
        host = live.host
        due = self._now() if host.leases else live.next_due(self._concurrency(host))
        await self._store.put_host(host.to_row(due, self._now()))
        live.persisted_due = due

    def covers(self, live: LiveHost, when: int) -> bool:
        """Whether the host as written is due by then: if not, it must be written again for what is due then."""
        return live.persisted_due is not None and live.persisted_due <= max(when, live.host.next_at)

    def take(self, live: LiveHost) -> None:
        """Move the cursor behind the first entry, in memory; the next write of the host makes it durable."""
        live.host.cursor = live.head.take()
        live.host.trimmed += 1

    async def trim(self, live: LiveHost) -> None:
        """Delete what the written cursor has passed, now and then."""
        host = live.host
        if host.cursor and host.trimmed >= TRIM_ENTRIES:
            await self._store.trim(live.name, host.cursor, self._now())
            host.trimmed = 0

    async def _read(self, live: LiveHost) -> None:
        row = await self._store.host(live.partition, live.name)
        live.read = Host.from_row(row) if row else Host(live.partition, live.name)
        live.persisted_due = row.due if row else None
        live.unsent = set(live.read.leases)
        live.head, live.urls = Head(), {}
        if row is None:
            await self.fill(live)

    def _settle(self, live: LiveHost) -> None:
        """Count its leases, and put it where it is due."""
        if live.partition not in self.owned or live.lost:
            self.leased -= live.leased
            live.leased, live.read, live.lost = 0, None, False
            if live.partition not in self.owned:
                return
        self._changed()
        self._partition_of[live.name] = live.partition
        if live.read is None:
            self.due.put(live.name, self._now() + RETRY_MICROS)
            return
        self.leased += len(live.host.leases) - live.leased
        live.leased = len(live.host.leases)
        self.due.put(live.name, live.next_due(self._concurrency(live.host)))

    def _release(self, live: LiveHost) -> None:
        """Forget a host that nobody uses and for which nothing waits soon."""
        if live.users or live.leased:
            return
        if live.read is None:
            del self._live[live.name]
            return
        due = live.next_due(1)
        if due is None:
            self._partition_of.pop(live.name, None)
        if due is None or due > self._now() + KEPT_MICROS:
            del self._live[live.name]

    def _forget(self, name: str) -> None:
        self.due.put(name, None)
        del self._partition_of[name]
        live = self._live.get(name)
        if live and live.users:
            live.lost = True
        elif live:
            self.leased -= live.leased
            del self._live[name]
