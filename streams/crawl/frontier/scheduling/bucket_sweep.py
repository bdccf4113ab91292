"""The choice of the hosts to read next: memory holds those due soon, and the store all others. Pure.

The hosts of a worker are in buckets. After an assignment all buckets are read once, some at a time between visits, so
that the first hosts are visited before the last ones are read. A host that is due later than HORIZON_MICROS is not
kept. Before the first of these hosts is due, all buckets are read again.
"""

from collections import deque
from collections.abc import Callable, Collection

from streams.crawl.frontier.policy import SECOND

HORIZON_MICROS = 3_600 * SECOND
"""Time until a host is due for which it is kept in memory (microseconds)."""
LEAD_MICROS = HORIZON_MICROS // 2
"""Time before a host is due at which the buckets are read again (microseconds): reading takes a while."""
MIN_PASS_MICROS = 600 * SECOND
"""Minimum time between the ends of two readings of all buckets (microseconds)."""
BUCKETS_AT_ONCE = 512
"""Maximum number of buckets that are read at once, of 4,096 for all workers."""


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
