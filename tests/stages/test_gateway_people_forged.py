"""One machine that plays many people: its question counts once, and is suggested to nobody."""

from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from schemas import Envelope, Event, QueryAsked
from schemas.ids import event_id
from streams.queries.collection.agent import QueriesAgent
from streams.queries.collection.offering import SuggestedQueries
from streams.queries.suggestions.block_words import BlockedWords
from streams.runtime.agent import Delivery
from streams.settings import AccessSettings, QueriesSettings
from streams.stores.opener import memory_stores
from tests.stages.gateway_fakes import NOW, TYPED, gateway, searchable, statement
from tests.stages.suggested_pages import stored

CLAIM = "jane doe is a convicted thief"
PEOPLE = 10
ROW = statement("https://a.example/", "Jane Doe wrote a report about tides.", title="Jane Doe")
Made = Callable[[int], Any]


def same(_: int) -> str:
    return "203.0.113.7"


def nothing(_: int) -> dict[str, str]:
    return {}


# The address and the headers of the Nth request, the proxies that are believed -> the number of people.
FORMS: dict[str, tuple[Made, Made, tuple[str, ...], int]] = {
    "one person, ten times": (same, nothing, (), 1),
    "ten user agents": (same, lambda n: {"user-agent": f"curl/{n}"}, (), 1),
    "ten languages": (same, lambda n: {"accept-language": f"x-{n}"}, (), 1),
    "ten cookies": (same, lambda n: {"cookie": f"riffle_preferences={n}"}, (), 1),
    "made-up addresses of a client": (same, lambda n: {"x-forwarded-for": f"198.51.100.{n}"}, (), 1),
    "other headers of proxies": (
        same,
        lambda n: {
            "forwarded": f"for=198.51.100.{n}",
            "x-real-ip": f"198.51.100.{n}",
            "cf-connecting-ip": f"1.1.1.{n}",
        },
        (),
        1,
    ),
    "made-up addresses before the one that the proxy adds": (
        lambda _: "10.0.0.1",
        lambda n: {"x-forwarded-for": f"198.51.100.{n}, 203.0.113.7"},
        ("10.0.0.1",),
        1,
    ),
    "the proxy's own machine, where no proxy is believed": (
        lambda _: "127.0.0.1",
        lambda n: {"x-forwarded-for": f"198.51.100.{n}"},
        (),
        1,
    ),
    "addresses of one network": (lambda n: f"2001:db8:0:1::{n + 1:x}", nothing, (), 1),
    "networks of one home": (lambda n: f"2001:db8:0:{n + 1:x}::1", nothing, (), 1),
    "IPv4 that is written as IPv6": (lambda n: f"{'::ffff:' * (n % 2)}203.0.113.7", nothing, (), 1),
    "questions of a program": (lambda n: f"203.0.113.{n}", lambda _: {"sec-fetch-mode": "cors"}, (), 0),
    "frames of another site": (lambda n: f"203.0.113.{n}", lambda _: {"sec-fetch-site": "cross-site"}, (), 0),
    "links of another site": (lambda n: f"203.0.113.{n}", lambda _: {"sec-fetch-site": "same-site"}, (), 0),
    "ten people": (lambda n: f"203.0.113.{n}", nothing, (), PEOPLE),
    "ten people behind a proxy": (
        lambda _: "10.0.0.1",
        lambda n: {"x-forwarded-for": f"198.51.100.{n}"},
        ("10.0.0.1",),
        PEOPLE,
    ),
}


@pytest.mark.parametrize(("address", "headers", "proxies", "people"), FORMS.values(), ids=FORMS)
async def test_who_counts_as_a_person(address: Made, headers: Made, proxies: tuple[str, ...], people: int) -> None:
    sent: list[Event] = []
    app = gateway(
        await searchable([ROW]),
        sent=sent,
        limits={"keys": ("k" * 32,)},
        queries=QueriesSettings(collect=True, min_people=PEOPLE),
        access=AccessSettings(trusted_proxies=proxies),
    )
    for number in range(PEOPLE):
        transport = httpx2.ASGITransport(app, client=(address(number), 1))
        async with httpx2.AsyncClient(transport=transport, base_url="http://riffle.test") as web:
            await web.get("/search", params={"q": CLAIM}, headers={**TYPED, **headers(number)})
    await app.state.gateway.search.drain()
    asked = [event for event in sent if isinstance(event, QueryAsked)]
    assert len({event.person for event in asked}) == people
    assert await suggested(asked) == ([CLAIM] if people == PEOPLE else [])


async def suggested(asked: list[QueryAsked]) -> list[str]:
    """Return what is suggested after the stage has counted the questions."""
    stores = memory_stores()
    offered = SuggestedQueries(stores.query_counts, stores.suggestions, lambda: NOW, BlockedWords())
    agent = QueriesAgent(stores.query_counts, offered, PEOPLE, lambda: NOW, b"salt")
    for number, event in enumerate(asked):
        kind = event.event_type()
        envelope = Envelope(id=event_id(kind, str(number), "q"), type=kind, source="/riffle/gateway", time=NOW)
        await agent.handle(Delivery(event, envelope, event.topic, 0, number))
    return await stored(stores, "jane")
