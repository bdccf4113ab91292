"""Wishes of a query: pages that are more recent, more technical or first-hand come first, and none is left out."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid5

import pytest

from schemas.ids import page_id
from streams.search.ranking.wishes import feature_of, steps_of
from streams.stores.protocols import Hit, PageHits
from tests.stages.gateway_fakes import client, gateway, payload_of, searchable, statement

NOW = datetime(2026, 3, 4, tzinfo=UTC)
CASES = [
    # wish, text, further facts, feature
    ("technical", "The pump is good and strong.", {}, 0.0),
    ("technical", "Set max_connections to 100.", {}, 1.0),
    ("technical", "Version 3.11.2 reads it in 12 ms.", {}, 1.0),
    ("technical", "x = 1", {"kind": "code"}, 1.0),
    ("technical", "Use the HttpClient here.", {}, 1.0),
    ("firsthand", "The pump is good and strong.", {}, 0.0),
    ("firsthand", "I have used this pump for a year.", {}, 1.0),
    ("firsthand", "We tested it in the rain.", {}, 1.0),
    ("firsthand", "The pump is good.", {"page_type": "Review"}, 0.5),
    ("recent", "The pump is good.", {"published": "2026-03-04"}, 1.0),
    ("recent", "The pump is good.", {"published": "2025-03-04"}, 0.5),
    ("recent", "The pump is good.", {}, 0.0),
]


@pytest.mark.parametrize(("wish", "text", "facts", "expected"), CASES)
def test_features(wish: str, text: str, facts: dict[str, Any], expected: float) -> None:
    page = page_id("https://a.test/")
    row = statement("https://a.test/", text) | {"published": "", "page_type": "", "kind": "sentence"} | facts
    hits = (Hit(uuid5(page, text), 1.0, payload_of(row)),)
    assert feature_of(wish, PageHits(page, hits, 1.0), NOW) == pytest.approx(expected, abs=0.01)


def test_the_last_value_of_a_wish_counts_and_unknown_ones_do_not() -> None:
    assert steps_of(["technical:2", "recent:1", "technical:3", "cheap:3"]) == {"technical": 3, "recent": 1}


async def test_a_wish_moves_pages_and_the_form_shows_it() -> None:
    plain = statement("https://plain.test/", "A water pump moves water out of a cellar.")
    own = statement("https://own.test/", "I have used a water pump in my own cellar, and it moves water out.")
    others = [statement(f"https://o{n}.test/", f"Garden {n} has water and a cellar nearby.") for n in range(12)]
    async with client(gateway(await searchable([plain, own, *others]), deadline_seconds=20)) as web:

        async def ask(query: str) -> list[str]:
            answer = (await web.get("/api/v1/search", params={"q": query})).json()
            return [each["url"] for each in answer["results"][:2]]

        assert await ask("water pump cellar") == ["https://plain.test/", "https://own.test/"]
        assert await ask("water pump cellar prefer:firsthand3") == ["https://own.test/", "https://plain.test/"]
        sent = await web.get("/search", params={"q": "water pump", "technical": 2, "published": "any"})
        assert sent.headers["location"] == "/search?q=water+pump+prefer%3Atechnical2"
        page = (await web.get(sent.headers["location"], headers={"accept": "text/html"})).text
    assert 'name="technical" min="0" max="3" step="1" value="2"' in page
