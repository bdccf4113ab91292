"""A Faust consumer that loses no record at a rebalance, and that a busy machine does not end.

It goes back on every partition, not only on some, and asks for all committed offsets in one request.

Around a rebalance Faust drops records that it has fetched, and then goes back to the committed offsets. The client
below it (aiokafka 0.14) goes back only where an offset above 0 is committed. On a partition without one, the dropped
records would be skipped, and the first commit behind them would lose them for good. The client also asks for one
partition after the other: a thousand requests at the start of a worker with all stages.

Faust also looks for partitions without progress, and logs advice. If it looks before a partition has its first
position, as on a busy machine, an assertion of the client ends the worker. Riffle's own health has the same purpose
(`health`), so this consumer does not look.
"""

from collections.abc import Mapping
from typing import Any

from faust.transport.drivers.aiokafka import Consumer
from faust.types import TP


class CompleteConsumer(Consumer):
    """See the module."""

    async def seek_to_committed(self) -> Mapping[TP, int]:
        """Seek every partition to its committed offset, or to its beginning. Return the committed offsets."""
        thread: Any = self._thread
        committed = await thread.call_thread(_seek_to_committed, thread._ensure_consumer())
        if without := [partition for partition, offset in committed.items() if not offset]:
            await thread.seek_to_beginning(*without)
        return committed  # type: ignore[no-any-return]  # the client has no types

    async def verify_all_partitions_active(self) -> None:
        """Do nothing: see the module. Faust's own method also reads statistics that the app doesn't have
        (`faust_app._NoStatistics`)."""


async def _seek_to_committed(client: Any) -> dict[TP, int | None]:
    """Seek the client's partitions to their committed offsets above 0. Return all of these; None where there is none.

    A partition that is taken away meanwhile is left out.
    """
    asked = client.assignment()
    found = await client._coordinator.fetch_committed_offsets([*asked])
    committed = {}
    for partition in asked & client.assignment():
        offset = found[partition].offset if partition in found else None
        committed[partition] = offset
        if offset and offset > 0:
            client.seek(partition, offset)
    return committed
