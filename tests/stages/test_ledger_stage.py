"""The ledger stage: each event is stored once, also if it is delivered twice."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from schemas import Envelope, Event, LinkFound, PageDiscovered, PageFetched, PageIndexed, PageRemoved, QueryMade
from schemas.ids import event_id, page_id
from streams.errors import PoisonError, StoreUnavailable
from streams.ledger import gathering
from streams.ledger.agent import FETCHES_PER_TRIM, LedgerAgent, build
from streams.ledger.status import status_of
from streams.ledger.transitions import MAX_NEWEST, MAX_OUTDATED, THRESHOLDS, LinkMemory, Links
from streams.runtime.agent import Delivery
from streams.settings import RuntimeSettings, Settings
from streams.stores.memory import MemoryLedger
from streams.stores.opener import Stores
from streams.stores.protocols import Transition

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
    return LedgerAgent(ledger, max_gathering_seconds=0)


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


class Counting(MemoryLedger):
    """A ledger that counts its writes. While `down` it refuses them."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0
        self.down = False

    async def record(self, *transitions: Transition) -> None:
        if self.down:
            raise StoreUnavailable("the ledger is down")
        self.writes += 1
        await super().record(*transitions)


def link(number: int, **fields: Any) -> Delivery:
    """Return the event of a page that links to two pages of the host."""
    source = f"{URL}{number}"
    event = LinkFound.model_validate(
        {
            "target_page_id": page_id(f"{URL}other"),
            "target_url": f"{URL}other",
            "target_host": "example.org",
            "source_page_id": page_id(source),
            "source_url": source,
            "generation": 1,
            "more": [{"target_url": URL, **fields}],
        }
    )
    return delivery(event, seconds=number + 1, cause=f"link {number}")


def discovery(why: str, number: int) -> Delivery:
    event = PageDiscovered.model_validate(
        {"page_id": PAGE, "url": URL, "host": "example.org", "why": why, "depth": 1, "referrer": f"{URL}{number}"}
    )
    return delivery(event, seconds=number + 1, cause=f"{why} {number}")


async def linking_pages(ledger: MemoryLedger) -> set[str]:
    steps = [step.data for step in await ledger.history(PAGE) if step.topic == LinkFound.topic]
    return {url for data in steps for url in data["referrers"]}


async def test_links_to_a_page_cost_a_few_rows_however_many_there_are() -> None:
    ledger = Counting()
    agent = LedgerAgent(ledger, max_gathering_seconds=0)
    seed = PageDiscovered(page_id=PAGE, url=URL, host="example.org", why="seed", depth=0)
    await agent.handle(delivery(seed, cause="seed"))
    for number in range(1_000):
        await agent.handle(link(number))
    steps = await ledger.history(PAGE)
    assert len(steps) == len(THRESHOLDS) + 1
    assert ledger.writes == 2 * len(THRESHOLDS) + 1, "two pages are linked"
    assert len(await linking_pages(ledger)) == THRESHOLDS[-1]
    assert [step.outcome for step in steps][:3] == [
        "Given as a seed",
        "Linked from 3 pages, such as https://example.org/0",
        "Linked from 9 pages, such as https://example.org/3",
    ]


async def test_links_to_a_page_are_part_of_the_write_of_its_journey() -> None:
    agent = LedgerAgent(ledger := Counting(), max_gathering_seconds=0.05)
    await handle_together(agent, delivery(fetched()), *(link(number) for number in range(THRESHOLDS[0])))
    assert ledger.writes == 2, "two pages are linked, and one of them is fetched"
    assert len(await ledger.history(PAGE)) == 2


async def test_the_same_links_again_cost_nothing() -> None:
    ledger = Counting()
    agent = LedgerAgent(ledger, max_gathering_seconds=0)
    for number in [*range(20), *range(20), *range(20)]:
        await agent.handle(link(number))
    assert ledger.writes == 2 * 2, "two pages, at 3 and 12 linking pages"


