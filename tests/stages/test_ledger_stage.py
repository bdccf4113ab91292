"""The ledger stage: each event is stored once, also if it is delivered twice."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from schemas import Envelope, Event, PageDiscovered, PageFetched, QueryMade
from schemas.ids import event_id, page_id
from streams.errors import PoisonError
from streams.ledger.agent import DISCOVERIES_KEPT, LedgerAgent, build
from streams.runtime.agent import Delivery
from streams.settings import Settings
from streams.stores.memory import MemoryLedger
from streams.stores.opener import Stores

URL = "https://example.org/"
PAGE = page_id(URL)
START = datetime(2024, 5, 1, tzinfo=UTC)


def delivery(event: Event, seconds: int = 0, cause: str = "cause") -> Delivery:
    envelope = Envelope(
        id=event_id(event.event_type(), cause, event.key()),
        type=event.event_type(),
        source="/riffle/fetch",
        time=START + timedelta(seconds=seconds),
    )
    return Delivery(event, envelope, event.topic, 0, 0)


def fetched(**more: Any) -> PageFetched:
    return PageFetched.model_validate(
        {"page_id": PAGE, "url": URL, "host": "example.org", "outcome": "ok", "generation": 1, **more}
    )


@pytest.fixture
async def ledger() -> MemoryLedger:
    return MemoryLedger()


@pytest.fixture
async def agent(ledger: MemoryLedger) -> LedgerAgent:
    return await build(Settings(), Stores(ledger=ledger))


async def test_an_event_is_stored_with_its_time_source_line_and_data(agent: LedgerAgent, ledger: MemoryLedger) -> None:
    arrived = delivery(fetched(status=200, headers={"etag": "1"}), seconds=3)
    assert await agent.handle(arrived) == ()
    (step,) = await ledger.history(PAGE)
    assert (step.event_id, step.source, step.at) == (arrived.envelope.id, "/riffle/fetch", arrived.at)
    assert step.outcome == "Fetched with status 200: 0 bytes in 0 ms"
    assert PageFetched.model_validate(step.data) == arrived.event


async def test_the_same_event_twice_is_stored_once(agent: LedgerAgent, ledger: MemoryLedger) -> None:
    for _ in range(2):  # again: after a crash between the write and the acknowledgement
        assert await agent.handle(delivery(fetched())) == ()
    assert len(await ledger.history(PAGE)) == 1


async def test_a_copy_that_was_sent_later_replaces_the_first(agent: LedgerAgent, ledger: MemoryLedger) -> None:
    for seconds in (5, 9, 7):
        await agent.handle(delivery(fetched(), seconds))
    assert [step.at for step in await ledger.history(PAGE)] == [delivery(fetched(), 9).at]


async def test_a_page_with_many_links_keeps_a_short_history(agent: LedgerAgent, ledger: MemoryLedger) -> None:
    seed = PageDiscovered(page_id=PAGE, url=URL, host="example.org", why="seed", depth=0)
    await agent.handle(delivery(seed, cause="seed"))
    for number in range(1_000):
        link = seed.model_copy(update={"why": "link", "depth": 1, "referrer": f"{URL}{number}"})
        await agent.handle(delivery(link, seconds=number, cause=str(number)))
    steps = await ledger.history(PAGE)
    assert len(steps) == DISCOVERIES_KEPT + 1
    assert "Given as a seed" in {step.outcome for step in steps}


async def test_fetches_of_robots_txt_are_stored_as_such(agent: LedgerAgent, ledger: MemoryLedger) -> None:
    await agent.handle(delivery(fetched(purpose="robots", outcome="gone", error="status 404")))
    assert [step.outcome for step in await ledger.history(PAGE)] == ["robots.txt: Gone (status 404)"]


async def test_an_event_about_no_page_is_poison(agent: LedgerAgent) -> None:
    with pytest.raises(PoisonError, match="QueryMade is about no page"):
        await agent.handle(delivery(QueryMade(query_hash="h", query="q", results=(UUID(int=1), uuid4()))))
