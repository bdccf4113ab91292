"""Events that wait until the rows of their hosts are written: rows of several events become one write.

An event changes its host in memory at once, and is acknowledged when its rows are written. So a crash loses nothing:
the event is delivered again. While more is to come of a host, its rows wait for MAX_SECONDS. The next lease is one
write with all URLs and queue entries that wait: only the states in crawls wait on. The row of an answered URL waits for
ANSWERS_PATIENCE times as long, so that the answer to the last page of a host and the page's end are one write. A host
of which nothing is to come has its rows written at once.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from streams.caches import RecentCache
from streams.crawl.frontier.hosts.live_host import LiveHost
from streams.crawl.frontier.hosts.unwritten import UnwrittenRows
from streams.crawl.frontier.policy import SECOND

MAX_SECONDS = 5.0
"""Maximum time that rows wait (seconds). So much later people see the progress of a crawl."""
MAX_WAITING = 1_500
"""Maximum number of events that wait. With more, all rows are written at once."""
APART_MICROS = 60 * SECOND
"""Time in which the rows of a host do not wait after a failure (microseconds): a row that the store refuses is then
written by itself."""
MAX_APART = 10_000
"""Maximum number of such hosts in memory."""


@dataclass(slots=True)
class _Group:
    """The events that wait for some rows."""

    due: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the rows are to be written, or were."""
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by the event that writes them."""


class Gathering:
    """The events that wait."""

    def __init__(self, max_seconds: float) -> None:
        """`max_seconds` of 0: no event waits for others."""
        self._max_seconds = max_seconds
        self._groups: dict[UnwrittenRows, _Group] = {}
        self._waiting = 0
        self._is_hurried = False
        self._apart = RecentCache[str, int](MAX_APART)
        """Hosts after a failure, with the time until which their rows do not wait."""

    def may_wait(self, live: LiveHost, now: int) -> bool:
        """Return whether the rows of a host may wait for others."""
        return self.may_gather(live, now) and live.is_stored and not live.rows.at_once and live.awaits_more(now)

    def may_gather(self, live: LiveHost, now: int) -> bool:
        """Return whether the rows of a host may wait if more is to come."""
        is_on = self._max_seconds > 0 and not self._is_hurried and self._waiting < MAX_WAITING
        return is_on and now >= (self._apart.get(live.name) or 0)

    async def wait(self, rows: UnwrittenRows, write: Callable[[], Awaitable[None]]) -> None:
        """Return when rows were written, or failed. When they are due, the first event that waits calls `write`."""
        group = self._groups.get(rows) or self._begin(rows)
        self._waiting += 1
        rows.waiting += 1
        if self._waiting >= MAX_WAITING:
            self._write_all()
        try:
            await group.due.wait()
            async with group.turn:
                if not rows.is_ended:
                    await write()
        finally:
            self._waiting -= 1
            rows.waiting -= 1

    def hurry(self, *, is_on: bool) -> None:
        """Let all rows that wait be written, and no later ones wait, until `is_on` is False."""
        self._is_hurried = is_on
        if is_on:
            self._write_all()

    def keep_apart(self, host: str, now: int) -> None:
        """Let no rows of a host wait for a while."""
        self._apart.put(host, now + APART_MICROS)

    def _begin(self, rows: UnwrittenRows) -> _Group:
        group = self._groups[rows] = _Group()
        timer = asyncio.get_running_loop().call_later(rows.patience * self._max_seconds, group.due.set)

        def end() -> None:
            timer.cancel()
            group.due.set()
            self._groups.pop(rows, None)

        rows.on_end = end
        if self._is_hurried:
            group.due.set()
        return group

    def _write_all(self) -> None:
        for group in self._groups.values():
            group.due.set()
