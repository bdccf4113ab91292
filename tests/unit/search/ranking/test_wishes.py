"""The wish of a query: more recent pages come first, and none is left out."""

import pytest

from tests.stages.gateway_fakes import client, gateway, searchable, statement

CASES = [
    # query, first two results
    ("water pump cellar", ["better", "recent"]),
    ("water pump cellar prefer:recent3", ["recent", "better"]),
    ("water pump cellar prefer:recent1 prefer:recent3", ["recent", "better"]),
]


@pytest.mark.parametrize(("query", "first"), CASES)
async def test_a_wish_moves_recent_pages_and_leaves_none_out(query: str, first: list[str]) -> None:
    better = statement("https://better.test/", "A water pump moves water out of a cellar.")
    recent = statement("https://recent.test/", "I have used a water pump in my own cellar, and it moves water out.")
    others = [statement(f"https://o{n}.test/", f"Garden {n} has water and a cellar nearby.") for n in range(12)]
    rows = [better | {"published": ""}, recent | {"published": "2026-03-04"}, *others]
    async with client(gateway(await searchable(rows), deadline_seconds=20)) as web:
        answer = (await web.get("/api/v1/search", params={"q": query})).json()
    found = [each["url"].split("/")[2].removesuffix(".test") for each in answer["results"]]
    assert found[:2] == first
    assert len(found) > 2


async def test_the_form_writes_the_wish_and_shows_it() -> None:
    rows = [statement("https://a.test/", "A water pump moves water out of a cellar.")]
    async with client(gateway(await searchable(rows), deadline_seconds=20)) as web:
        sent = await web.get("/search", params={"q": "water pump", "recent": 2, "published": "any"})
        assert sent.headers["location"] == "/search?q=water+pump+prefer%3Arecent2"
        page = (await web.get(sent.headers["location"], headers={"accept": "text/html"})).text
    assert 'name="recent" min="0" max="3" step="1" value="2"' in page
