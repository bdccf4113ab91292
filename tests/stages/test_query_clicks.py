"""Clicks on results of counted queries, from the page to the ranking: only of enough people, each once, and weak."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from html import unescape
from itertools import combinations
from random import Random
from typing import Any
from uuid import UUID

import pytest

from schemas import Envelope, Event, QueryAsked, ResultClicked
from schemas.ids import event_id, page_id
from streams.errors import StoreUnavailable
from streams.queries.click_model import learn_examination, read_clicks
from streams.queries.collection.agent import QueriesAgent
from streams.queries.collection.offering import SuggestedQueries
from streams.queries.suggestions.block_words import BlockedWords
from streams.runtime.agent import Delivery
from streams.search.ranking.clicks import QueryClicks, gains_of
from streams.search.readers import sum_clicks
from streams.settings import QueriesSettings
from streams.stores.memory import MemoryQueryCounts, MemorySuggestions
from streams.stores.opener import Stores
from streams.stores.protocols import DayCounts, PageClicks, PlaceCounts
from tests.stages.gateway_fakes import FOLLOWED, NOW, TYPED, Dead, client, gateway, searchable, statement

PEOPLE = 3
PAGES = tuple(UUID(int=number) for number in range(1, 4))
HTML = {"accept": "text/html"}


def delivery(event: Event, offset: int, time: datetime = NOW) -> Delivery:
    kind = event.event_type()
    envelope = Envelope(id=event_id(kind, str(offset), "q"), type=kind, source="/riffle/gateway", time=time)
    return Delivery(event, envelope, event.topic, 0, offset)


def asked(offset: int, person: str, query: str = "tides") -> Delivery:
    event = QueryAsked(query_hash=f"of {query}", query=query, language="en", person=person, results=3, shown=PAGES)
    return delivery(event, offset)


def clicked(offset: int, person: str, page: UUID = PAGES[1], place: int = 2, asked_hash: str = "of tides") -> Delivery:
    event = ResultClicked(query_hash="h", page_id=page, position=place, asked_hash=asked_hash, person=person)
    return delivery(event, offset)


def agent(store: MemoryQueryCounts) -> QueriesAgent:
    suggested = SuggestedQueries(store, MemorySuggestions(), lambda: NOW, BlockedWords())
    return QueriesAgent(store, suggested, PEOPLE, lambda: NOW, b"salt")


async def of_tides(store: MemoryQueryCounts) -> dict[UUID, PlaceCounts]:
    return sum_clicks((await store.clicks_of("en", "tides")).values())


async def test_clicks_are_counted_once_enough_people_asked_each_person_once_a_page() -> None:
    store = MemoryQueryCounts()
    one = agent(store)
    await one.handle(asked(0, "a"))
    await one.handle(asked(1, "b"))
    await one.handle(clicked(0, "a"))
    assert (await of_tides(store), await store.of_digest("of tides")) == ({}, None), "two people are too few"
    await one.handle(asked(2, "c"))
    await one.handle(asked(3, "a"))
    await one.handle(asked(4, "a"))
    for offset, person in enumerate("aaabc", 1):
        await one.handle(clicked(offset, person))
    await one.handle(clicked(6, "a", PAGES[0], 1))
    await one.handle(clicked(7, "a", asked_hash=""))
    await one.handle(clicked(8, "a", asked_hash="of another"))
    assert await of_tides(store) == {
        PAGES[0]: PlaceCounts({1: 2}, {1: 1}),
        PAGES[1]: PlaceCounts({2: 2}, {2: 3}),
        PAGES[2]: PlaceCounts({3: 2}, {}),
    }
    assert "person" not in repr(store.__dict__)


async def test_the_same_events_twice_change_nothing_also_after_a_restart() -> None:
    store = MemoryQueryCounts()
    events = [asked(offset, person) for offset, person in enumerate("abcd")]
    events += [clicked(offset, person) for offset, person in enumerate("ab")]
    for worker in (agent(store), agent(store)):
        for event in events:
            await worker.handle(event)
            await worker.handle(event)
    # The third person is the first one whose question was counted.
    assert (await of_tides(store))[PAGES[1]] == PlaceCounts({2: 2}, {2: 2})


async def test_a_click_is_counted_after_the_store_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*arguments: object) -> None:
        raise StoreUnavailable("the store is down")

    store = MemoryQueryCounts()
    one = agent(store)
    for offset, person in enumerate("abc"):
        await one.handle(asked(offset, person))
    with monkeypatch.context() as patched:
        patched.setattr(store, "put_clicks", fail)
        with pytest.raises(StoreUnavailable):
            await one.handle(clicked(0, "a"))
    await one.handle(clicked(0, "a"))
    assert (await of_tides(store))[PAGES[1]].clicked == {2: 1}


async def test_an_old_click_is_not_counted() -> None:
    store = MemoryQueryCounts()
    one = agent(store)
    for offset, person in enumerate("abc"):
        await one.handle(asked(offset, person))
    click = clicked(0, "a").event
    await one.handle(delivery(click, 0, NOW - timedelta(hours=25)))
    assert (await of_tides(store))[PAGES[1]].clicked == {}


async def test_places_are_learned_from_the_clicks_of_counted_queries() -> None:
    store = MemoryQueryCounts()
    assert await learn_examination(store, NOW, 30) == ()
    day = (NOW - datetime(1970, 1, 1, tzinfo=UTC)).days
    for number, query in enumerate(("tides", "waves", "rivers")):
        await store.put("en", query, day, DayCounts(100), 1)
        pages = {
            page: PlaceCounts({place: 100}, {place: clicks})
            for place, (page, clicks) in enumerate(zip(PAGES[number:] + PAGES[:number], (60, 20, 5), strict=True), 1)
        }
        await store.put_clicks("en", query, day, "asked", PageClicks(pages, 1), 1)
    found = await learn_examination(store, NOW, 30)
    assert found == await store.examination()
    assert found[0] == 1.0 > found[1] > found[2] > 0
    assert set(await read_clicks(store, NOW, 30)) == {("en", "tides"), ("en", "waves"), ("en", "rivers")}
    await store.purge()
    assert (await store.examination(), await store.clicks_of("en", "tides")) == ((), {})


ROWS = [statement(f"https://{name}.example/", f"The tides of the sea {name}.", title="Tides") for name in "abc"]
COLLECTING: dict[str, Any] = {"publish_clicks": True, "keys": ("k" * 32,)}


async def test_a_question_and_its_clicks_have_one_hash_and_name_the_pages_shown() -> None:
    sent: list[Event] = []
    app = gateway(
        await searchable(ROWS), deadline_seconds=20, sent=sent, limits=COLLECTING, queries=QueriesSettings(collect=True)
    )
    async with client(app) as web:
        page = (await web.get("/search", params={"q": "Tides"}, headers=TYPED)).text
        links = [unescape(link) for link in re.findall(r'<a href="(/act[^"]+)"', page)]
        assert (await web.get(links[0], headers=FOLLOWED)).status_code == 303
    await app.state.gateway.close()
    (question,) = [event for event in sent if isinstance(event, QueryAsked)]
    (click,) = [event for event in sent if isinstance(event, ResultClicked)]
    assert len(question.shown) == 3
    assert question.shown[click.position - 1] == click.page_id
    assert (click.asked_hash, click.person) == (question.query_hash, question.person)
    assert click.asked_hash != click.query_hash


async def test_without_collection_a_click_has_no_person() -> None:
    sent: list[Event] = []
    app = gateway(await searchable(ROWS), deadline_seconds=20, sent=sent, limits=COLLECTING)
    async with client(app) as web:
        page = (await web.get("/search", params={"q": "Tides"}, headers=TYPED)).text
        await web.get(unescape(re.findall(r'<a href="(/act[^"]+)"', page)[0]), headers=FOLLOWED)
    await app.state.gateway.close()
    (click,) = sent
    assert isinstance(click, ResultClicked)
    assert (click.asked_hash, click.person) == ("", "")


async def ranked(stores: Stores, *, collect: bool, **limits: Any) -> dict[str, Any]:
    app = gateway(stores, deadline_seconds=20, limits=limits, queries=QueriesSettings(collect=collect))
    async with client(app) as web:
        found: dict[str, Any] = (await web.get("/api/v1/search", params={"q": "Tides", "explain": "true"})).json()
    await app.state.gateway.close()
    return found


async def clicked_last(stores: Stores) -> str:
    """The host of the last result, on which people clicked far more often than its place explains."""
    order = [page_id(each["url"]) for each in (await ranked(stores, collect=False))["results"]]
    pages = {page: PlaceCounts({place: 400}, {place: 200 if place == 3 else 4}) for place, page in enumerate(order, 1)}
    await stores.query_counts.put_clicks("", "tides", 20_000, "clicked", PageClicks(pages, 1), 1)
    await stores.query_counts.put_examination((1.0, 0.6, 0.4), 1)
    return next(str(row["host"]) for row in ROWS if row["page_id"] == order[-1])


async def test_a_page_gains_at_most_the_weight_and_the_page_says_why() -> None:
    stores = await searchable(ROWS)
    host = await clicked_last(stores)
    found = await ranked(stores, collect=True, clicks_weight=0.1)
    parts = {each["host"]: each["parts"]["clicks"] for each in found["results"]}
    assert max(parts.values()) == parts[host] == pytest.approx(0.1)
    assert min(parts.values()) >= -0.1
    strong = await ranked(stores, collect=True, clicks_weight=1.0)
    assert strong["results"][0]["host"] == host
    app = gateway(stores, deadline_seconds=20, limits={"clicks_weight": 1.0}, queries=QueriesSettings(collect=True))
    async with client(app) as web:
        page = (await web.get("/search", params={"q": "Tides"}, headers=TYPED)).text
    await app.state.gateway.close()
    assert "people who asked this opened it more often than its place explains" in page
    assert "people who asked this opened it less often than others" in page


@pytest.mark.parametrize(("collect", "weight"), [(False, 1.0), (True, 0.0)], ids=["nothing is collected", "no weight"])
async def test_clicks_change_nothing_where_they_are_off(collect: bool, weight: float) -> None:
    stores = await searchable(ROWS)
    await clicked_last(stores)
    found = await ranked(stores, collect=collect, clicks_weight=weight)
    assert not any("clicks" in each["parts"] for each in found["results"])


async def test_without_the_store_the_answer_says_what_is_missing() -> None:
    stores = await searchable(ROWS)
    stores.query_counts = Dead()
    found = await ranked(stores, collect=True)
    assert len(found["results"]) == 3
    assert found["partial"]
    assert "clicks" in " ".join(each["detail"] for each in found["reasons"])


LOOKS = (1.0, 0.6, 0.42, 0.33, 0.27, 0.22, 0.18, 0.15)
"""The true probability for each place that a person looks at it, for clicks that are made."""
GOOD = (0.12, 0.7, 0.3, 0.05, 0.5, 0.2, 0.4, 0.08)
"""The true share of people who open a page that they look at: the first page is one of the worst."""
ANY_CLICK = 0.02
"""Share of people who open a result whatever it is."""


async def ask_and_click(one: QueriesAgent, query: str, pages: Sequence[UUID], people: int, chance: Random) -> None:
    """Send what the gateway sends: each person's question with the pages in the order of that day, and the clicks.

    Pages change places a little from person to person, as results do while pages are indexed and signals change.
    People look from the top, and one in three leaves after a page that was opened.
    """
    good = dict(zip(pages, GOOD, strict=True))
    for person in range(people):
        shown = list(pages)
        for _ in range(4):
            place = chance.randrange(len(shown) - 1)
            shown[place : place + 2] = shown[place + 1], shown[place]
        event = QueryAsked(
            query_hash=f"of {query}", query=query, language="en", person=f"{person}", results=8, shown=tuple(shown)
        )
        await one.handle(delivery(event, 100 * person))
        for place, page in enumerate(shown, 1):
            if chance.random() < max(LOOKS[place - 1] * good[page], ANY_CLICK):
                click = clicked(100 * person + place, f"{person}", page, place, f"of {query}")
                await one.handle(click)
                if chance.random() < 1 / 3:
                    break


async def test_the_order_by_clicks_is_the_order_of_what_people_find_good_not_of_places() -> None:
    store, chance = MemoryQueryCounts(), Random(7)
    one = agent(store)
    queries = {f"query {number}": [UUID(int=100 * number + page) for page in range(1, 9)] for number in range(6)}
    for query, pages in queries.items():
        await ask_and_click(one, query, pages, 700, chance)
    examination = await learn_examination(store, NOW, 30)
    assert examination[0] > examination[1] > examination[3] > examination[7] > 0
    debiased, by_clicks = [], []
    for query, pages in queries.items():
        counted = sum_clicks((await store.clicks_of("en", query)).values())
        gains = gains_of(QueryClicks(counted, examination))
        best = [page for _, page in sorted(zip(GOOD, pages, strict=True), reverse=True)]
        debiased.append(right_share(best, gains))
        by_clicks.append(right_share(best, {page: sum(each.clicked.values()) for page, each in counted.items()}))
        assert max(gains, key=lambda page: gains[page]) == best[0]
        assert gains[pages[0]] < 0, "a bad page that stands first loses, though it has many clicks"
    assert min(debiased) > 0.85, debiased
    assert sum(debiased) > sum(by_clicks) + 0.3, (debiased, by_clicks)


def right_share(best: Sequence[UUID], scores: Mapping[UUID, float]) -> float:
    """The share of pairs of pages that the scores put in the true order."""
    pairs = list(combinations(best, 2))
    return sum(scores.get(better, 0) > scores.get(worse, 0) for better, worse in pairs) / len(pairs)
