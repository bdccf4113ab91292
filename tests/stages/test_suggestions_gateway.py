"""Suggestions as programs and browsers get them from the gateway: formats, caches, what may be typed, refusals."""

import asyncio
from datetime import timedelta
from typing import Any
from xml.etree import ElementTree

import pytest

from streams.gateway.app import create_app
from streams.gateway.suggest.service import MAX_AGE_SECONDS
from streams.queries.suggestions.index import Suggestion
from streams.queries.suggestions.prefix_lists import offer
from streams.settings import GatewaySettings, Settings
from streams.stores.memory import MemorySuggestions
from streams.stores.opener import memory_stores
from streams.stores.protocols import StoredSuggestion
from tests.stages.gateway_fakes import NOW, Dead, Hanging, client, gateway
from tests.stages.suggested_pages import QUARTER, build_all, store_page

OWN_HOST = Settings(gateway=GatewaySettings(allowed_hosts=("riffle.test",)))


async def test_a_browser_gets_suggestions_in_its_own_format() -> None:
    stores = memory_stores()
    await offer(stores.suggestions, [StoredSuggestion("日本の歴史", "ja", 1.0)], QUARTER, 1)
    async with client(gateway(stores)) as web:
        answer = await web.get("/suggest", params={"q": "日本"})
        described = ElementTree.fromstring((await web.get("/opensearch.xml")).content)
    assert answer.json() == ["日本", ["日本の歴史"]]
    assert answer.headers["content-type"] == "application/x-suggestions+json"
    assert answer.headers["cache-control"].startswith("private")
    templates = {each.get("type"): each.get("template") for each in described if each.tag.endswith("Url")}
    assert templates["application/x-suggestions+json"] == "http://riffle.test/suggest?q={searchTerms}"


@pytest.mark.parametrize("store", [Dead(), Hanging()])
async def test_without_records_the_memory_answers(store: Any) -> None:
    stores = memory_stores()
    await store_page(stores, "https://a.example/", "Tide tables", "Text.")
    await build_all(stores)
    app = gateway(stores)
    await app.state.gateway.suggest.look()
    stores.suggestions = store
    async with client(app) as web:
        for _ in range(2):
            answer = await web.get("/api/v1/suggest", params={"q": "tide"})
            assert [each["text"] for each in answer.json()["suggestions"]] == ["tide tables"]
    await app.state.gateway.close()


async def test_the_cache_reads_a_list_once_a_minute() -> None:
    class Counting(MemorySuggestions):
        reads = 0

        async def of_prefix(self, language: str, prefix: str, since: int = 0) -> list[StoredSuggestion]:
            self.reads += 1
            return await super().of_prefix(language, prefix, since)

    stores = memory_stores()
    stores.suggestions = counting = Counting()
    app = gateway(stores)
    async with client(app) as web:
        await asyncio.gather(*(web.get("/api/v1/suggest", params={"q": "tide"}) for _ in range(9)))
    assert counting.reads == 1
    assert MAX_AGE_SECONDS == 60


async def test_suggestions_can_be_turned_off() -> None:
    async with client(gateway(memory_stores(), limits={"suggestions": False})) as web:
        assert (await web.get("/api/v1/suggest", params={"q": "a"})).status_code == 404
        assert b"suggestions" not in (await web.get("/opensearch.xml")).content


async def test_a_plain_request_and_one_with_a_limit_have_the_same_answer_and_wrong_ones_are_problems() -> None:
    stores = memory_stores()
    await offer(stores.suggestions, [StoredSuggestion("tide tables", "en", 1.0)], QUARTER, 1)
    async with client(gateway(stores)) as web:
        plain, limited = [
            await web.get("/api/v1/suggest", params={"q": "ti", "language": "EN", **more})
            for more in ({}, {"limit": 10})
        ]
        assert plain.content == limited.content
        # The answer is too short to be compressed, so it is the same for all clients.
        assert plain.headers == limited.headers
        for wrong in ({"q": "a" * 1_001}, {"language": "x" * 21}, {"limit": 11}, {"prefix": "a"}):
            answer = await web.get("/api/v1/suggest", params=wrong)
            assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json"), wrong
        metrics = (await web.get("/metrics")).text
    assert 'riffle_gateway_requests_total{method="GET",route="/api/v1/suggest",status="200"} 2.0' in metrics


async def test_another_build_is_shown_at_once_and_old_lists_are_read_again() -> None:
    now = NOW

    class Counting(MemorySuggestions):
        reads = 0

        async def of_prefix(self, language: str, prefix: str, since: int = 0) -> list[StoredSuggestion]:
            self.reads += 1
            return await super().of_prefix(language, prefix, since)

    stores = memory_stores()
    stores.suggestions = counting = Counting()
    await offer(counting, [StoredSuggestion("tide tables", "en", 1.0)], QUARTER, 1)
    app = create_app(OWN_HOST, stores, publish=None, clock=lambda: now)
    service = app.state.gateway.suggest

    async def shown() -> list[str]:
        answer = await web.get("/api/v1/suggest", params={"q": "ti"})
        return [each["text"] for each in answer.json()["suggestions"]]

    async with client(app) as web:
        assert await shown() == ["tide tables"]
        service.use([Suggestion("tiny house", 9.0)])
        assert await shown() == ["tiny house", "tide tables"]
        counting.reads = 0
        now += timedelta(seconds=MAX_AGE_SECONDS)
        assert await shown() == ["tiny house", "tide tables"]
        assert counting.reads == 1, "an old list is read again"
    await app.state.gateway.close()


async def test_a_plain_request_to_a_foreign_host_is_refused() -> None:
    async with client(gateway(memory_stores())) as web:
        for host, status in [("riffle.test", 200), ("riffle.test:8080", 200), ("evil.example", 403), ("[", 403)]:
            for _ in range(2):
                answer = await web.get("/api/v1/suggest", params={"q": "a"}, headers={"host": host})
                assert answer.status_code == status, host


@pytest.mark.parametrize("typed", ["", " ", "a" * 1_000, "\ud800", "'\"<script>", "ａｂ", "\u202e"])
async def test_anything_may_be_typed(typed: str) -> None:
    async with client(gateway(memory_stores())) as web:
        query = typed.encode("utf-8", "replace").decode()
        assert (await web.get("/api/v1/suggest", params={"q": query})).status_code == 200