async def test_the_discovery_of_a_link_has_no_row() -> None:
    """The frontier's row of the URL has it. A sitemap that is read again and again names all pages each time."""
    ledger = Counting()
    for why in ("link", "sitemap"):
        await LedgerAgent(ledger).handle(discovery(why, 1))
    assert ledger.writes == 0


async def test_a_link_with_nofollow_is_no_vote() -> None:
    ledger = Counting()
    agent = LedgerAgent(ledger, max_gathering_seconds=0)
    for number in range(20):
        await agent.handle(link(number, nofollow=True))
    assert await ledger.history(PAGE) == []


async def test_a_link_of_an_earlier_version_is_read() -> None:
    ledger = Counting()
    agent = LedgerAgent(ledger, max_gathering_seconds=0)
    old = {"target_page_id": PAGE, "target_url": URL, "generation": 1}
    for number in range(THRESHOLDS[0]):
        source = f"{URL}{number}"
        event = LinkFound.model_validate({**old, "source_page_id": page_id(source), "source_url": source})
        assert event.key() == str(PAGE)
        await agent.handle(delivery(event, cause=source))
    assert len(await linking_pages(ledger)) == THRESHOLDS[0]


async def test_a_seed_waits_for_the_journey_that_it_begins() -> None:
    agent = LedgerAgent(ledger := Counting(), max_gathering_seconds=0.05)
    await handle_together(agent, discovery("seed", 1), delivery(fetched()))
    assert (ledger.writes, len(await ledger.history(PAGE))) == (1, 2)


async def test_other_discoveries_have_one_row_for_each_kind() -> None:
    ledger = Counting()
    agent = LedgerAgent(ledger, max_gathering_seconds=0)
    for number in range(10):
        for why in ("redirect", "canonical"):
            await agent.handle(discovery(why, number))
    assert len(await ledger.history(PAGE)) == 2


async def test_after_crashes_a_page_has_no_more_rows() -> None:
    """A new process knows no links: it writes the same rows again."""
    ledger = Counting()
    for start in range(5):
        agent = LedgerAgent(ledger, max_gathering_seconds=0)
        for number in range(start * 10, start * 10 + 20):
            await agent.handle(link(number))
            await agent.handle(link(number))
    assert len(await ledger.history(PAGE)) == 2
    assert len(await linking_pages(ledger)) == 12


async def test_a_link_whose_write_failed_is_stored_when_it_is_tried_again() -> None:
    ledger = Counting()
    agent = LedgerAgent(ledger, max_gathering_seconds=0)
    for number in range(2):
        await agent.handle(link(number))
    ledger.down = True
    with pytest.raises(StoreUnavailable):
        await agent.handle(link(2))
    ledger.down = False
    for number in range(2, 5):
        await agent.handle(link(number))
    assert await linking_pages(ledger) == {f"{URL}{number}" for number in range(2, 5)}


def test_the_memory_of_links_is_bounded() -> None:
    memory = LinkMemory(max_pages=2)
    for number in range(10):
        noted = [memory.note(UUID(int=number), f"{URL}{linking}") for linking in (0, 0, 1, 2, 2)]
        assert noted[:3] == [None] * 3
        assert noted[3] == Links(0, tuple(f"{URL}{linking}" for linking in range(3)))
        assert noted[4] is None
    assert len(memory._pages) == 2


async def handle_together(agent: LedgerAgent, *deliveries: Delivery) -> list[Any]:
    return await asyncio.gather(*map(agent.handle, deliveries), return_exceptions=True)


async def test_the_events_of_a_page_that_come_together_are_one_write() -> None:
    ledger = Counting()
    agent = LedgerAgent(ledger, max_gathering_seconds=0.05)
    events = [delivery(fetched(attempt=number), number, cause=str(number)) for number in range(5)]
    other = delivery(fetched(page_id=page_id(f"{URL}other")), cause="other")
    assert await handle_together(agent, *events, events[0], other) == [()] * 7
    assert ledger.writes == 2
    assert len(await ledger.history(PAGE)) == 5


