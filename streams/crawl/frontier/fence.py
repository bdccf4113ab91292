"""The fence: a worker that lost a partition can't write over its successor.

Each new owner of a partition writes itself into the store, with a higher epoch than the former owner, before it reads
any host of the partition. Before a worker writes, it checks that it is still the owner, at most once in CHECK_MICROS.
So a worker that was stopped for a while checks first. Its earlier writes carry an older write time, and lose.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from streams.crawl.frontier.policy import SECOND
from streams.errors import TransientError
from streams.grouped_calls import read_failure
from streams.stores.protocols import FrontierStore, PartitionOwner

CHECK_MICROS = SECOND
"""Time between two checks of a worker that it is the owner (microseconds)."""


class LostPartition(TransientError):
    """This worker does not own the partition. The event is handled by its owner."""


@dataclass(slots=True)
class _Claim:
    epoch: int
    claimed_at: int
    checked_at: int


class Fence:
    """The partitions that this worker has claimed."""

    def __init__(self, store: FrontierStore, worker: str, now: Callable[[], int]) -> None:
        self._store = store
        self._worker = worker
        self._now = now
        self._claims: dict[int, _Claim] = {}
        self._asked_at = 0
        self._owners: asyncio.Task[dict[int, PartitionOwner]] | None = None
        """The last check, begun at `_asked_at`."""

    async def claim(self, partition: int) -> None:
        """Become the owner of a partition."""
        now = self._now()
        former = (await self._store.owners()).get(partition)
        epoch = max(now, former.epoch + 1) if former else now
        await self._store.put_owner(PartitionOwner(partition, self._worker, epoch))
        self._claims[partition] = _Claim(epoch, now, now)

    def has_claimed(self, partition: int) -> bool:
        return partition in self._claims

    def keep(self, partitions: frozenset[int]) -> None:
        """Give up the claims of all other partitions: what is assigned again is claimed again."""
        self._claims = {partition: claim for partition, claim in self._claims.items() if partition in partitions}

    def is_sole(self, partition: int) -> bool:
        """Return whether no former owner writes any more: each former owner has checked since this worker's claim."""
        claim = self._claims.get(partition)
        return claim is not None and self._now() - claim.claimed_at >= 2 * CHECK_MICROS

    async def require(self, partition: int) -> None:
        """Raise LostPartition if this worker has not claimed the partition, or another one has claimed it since."""
        claim, now = self._claims.get(partition), self._now()
        if claim is None:
            raise LostPartition(f"partition {partition} of the frontier is not claimed by this worker")
        if 0 <= now - claim.checked_at < CHECK_MICROS:
            return
        # One check of all partitions, for all that need it at the same time.
        if self._owners is None or self._owners.done() or not 0 <= now - self._asked_at < CHECK_MICROS:
            self._asked_at = now
            self._owners = asyncio.create_task(self._store.owners())
            self._owners.add_done_callback(read_failure)
        asked_at = self._asked_at
        owner = (await asyncio.shield(self._owners)).get(partition)
        if owner is None or (owner.worker, owner.epoch) != (self._worker, claim.epoch):
            raise LostPartition(f"partition {partition} of the frontier has another owner")
        claim.checked_at = max(claim.checked_at, asked_at)
