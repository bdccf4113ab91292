"""When the client of Kafka asks for records: at once after a silence, and a moment after an answer with records."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiokafka.client import AIOKafkaClient
from aiokafka.consumer import consumer as client_of_kafka
from aiokafka.consumer.subscription_state import SubscriptionState
from aiokafka.protocol.fetch import FetchResponse_v4
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.structs import PartitionMetadata, TopicPartition

from streams.runtime import consumer
from streams.runtime.consumer import GatheringFetcher, change_client

PLACE = TopicPartition("asked", 0)
BROKER = 1
PAUSE_SECONDS = 0.2


class Broker(AIOKafkaClient):  # type: ignore[misc]  # the client has no types
    """A connection to a broker that answers the first requests, and lets later ones wait."""

    def __init__(self, answers: list[list[bytes]]) -> None:
        super().__init__()
        self.answers = answers
        self.asked_at = list[float]()

    async def send(self, node_id: int, request: Any, **_: Any) -> Any:
        assert node_id == BROKER
        self.asked_at.append(asyncio.get_running_loop().time())
        if not self.answers:
            await asyncio.Event().wait()
        offset = dict(request.topics)[PLACE.topic][0][1]
        return answer_of(offset, self.answers.pop(0))


def answer_of(offset: int, values: list[bytes]) -> FetchResponse_v4:
    builder = DefaultRecordBatchBuilder(
        magic=2, compression_type=0, is_transactional=0, producer_id=-1, producer_epoch=-1, base_sequence=-1,
        batch_size=1_000_000,
    )  # fmt: skip
    for number, value in enumerate(values):
        builder.append(offset=number, timestamp=0, key=None, value=value, headers=[])
    content = bytes(builder.build()) if values else b""
    content = offset.to_bytes(8, "big") + content[8:] if values else b""
    end = offset + len(values)
    return FetchResponse_v4(0, [(PLACE.topic, [(PLACE.partition, 0, end, end, [], content)])])


@asynccontextmanager
async def fetching(answers: list[list[bytes]], monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Any, Broker]]:
    monkeypatch.setattr(consumer, "PAUSE_SECONDS", PAUSE_SECONDS)
    broker = Broker(answers)
    broker.cluster._partitions[PLACE.topic] = {0: PartitionMetadata(PLACE.topic, 0, BROKER, [BROKER], [BROKER], None)}
    subscriptions = SubscriptionState()
    subscriptions.assign_from_user({PLACE})
    subscriptions.subscription.assignment.state_value(PLACE).reset_to(0)
    fetcher = GatheringFetcher(broker, subscriptions)
    try:
        yield fetcher, broker
    finally:
        async with asyncio.timeout(5):
            await fetcher.close()


async def values_of(fetcher: Any) -> list[bytes]:
    found = await fetcher.fetched_records({PLACE}, timeout=5)
    return [record.value for records in found.values() for record in records]


async def test_a_request_waits_only_after_an_answer_with_records(monkeypatch: pytest.MonkeyPatch) -> None:
    async with fetching([[], [b"a"], [b"b", b"c"]], monkeypatch) as (fetcher, broker):
        assert await values_of(fetcher) == [b"a"]
        assert await values_of(fetcher) == [b"b", b"c"]
        while len(broker.asked_at) < 4:
            await asyncio.sleep(0.01)
    pauses = [later - one for one, later in zip(broker.asked_at, broker.asked_at[1:], strict=False)]
    assert pauses[0] < PAUSE_SECONDS / 2, "an answer without records"
    assert min(pauses[1:]) > 0.9 * PAUSE_SECONDS


async def test_a_client_that_waits_can_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    async with fetching([[b"a"], [b"b"]], monkeypatch) as (fetcher, broker):
        assert await values_of(fetcher) == [b"a"]
        await asyncio.sleep(PAUSE_SECONDS / 4)
    assert len(broker.asked_at) == 1


async def test_a_call_that_waits_for_records_returns_them_as_they_come_and_none_at_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with fetching([], monkeypatch) as (fetcher, _):
        assert await fetcher.fetched_records({PLACE}, timeout=0.01) == {}
        waiting = asyncio.create_task(fetcher.fetched_records({PLACE}, timeout=5))
        await asyncio.sleep(0.01)
        assert not waiting.done()
        fetcher.end_waits()
        async with asyncio.timeout(1):
            assert await waiting == {}, "of the partitions of that time"
        assert not fetcher._fetch_waiters


async def test_the_workers_use_it() -> None:
    change_client()
    assert client_of_kafka.Fetcher is GatheringFetcher
