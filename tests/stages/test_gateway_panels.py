"""Panels beside the results: which queries have one, what people and programs see, and that they harm no search."""

import asyncio

import httpx2
import pytest

from streams.errors import StoreUnavailable
from streams.knowledge.lookup.source import PanelSource
from streams.search.deadline import Deadline
from streams.search.request import SearchRequest
from streams.seen.stores import SeenStores
from streams.settings import KnowledgeSettings
from streams.stores.opener import Stores
from streams.stores.protocols import FOR_EVERYBODY
from tests.stages.entities import import_entities
from tests.stages.gateway_fakes import client, gateway, searchable, statement
from tests.stages.test_gateway_search import STATEMENTS

HTML = {"accept": "text/html"}


async def prepared() -> Stores:
    return await import_entities(await searchable(STATEMENTS))


async def panel(web: httpx2.AsyncClient, query: str) -> dict[str, object] | None:
    answer = (await web.get("/api/v1/entities", params={"q": query})).json()
    found: dict[str, object] | None = answer.get("panel")
    return found


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("Douglas Adams", "Q42"),
        ("douglas noel adams", "Q42"),  # another name, without its accent
        ("who was Douglas Adams?", "Q42"),
        ("douglas adams born", "Q42"),  # a fact of his
        ("english writer douglas adams", "Q42"),  # words of the description
        ("rust language", "Q2"),
        ("rust programming language", "Q2"),
        ("Rust (video game)", "Q3"),
        ("London", "Q84"),  # far more widely known than the others
        ("douglas adams bridge repair manual", None),  # about something else
        ("rust belt removal", None),
        ("how do I remove things", None),
        ("adams", None),
        ("", None),
        ("a b c d e f g h i j k l m", None),
    ],
)
async def test_which_queries_have_a_panel(query: str, shown: str | None) -> None:
    async with client(gateway(await prepared())) as web:
        found = await panel(web, query)
    assert (found and found.get("id")) == shown


@pytest.mark.parametrize(
    ("query", "meanings"),
    [
        ("rust", ["rust", "Rust", "Rust"]),  # the base topic first
        ("what is rust", ["rust", "Rust", "Rust"]),
        ("mercury", ["Mercury (planet)", "Mercury (element)"]),
    ],
)
async def test_a_name_of_several_things_is_a_choice(query: str, meanings: list[str]) -> None:
    async with client(gateway(await prepared())) as web:
        found = await panel(web, query)
    assert found
    assert found["kind"] == "choice"
    assert [one["label"] for one in found["others"]] == meanings  # type: ignore[attr-defined]  # a list of objects


async def test_what_programs_get() -> None:
    async with client(gateway(await prepared())) as web:
        found = (await web.get("/api/v1/entities/Q42")).json()
        by_article = (await web.get("/api/v1/entities/enwiki:Douglas Adams")).json()
        unknown = await web.get("/api/v1/entities/Q0")
        page = (await web.get("/api/v1/search", params={"q": "douglas adams"})).json()
        await asyncio.sleep(0)
        beside = (await web.get("/api/v1/search", params={"q": "douglas adams"})).json()["beside"]["panel"]
    assert (found["label"], found["type"], found["summary_url"]) == (
        "Douglas Adams",
        "human",
        "https://en.wikipedia.org/wiki/Douglas_Adams",
    )
    facts = {fact["label"]: [value["text"] for value in fact["values"]] for fact in found["facts"]}
    assert facts == {
        "Born": ["11 March 1952"],
        "Place of birth": ["Cambridge"],  # an entity without a name is not shown
        "Height": ["1.96 metre"],  # nor a number without its unit
        "Spouse": ["Jane <b>"],
    }
    assert [one["id"] for one in found["related"]] == ["Q350"]
    assert by_article["id"] == "Q42"
    assert (unknown.status_code, unknown.json()["type"]) == (404, "urn:riffle:problem:unknown-entity")
    assert "results" in page
    assert beside["id"] == "Q42"


async def test_what_people_see() -> None:
    async with client(gateway(await prepared())) as web:
        await web.get("/search", params={"q": "warm up"})  # the first look whether there are entities
        await asyncio.sleep(0)
        page = (await web.get("/search", params={"q": "douglas adams"}, headers=HTML)).text
        own = (await web.get("/entities/Q42", headers=HTML)).text
        choice = (await web.get("/search", params={"q": "rust"}, headers=HTML)).text
        second = (await web.get("/search", params={"q": "douglas adams", "page": 2}, headers=HTML)).text
    aside = page[page.index('<aside class="panel') :]
    for text in (aside, own):
        assert "Jane &lt;b&gt;" in text
        assert "<img" not in text, "no request to others before a click"
        assert 'href="https://commons.example/File:a.jpg" rel="noopener noreferrer nofollow"' in text
        assert '<time datetime="1952-03-11">11 March 1952</time>' in text
        assert 'href="/entities/Q350"' in text
    assert page.index("<aside class") > page.index('id="content"')
    assert "Which one do you mean?" in choice
    assert "<aside" not in second


async def test_statements_of_the_index_that_mention_it() -> None:
    statements = [
        statement("https://a.example/", "Douglas Adams wrote for the radio.", title="Radio"),
        statement("https://a.example/", "Later, Douglas Adams wrote books.", title="Radio"),
        statement("https://b.example/", "Adams, Douglas: not in this order."),
        statement("https://c.example/", "Nobody is named here."),
    ]
    async with client(gateway(await import_entities(await searchable(statements)))) as web:
        found = (await web.get("/api/v1/entities/Q42")).json()
    [mention] = found["mentions"]
    assert (mention["title"], mention["url"]) == ("Radio", "https://a.example/")
    assert "Douglas Adams" in mention["text"]


async def test_a_store_that_fails_harms_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*arguments: object) -> None:
        raise StoreUnavailable("the store is down")

    stores = await prepared()
    async with client(gateway(stores)) as web:
        await web.get("/api/v1/search", params={"q": "log"})
        monkeypatch.setattr(stores.entities, "find", fail)
        answer = (await web.get("/api/v1/search", params={"q": "douglas adams"})).json()
        asked = await web.get("/api/v1/entities", params={"q": "douglas adams"})
    assert answer["partial"] is True
    assert [reason["part"] for reason in answer["reasons"]] == ["panel"]
    assert asked.status_code == 503


async def test_without_entities_no_store_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    stores = await searchable(STATEMENTS)
    asked: list[object] = []

    async def find(*arguments: object) -> dict[str, object]:
        asked.append(arguments)
        return {}

    monkeypatch.setattr(stores.entities, "find", find)
    async with client(gateway(stores)) as web:
        for _ in range(3):
            assert "beside" not in (await web.get("/api/v1/search", params={"q": "log"})).json()
    assert asked == []


async def test_panels_may_be_turned_off() -> None:
    stores = await prepared()
    for panels in (True, False):
        source = PanelSource(SeenStores(stores), KnowledgeSettings(panels=panels))
        await source.has_entities.look()
        found = await source.find(SearchRequest("douglas adams", FOR_EVERYBODY), Deadline(5.0))
        assert (found is not None) is panels


@pytest.mark.parametrize("query", ["douglas adams site:a.example", "douglas adams lang:en"])
async def test_a_query_with_conditions_has_no_panel(query: str) -> None:
    source = PanelSource(SeenStores(await prepared()), KnowledgeSettings())
    await source.has_entities.look()
    assert await source.find(SearchRequest(query, FOR_EVERYBODY), Deadline(5.0)) is None
