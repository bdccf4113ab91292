"""Writes the transitions of a page together: the events of a page come within its journey, and become one write.

A transition waits for others of its page. Its event is acknowledged once the transition is written, so that a crash
loses nothing: the events are delivered again. Until then the page's record tells people what the history does not
(`history`). A page's transitions are written:

- after MAX_SECONDS
- LAST_SECONDS after an event that ends a journey, for the events of other topics that come late
- when MAX_LATER other events have come since the first of them: a worker holds a bounded number of events that are not
  acknowledged, and those behind an event that waits are not
- when no event of any page has come for QUIET_SECONDS: nothing is under way, or a slow stage is at work
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from streams.stores.protocols import Ledger, Transition

MAX_SECONDS = 300.0
"""Maximum time that a transition waits for others of its page (seconds): a page's journey on a busy machine."""
DEADLINE_SHARE = 1 / 3
"""Share of an event's deadline that it may wait."""
QUIET_SECONDS = 20.0
LAST_SECONDS = 1.0
MAX_LATER = 1_500
"""Maximum number of events that come while a transition waits. A worker holds 2,000 (`streams.runtime.faust_app`)."""


@dataclass(slots=True)
class _Group:
    """Transitions of one page that are written together."""

    first: int
    """Number of the first event among all events."""
    rows: dict[UUID, Transition] = field(default_factory=dict)
    due: asyncio.Event = field(default_factory=asyncio.Event)
    timer: asyncio.TimerHandle | None = None
    written: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class GatheredLedger:
    """A ledger that gathers the transitions of each page before it writes them."""

    def __init__(self, ledger: Ledger, max_seconds: float = MAX_SECONDS) -> None:
        self._ledger = ledger
        self._max_seconds = max_seconds
        self._groups: dict[UUID, _Group] = {}
        """The groups that wait, in the order of their first events."""
        self._events = 0
        self._is_hurried = False
        self._writing: set[asyncio.Task[None]] = set()
        self._quiet: asyncio.TimerHandle | None = None
        self._last_at = 0.0

    async def record(self, transition: Transition, *, last: bool = False) -> None:
        """Return when the transition is stored. `last`: it ends the journey of its page."""
        group = self._groups.get(transition.page_id) or self._begin(transition.page_id)
        known = group.rows.get(transition.event_id)
        if known is None or transition.at >= known.at:
            group.rows[transition.event_id] = transition
        if self._is_hurried or self._max_seconds == 0:
            group.due.set()
        elif last:
            self._call_later(group, LAST_SECONDS)
        await asyncio.shield(group.written)

    def note_event(self) -> None:
        """Count an event of the stage. It is not acknowledged before the events that came before it."""
        self._events += 1
        loop = asyncio.get_running_loop()
        self._last_at = loop.time()
        if self._quiet is None:
            self._quiet = loop.call_later(QUIET_SECONDS, self._look_if_quiet)
        late = []
        for group in self._groups.values():
            if self._events - group.first <= MAX_LATER:
                break
            late.append(group)
        _write(late)

    def hurry(self, *, is_on: bool) -> None:
        """Write all transitions that wait, and let no later one wait, until `is_on` is False."""
        self._is_hurried = is_on
        if is_on:
            _write(self._groups.values())

    def _begin(self, page_id: UUID) -> _Group:
        group = self._groups[page_id] = _Group(self._events)
        self._call_later(group, self._max_seconds)
        task = asyncio.create_task(self._write_when_due(page_id, group))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
        return group

    def _call_later(self, group: _Group, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        if group.timer is None or group.timer.when() > loop.time() + seconds:
            if group.timer:
                group.timer.cancel()
            group.timer = loop.call_later(seconds, group.due.set)

    def _look_if_quiet(self) -> None:
        loop = asyncio.get_running_loop()
        quiet_at, self._quiet = self._last_at + QUIET_SECONDS, None
        if loop.time() >= quiet_at:
            _write(self._groups.values())
        elif self._groups:
            self._quiet = loop.call_at(quiet_at, self._look_if_quiet)

    async def _write_when_due(self, page_id: UUID, group: _Group) -> None:
        await group.due.wait()
        del self._groups[page_id]
        if group.timer:
            group.timer.cancel()
        try:
            await self._ledger.record(*group.rows.values())
        except Exception as error:
            group.written.set_exception(error)
            group.written.exception()  # all callers that wait may have been cancelled
        else:
            group.written.set_result(None)


def _write(groups: Iterable[_Group]) -> None:
    for group in groups:
        group.due.set()
