"""The budgets of answers by a model, shared by all gateways through the store of records.

As the budgets of the API (docs/decisions/0057): each gateway writes rows of its own, with the answers of the hour,
and reads the rows of the others in the background. So a gateway that was started anew also knows what its predecessor
spent. Between two exchanges, each gateway may begin as many answers as one second brings. While
the store is down, each gateway counts by itself.

A person has a bucket of answers, which fills again in an hour, and which gateways share like the buckets of the API.
Only an answer writes a row, never a search.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime
from uuid import uuid4

import structlog

from streams.answers.budgets import Budgets, Limits, Refusal
from streams.gateway.access.bucket import Allowance, Spending, put_spending, spending_of_day
from streams.gateway.access.clients import hash_person
from streams.gateway.access.limiter import HasNotes, Limiter

SYNC_SECONDS = 1.0
"""Time between two exchanges of rows with the other gateways, while answers are written (seconds)."""
FIRST_SECONDS = 0.25
"""Maximum time that the first answer of a process waits for the rows of the other gateways (seconds)."""
ANSWERS = "answers of an hour"
"""Name of the rows, in place of a client. The key of a row is the number of its hour."""
PERSON = "answers of "
"""The name of a person's rows: this, and the hash of the address. Their key is the number of the day."""
_HOUR_SECONDS, _DAY_SECONDS = 3_600, 86_400

log = structlog.get_logger(__name__)


class SharedBudgets:
    """The budgets of one gateway process. Without limits, the store is not asked.

    `secret` is the key of the hashes of addresses; gateways with the same secret share the budgets of people.
    """

    def __init__(
        self,
        limits: Limits,
        secret: bytes,
        stores: HasNotes,
        now: Callable[[], datetime],
        on_failure: Callable[[], None] = lambda: None,
        *,
        gateway: str = "",
        sync_seconds: float = SYNC_SECONDS,
    ) -> None:
        self._budgets, self._stores, self._now, self._on_failure = Budgets(limits), stores, now, on_failure
        self._gateway = gateway or uuid4().hex[:16]
        self._sync_seconds, self._secret = sync_seconds, secret
        self._person = Allowance(limits.per_person, window_seconds=_HOUR_SECONDS)
        self._people = Limiter(
            stores, lambda: now().timestamp(), on_failure, gateway=self._gateway, sync_seconds=sync_seconds
        )
        self._sync: asyncio.Task[None] | None = None
        self._was_read = False
        self._written = (0, 0)

    async def take(self, person: str, now: datetime) -> Refusal:
        """Count one answer for a person (`clients.person_of`), unless a budget is used up."""
        if self._budgets.limits.per_hour:
            syncing = self._start(0.0 if not self._was_read else self._sync_seconds)
            if not self._was_read:
                await asyncio.wait({syncing}, timeout=FIRST_SECONDS)
        used_up = self._budgets.refusal
        # Asked again behind the wait for a person's rows: other answers may have begun meanwhile.
        refusal = used_up(now) or await self._refusal_of_person(person, now) or used_up(now)
        if not refusal:
            self._budgets.count(now)
            if self._budgets.limits.per_hour:
                self._start(self._sync_seconds)
        return refusal

    async def close(self) -> None:
        """Write what was not written yet."""
        if self._sync:
            self._sync.cancel()
            await asyncio.gather(self._sync, return_exceptions=True)
        if self._was_read:
            await self._try_exchange()
        await self._people.close()

    async def _refusal_of_person(self, person: str, now: datetime) -> Refusal:
        """Return "person" if the bucket of the person is empty, otherwise take one answer out of it."""
        if not self._person.is_limited:
            return ""
        counted = PERSON + hash_person(person, int(now.timestamp() // _DAY_SECONDS), self._secret)
        return "" if (await self._people.admit(counted, self._person)).allowed else "person"

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
        hour, answers = seconds // _HOUR_SECONDS, self._budgets.own(now)
        if answers and self._written != (hour, answers):
            await put_spending(self._stores.notes, ANSWERS, hour, self._gateway, Spending(answers, 0.0, at))
            self._written = hour, answers
        rows = await spending_of_day(self._stores.notes, ANSWERS, hour)
        self._budgets.learn(now, sum(row.spent for gateway, row in rows.items() if gateway != self._gateway))
