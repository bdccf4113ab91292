"""The queries stage: queries of enough people are stored, once, also if events come twice or a store fails."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from schemas import Envelope, OriginChanged, QueryAsked
from schemas.ids import event_id
from streams.errors import PoisonError, StoreUnavailable
from streams.queries.collection.agent import QueriesAgent, build
from streams.queries.collection.counting import Counted, QueriesOfToday
from streams.queries.collection.offering import SuggestedQueries, is_due
from streams.queries.counts import Counts, list_queries, list_unanswered, quarter_of, sum_days
from streams.queries.suggestions.block_words import BlockedWords
from streams.queries.suggestions.prefix_lists import best
from streams.runtime.agent import Delivery
from streams.search.query_language.query import normalize_query
from streams.settings import QueriesSettings, Settings
from streams.stores.memory import MemoryQueryCounts, MemorySuggestions
from streams.stores.opener import memory_stores
from streams.stores.protocols import DayCounts, QueryCounts
from streams.topology import TOPICS, stage

NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
PEOPLE = 3


def asked(
    offset: int, person: str, *, time: datetime = NOW, query: str = "tides", results: int = 5, notes: Any = None
) -> Delivery:
    event = QueryAsked(query_hash="q", query=query, language="en", person=person, results=results, **(notes or {}))
    kind = event.event_type()
    envelope = Envelope(id=event_id(kind, str(offset), "q"), type=kind, source="/riffle/gateway", time=time)
    return Delivery(event, envelope, event.topic, 0, offset)


def agent(store: MemoryQueryCounts, now: datetime = NOW) -> QueriesAgent:
    suggested = SuggestedQueries(store, MemorySuggestions(), lambda: now, BlockedWords())
    return QueriesAgent(store, suggested, PEOPLE, lambda: now, b"salt")


async def read_counts(store: QueryCounts, language: str, query: str, now: datetime) -> Counts:
    """Return the counts of a query, in any spelling of its letters. Zeros if too few people asked it."""
    return sum_days(await store.days(language, normalize_query(query)), now)


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


@pytest.mark.parametrize(
    ("results", "notes", "empty"),
    [
        (5, {}, 0),
        (0, {}, 3),
        (5, {"nearest_only": True}, 3),
        (0, {"partial": True}, 0),  # a search with a failed part doesn't say what the index has
        (5, {"nearest_only": True, "partial": True}, 0),
    ],
    ids=str,
)
async def test_a_query_is_unanswered_if_a_whole_search_finds_no_page_or_only_the_nearest(
    results: int, notes: dict[str, bool], empty: int
) -> None:
    store = MemoryQueryCounts()
    one = agent(store)
    for offset, person in enumerate("abc"):
        await one.handle(asked(offset, person, results=results, notes=notes))
        await one.handle(asked(offset + 10, person, query="ebb"))
    assert (await read_counts(store, "en", "tides", NOW)).total == 3
    unanswered = [(query, counts.empty) for _, query, counts in await list_unanswered(store, NOW, 7)]
    assert unanswered == ([("tides", empty)] if empty else [])


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


async def test_a_query_is_suggested_when_enough_people_asked_it_and_not_before() -> None:
    stores = memory_stores()
    blocked = BlockedWords(["forbidden"])
    suggested = SuggestedQueries(stores.query_counts, stores.suggestions, lambda: NOW, blocked)
    one = QueriesAgent(stores.query_counts, suggested, PEOPLE, lambda: NOW, b"salt")

    async def shown() -> list[tuple[str, float, float]]:
        found = best(await stores.suggestions.of_prefix("en", "ti"), quarter_of(NOW))
        return [(each.text, each.weight, each.recent) for each in found]

    for offset, person in enumerate("ab"):
        await one.handle(asked(offset, person))
    assert await shown() == []
    for _ in range(2):  # a redelivery
        await one.handle(asked(2, "c"))
    assert await shown() == [("tides", 3.0, 3.0)]
    for offset, person in enumerate("abcabc", 3):
        await one.handle(asked(offset, person, query="tidy forbidden"))
        await one.handle(asked(offset + 10, person, query="tidings", results=0))
    assert [text for text, _, _ in await shown()] == ["tides"]


def test_a_query_is_offered_more_rarely_the_more_it_is_asked() -> None:
    due = [asked for asked in range(1, 1_001) if is_due(asked)]
    assert due[:9] == [1, 2, 3, 4, 5, 6, 7, 8, 10]
    assert 20 < len(due) < 40
    assert all(after <= 1.25 * before + 1 for before, after in pairwise(due))


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