async def test_the_last_event_of_a_page_writes_all_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Events of other topics may come after it: they have a moment to be part of the write."""
    monkeypatch.setattr(gathering, "LAST_SECONDS", 0.05)
    agent = LedgerAgent(ledger := Counting(), max_gathering_seconds=3_600)
    removed = PageRemoved(page_id=PAGE, url=URL, generation=2, reason="gone")
    await handle_together(agent, delivery(fetched()), delivery(removed, 1), delivery(fetched(attempt=2), cause="late"))
    assert (ledger.writes, len(await ledger.history(PAGE))) == (1, 3)


async def test_an_event_waits_for_a_bounded_number_of_later_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Events behind it are not acknowledged, whatever they are about, and a worker holds a bounded number of those."""
    monkeypatch.setattr(gathering, "MAX_LATER", 10)
    agent = LedgerAgent(ledger := Counting(), max_gathering_seconds=3_600)
    waiting = [asyncio.create_task(agent.handle(delivery(fetched(), cause="first")))]
    await asyncio.sleep(0)
    for number in range(9):
        await agent.handle(discovery("link", number))
    waiting.append(asyncio.create_task(agent.handle(delivery(fetched(page_id=page_id(f"{URL}other")), cause="tenth"))))
    await asyncio.sleep(0.01)
    assert ledger.writes == 0
    await agent.handle(discovery("link", 10))
    await waiting[0]
    assert (ledger.writes, len(await ledger.history(PAGE))) == (1, 1), "the younger event still waits"
    agent.hurry(is_on=True)
    await waiting[1]


async def test_when_no_event_comes_any_more_all_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    now = loop.time()
    agent = LedgerAgent(ledger := Counting(), max_gathering_seconds=3_600)
    with monkeypatch.context() as patched:
        patched.setattr(loop, "time", lambda: now)
        waiting = asyncio.create_task(agent.handle(delivery(fetched())))
        for number in range(5):
            await asyncio.sleep(0)
            now += 0.9 * gathering.QUIET_SECONDS
            await a_timer_that_is_due()
            await agent.handle(discovery("link", number))
        assert ledger.writes == 0, "other pages are under way"
        now += gathering.QUIET_SECONDS
        await waiting
    assert ledger.writes == 1


async def a_timer_that_is_due() -> None:
    """Wait until the timers that are due by the loop's clock have been called."""
    called = asyncio.Event()
    asyncio.get_running_loop().call_later(0, called.set)
    await called.wait()


async def test_a_worker_that_ends_writes_what_waits_and_lets_nothing_wait() -> None:
    agent = LedgerAgent(ledger := Counting(), max_gathering_seconds=3_600)
    waiting = asyncio.create_task(agent.handle(delivery(fetched())))
    await asyncio.sleep(0)
    agent.hurry(is_on=True)
    await asyncio.wait_for(waiting, 20)
    await asyncio.wait_for(agent.handle(delivery(fetched(attempt=2), 1, cause="late")), 20)
    assert (ledger.writes, len(await ledger.history(PAGE))) == (2, 2)


async def test_a_write_that_fails_fails_for_all_of_its_events() -> None:
    agent = LedgerAgent(ledger := Counting(), max_gathering_seconds=0.01)
    events = [delivery(fetched(attempt=number), number, cause=str(number)) for number in range(3)]
    ledger.down = True
    assert [type(error) for error in await handle_together(agent, *events)] == [StoreUnavailable] * 3
    ledger.down = False
    assert await handle_together(agent, *events) == [()] * 3
    assert len(await ledger.history(PAGE)) == 3


async def test_an_event_that_is_cancelled_takes_no_other_with_it() -> None:
    agent = LedgerAgent(ledger := Counting(), max_gathering_seconds=0.05)
    cancelled = asyncio.create_task(agent.handle(delivery(fetched(), cause="cancelled")))
    stays = asyncio.create_task(agent.handle(delivery(fetched(attempt=2), cause="stays")))
    await asyncio.sleep(0)
    cancelled.cancel()
    await stays
    assert len(await ledger.history(PAGE)) == 2, "the cancelled one is delivered again, and is the same row"


