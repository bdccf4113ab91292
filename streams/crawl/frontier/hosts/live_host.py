"""One host of the frontier in memory: its state, the head of its queue, and when it is due."""

import asyncio
from bisect import insort
from uuid import UUID

from streams.crawl.frontier.hosts.host_state import Host
from streams.crawl.frontier.hosts.unwritten import ANSWERS_PATIENCE, UnwrittenRows, will_be_settled
from streams.crawl.frontier.policy import SECOND
from streams.stores.protocols import FIRST_URLS, FrontierUrl, QueueEntry, further_part_of

HEAD_ENTRIES = 64
"""Maximum number of queue entries of one host in memory."""
SOON_MICROS = 5 * SECOND
"""Time within which another URL of the host makes the write of an ended lease unnecessary (microseconds)."""
QUEUED_STEP = 1_000
"""Number of queued entries that the host's row may lack."""
MAX_URLS = 4 * HEAD_ENTRIES
"""Maximum number of URLs of one host in memory, unless its head and leases need more."""
MAX_AHEAD = 16
"""Maximum number of URLs of the head that are read together."""


class LiveHost:
    """One host in memory. `state` is None until the host is read, and after a failure."""

    def __init__(self, name: str, partition: int) -> None:
        self.name = name
        self.partition = partition
        self.lock = asyncio.Lock()
        self.users = 0
        self.leased = 0
        self.state: Host | None = None
        self.head = Head()
        self.urls: dict[UUID, FrontierUrl] = {}
        """URLs of the head and the leases, and answered ones that will be settled, so that they cost no further reads.
        The one comes last that was kept last."""
        self.ahead = 1
        """Number of URLs of the head that the next read takes together: more for a host that stays in memory."""
        self.rows = UnwrittenRows()
        """Changes that the store lacks."""
        self.answers = UnwrittenRows(ANSWERS_PATIENCE)
        """Rows of answered URLs that the store lacks. Their pages will be settled."""
        self.is_stored = False
        """The host has a row."""
        self.has_ended_lease = False
        """The stored row has a lease that has ended since. The next write of the host drops it."""
        self.is_changed = False
        """The stored row lacks a change that no rule has written at once: counts of pages, turns, a passed entry."""
        self.listed_due: int | None = None
        """When the host is due according to the list of due hosts. None: not at all."""
        self.must_be_written = False
        """The host is to be written with the next URLs: a crawl has its first seed on it."""
        self.is_growing = False
        """The host has its first URL in a further part, and its stored row does not say so yet."""
        self.reassigned = False
        """Another worker got its partition while it was in use, so what was read is outdated."""
        self.unsent: set[UUID] = set()
        """Leases that were read from the store. Their events may never have been sent."""

    @property
    def host(self) -> Host:
        assert self.state is not None, f"{self.name} is used outside of `lock`"
        return self.state

    @property
    def is_unsaved(self) -> bool:
        """True if the host must be written before it is forgotten. Without a row it has no URL either."""
        return self.is_stored and (self.is_changed or self.has_ended_lease)

    @property
    def size(self) -> int:
        """The number of its URLs and queue entries in memory."""
        return len(self.urls) + len(self.head)

    def next_due(self) -> int | None:
        """Return when the host is due. If only the store knows its queue, the host is due when it may be asked."""
        host = self.host
        if self.unsent:
            return 0
        times = [lease.until for lease in host.leases.values()]
        if not host.leases:
            first = self.head.first()
            if first:
                times.append(max(first.position, host.next_at))
            elif not self.head.known:
                times.append(host.next_at)
        return min(times, default=None)

    def is_written_soon(self, now: int) -> bool:
        """Return whether the next URL is due soon: then one write drops the ended lease and stores the next one."""
        return self.is_busy(now) and not self.host.leases

    def is_busy(self, now: int) -> bool:
        """Return whether a URL of the host is being fetched, or due soon.

        A host in trouble is not busy: what is known of it is written at once, since its backoff must outlive this
        worker.
        """
        first, host = self.head.first(), self.host
        if host.failures:
            return False
        return bool(host.leases) or (first is not None and max(first.position, host.next_at) <= now + SOON_MICROS)

    def awaits_more(self, now: int) -> bool:
        """Return whether more rows of the host are to come: it is busy, or answered pages will be settled."""
        return self.is_busy(now) or (bool(self.answers.urls) and not self.host.failures)

    def count_queued(self, entries: int) -> None:
        """Count entries that were added to the queue. At each QUEUED_STEP of them, the host's row must be written."""
        former, self.host.queued = self.host.queued, self.host.queued + entries
        self.is_changed = self.is_changed or former // QUEUED_STEP != self.host.queued // QUEUED_STEP

    def place_new_url(self, page_id: UUID) -> int:
        """Return the part of the host for a URL that has no row, and count the URL.

        Once the first part is full, the host's row says so before a URL is in a further part: then both are read.
        """
        host = self.host
        if host.urls >= FIRST_URLS:
            return further_part_of(page_id)
        host.urls += 1
        self.is_changed = True
        if host.urls == FIRST_URLS:
            self.is_growing = True
            self.rows.put_host()
        return 0

    def unwritten(self, page_id: UUID) -> FrontierUrl | None:
        """Return a URL whose row is not written yet."""
        return self.rows.urls.get(page_id) or self.answers.urls.get(page_id)

    def note_urls_written(self) -> None:
        """Note that all URLs and entries that were not written are written now. States still wait."""
        for rows in (self.answers, self.rows):
            if rows:
                rows.note_urls_written()
        if self.answers.is_ended:
            self.answers = UnwrittenRows(ANSWERS_PATIENCE)
        if self.rows.is_ended:
            self.rows = UnwrittenRows()

    def take_rows(self, *, answers: bool = True) -> list[UnwrittenRows]:
        """Remove and return the rows that are not written, or those without answered URLs."""
        taken = [self.answers, self.rows] if answers else [self.rows]
        self.rows = UnwrittenRows()
        if answers:
            self.answers = UnwrittenRows(ANSWERS_PATIENCE)
        return taken

    def drop_rows(self, error: BaseException) -> None:
        """Drop the rows that are not written: the host is read again."""
        for rows in self.take_rows():
            rows.end(error)

    def remember(self, url: FrontierUrl) -> None:
        """Keep a URL as it is in the store, unless a newer write of it is known."""
        kept = self.urls.get(url.page_id)
        if kept and kept.at > url.at:
            return  # this write ended late, after a newer write
        if url.state == "done" and not url.generation:
            self.urls.pop(url.page_id, None)  # refused, and no answer will come: other URLs need the place
            return
        self.urls.pop(url.page_id, None)
        if len(self.urls) >= MAX_URLS:
            wanted = self.head.pages() | {lease.page_id for lease in self.host.leases.values()}
            answered = [page_id for page_id, old in self.urls.items() if will_be_settled(old)]
            wanted.update(answered[-HEAD_ENTRIES:])
            self.urls = {page_id: old for page_id, old in self.urls.items() if page_id in wanted}
        self.urls[url.page_id] = url

    def pages_ahead(self) -> list[UUID]:
        """Return the first pages of the queue that are read together, if the first one is not in memory.

        A host that is read for one visit and forgotten needs no more than one. Each further read takes twice as many.
        """
        pages = self.head.first_pages(self.ahead)
        self.ahead = min(2 * self.ahead, MAX_AHEAD)
        return pages


class Head:
    """The first entries of a host's queue, in order. If it is `complete`, the queue has no others."""

    def __init__(self) -> None:
        self._entries: list[QueueEntry] = []
        self.complete = False

    def fill(self, entries: list[QueueEntry]) -> None:
        """Take the store's first entries after the cursor, at most HEAD_ENTRIES."""
        self._entries = list(entries)
        self.complete = len(entries) < HEAD_ENTRIES

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def known(self) -> bool:
        """False if only the store knows which entry is next."""
        return self.complete or bool(self._entries)

    def first(self) -> QueueEntry | None:
        return self._entries[0] if self._entries else None

    def pages(self) -> set[UUID]:
        return {entry.page_id for entry in self._entries}

    def first_pages(self, most: int) -> list[UUID]:
        return [entry.page_id for entry in self._entries[:most]]

    def take(self) -> QueueEntry:
        return self._entries.pop(0)

    def push(self, entry: QueueEntry) -> None:
        """Add an entry that the store has from now on. An entry after the head is read from the store later."""
        if not self.complete and (not self._entries or entry > self._entries[-1]):
            return
        insort(self._entries, entry)
        if len(self._entries) > HEAD_ENTRIES:
            self._entries.pop()
            self.complete = False
