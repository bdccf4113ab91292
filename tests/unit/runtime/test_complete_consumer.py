"""The positions after a rebalance: at the committed offset, or at the beginning of a partition without one."""

from collections.abc import Mapping
from typing import Any

import pytest
from faust.types import TP

from streams.runtime.complete_consumer import CompleteConsumer
from streams.runtime.faust_app import new_app
from streams.settings import Settings
from tests.unit.runtime.stage_harness import STAGE


class Thread:
    """The client's thread: it goes back as aiokafka does, only to offsets above 0."""

    def __init__(self, committed: Mapping[TP, Any]) -> None:
        self.committed = committed
        self.positions = dict.fromkeys(committed, 25)
        """Faust has fetched 25 records of each partition, and dropped them."""

    async def seek_to_committed(self) -> Mapping[TP, Any]:
        self.positions |= {tp: offset for tp, offset in self.committed.items() if offset and offset > 0}
        return self.committed

    async def seek_to_beginning(self, *partitions: TP) -> None:
        assert partitions, "without partitions it would go back on all"
        self.positions |= dict.fromkeys(partitions, 0)


@pytest.mark.parametrize(
    ("committed", "position"), [(7, 7), (None, 0), (0, 0), (-1, 0)], ids=["some", "none", "zero", "unknown"]
)
async def test_every_partition_goes_back(committed: int | None, position: int) -> None:
    consumer: Any = CompleteConsumer.__new__(CompleteConsumer)
    first, other = TP("asked", 0), TP("asked", 1)
    consumer._thread = Thread({first: committed, other: 3})
    await consumer.seek_to_committed()
    assert consumer._thread.positions == {first: position, other: 3}


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
