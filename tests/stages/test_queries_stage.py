"""The queries stage: queries of enough people are stored, once, also if events come twice or a store fails."""

from datetime import UTC, datetime, timedelta

import pytest

from schemas import Envelope, OriginChanged, QueryAsked
from schemas.ids import event_id
from streams.errors import PoisonError, StoreUnavailable
from streams.queries.collection.agent import QueriesAgent, build
from streams.queries.collection.counting import Counted, QueriesOfToday
from streams.queries.collection.normal_form import normalize_query
from streams.queries.counts import list_queries, read_counts
from streams.runtime.agent import Delivery
from streams.settings import QueriesSettings, Settings
from streams.stores.memory import MemoryQueryCounts
from streams.stores.opener import memory_stores
from streams.stores.protocols import DayCounts
from streams.topology import TOPICS, stage

NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
PEOPLE = 3


def asked(offset: int, person: str, *, time: datetime = NOW, query: str = "tides", results: int = 5) -> Delivery:
    event = QueryAsked(query_hash="q", query=query, language="en", person=person, results=results)
    kind = event.event_type()
    envelope = Envelope(id=event_id(kind, str(offset), "q"), type=kind, source="/riffle/gateway", time=time)
    return Delivery(event, envelope, event.topic, 0, offset)


def agent(store: MemoryQueryCounts, now: datetime = NOW) -> QueriesAgent:
    return QueriesAgent(store, PEOPLE, lambda: now, b"salt")


async def total(store: MemoryQueryCounts, query: str = "tides") -> float:
    return (await read_counts(store, "en", query, NOW)).total


async def test_a_query_is_stored_when_enough_people_asked_it() -> None:
    store = MemoryQueryCounts()
    one = agent(store)
    for offset, person in enumerate(["a", "a", "b", "a"]):
        await one.handle(asked(offset, person, results=0))
        assert await total(store) == 0, "two people are too few"
    await one.handle(asked(4, "c"))
    counts = await read_counts(store, "en", "  TIDES ", NOW)
    assert (counts.total, counts.recent, counts.empty) == (5, 5, 4)
    await one.handle(asked(5, "a"))
    assert await total(store) == 6
    assert "person" not in repr(store.__dict__)


async def test_the_same_event_twice_counts_once_also_after_a_restart() -> None:
    store = MemoryQueryCounts()
    events = [asked(offset, person) for offset, person in enumerate("abcd")]
    one = agent(store)
    for event in [*events, events[-1]]:
        await one.handle(event)
    restarted = agent(store)
    for event in events:
        await restarted.handle(event)
    assert await total(store) == 4
    await restarted.handle(asked(4, "e"))
    assert await total(store) == 5


async def test_an_event_is_counted_after_the_store_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*arguments: object) -> None:
        raise StoreUnavailable("the store is down")

    store = MemoryQueryCounts()
    one = agent(store)
    for offset, person in enumerate("ab"):
        await one.handle(asked(offset, person))
    with monkeypatch.context() as patched:
        patched.setattr(store, "put", fail)
        with pytest.raises(StoreUnavailable):
            await one.handle(asked(2, "c"))
    await one.handle(asked(2, "c"))
    assert await total(store) == 3


async def test_people_of_two_days_are_not_added_up() -> None:
    store = MemoryQueryCounts()
    one = agent(store)
    for offset, (person, hours) in enumerate([("a", 20), ("b", 20), ("c", 0), ("d", 0)]):
        await one.handle(asked(offset, person, time=NOW - timedelta(hours=hours)))
    assert await total(store) == 0


@pytest.mark.parametrize("late", [timedelta(hours=25), timedelta(minutes=-6)])
async def test_wrong_clocks_count_nothing(late: timedelta) -> None:
    store = MemoryQueryCounts()
    one = agent(store)
    for offset, person in enumerate("abcd"):
        await one.handle(asked(offset, person, time=NOW - late))
    assert not store._rows


async def test_the_number_of_people_is_a_setting() -> None:
    settings = Settings(queries=QueriesSettings(min_people=2))
    stores = memory_stores()
    one = await build(settings, stores)
    now = datetime.now(UTC)
    for offset, person in enumerate("ab"):
        await one.handle(asked(offset, person, time=now))
    assert (await read_counts(stores.query_counts, "en", "tides", now)).total == 2


async def test_another_event_is_poison() -> None:
    event = OriginChanged(host="a.example")
    envelope = Envelope(id=event_id("x", "x", "x"), type="x", source="/x", time=NOW)
    with pytest.raises(PoisonError):
        await agent(MemoryQueryCounts()).handle(Delivery(event, envelope, "x", 0, 0))


def test_memory_is_bounded_and_forgets_former_days() -> None:
    queries = QueriesOfToday(max_queries=3)
    for number in range(9):
        queries.put((number // 7, "en", str(number)), Counted(DayCounts()))
    assert len(queries) == 3
    queries.put((0, "en", "late"), Counted(DayCounts()))
    queries.forget_before(1)
    assert len(queries) == 2


async def test_counts_decay_and_the_most_asked_come_first() -> None:
    store = MemoryQueryCounts()
    today = (NOW - datetime(1970, 1, 1, tzinfo=UTC)).days
    await store.put("en", "old", today - 14, DayCounts(10, 0, {0: 10}), 1)
    await store.put("en", "new", today, DayCounts(6, 6, {39: 3, 48: 3}), 1)
    found = await list_queries(store, NOW, 30)
    assert [(query, counts.total, counts.recent) for _, query, counts in found] == [("new", 6, 3), ("old", 5, 0)]


def test_no_topic_keeps_the_records_longer_than_a_day() -> None:
    names = {"queries.asked", *stage("queries").own_topics, stage("queries").dead_topic}
    found = [topic for topic in TOPICS if topic.name in names]
    assert len(found) == len(names)
    assert all(topic.personal and topic.retention_hours + (topic.segment_hours or 99) < 24 for topic in found)


@pytest.mark.parametrize(
    ("text", "normal"),
    [("  The  TIDES ", "the tides"), ("ﬁne", "fine"), ("x" * 201, ""), ("a\x00b", ""), ("Straße", "strasse")],
)
def test_queries_have_a_normal_form(text: str, normal: str) -> None:
    assert normalize_query(text) == normal
    assert normalize_query(normal) == normal
