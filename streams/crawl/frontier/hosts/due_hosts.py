"""The hosts that are due, and the choice of those to read next. Pure.

A host is due if it has a queue entry or a lease. Memory holds the hosts that are due soon, and the store all others.
The hosts of a worker are in buckets. After an assignment all buckets are read once, some at a time between visits, so
that the first hosts are visited before the last ones are read. A host that is due later than HORIZON_MICROS is not
kept. Before the first of these hosts is due, all buckets are read again.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable
from heapq import heapify, heappop, heappush
from uuid import UUID

from streams.crawl.frontier.policy import SECOND
from streams.crawl.host_quality import MIDDLE

BY_CHANCE = 0.5
"""Share of the choices among due hosts that heed no priority."""
SPARE_ENTRIES = 64
"""Number of former times that are kept, beside one for each host."""
HORIZON_MICROS = 3_600 * SECOND
"""Time until a host is due for which it is kept in memory (microseconds)."""
LEAD_MICROS = HORIZON_MICROS // 2
"""Time before a host is due at which the buckets are read again (microseconds): reading takes a while."""
MIN_PASS_MICROS = 600 * SECOND
"""Minimum time between the ends of two readings of all buckets (microseconds)."""
BUCKETS_AT_ONCE = 512
"""Maximum number of buckets that are read at once, of 4,096 for all workers."""


class DueHosts:
    """Hosts by the time of their next visit. Among due hosts one is chosen at random (multi-level stochastic queues):
    half of the times the better one of two. Hosts with urgent pages come first.

    `put` and `pop` are O(log n). A former time of a host stays in the heap until it comes, or until there are more of
    them than hosts.
    """

    def __init__(self) -> None:
        self._when: dict[str, int] = {}
        self._heap: list[tuple[int, str]] = []
        self._ready: list[str] = []
        self._priorities: dict[str, float] = {}
        """Priorities of due hosts, as far as they are not the usual one."""
        self._urgent: dict[str, set[UUID]] = {}
        """Urgent pages that wait, by host. A person gave each of them, so they are few."""

    def __len__(self) -> int:
        return len(self._when)

    def put(self, host: str, when: int | None, priority: float = MIDDLE) -> None:
        """Set when the host is due, in place of an earlier time. None: it is not due at all.

        Where many hosts are due, those with a higher `priority` come earlier.
        """
        if when is None or priority == MIDDLE:
            self._priorities.pop(host, None)
        else:
            self._priorities[host] = priority
        if when is None:
            self._when.pop(host, None)
        elif self._when.get(host) != when:
            self._when[host] = when
            heappush(self._heap, (when, host))
            if len(self._heap) > 2 * len(self._when) + SPARE_ENTRIES:
                self._heap = list({entry for entry in self._heap if self._when.get(entry[1]) == entry[0]})
                heapify(self._heap)

    def pop(self, now: int, random: Callable[[], float]) -> str | None:
        """Return a host that is due, or None. The host is not due again until it is put again."""
        for host in self._urgent:
            if self._when.get(host, now + 1) <= now:
                del self._when[host]
                return host
        while self._heap and self._heap[0][0] <= now:
            when, host = heappop(self._heap)
            if self._when.get(host) == when:
                self._ready.append(host)
        while self._ready:
            index = self._choose(random)
            self._ready[index], self._ready[-1] = self._ready[-1], self._ready[index]
            host = self._ready.pop()
            if self._when.get(host, now + 1) <= now:
                del self._when[host]
                return host
        return None

    def _choose(self, random: Callable[[], float]) -> int:
        """Return the place of a ready host. No host waits for ever: half of the choices are only by chance."""
        place = int(random() * len(self._ready))
        if not self._priorities or random() < BY_CHANCE:
            return place
        other = int(random() * len(self._ready))
        return max((place, other), key=lambda one: self._priorities.get(self._ready[one], MIDDLE))

    def hurry(self, host: str, pages: Iterable[UUID]) -> None:
        """Visit the host before others until these pages have left its queue."""
        self._urgent.setdefault(host, set()).update(pages)

    def note_taken(self, host: str, page_id: UUID) -> None:
        """Note that a page has left the queue of its host."""
        if waiting := self._urgent.get(host):
            waiting.discard(page_id)
            if not waiting:
                del self._urgent[host]

    def forget(self, host: str) -> None:
        """Forget a host that another worker owns."""
        self.put(host, None)
        self._urgent.pop(host, None)

    def next_at(self) -> int | None:
        """Return when the next host is due. The time may be past."""
        if any(host in self._when for host in self._ready):
            return 0
        while self._heap and self._when.get(self._heap[0][1]) != self._heap[0][0]:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None


class BucketSweep:
    """The buckets that wait to be read, and the time of the next reading."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._all: frozenset[int] = frozenset()
        self._waiting: deque[int] = deque()
        self._ended_at = 0
        self._first_left_out: int | None = None
        """The earliest time at which a host is due that was not kept."""

    def begin(self, buckets: Collection[int]) -> None:
        """Read these buckets, which other workers owned until now."""
        self._all |= frozenset(buckets)
        waiting = frozenset(self._waiting)
        self._waiting.extend(bucket for bucket in buckets if bucket not in waiting)

    def keep(self, buckets: Collection[int]) -> None:
        """Read no other buckets than these from now on."""
        self._all &= frozenset(buckets)
        self._waiting = deque(bucket for bucket in self._waiting if bucket in self._all)

    def take(self) -> list[int]:
        """Return the next buckets to read. They wait no longer."""
        next_at = self.next_at()
        if next_at is None or next_at > self._now():
            return []
        if not self._waiting:
            self._waiting, self._first_left_out = deque(sorted(self._all)), None
        taken = [self._waiting.popleft() for _ in range(min(BUCKETS_AT_ONCE, len(self._waiting)))]
        self._ended_at = self._now()
        return taken

    def give_back(self, buckets: Collection[int]) -> None:
        """Let buckets wait again whose reading failed."""
        self._waiting.extendleft(bucket for bucket in buckets if bucket in self._all)

    def keeps(self, due: int) -> bool:
        """Return whether a host that is due then is kept in memory. If not, it is noted that the store has it."""
        if due <= self._now() + HORIZON_MICROS:
            return True
        self._first_left_out = min(due, self._first_left_out or due)
        return False

    def next_at(self) -> int | None:
        """Return when buckets are to be read. None: no host is left out."""
        if self._waiting:
            return self._now()
        if self._first_left_out is None:
            return None
        return max(self._first_left_out - LEAD_MICROS, self._ended_at + MIN_PASS_MICROS)
