"""Going through the pages of results with cursors: each result once, whatever answers and is indexed between."""

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from html import unescape
from itertools import count
from typing import Any
from uuid import uuid5

import httpx2
import pytest

from streams.errors import PoisonError, StoreUnavailable
from streams.gateway.app import create_app
from streams.search.paging import FIRST_STATEMENTS
from streams.settings import GatewaySettings, Settings, TritonSettings
from streams.stores.opener import Stores
from streams.stores.protocols import Candidates, Point
from streams.vectors.bm25 import document_vector
from tests.sizes import FULL
from tests.stages.gateway_fakes import NOW, change_options, client, gateway, payload_of, searchable, statement
from tests.stages.test_gateway_depth import filler


def logs(first: int, last: int) -> list[dict[str, Any]]:
    return [
        statement(f"https://site{n}.example/", f"A log of kind {n} and {filler(n)}.", title=f"Page {n}")
        for n in range(first, last)
    ]


async def index_more(stores: Stores, statements: Sequence[dict[str, Any]]) -> None:
    collection = await stores.vectors.ensure(await stores.embedder.info())
    vectors = await stores.embedder.embed([each["text"] for each in statements], "passage")
    points = [
        Point(
            uuid5(each["page_id"], each["text"]),
            vector.tolist(),
            document_vector(each["text"], each["context"]),
            payload_of(each),
        )
        for each, vector in zip(statements, vectors, strict=True)
    ]
    await stores.vectors.upsert(collection, points)


async def go_through(web: httpx2.AsyncClient, cursor: str = "") -> list[dict[str, Any]]:
    """All pages of results, each by the cursor of the page before."""
    pages: list[dict[str, Any]] = []
    while True:
        response = await web.get("/api/v1/search", params={"q": "a log", "cursor": cursor})
        assert response.status_code == 200, response.text
        pages.append(response.json())
        assert pages[-1]["has_next"] is ("next" in pages[-1])
        if not (cursor := pages[-1].get("next", "")):
            return pages


def shown(pages: Sequence[dict[str, Any]]) -> list[str]:
    return [result["url"] for page in pages for result in page["results"]]


class WithoutMeaning:
    """An index that refuses the query's vector in the requests with these numbers, as while models are switched."""

    def __init__(self, stores: Stores, fails: Any) -> None:
        self._index, self._fails, self._requests = stores.vectors, fails, count(1)
        self.limits: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    async def candidates(self, *, dense: Any, limit: int, **query: Any) -> Candidates:
        if dense is not None and self._fails(next(self._requests)):
            raise PoisonError("another model")
        self.limits.append(limit)
        return await self._index.candidates(dense=dense, limit=limit, **query)


class FailingEverySecondTime:
    """A cross-encoder that turns the order around, and fails in every second request."""

    def __init__(self) -> None:
        self._requests = count(1)

    async def scores(self, query: str, texts: Sequence[str], *, deadline_seconds: float | None = None) -> list[float]:
        if next(self._requests) % 2 == 0:
            raise StoreUnavailable("the model server is away")
        return [float(place) for place in range(len(texts))]


