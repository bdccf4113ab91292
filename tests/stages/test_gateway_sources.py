"""Sources beside the results, through the whole gateway: their parts in JSON and on the page, and their failures."""

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from jinja2 import ChoiceLoader, DictLoader
from pydantic import BaseModel

from streams.errors import StoreUnavailable
from streams.gateway.http import templates
from streams.gateway.search import html as search_html
from streams.search.core import Source
from streams.search.deadline import Deadline
from streams.search.request import SearchRequest
from streams.stores.opener import Stores
from streams.stores.protocols import EVERYTHING
from tests.stages.gateway_fakes import Dead, client, gateway, searchable
from tests.stages.test_gateway_search import STATEMENTS

HTML = {"accept": "text/html"}


class Tides(BaseModel):
    """High water at one place: the finding of the source of these tests."""

    place: str
    high: str


class TideTable:
    """A source that knows high water, after some seconds, or fails."""

    name = "tides"

    def __init__(self, outcome: Tides | Exception | None, seconds: float = 0.0) -> None:
        self._outcome, self._seconds = outcome, seconds

    async def find(self, request: SearchRequest, deadline: Deadline) -> Tides | None:
        await asyncio.sleep(self._seconds)
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome


FOUND = Tides(place="Brest <script>", high="06:12")
TEMPLATE = '<aside class="tides">{{ found.place }}: {{ found.high }}</aside>'


@pytest.fixture
def with_template() -> Iterator[None]:
    """The templates of the gateway, and the source's template."""
    environment = templates.templates()
    own = environment.loader
    assert own is not None
    environment.loader = ChoiceLoader([DictLoader({"_beside_tides.html": TEMPLATE}), own])
    environment.cache.clear()  # type: ignore[union-attr]  # Jinja types a cache that may be off
    yield
    environment.loader = own
    environment.cache.clear()  # type: ignore[union-attr]  # Jinja types a cache that may be off


async def app(source: Source, stores: Stores | None = None, deadline_seconds: float = 20.0) -> FastAPI:
    return gateway(stores or await searchable(STATEMENTS), deadline_seconds=deadline_seconds, sources=[source])


async def ask(made: FastAPI, path: str = "/api/v1/search") -> httpx2.Response:
    async with client(made) as web:
        return await web.get(path, params={"q": "log"}, headers=HTML if path == "/search" else {})


async def test_what_a_source_finds_is_in_the_answer() -> None:
    answer = (await ask(await app(TideTable(FOUND)))).json()
    assert answer["results"]
    assert answer["beside"] == {"tides": {"place": "Brest <script>", "high": "06:12"}}
    assert answer["reasons"] == []


@pytest.mark.parametrize("seconds", [0.0, 0.6], ids=["in time", "behind the first results"])
async def test_what_a_source_finds_is_on_the_page(seconds: float, with_template: None) -> None:
    page = (await ask(await app(TideTable(FOUND, seconds)), "/search")).text
    assert '<aside class="tides">Brest &lt;script&gt;: 06:12</aside>' in page
    results, aside = page.index('<ol class="results"'), page.index("<aside")
    assert (aside < results) is (seconds == 0.0), "what comes late moves nothing"
    assert aside < page.index("</main>")
    assert page.count("</html>") == page.count("</main>") == 1


async def test_a_source_without_a_template_is_on_no_page() -> None:
    page = await ask(await app(TideTable(FOUND)), "/search")
    assert page.status_code == 200
    assert "06:12" not in page.text


MISSING = [
    (TideTable(StoreUnavailable("down")), "`tides` did not answer."),
    (TideTable(ZeroDivisionError()), "`tides` did not answer."),
    (TideTable(FOUND, seconds=60.0), "`tides` took too long."),
]


@pytest.mark.parametrize(("source", "reason"), MISSING, ids=["failing", "at fault", "slow"])
async def test_without_a_source_the_results_are_whole(source: TideTable, reason: str) -> None:
    response = await ask(await app(source, deadline_seconds=2.0))
    answer: dict[str, Any] = response.json()
    assert (response.status_code, answer["partial"]) == (200, True)
    assert answer["results"]
    assert "beside" not in answer
    assert answer["reasons"] == [{"part": "tides", "detail": reason}]


async def test_a_source_that_has_nothing_is_no_failure() -> None:
    answer = (await ask(await app(TideTable(None)))).json()
    assert "beside" not in answer
    assert answer["reasons"] == []


async def test_a_missing_source_is_counted() -> None:
    made = await app(TideTable(StoreUnavailable("down")))
    async with client(made) as web:
        await web.get("/api/v1/search", params={"q": "log"})
        assert 'riffle_gateway_partial_answers_total{part="tides"} 1.0' in (await web.get("/metrics")).text


@pytest.mark.parametrize("path", ["/api/v1/search", "/search"])
@pytest.mark.parametrize("seconds", [0.0, 60.0], ids=["quick", "slow"])
async def test_without_results_there_is_no_answer_whatever_the_source_finds(
    path: str, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_html, "FIRST_PAINT_SECONDS", 60.0)  # on a busy machine the head would be sent before
    stores = await searchable(STATEMENTS)
    stores.vectors = Dead()
    async with asyncio.timeout(15):
        response = await ask(await app(TideTable(FOUND, seconds), stores), path)
    assert response.status_code == 503


async def test_results_are_sent_while_a_slow_source_is_awaited() -> None:
    """A client reads the results of the page before the source has answered."""
    source = TideTable(FOUND, seconds=60.0)
    made = await app(source)
    running = made.state.gateway.search.start("log", EVERYTHING)
    async with asyncio.timeout(15):
        answer = await running.results
    assert answer.results
    assert not running.beside.done()
    running.cancel()


class Selective:
    """A source that can answer only one query."""

    name = "selective"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def can_answer(self, request: SearchRequest) -> bool:
        return request.text == "rocks"

    async def find(self, request: SearchRequest, deadline: Deadline) -> None:
        self.asked.append(request.text)


async def test_a_source_is_asked_only_for_queries_that_it_can_answer() -> None:
    source = Selective()
    async with client(gateway(await searchable(STATEMENTS), sources=[source])) as web:
        for query in ("rocks", "rivers"):
            answer = (await web.get("/api/v1/search", params={"q": query})).json()
            assert not answer["partial"], "it is not missing: it has nothing to say"
    assert source.asked == ["rocks"]
