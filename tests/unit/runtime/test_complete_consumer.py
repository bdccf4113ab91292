"""The positions after a rebalance: at the committed offset, or at the beginning of a partition without one."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

import pytest
from aiokafka.structs import OffsetAndMetadata
from faust.types import TP

from streams.runtime.consumer import CompleteConsumer
from streams.runtime.faust_app import new_app
from streams.settings import Settings
from tests.unit.runtime.stage_harness import STAGE


class Client:
    """The client below Faust, with the committed offsets of the server: none where it knows of none."""

    def __init__(self, committed: Mapping[TP, int | None], taken: Collection[TP] = ()) -> None:
        self.committed = {tp: OffsetAndMetadata(offset, "") for tp, offset in committed.items() if offset is not None}
        self.positions = dict.fromkeys(committed, 25)
        """Faust has fetched 25 records of each partition, and dropped them."""
        self.taken = {*taken}
        """Partitions that another worker gets while the server is asked."""
        self.asked = list[list[TP]]()
        self._coordinator = self

    def assignment(self) -> set[TP]:
        return {*self.positions}

    async def fetch_committed_offsets(self, partitions: list[TP]) -> Mapping[TP, OffsetAndMetadata]:
        self.asked.append(partitions)
        self.positions = {tp: offset for tp, offset in self.positions.items() if tp not in self.taken}
        return self.committed

    def seek(self, partition: TP, offset: int) -> None:
        assert partition in self.positions, "the client refuses it"
        assert offset > 0
        self.positions[partition] = offset


class Thread:
    """The thread of the client."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def _ensure_consumer(self) -> Client:
        return self.client

    async def call_thread(self, call: Callable[..., Awaitable[Any]], *arguments: Any) -> Any:
        return await call(*arguments)

    async def seek_to_beginning(self, *partitions: TP) -> None:
        assert partitions, "without partitions it would go back on all"
        assert {*partitions} <= self.client.assignment()
        self.client.positions |= dict.fromkeys(partitions, 0)


FIRST, OTHER = TP("asked", 0), TP("asked", 1)


@pytest.mark.parametrize(("committed", "position"), [(7, 7), (None, 0), (0, 0)], ids=["some", "none", "zero"])
async def test_every_partition_goes_back(committed: int | None, position: int) -> None:
    client = Client({FIRST: committed, OTHER: 3})
    assert await consumer_of(client).seek_to_committed() == {FIRST: committed, OTHER: 3}
    assert client.positions == {FIRST: position, OTHER: 3}
    assert len(client.asked) == 1, "one request for all partitions"


async def test_a_partition_that_is_taken_away_meanwhile_stays_where_it_is() -> None:
    client = Client({FIRST: 7, OTHER: 3, TP("asked", 2): None}, taken=[FIRST, TP("asked", 2)])
    assert await consumer_of(client).seek_to_committed() == {OTHER: 3}
    assert client.positions == {OTHER: 3}


def consumer_of(client: Client) -> Any:
    consumer: Any = CompleteConsumer.__new__(CompleteConsumer)
    consumer._thread = Thread(client)
    return consumer


async def test_a_partition_without_a_position_does_not_end_the_worker() -> None:
    """The client asserts that it knows the position. On a busy machine Faust asks before it does."""

    class NoPosition:
        def verify_event_path(self, _now: float, _partition: TP) -> None:
            raise AssertionError

    consumer: Any = CompleteConsumer.__new__(CompleteConsumer)
    consumer._thread = NoPosition()
    consumer.assignment = lambda: {TP("asked", 0)}
    await consumer.verify_all_partitions_active()


async def test_the_workers_use_it() -> None:
    consumer: Any = new_app(STAGE, Settings()).transport.Consumer
    assert consumer is CompleteConsumer
