"""The budgets of answers by a model, shared by all gateways through the store of records.

As the budgets of the API (docs/decisions/0057): each gateway writes rows of its own, with the answers of the hour and
the cost of the day, and reads the rows of the others in the background. So a gateway that was started anew also knows
what its predecessor spent. Between two exchanges, each gateway may begin as many answers as one second brings. While
the store is down, each gateway counts by itself. People are counted by each gateway for itself: their rows would be
stored.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime
from uuid import uuid4

import structlog

from streams.answers.budgets import Budgets, Refusal
from streams.stores.opener import Stores
from streams.stores.protocols import Spending

SYNC_SECONDS = 1.0
"""Time between two exchanges of rows with the other gateways, while answers are written (seconds)."""
FIRST_SECONDS = 0.25
"""Maximum time that the first answer of a process waits for the rows of the other gateways (seconds)."""
ANSWERS, COST = "answers of an hour", "cost of answers"
"""Names of the rows, in place of a client. The key of a row is the number of its hour or day."""
COST_PARTS = 1_000_000
"""Parts of a unit of the currency in which rows count."""
_HOUR_SECONDS, _DAY_SECONDS = 3_600, 86_400

log = structlog.get_logger(__name__)


class SharedBudgets:
    """The budgets of one gateway process. Without a limit for all gateways, the store is not asked."""

    def __init__(
        self,
        budgets: Budgets,
        stores: Stores,
        now: Callable[[], datetime],
        on_failure: Callable[[], None] = lambda: None,
        *,
        gateway: str = "",
        sync_seconds: float = SYNC_SECONDS,
    ) -> None:
        self._budgets, self._stores, self._now, self._on_failure = budgets, stores, now, on_failure
        self._gateway = gateway or uuid4().hex[:16]
        self._sync_seconds = sync_seconds
        self._sync: asyncio.Task[None] | None = None
        self._was_read = False
        self._written: dict[str, tuple[int, int]] = {}

    async def take(self, address: str, now: datetime) -> Refusal:
        """Count one answer for the person at this address, unless a budget is used up."""
        if self._budgets.limits.are_shared:
            syncing = self._start(0.0 if not self._was_read else self._sync_seconds)
            if not self._was_read:
                await asyncio.wait({syncing}, timeout=FIRST_SECONDS)
        return self._budgets.take(address, now)

    def pay(self, cost: float, now: datetime) -> None:
        """Add the cost of a request."""
        self._budgets.pay(cost, now)
        if self._budgets.limits.are_shared:
            self._start(self._sync_seconds)

    async def close(self) -> None:
        """Write what was not written yet."""
        if self._sync:
            self._sync.cancel()
            await asyncio.gather(self._sync, return_exceptions=True)
        if self._was_read:
            await self._try_exchange()

    def _start(self, wait_seconds: float) -> "asyncio.Task[None]":
        if self._sync is None or self._sync.done():
            self._sync = asyncio.create_task(self._exchange_after(wait_seconds))
        return self._sync

    async def _exchange_after(self, wait_seconds: float) -> None:
        await asyncio.sleep(wait_seconds)
        await self._try_exchange()

    async def _try_exchange(self) -> None:
        try:
            await self._exchange()
            self._was_read = True
        except Exception as error:  # budgets must not end answers
            self._on_failure()
            log.warning("budgets of answers are not shared with other gateways now", error=str(error))

    async def _exchange(self) -> None:
        now = self._now()
        seconds, at = int(now.timestamp()), int(now.timestamp() * 1e6)
        hour, day = seconds // _HOUR_SECONDS, seconds // _DAY_SECONDS
        answers, cost = self._budgets.own(now)
        await self._write(ANSWERS, hour, answers, at)
        await self._write(COST, day, round(cost * COST_PARTS), at)
        others = [await self._of_others(ANSWERS, hour), await self._of_others(COST, day)]
        self._budgets.learn(now, others[0], others[1] / COST_PARTS)

    async def _write(self, name: str, number: int, spent: int, at: int) -> None:
        if spent and self._written.get(name) != (number, spent):
            await self._stores.api_spending.put(name, number, self._gateway, Spending(spent, 0.0, at))
            self._written[name] = number, spent

    async def _of_others(self, name: str, number: int) -> int:
        rows = await self._stores.api_spending.of_day(name, number)
        return sum(row.spent for gateway, row in rows.items() if gateway != self._gateway)