async def test_each_result_is_shown_once_while_parts_fail_and_pages_are_indexed() -> None:
    more = 140 if FULL else 90
    stores = await searchable(logs(0, more))
    index: Any = WithoutMeaning(stores, lambda number: number % 2 == 0)
    stores = replace(stores, vectors=index)
    stores.reranker = FailingEverySecondTime()
    settings = Settings(
        triton=TritonSettings(rerank_model="rerank"),
        gateway=GatewaySettings(deadline_seconds=30, allowed_hosts=("riffle.test",)),
    )

    async def publish(event: object, cause: str | None = None) -> None: ...

    pages: list[dict[str, Any]] = []
    cursor = ""
    app = create_app(settings, stores, publish=publish, clock=lambda: NOW)
    change_options(app, rerank_weight=10.0)
    async with client(app) as web:
        while True:
            response = await web.get("/api/v1/search", params={"q": "a log", "cursor": cursor, "explain": "true"})
            assert response.status_code == 200, response.text
            pages.append(response.json())
            if not (cursor := response.json().get("next", "")):
                break
            if len(pages) <= 10:
                await index_more(stores, logs(more, more + 3))
                more += 3
    urls = Counter(shown(pages))
    assert [url for url, times in urls.items() if times > 1] == []
    assert set(urls) == {f"https://site{n}.example/" for n in range(more)}
    assert [page["page"] for page in pages] == list(range(1, len(pages) + 1))
    for page in pages:
        failed = {part for part, state in page["explain"]["parts"].items() if state == "failed"}
        assert page["partial"] is bool(failed)
        assert {reason["part"] for reason in page["reasons"]} == failed
    assert {page["partial"] for page in pages} == {False, True}


async def test_each_result_is_shown_once_under_load() -> None:
    """Eight people at once, over an index that refuses meaning now and then, and is away now and then."""
    results = 64 if FULL else 40
    stores = await searchable(logs(0, results))
    requests = count(1)

    class Overloaded(WithoutMeaning):
        async def candidates(self, **query: Any) -> Candidates:
            if next(requests) % 7 == 0:
                raise StoreUnavailable("too many requests")
            return await super().candidates(**query)

    index: Any = Overloaded(stores, lambda number: number > 8 and number % 3 == 0)
    stores = replace(stores, vectors=index)
    statuses: Counter[int] = Counter()

    async def read(web: httpx2.AsyncClient) -> list[str]:
        found, cursor = [], ""
        while True:
            response = await web.get("/api/v1/search", params={"q": "a log", "cursor": cursor})
            statuses[response.status_code] += 1
            if response.status_code == 503:  # the same page again
                continue
            found.append(response.json())
            if not (cursor := response.json().get("next", "")):
                return shown(found)

    async with client(gateway(stores, deadline_seconds=30)) as web:
        people = await asyncio.gather(*(read(web) for _ in range(8)))
    assert statuses[503] > 3
    for found in people:
        assert len(found) == len(set(found)) == results


async def test_a_part_that_failed_on_the_first_page_is_left_out_of_all_and_each_page_says_so() -> None:
    stores = await searchable(logs(0, 35))
    index: Any = WithoutMeaning(stores, lambda number: number == 1)
    async with client(gateway(replace(stores, vectors=index), deadline_seconds=30)) as web:
        pages = await go_through(web)
        again = (await web.get("/api/v1/search", params={"q": "a log"})).json()
    assert len(pages) == 4
    assert len(shown(pages)) == len(set(shown(pages))) == 35
    assert all(page["partial"] and page["reasons"][0]["part"] == "dense" for page in pages)
    assert all("Search again" in page["reasons"][0]["detail"] for page in pages[1:])
    assert again["partial"] is False


async def test_without_disturbance_the_pages_are_those_of_their_numbers() -> None:
    async with client(gateway(await searchable(logs(0, 38)), deadline_seconds=30)) as web:
        pages = await go_through(web)
        numbered = [
            (await web.get("/api/v1/search", params={"q": "a log", "page": number})).json() for number in range(1, 5)
        ]
        from_the_third = await go_through(web, cursor=numbered[1]["next"])
    assert [shown([page]) for page in pages] == [shown([page]) for page in numbered]
    assert shown(pages[2:]) == shown(from_the_third[:2])


async def test_results_by_date_are_shown_once_while_pages_are_indexed() -> None:
    stores = await searchable(logs(0, 60))
    pages: list[dict[str, Any]] = []
    cursor = ""
    async with client(gateway(stores, deadline_seconds=30)) as web:
        for first in range(60, 100, 5):
            response = await web.get("/api/v1/search", params={"q": "a log", "sort": "date", "cursor": cursor})
            pages.append(response.json())
            if not (cursor := response.json().get("next", "")):
                break
            await index_more(stores, logs(first, first + 5))
    assert len(shown(pages)) == len(set(shown(pages))) == 40