@pytest.mark.parametrize(("deadline", "waits"), [(900, 300), (90, 30), (9_000, 300)])
async def test_no_event_waits_until_its_deadline_is_over(ledger: MemoryLedger, deadline: float, waits: float) -> None:
    settings = Settings(runtime=RuntimeSettings(event_deadline_seconds=deadline))
    agent = await build(settings, Stores(ledger=ledger))
    assert agent._gathered._max_seconds == waits


async def test_a_worker_whose_events_wait_is_not_hung_while_others_come() -> None:
    agent = LedgerAgent(Counting(), max_gathering_seconds=3_600)
    waiting = [asyncio.create_task(agent.handle(delivery(fetched(), cause=str(number)))) for number in range(3)]
    await asyncio.sleep(0)
    assert agent.steps == 3
    agent.hurry(is_on=True)
    await asyncio.gather(*waiting)


async def test_fetches_of_robots_txt_are_stored_as_such(agent: LedgerAgent, ledger: MemoryLedger) -> None:
    await agent.handle(delivery(fetched(purpose="robots", outcome="gone", error="status 404")))
    assert [step.outcome for step in await ledger.history(PAGE)] == ["robots.txt: Gone (status 404)"]


async def test_an_event_about_no_page_is_poison(agent: LedgerAgent) -> None:
    with pytest.raises(PoisonError, match="QueryMade is about no page"):
        await agent.handle(delivery(QueryMade(query_hash="h", query="q", results=(UUID(int=1), uuid4()))))


def visits(number: int) -> list[Delivery]:
    """A page that became searchable, and then answered each fetch with 304."""
    indexed = PageIndexed(
        page_id=PAGE, url=URL, generation=1, statements=7, model="m", model_version="1", collection="statements"
    )
    not_modified = (fetched(outcome="not_modified", generation=generation) for generation in range(2, number + 2))
    events: list[Event] = [fetched(), indexed, *not_modified]
    return [delivery(event, second, cause=str(second)) for second, event in enumerate(events)]


async def test_the_history_of_a_page_stays_bounded_and_says_that_it_is_searchable() -> None:
    agent = LedgerAgent(ledger := MemoryLedger(), max_gathering_seconds=0)
    for each in visits(500):
        await agent.handle(each)
    history = await ledger.history(PAGE)
    assert len(history) <= MAX_NEWEST + MAX_OUTDATED + 8 * FETCHES_PER_TRIM
    status = status_of(history)
    assert (status.status, status.statements) == ("indexed", 7)


async def test_after_a_crash_before_the_deletion_the_redelivery_deletes() -> None:
    class Crashing(MemoryLedger):
        down = True

        async def delete(self, *transitions: Transition) -> None:
            if self.down:
                raise StoreUnavailable("the process ended")
            await super().delete(*transitions)

    agent = LedgerAgent(ledger := Crashing(), max_gathering_seconds=0)
    is_trimmed_after = [each.envelope.id.int % FETCHES_PER_TRIM == 0 for each in visits(500)]
    arrived = visits(500)[: is_trimmed_after.index(True, MAX_NEWEST + MAX_OUTDATED + 2) + 1]
    for each in arrived[:-1]:
        await agent.handle(each)
    whole = [*await ledger.history(PAGE), arrived[-1].envelope.id]
    with pytest.raises(StoreUnavailable):
        await agent.handle(arrived[-1])
    assert len(await ledger.history(PAGE)) == len(whole), "the event is stored, and not acknowledged"
    ledger.down = False
    again = LedgerAgent(ledger, max_gathering_seconds=0)
    await again.handle(arrived[-1])
    history = await ledger.history(PAGE)
    assert len(history) < len(whole)
    assert status_of(history).status == "indexed"


async def test_events_that_are_delivered_again_after_their_deletion_stay_deleted() -> None:
    agent = LedgerAgent(ledger := MemoryLedger(), max_gathering_seconds=0)
    arrived = visits(300)
    for each in arrived:
        await agent.handle(each)
    history = await ledger.history(PAGE)
    for each in arrived:
        await agent.handle(each)
    assert await ledger.history(PAGE) == history
