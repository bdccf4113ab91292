"""Dates of results, their order by date, and the domains of a search, through the whole gateway."""

import re
from typing import Any

import pytest

from streams.stores.opener import Stores
from streams.vectors.points import sites_of
from tests.stages.gateway_fakes import client, gateway, searchable, statement

DAY, MONTH, YEAR, NONE, WRONG, FUTURE = (
    f"https://{name}.example/" for name in ("day", "month.docs", "year.docs", "none", "wrong", "future")
)
PAGES = [
    {**statement(url, f"A tide of the {kind} rises and falls."), "published": date, "sites": sites_of(url[8:-1])}
    for url, kind, date in (
        (NONE, "northern sea", ""),
        (YEAR, "river mouth", "2024"),
        (DAY, "old harbour", "2026-02-03"),
        (WRONG, "long canal", "soon"),
        (MONTH, "small island", "2025-05"),
        (FUTURE, "salt marsh", "2031-01-01"),
    )
]
DATES = {DAY: "2026-02-03", MONTH: "2025-05", YEAR: "2024", FUTURE: "2031-01-01"}


@pytest.fixture
async def stores() -> Stores:
    return await searchable(PAGES)


async def ask(stores: Stores, status: int = 200, **parameters: Any) -> dict[str, Any]:
    async with client(gateway(stores, deadline_seconds=20.0)) as web:
        response = await web.get("/api/v1/search", params={"q": "tide", **parameters})
    assert response.status_code == status, response.text
    found: dict[str, Any] = response.json()
    return found


def urls(answer: dict[str, Any]) -> list[str]:
    return [result["url"] for result in answer["results"]]


async def test_a_result_has_the_date_that_its_page_states(stores: Stores) -> None:
    found = {result["url"]: result.get("published") for result in (await ask(stores))["results"]}
    assert {url: date for url, date in found.items() if date} == DATES
    assert len(found) == len(PAGES)


async def test_the_newest_results_come_first_and_impossible_dates_last(stores: Stores) -> None:
    by_relevance = urls(await ask(stores))
    undated = [url for url in by_relevance if url in (NONE, WRONG, FUTURE)]
    by_date = urls(await ask(stores, sort="date"))
    assert by_date == [DAY, MONTH, YEAR, *undated]
    pages = [await ask(stores, sort="date", per_page=2, page=page) for page in (1, 2, 3)]
    assert [url for page in pages for url in urls(page)] == by_date
    assert [page["has_next"] for page in pages] == [True, True, False]
    assert urls(await ask(stores, sort="relevance")) == by_relevance


async def test_only_the_best_results_are_sorted_by_date() -> None:
    near = [statement(f"https://h{n}.example/", f"The tide table number {n} of the port.") for n in range(60)]
    dated = [{**each, "published": f"20{10 + n % 10}-01-01"} for n, each in enumerate(near)]
    stores = await searchable(dated)
    best = {url for page in (1, 2, 3, 4) for url in urls(await ask(stores, page=page))}
    pages = [await ask(stores, sort="date", page=page) for page in (1, 2, 3, 4, 5)]
    found = [result for page in pages for result in page["results"]]
    dates = [result["published"] for result in found]
    assert {result["url"] for result in found} == best
    assert (len(found), dates) == (40, sorted(dates, reverse=True))
    assert [page["has_next"] for page in pages] == [True, True, True, False, False]


DOMAINS: list[tuple[dict[str, Any], set[str]]] = [
    ({"include": "day.example"}, {DAY}),
    ({"include": ["day.example", "docs.example"]}, {DAY, MONTH, YEAR}),
    ({"include": "*.DOCS.example."}, {MONTH, YEAR}),
    ({"include": "docs.example", "exclude": "year.docs.example"}, {MONTH}),
    ({"exclude": ["docs.example", "none.example", "wrong.example", "future.example"]}, {DAY}),
    ({"include": "docs.example", "q": "tide site:month.docs.example"}, {MONTH}),
    ({"include": "month.docs.example", "q": "tide site:docs.example"}, {MONTH}),
    ({"include": "docs.example", "q": "tide site:day.example"}, set()),
    ({"exclude": "day.example", "q": "tide -site:docs.example"}, {NONE, WRONG, FUTURE}),
    ({"include": "cs.example"}, set()),
]


@pytest.mark.parametrize(("parameters", "expected"), DOMAINS)
async def test_domains_limit_the_results(stores: Stores, parameters: dict[str, Any], expected: set[str]) -> None:
    assert set(urls(await ask(stores, **parameters))) == expected


WRONG_VALUES = [{"include": "a b"}, {"exclude": ["day.example", ""]}, {"include": ["a.example"] * 33}, {"sort": "size"}]


@pytest.mark.parametrize("parameters", WRONG_VALUES)
async def test_a_wrong_value_is_named(stores: Stores, parameters: dict[str, Any]) -> None:
    assert next(iter(parameters)) in (await ask(stores, 400, **parameters))["detail"]


async def page_of(stores: Stores, **parameters: str) -> str:
    async with client(gateway(stores, deadline_seconds=20.0)) as web:
        response = await web.get("/search", params={"q": "tide", **parameters})
    assert response.status_code == (400 if parameters.get("sort") == "size" else 200)
    return response.text


async def test_the_page_says_dates_in_words_and_links_to_the_order_by_date(stores: Stores) -> None:
    page = await page_of(stores)
    assert re.findall(r'<time dir="ltr" datetime="2026-02-03">(.+?)</time>', page) == ["3 February 2026"]
    assert re.findall(r'<time dir="ltr" datetime="2025-05">(.+?)</time>', page) == ["May 2025"]
    assert re.findall(r'<time dir="ltr" datetime="2024">(.+?)</time>', page) == ["2024"]
    assert page.count("<time") == len(DATES)
    assert 'href="/search?q=tide&amp;sort=date"' in page
    by_date = await page_of(stores, sort="date")
    assert by_date.index(DAY) < by_date.index(MONTH) < by_date.index(YEAR)
    assert 'href="/search?q=tide"' in by_date
    assert '<input type="hidden" name="sort" value="date">' in by_date
    await page_of(stores, sort="size")