async def test_late_pages_read_one_list_and_none_that_is_used_up() -> None:
    stores = await searchable(logs(0, 140))
    index: Any = WithoutMeaning(stores, lambda number: False)
    async with client(gateway(replace(stores, vectors=index), deadline_seconds=30)) as web:
        limits, cursor = [], ""
        for _ in range(11):
            index.limits = []
            answer = (await web.get("/api/v1/search", params={"q": "a log", "cursor": cursor})).json()
            cursor = answer["next"]
            limits.append(index.limits)
    assert limits[0] == limits[9] == [FIRST_STATEMENTS]
    assert limits[10] == [1_000]


CHANGES: list[dict[str, Any]] = [
    {"q": "another log"},
    {"per_page": 20},
    {"host": "site1.example"},
    {"language": "en"},
    {"include": "example"},
    {"exclude": "a.example"},
    {"sort": "date"},
    {"cursor": "nonsense"},
    {"cursor": "A" * 9_000},
]


@pytest.mark.parametrize("change", CHANGES)
async def test_a_cursor_of_another_search_is_a_problem_that_says_what_to_do(change: dict[str, Any]) -> None:
    async with client(gateway(await searchable(logs(0, 12)))) as web:
        cursor = (await web.get("/api/v1/search", params={"q": "a log"})).json()["next"]
        params = {"q": "a log", "cursor": cursor, **change}
        refused = await web.get("/api/v1/search", params=params)
        page = await web.get("/search", params={"q": "a log", "cursor": "nonsense"}, headers={"Accept": "text/html"})
    assert refused.status_code == page.status_code == 400
    assert refused.json()["type"] == "urn:riffle:problem:invalid-parameter"
    assert refused.json()["parameter"] == "cursor"
    assert "Search again" in refused.json()["hint"]
    assert "Search again" in page.text


async def test_an_expired_cursor_is_a_problem() -> None:
    now = NOW

    def clock() -> datetime:
        return now

    async def publish(event: object, cause: str | None = None) -> None: ...

    settings = Settings(gateway=GatewaySettings(allowed_hosts=("riffle.test",)))
    async with client(create_app(settings, await searchable(logs(0, 12)), publish=publish, clock=clock)) as web:
        cursor = (await web.get("/api/v1/search", params={"q": "a log"})).json()["next"]
        now = NOW + timedelta(hours=23)
        valid = await web.get("/api/v1/search", params={"q": "a log", "cursor": cursor})
        now = NOW + timedelta(hours=25)
        expired = await web.get("/api/v1/search", params={"q": "a log", "cursor": cursor})
    assert (valid.status_code, expired.status_code) == (200, 400)
    assert "expired" in expired.json()["detail"]


async def test_people_go_on_by_the_link_to_the_next_page() -> None:
    stores = await searchable(logs(0, 35))
    index: Any = WithoutMeaning(stores, lambda number: number == 2)
    address, found = "/search?q=a+log", []
    async with client(gateway(replace(stores, vectors=index), deadline_seconds=30)) as web:
        for number in count(1):
            page = (await web.get(address)).text
            found.append(re.findall(r"href=\"https://site\d+\.example/?\"", page))
            assert ("These results are incomplete" in page) is (number == 2)
            if number == 2:
                again = re.search(r'<a href="([^"]*)">Try again', page)
                assert again
                assert unescape(again[1]).partition("cursor=")[2] == address.partition("cursor=")[2] != ""
            following = re.search(r'rel="next" href="([^"]*)"', page)
            if following is None:
                break
            address = unescape(following[1])
            assert f"page={number + 1}&" in address
    sites = [set(re.findall(r"site\d+", " ".join(page))) for page in found]
    assert [len(page) for page in sites] == [10, 10, 10, 5]
    assert len(set().union(*sites)) == 35
