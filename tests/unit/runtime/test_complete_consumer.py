"""The positions after a rebalance: at the committed offset, or at the beginning of a partition without one."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from typing import Any

import pytest
from aiokafka.structs import OffsetAndMetadata
from faust.transport.drivers.aiokafka import Consumer
from faust.types import TP
from mode import Service

from streams.runtime.consumer import CompleteConsumer, QuietThread
from streams.runtime.faust_app import WokenSupervisor, new_app
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


TASKS_OF_FAUST = ["_commit_handler", "_commit_livelock_detector"]
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


async def test_a_consumer_has_no_timer_but_for_commits() -> None:
    """The client asserts that it knows each position. Faust looks at them each 5 seconds, also before it does."""
    consumer: Any = CompleteConsumer.__new__(CompleteConsumer)
    assert sorted(task.fun.__name__ for task in consumer._get_tasks()) == TASKS_OF_FAUST
    await consumer._commit_livelock_detector.fun(consumer)
    thread: Any = QuietThread.__new__(QuietThread)
    await thread._thread_keepalive.fun(thread)
    await thread._keepalive2()


INTERVAL_SECONDS = 0.01


@pytest.fixture
async def consumer() -> AsyncIterator[Any]:
    """A consumer that is not started, and counts its commits."""
    made: Any = new_app(STAGE, Settings()).consumer
    made.commits, made.commit_interval = 0, INTERVAL_SECONDS

    async def commit() -> bool:
        made.commits += 1
        return True

    made.commit = commit
    yield made
    made._thread.thread_loop.close()


async def test_it_commits_only_behind_acknowledged_events(consumer: Any) -> None:
    handler = asyncio.create_task(consumer._commit_handler.fun(consumer))
    for acknowledged in range(3):
        await asyncio.sleep(20 * INTERVAL_SECONDS)
        assert consumer.commits == acknowledged
        consumer._has_acknowledged.set()
    handler.cancel()


async def test_an_acknowledgement_leads_to_a_commit(consumer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for is_new in (False, True):
        monkeypatch.setattr(Consumer, "ack", lambda _self, _message, is_new=is_new: is_new)
        assert consumer.ack(object()) == is_new
        assert consumer._has_acknowledged.is_set() == is_new


async def test_a_wait_for_records_of_former_partitions_ends_when_the_flow_goes_on(consumer: Any) -> None:
    ended = list[str]()
    consumer._thread.end_wait = lambda: ended.append("wait")
    consumer.stop_flow()
    assert (consumer.flow_active, ended) == (False, [])
    consumer.resume_flow()
    assert (consumer.flow_active, ended) == (True, ["wait"])


async def test_a_supervisor_wakes_for_a_crash_and_for_nothing_else() -> None:
    chosen: Any = new_app(STAGE, Settings()).conf.agent_supervisor
    assert chosen is WokenSupervisor
    supervisor: Any = chosen()
    service = CrashingService()
    supervisor.add(service)
    await supervisor.start()
    await asyncio.sleep(0.01)
    waiting = supervisor._please_wakeup
    assert not waiting.done()
    await service.crash(RuntimeError("a feeder's own error"))
    async with asyncio.timeout(5):
        while service.starts < 2:
            await asyncio.sleep(0.01)
    await supervisor.stop()


class CrashingService(Service):
    """A service that counts its starts."""

    starts = 0

    async def on_start(self) -> None:
        self.starts += 1


async def test_the_workers_use_it() -> None:
    consumer: Any = new_app(STAGE, Settings()).transport.Consumer
    assert consumer is CompleteConsumer
