"""The budgets of all clients at one gateway, shared with the other gateways through the store of records.

A request waits for the store only when its client is new to this gateway, and at most `FIRST_SECONDS`. After that, rows
are exchanged in the background. Where the store does not answer, this gateway goes on with what it knows: a search
engine that refuses everybody because of its counters would be worse than one that gives too much for a while.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol
from uuid import uuid4

import structlog

from streams.caches import RecentCache
from streams.gateway.access.bucket import Allowance, Bucket, Verdict, put_spending, spending_of_day
from streams.stores.protocols import Notes

SYNC_SECONDS = 1.0
"""Time between two exchanges of rows with the other gateways, for each client that asks (seconds)."""
FIRST_SECONDS = 0.25
"""Maximum time that a client's first request waits for the rows of the other gateways (seconds)."""
MAX_CLIENTS = 100_000
"""Maximum number of clients that a gateway remembers: those that asked last. About 50 MB."""

log = structlog.get_logger(__name__)


class _Client:
    __slots__ = ("bucket", "known", "sync", "synced", "written")

    def __init__(self, bucket: Bucket) -> None:
        self.bucket = bucket
        self.known = False
        """True: the rows of the other gateways were read."""
        self.synced = 0.0
        self.written = (0, 0)
        self.sync: asyncio.Task[None] | None = None


class HasNotes(Protocol):
    """Stores with notes. The store of notes may be exchanged while the gateway runs."""

    @property
    def notes(self) -> Notes: ...


class Limiter:
    """The buckets of one gateway process."""

    def __init__(
        self,
        stores: HasNotes,
        now: Callable[[], float],
        on_failure: Callable[[], None] = lambda: None,
        *,
        gateway: str = "",
        sync_seconds: float = SYNC_SECONDS,
    ) -> None:
        self._stores, self._now, self._on_failure = stores, now, on_failure
        self.gateway = gateway or uuid4().hex[:16]
        """A random name of this process, for its rows."""
        self._sync_seconds = sync_seconds
        self._clients: RecentCache[str, _Client] = RecentCache(MAX_CLIENTS)

    async def admit(self, client: str, allowance: Allowance) -> Verdict:
        """Return whether a request may begin, and count one work unit for it then. Raises nothing."""
        verdict = await self.look(client, allowance)
        if verdict.allowed:
            self.spend(client, 1)
        return verdict

    async def look(self, client: str, allowance: Allowance) -> Verdict:
        """Return whether a request may begin, and what is left. Counts nothing. Raises nothing."""
        now = self._now()
        state = self._clients.get(client)
        if state is None:
            state = _Client(Bucket.full(allowance, now))
            self._clients.put(client, state)
        state.bucket.admit(allowance, now)
        syncing = self._start_sync(client, state, now)
        if not state.known and syncing is not None:
            await asyncio.wait({syncing}, timeout=FIRST_SECONDS)
        return state.bucket.admit(allowance, self._now())

    def spend(self, client: str, cost: int) -> None:
        """Count further work of a request that was admitted."""
        if cost > 0 and (state := self._clients.get(client)):
            state.bucket.spend(cost)

    async def close(self) -> None:
        """Write what was not written yet."""
        states = list(self._clients.items())
        running = [state.sync for _, state in states if state.sync]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        unwritten = [
            (client, state) for client, state in states if (state.bucket.day, state.bucket.spent) != state.written
        ]
        await asyncio.gather(*(self._exchange(client, state) for client, state in unwritten), return_exceptions=True)

    def _start_sync(self, client: str, state: _Client, now: float) -> asyncio.Task[None] | None:
        """Begin to exchange rows, or wait until it is time. Returns the task."""
        if state.sync is None:
            wait_seconds = min(self._sync_seconds, max(0.0, state.synced + self._sync_seconds - now))
            state.sync = asyncio.create_task(self._sync(client, state, wait_seconds))
        return state.sync

    async def _sync(self, client: str, state: _Client, wait_seconds: float) -> None:
        try:
            await asyncio.sleep(wait_seconds)
            state.synced = self._now()
            await self._exchange(client, state)
        except Exception as error:
            self._on_failure()
            log.warning("budgets of the API are not shared with other gateways now", error=str(error))
        finally:
            state.sync = None

    async def _exchange(self, client: str, state: _Client) -> None:
        bucket, notes = state.bucket, self._stores.notes
        day, spent = bucket.day, bucket.spent
        if (day, spent) != state.written and spent:
            await put_spending(notes, client, day, self.gateway, bucket.row())
            state.written = day, spent
        rows = await spending_of_day(notes, client, day)
        if bucket.day == day:
            bucket.merge({name: row for name, row in rows.items() if name != self.gateway}, first=not state.known)
            state.known = True
