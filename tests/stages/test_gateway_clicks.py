"""Clicks on results, through the whole gateway: off by default; where they are on, one event each, and no delay."""

import asyncio
import re
from html import unescape
from uuid import UUID

import httpx2
import pytest
from fastapi import FastAPI

from schemas import Event, ResultClicked
from schemas.ids import event_id, page_id
from streams.gateway.search.query_events import Publish
from tests.stages.gateway_fakes import FOLLOWED, TYPED, client, gateway, searchable, statement

HTML = {"accept": "text/html"}
KEY = "k" * 32
ROW = statement("https://sqlite.org/wal.html?a=1;b=2", "The write-ahead log holds changes.", title="WAL")
MORE = statement("https://sqlite.org/wal.html?a=1;b=2", "A log is read by readers.", title="WAL")


async def app(sent: list[Event] | None = None, publish: Publish | None = None, **limits: object) -> FastAPI:
    given = {"publish_clicks": True, "keys": (KEY,), **limits}
    return gateway(await searchable([ROW, MORE]), deadline_seconds=20.0, sent=sent, publish=publish, limits=given)


async def links(web: httpx2.AsyncClient) -> list[str]:
    page = (await web.get("/search", params={"q": "write-ahead log"}, headers=HTML)).text
    return [unescape(link) for link in re.findall(r'<a href="([^"]+)" rel="noopener', page)]


async def test_links_are_plain_by_default() -> None:
    made = await app(publish_clicks=False)
    async with client(made) as web:
        found = await links(web)
        assert (await web.get("/act", headers=HTML)).status_code == 404
        assert "No tracking." in (await web.get("/", headers=HTML)).text
    assert found
    assert all(link.startswith("https://sqlite.org/wal.html") for link in found)


async def test_without_a_key_links_are_plain() -> None:
    async with client(await app(keys=())) as web:
        assert all(link.startswith("https://") for link in await links(web))


async def test_a_click_sends_one_event_and_leads_on() -> None:
    sent: list[Event] = []
    made = await app(sent)
    async with client(made) as web:
        found = await links(web)
        assert found
        assert all(link.startswith("/act?c=") for link in found), "every outgoing link"
        answers = [await web.get(link, headers=FOLLOWED) for link in found]
        assert "No tracking." not in (await web.get("/", headers=HTML)).text
        assert "Clicks" in (await web.get("/search", params={"q": "log"}, headers=HTML)).text
    await made.state.gateway.clicks.drain()
    for answer in answers:
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("https://sqlite.org/wal.html?a=1;b=2")
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert "set-cookie" not in answer.headers
    assert answers[0].headers["location"] == ROW["url"]
    assert len(sent) == len(found)
    event = sent[0]
    assert isinstance(event, ResultClicked)
    assert (event.page_id, event.position) == (page_id(ROW["url"]), 1)
    assert re.fullmatch("[0-9a-f]{32}", event.query_hash)


NOT_CLICKED = [
    ("a program", {}),
    ("a page that is got ready", {**FOLLOWED, "sec-purpose": "prefetch;prerender"}),
    ("a link on another site", {**FOLLOWED, "sec-fetch-site": "cross-site"}),
    ("a link on another host of the same domain", {**FOLLOWED, "sec-fetch-site": "same-site"}),
    ("an address that was typed", TYPED),
    ("an image on a page of another site", {"sec-fetch-mode": "no-cors", "sec-fetch-site": "cross-site"}),
    ("an image on a page of this site", {"sec-fetch-mode": "no-cors", "sec-fetch-site": "same-origin"}),
    ("a script's request", {"sec-fetch-mode": "cors", "sec-fetch-site": "same-origin"}),
]


@pytest.mark.parametrize("headers", [case[1] for case in NOT_CLICKED], ids=[case[0] for case in NOT_CLICKED])
async def test_only_a_link_that_a_person_followed_from_the_results_is_counted(headers: dict[str, str]) -> None:
    sent: list[Event] = []
    made = await app(sent)
    async with client(made) as web:
        link = (await links(web))[0]
        assert (await web.get(link, headers=headers)).status_code == 303, "it leads on"
        assert (await web.head(link, headers=FOLLOWED)).status_code == 303
        assert sent == []
        assert (await web.get(link, headers=FOLLOWED)).status_code == 303
        assert (await web.get(link, headers=FOLLOWED)).status_code == 303
    await made.state.gateway.clicks.drain()
    assert len(sent) == 1, "the click that comes after it, once"


async def test_a_click_does_not_wait_for_kafka() -> None:
    async def hang(event: Event, cause: str | None = None) -> None:
        await asyncio.Event().wait()

    async with client(await app(publish=hang)) as web:
        async with asyncio.timeout(60):
            assert (await web.get((await links(web))[0], headers=FOLLOWED)).status_code == 303


async def test_a_lost_event_is_counted_and_the_click_leads_on() -> None:
    async def fail(event: Event, cause: str | None = None) -> None:
        raise ConnectionError

    made = await app(publish=fail)
    async with client(made) as web:
        assert (await web.get((await links(web))[0], headers=FOLLOWED)).status_code == 303
        await made.state.gateway.clicks.drain()
        assert "riffle_gateway_events_unpublished_total 1.0" in (await web.get("/metrics")).text


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ("", "This link was changed"),
        ("https://evil.example/", "This link was changed"),
        ("%F0%9F%98%80", "This link was changed"),
        ("AQ" + "A" * 100, "This link is not from here"),
    ],
)
async def test_a_payload_of_a_stranger_gets_a_page_that_says_so(payload: str, words: str) -> None:
    sent: list[Event] = []
    made = await app(sent)
    async with client(made) as web:
        answer = await web.get(f"/act?c={payload}", headers=HTML)
    assert answer.status_code == 400
    assert words in answer.text
    assert "location" not in answer.headers
    assert sent == []


async def test_a_link_of_another_gateway_is_foreign() -> None:
    async with client(await app(keys=("x" * 32,))) as other, client(await app()) as web:
        answer = await web.get((await links(other))[0], headers=HTML)
    assert (answer.status_code, "This link is not from here" in answer.text) == (400, True)


async def test_the_api_has_plain_addresses() -> None:
    async with client(await app()) as web:
        answer = (await web.get("/api/v1/search", params={"q": "log"})).json()
    assert {result["url"] for result in answer["results"]} == {ROW["url"]}


async def test_two_gateways_send_the_same_event_for_one_link() -> None:
    """Each gateway remembers what it counted. Who reads the events drops the second one by its id."""
    ids: list[tuple[str, UUID]] = []

    async def publish(event: Event, cause: str | None = None) -> None:
        assert cause, "otherwise its id is random"
        ids.append((event.topic, event_id(event.topic, cause, event.key())))

    one, two = await app(publish=publish), await app(publish=publish)
    async with client(one) as first, client(two) as second:
        page = (await first.get("/search", params={"q": "write-ahead log"}, headers=HTML)).text
        other = (await first.get("/search", params={"q": "write-ahead log"}, headers=HTML)).text
        (link,), (again,) = (re.findall(r'<h2[^>]*><a href="([^"]+)"', each)[:1] for each in (page, other))
        for web in (first, second):
            assert (await web.get(unescape(link), headers=FOLLOWED)).status_code == 303
        assert (await second.get(unescape(again), headers=FOLLOWED)).status_code == 303
        for made in (one, two):
            await made.state.gateway.clicks.drain()
    clicks = [each for topic, each in ids if topic == ResultClicked.topic]
    assert (len(clicks), len(set(clicks))) == (3, 2), "another page of results has links of its own"
