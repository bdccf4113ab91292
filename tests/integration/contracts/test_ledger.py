"""The contract of the ledger, in memory and in Cassandra."""

import asyncio
from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from streams.stores.cassandra import CassandraLedger
from streams.stores.memory import MemoryLedger
from streams.stores.protocols import Ledger, Transition
from tests.integration.contracts.conftest import BOTH


@pytest.fixture(params=BOTH)
def ledger(request: pytest.FixtureRequest) -> Ledger:
    if request.param == "memory":
        return MemoryLedger()
    return CassandraLedger(request.getfixturevalue("cassandra_session"))


def step(page_id: UUID, at: int, outcome: str = "") -> Transition:
    data = {"page_id": str(page_id), "url": "https://example.org/", "headers": {"etag": "1"}, "distance": at}
    return Transition(page_id, uuid4(), "pages.fetched", "/riffle/fetch", at, outcome, data)


async def test_a_page_without_a_past_has_no_history(ledger: Ledger) -> None:
    assert await ledger.history(uuid4()) == []


async def test_history_is_in_the_order_of_time_whatever_the_order_of_writing(ledger: Ledger) -> None:
    page = uuid4()
    steps = [step(page, at, f"step {at}") for at in range(20)]
    await asyncio.gather(*(ledger.record(transition) for transition in reversed(steps)))
    assert await ledger.history(page) == steps


async def test_a_copy_of_an_event_is_one_transition(ledger: Ledger) -> None:
    transition = step(uuid4(), 5, "fetched")
    await asyncio.gather(*(ledger.record(transition) for _ in range(3)))
    assert await ledger.history(transition.page_id) == [transition]


async def test_an_older_copy_of_an_event_never_replaces_a_newer_one(ledger: Ledger) -> None:
    newer = step(uuid4(), 5, "newer")
    await ledger.record(newer)
    await ledger.record(replace(newer, at=4, outcome="older"))
    assert await ledger.history(newer.page_id) == [newer]


async def test_pages_do_not_see_each_others_past(ledger: Ledger) -> None:
    one, other = step(uuid4(), 1), step(uuid4(), 1)
    await ledger.record(one)
    await ledger.record(other)
    assert await ledger.history(one.page_id) == [one]


async def test_a_long_history_comes_whole(ledger: Ledger) -> None:
    """Longer than one answer of the server."""
    page = uuid4()
    await asyncio.gather(*(ledger.record(step(page, at)) for at in range(1_200)))
    assert [transition.at for transition in await ledger.history(page)] == list(range(1_200))


async def test_a_deleted_transition_does_not_come_back_with_a_copy_of_its_event(ledger: Ledger) -> None:
    page = uuid4()
    steps = [step(page, at) for at in range(1, 6)]
    await ledger.record(*steps)
    await ledger.delete(*steps[:3])
    assert await ledger.history(page) == steps[3:]
    await ledger.record(*steps[:2], replace(steps[2], at=2))
    assert await ledger.history(page) == steps[3:]


async def test_a_deletion_twice_or_before_its_event_is_one_deletion(ledger: Ledger) -> None:
    page = uuid4()
    first, second = step(page, 1), step(page, 2)
    for _ in range(2):
        await ledger.delete(first)
    await ledger.record(first, second)
    assert await ledger.history(page) == [second]


async def test_an_event_that_was_sent_again_later_is_recorded_after_its_deletion(ledger: Ledger) -> None:
    old = step(uuid4(), 5)
    await ledger.record(old)
    await ledger.delete(old)
    await ledger.record(again := replace(old, at=6))
    assert await ledger.history(old.page_id) == [again]


async def test_a_deletion_leaves_a_newer_copy(ledger: Ledger) -> None:
    newer = step(uuid4(), 5)
    await ledger.record(newer)
    await ledger.delete(replace(newer, at=4))
    assert await ledger.history(newer.page_id) == [newer]
