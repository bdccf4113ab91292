"""Events that a stage hands to another one of its process: without Kafka where no other worker has their partition."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from faust.types import TP

from schemas import Event, PageDiscovered, PageScheduled
from schemas.ids import page_id
from streams.errors import TransientError
from streams.runtime.agent import Delivery
from streams.runtime.records import encode, failure_of, handed_record
from streams.runtime.worker import emitter
from streams.stores.host_buckets import partition_of
from streams.topology import Stage, stage
from tests.unit.runtime.stage_harness import NOW, RunningStage, settle

FRONTIER, FETCH = stage("frontier"), stage("fetch")
PARTITIONS = 4


def lease(host: str = "a.test", path: str = "", **fields: Any) -> PageScheduled:
    url = f"https://{host}/{path}"
    names = {"page_id": page_id(url), "url": url, "host": host, "lease_id": uuid4(), "attempt": 1}
    return PageScheduled(lease_until=datetime(2030, 1, 1, tzinfo=UTC), **{**names, **fields})


class FetchStage(RunningStage):
    """A fetch stage in this process, and what the frontier beside it sent to Kafka."""

    def __init__(
        self, handle: Callable[[Delivery], Awaitable[Sequence[Event]]], fetch: Stage = FETCH, **runtime: object
    ) -> None:
        super().__init__(handle, stage=fetch, **runtime)
        self.app._partitions = PARTITIONS
        self.faust.consumer = self  # type: ignore[attr-defined]  # Faust has a consumer after its start only
        self.to_kafka: list[str] = []
        self.app.send = self._note  # type: ignore[method-assign]  # in place of Kafka
        self.emit = emitter(FRONTIER, self.app, [self.app])

    def topic_partitions(self, _: str) -> int:
        return PARTITIONS

    async def own(self, *partitions: int) -> None:
        await self.app._assigned(None, {TP(PageScheduled.topic, partition) for partition in partitions})

    async def _note(self, records: Sequence[Any]) -> None:
        self.to_kafka += [record.topic for record in records]


class Fetcher:
    """An agent that notes what it handles, and waits in it while `gate` is closed."""

    def __init__(self) -> None:
        self.begun: list[Delivery] = []
        self.done: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.error: Exception | None = None

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        self.begun.append(delivery)
        await self.gate.wait()
        if self.error:
            raise self.error
        assert isinstance(delivery.event, PageScheduled)
        self.done.append(delivery.event.url)
        return []


async def test_a_lease_is_fetched_in_its_process_without_kafka() -> None:
    fetcher = Fetcher()
    fetch = FetchStage(fetcher.handle)
    await fetch.own(*range(PARTITIONS))
    event = lease(path="page")
    await fetch.emit(event, str(event.lease_id))
    await settle()
    assert (fetcher.done, fetch.to_kafka) == ([event.url], [])
    assert fetcher.begun[0].event == event
    assert fetcher.begun[0].partition == partition_of(event.host, PARTITIONS)
    assert fetch.app.finished == 1
    assert fetch.observer._arrivals == {}
    assert fetch.app._handed == {}


async def test_a_lease_goes_through_kafka_where_another_worker_may_have_its_partition() -> None:
    event = lease()
    own = partition_of(event.host, PARTITIONS)
    for partitions in ({0, 1, 2, 3} - {own}, set[int]()):
        fetcher = Fetcher()
        fetch = FetchStage(fetcher.handle)
        if partitions:
            await fetch.own(*partitions)
        await fetch.emit(event, "cause")
        await settle()
        assert (fetcher.done, fetch.to_kafka) == ([], [PageScheduled.topic])


async def test_only_leases_are_handed_over_and_only_those_of_the_stages_region() -> None:
    fetcher = Fetcher()
    fetch = FetchStage(fetcher.handle, replace(FETCH, region="eu"))
    await fetch.own(*range(PARTITIONS))
    leases = [lease(), lease(region="us"), lease(region="eu")]
    for event in leases:
        await fetch.emit(event, str(event.lease_id))
    url = "https://a.test/"
    await fetch.emit(PageDiscovered(page_id=page_id(url), url=url, host="a.test", why="seed", depth=0), "cause")
    await settle()
    assert [delivery.event for delivery in fetcher.begun] == [leases[-1]]
    assert fetch.to_kafka == [PageScheduled.topic, PageScheduled.topic, PageDiscovered.topic]


async def test_a_stage_that_stops_gets_nothing_more() -> None:
    fetcher = Fetcher()
    fetch = FetchStage(fetcher.handle)
    await fetch.own(*range(PARTITIONS))
    await fetch.app.stop(1.0)
    await fetch.emit(lease(), "cause")
    await settle()
    assert (fetcher.begun, fetch.to_kafka) == ([], [PageScheduled.topic])


async def test_at_a_rebalance_what_was_not_fetched_goes_through_kafka() -> None:
    fetcher = Fetcher()
    fetcher.gate.clear()
    fetch = FetchStage(fetcher.handle)
    await fetch.own(*range(PARTITIONS))
    for path in ("1", "2", "3"):  # one host: the second and third wait for the first
        await fetch.emit(lease(path=path), path)
    await settle()
    revoked = asyncio.create_task(fetch.app._revoked())
    await settle()
    fetcher.gate.set()
    await asyncio.wait_for(revoked, 20)
    await settle()
    assert fetcher.done == ["https://a.test/1"]
    assert fetch.to_kafka == [PageScheduled.topic] * 2
    await fetch.emit(lease(path="4"), "4")
    assert len(fetch.to_kafka) == 3, "the partitions are another worker's"


async def test_at_a_rebalance_a_fetch_that_is_cancelled_goes_through_kafka() -> None:
    fetcher = Fetcher()
    fetcher.gate.clear()
    fetch = FetchStage(fetcher.handle, session_timeout_seconds=0.05)
    await fetch.own(*range(PARTITIONS))
    await fetch.emit(lease(), "cause")
    await settle()
    await asyncio.wait_for(fetch.app._revoked(), 20)
    await settle()
    assert fetch.to_kafka == [PageScheduled.topic]


async def test_a_lease_that_fails_goes_to_the_retry_topic_with_its_event() -> None:
    fetcher = Fetcher()
    fetcher.error = TransientError("away")
    fetch = FetchStage(fetcher.handle, retries_in_place=0)
    await fetch.own(*range(PARTITIONS))
    event = lease()
    await fetch.emit(event, str(event.lease_id))
    await settle()
    (retry,) = fetch.sent
    assert (retry.topic, retry.value) == (FETCH.retry_topic, event.to_json())
    again = handed_record(retry, 0)
    failure = failure_of(again)
    assert failure
    assert failure.topic == PageScheduled.topic
    assert failure.offset < 0, "Kafka has no such record"


def test_a_lease_has_the_same_place_in_each_process() -> None:
    """So the brake recognises a lease that ends its process, though the next process gives it again."""
    event = lease()
    first, again = (encode(event, cause=str(event.lease_id), source="frontier", time=NOW) for _ in range(2))
    other = encode(event, cause="another lease", source="frontier", time=NOW)
    assert handed_record(first, 1).offset == handed_record(again, 1).offset < 0
    assert handed_record(other, 1).offset != handed_record(first, 1).offset
