"""Copies among results, through the whole gateway: nobody hides a page by quoting it, whatever a page claims."""

from typing import Any

import pytest

from schemas.ids import page_id
from streams.stores.opener import Stores
from streams.stores.protocols import Fingerprint
from tests.stages.gateway_fakes import Dead, Hanging, client, gateway, searchable, statement

ORIGINAL, SCRAPER = "https://manual.example/tides", "https://copies.example/t"
OF_ANNA, OF_ANOTHER = "https://forge.example/anna/tides", "https://forge.example/x/t"
"""Two pages of a host with many owners."""
VARIANTS = {"a session": f"{OF_ANNA}?session=5", "a print version": f"{OF_ANNA}?print=1", "a copy": OF_ANOTHER}
QUOTED = (
    "A spring tide follows a full moon and a new moon by about two days on most coasts.",
    "A neap tide has the least difference between high water and low water in a fortnight.",
    "The harbour master writes down the height of each tide at the gauge by the old bridge.",
)
QUERIES = ("tide", "when does a spring tide follow the moon", "height at the gauge by the bridge")
WHOLE, CHANGED = bytes([7]) * 128, bytes([9]) * 128
"""Sketches of two texts."""


def page_with(url: str, others: str, published: str) -> list[dict[str, Any]]:
    texts = [*QUOTED, *(f"{others} number {number} is the subject of paragraph {number * 7}." for number in range(12))]
    return [{**statement(url, text, title="Tides"), "published": published} for text in texts]


async def web(
    published: str = "",
    rank: float = 0.0,
    *,
    sketch: bytes = CHANGED,
    first_seen: int = 2_000,
    urls: tuple[str, str] = (ORIGINAL, SCRAPER),
) -> Stores:
    """The stores with an original of 2019 and a page that quotes it, which claims a date and has a rank."""
    original, other = urls
    stores = await searchable(
        [*page_with(original, "Harbour", "2019-01-01"), *page_with(other, "Casino bonus", published)]
    )
    for url, text, at in ((original, WHOLE, 1_000), (other, sketch, first_seen)):
        print_of = Fingerprint(page_id(url), url, 0, url, 1, first_seen=at, words=400, sketch=text)
        await stores.fingerprints.put(print_of, at)
    await stores.host_links.put_ranks({"copies.example": rank})
    return stores


async def ask(stores: Stores, query: str) -> dict[str, Any]:
    async with client(gateway(stores, deadline_seconds=20.0)) as web:
        response = await web.get("/api/v1/search", params={"q": query, "explain": "true"})
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def urls(answer: dict[str, Any]) -> list[str]:
    return [result["url"] for result in answer["results"]]


CLAIMS = [(date, rank) for date in ("", "2015-01-01", "2026-03-04") for rank in (0.0, 1_000_000.0)]
# A day before and behind the original's date, the first and last dates of other calendars, and one that is to come.
CLAIMS += [(date, 0.0) for date in ("2018-12-31", "2019-01-02", "1970-01-01", "0001-01-01", "9999-12-31")]


@pytest.mark.parametrize(("published", "rank"), CLAIMS)
async def test_a_page_that_quotes_another_one_never_hides_it(published: str, rank: float) -> None:
    stores = await web(published, rank)
    for query in QUERIES:
        answer = await ask(stores, query)
        assert urls(answer) == [ORIGINAL, SCRAPER], query
        assert not any("similar" in result for result in answer["results"])


@pytest.mark.parametrize(("published", "rank"), CLAIMS)
async def test_of_copies_the_page_that_was_there_first_is_shown(published: str, rank: float) -> None:
    stores = await web(published, rank, sketch=WHOLE)
    for query in QUERIES:
        answer = await ask(stores, query)
        assert urls(answer) == [ORIGINAL], query
        assert [page["url"] for page in answer["results"][0]["similar"]["pages"]] == [SCRAPER]
        assert answer["explain"]["passes"]["filters"] == {"duplicate": 1}


@pytest.mark.parametrize("published", ["", "2015-01-01", "2026-03-04"])
async def test_a_page_that_quotes_another_one_of_its_host_never_hides_it(published: str) -> None:
    stores = await web(published, urls=(OF_ANNA, OF_ANOTHER))
    for query in QUERIES:
        answer = await ask(stores, query)
        assert set(urls(answer)) == {OF_ANNA, OF_ANOTHER}, query
        assert not any("similar" in result for result in answer["results"])


@pytest.mark.parametrize("published", ["", "2015-01-01", "2026-03-04"])
@pytest.mark.parametrize("other", VARIANTS.values(), ids=VARIANTS)
async def test_of_copies_of_one_host_the_page_that_was_there_first_is_shown(other: str, published: str) -> None:
    sketch = WHOLE if other == OF_ANOTHER else CHANGED
    stores = await web(published, sketch=sketch, urls=(OF_ANNA, other))
    for query in QUERIES[:2]:  # by the last one, other statements of each page match, too
        answer = await ask(stores, query)
        assert urls(answer) == [OF_ANNA], query
        assert [page["url"] for page in answer["results"][0]["similar"]["pages"]] == [other]


async def test_the_age_of_the_text_decides_and_no_other_signal() -> None:
    assert urls(await ask(await web("2015-01-01", sketch=WHOLE, first_seen=500), QUERIES[0])) == [SCRAPER]


@pytest.mark.parametrize("broken", [Dead(), Hanging()], ids=["dead", "hanging"])
@pytest.mark.parametrize("pages", [(ORIGINAL, SCRAPER), (OF_ANNA, OF_ANOTHER)], ids=["two hosts", "one host"])
async def test_without_fingerprints_near_duplicates_are_shown(broken: Any, pages: tuple[str, str]) -> None:
    stores = await web(sketch=WHOLE, urls=pages)
    stores.fingerprints = broken
    answer = await ask(stores, QUERIES[0])
    assert set(urls(answer)) == set(pages)
    assert answer["partial"] is True
    assert {"copies", "similar"} == {reason["part"] for reason in answer["reasons"]}
