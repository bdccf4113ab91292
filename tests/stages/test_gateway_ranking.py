"""The ranking through the whole gateway: a new signal is one pass, and a ranking without end delays nobody else."""

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest

from streams.search import searcher
from streams.search.ranker import PASSES, Ranker
from streams.search.ranking.context import Pass, RankingContext
from streams.stores.protocols import PageHits
from tests.stages.gateway_fakes import client, gateway, searchable
from tests.stages.test_gateway_search import STATEMENTS


def prefer_long_titles(context: RankingContext, pages: list[PageHits]) -> list[PageHits]:
    """A signal of these tests."""
    for page in pages:
        context.notes.note_part(page.page_id, "length", len(page.hits[0].payload.title))
    context.notes.passes["length"] = {"pages": len(pages)}
    raised = [replace(page, score=page.score + len(page.hits[0].payload.title)) for page in pages]
    return sorted(raised, key=lambda page: -page.score)


def use_passes(monkeypatch: pytest.MonkeyPatch, *passes: Pass) -> None:
    monkeypatch.setattr(searcher, "Ranker", lambda readers, _passes: Ranker(readers, passes))


async def test_a_signal_is_one_pass_and_explain_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    use_passes(monkeypatch, *PASSES[:3], Pass("length", prefer_long_titles), *PASSES[3:])
    async with client(gateway(await searchable(STATEMENTS), deadline_seconds=20)) as web:
        answer: dict[str, Any] = (await web.get("/api/v1/search", params={"q": "log", "explain": "true"})).json()
    lengths = [len(result["title"]) for result in answer["results"]]
    assert lengths == sorted(lengths, reverse=True)
    assert [result["parts"]["length"] for result in answer["results"]] == lengths
    assert answer["explain"]["passes"]["length"]["pages"] >= len(lengths)


async def test_a_ranking_without_end_is_a_503_and_delays_no_other_request(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, released = threading.Event(), threading.Event()

    def wait(_context: RankingContext, pages: list[PageHits]) -> list[PageHits]:
        begun.set()
        released.wait()
        return pages

    use_passes(monkeypatch, PASSES[0], Pass("endless", wait))
    async with client(gateway(await searchable(STATEMENTS), deadline_seconds=2.0)) as web:
        searching = asyncio.create_task(web.get("/api/v1/search", params={"q": "log"}))
        try:
            await asyncio.to_thread(begun.wait)
            assert (await web.get("/healthz")).status_code == 200
            assert not searching.done(), "it is still being ranked"
            answer = await searching
        finally:
            released.set()
    assert (answer.status_code, answer.json()["type"]) == (503, "urn:riffle:problem:search-unavailable")
    assert answer.json()["detail"] == "Ranking the results took too long."
