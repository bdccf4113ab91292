"""Writes the transitions of a page together: the events of a page come in quick succession, and become one write.

A transition waits for others of its page, for at most MAX_SECONDS. Its event is acknowledged once the transition is
written, so that a crash loses nothing: the events are delivered again.
"""

import asyncio
from dataclasses import dataclass, field
from uuid import UUID

from streams.stores.protocols import Ledger, Transition

MAX_SECONDS = 10.0
"""Maximum time that a transition waits for others of its page (seconds): most of a page's journey takes less."""
MAX_WAITING = 1_500
"""Maximum number of transitions that wait. With more, all are written at once."""


@dataclass(slots=True)
class _Group:
    """Transitions of one page that are written together."""

    rows: dict[UUID, Transition] = field(default_factory=dict)
    count: int = 0
    """Number of events, also of those that came twice."""
    due: asyncio.Event = field(default_factory=asyncio.Event)
    written: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class GatheredLedger:
    """A ledger that gathers the transitions of each page before it writes them."""

    def __init__(self, ledger: Ledger, max_seconds: float = MAX_SECONDS) -> None:
        self._ledger = ledger
        self._max_seconds = max_seconds
        self._groups: dict[UUID, _Group] = {}
        self._waiting = 0
        """Number of events in all groups."""
        self._is_hurried = False
        self._writing: set[asyncio.Task[None]] = set()

    async def record(self, transition: Transition, *, last: bool = False) -> None:
        """Return when the transition is stored. `last`: no other is expected soon, so its group is written at once."""
        group = self._groups.get(transition.page_id)
        if group is None:
            group = self._groups[transition.page_id] = _Group()
            task = asyncio.create_task(self._write_when_due(transition.page_id, group))
            self._writing.add(task)
            task.add_done_callback(self._writing.discard)
        known = group.rows.get(transition.event_id)
        if known is None or transition.at >= known.at:
            group.rows[transition.event_id] = transition
        group.count += 1
        self._waiting += 1
        if last or self._is_hurried:
            group.due.set()
        if self._waiting >= MAX_WAITING:
            self._write_all()
        await asyncio.shield(group.written)

    def hurry(self, *, is_on: bool) -> None:
        """Write all transitions that wait, and let no later one wait, until `is_on` is False."""
        self._is_hurried = is_on
        if is_on:
            self._write_all()

    def _write_all(self) -> None:
        for group in self._groups.values():
            group.due.set()

    async def _write_when_due(self, page_id: UUID, group: _Group) -> None:
        try:
            async with asyncio.timeout(self._max_seconds):
                await group.due.wait()
        except TimeoutError:
            pass
        del self._groups[page_id]
        self._waiting -= group.count
        try:
            await self._ledger.record(*group.rows.values())
        except Exception as error:
            group.written.set_exception(error)
            group.written.exception()  # all callers that wait may have been cancelled
        else:
            group.written.set_result(None)
