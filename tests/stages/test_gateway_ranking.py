"""The ranking through the whole gateway: a signal is a row of the table, and a ranking without end delays nobody."""

import asyncio
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from streams.search import searcher
from streams.search.options import SearchOptions
from streams.search.ranker import PASSES, Ranker
from streams.search.ranking import signals
from streams.search.ranking.context import Pass, RankingContext
from streams.search.ranking.signals import SIGNALS, Signal
from streams.stores.protocols import PageHits
from tests.stages.gateway_fakes import client, gateway, searchable
from tests.stages.test_gateway_search import STATEMENTS

ROOT = Path(__file__).parents[2]


def lengths_of_titles(_context: RankingContext, pages: Sequence[PageHits]) -> Mapping[UUID, float]:
    """The values of a signal of these tests."""
    return {page.page_id: float(len(page.hits[0].payload.title)) for page in pages}


LENGTH = Signal("length", "characters", "preference_weight", "", "", "its title is long", values=lengths_of_titles)


def use_passes(monkeypatch: pytest.MonkeyPatch, *passes: Pass) -> None:
    monkeypatch.setattr(searcher, "Ranker", lambda readers, _passes: Ranker(readers, passes))


async def test_a_signal_is_a_function_and_a_row_and_explain_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signals, "SIGNALS", (*SIGNALS, LENGTH))
    async with client(gateway(await searchable(STATEMENTS), deadline_seconds=20)) as web:
        answer: dict[str, Any] = (await web.get("/api/v1/search", params={"q": "log", "explain": "true"})).json()
    lengths = [len(result["title"]) for result in answer["results"]]
    assert lengths == sorted(lengths, reverse=True)
    assert [result["parts"]["length"] for result in answer["results"]] == lengths


@pytest.mark.parametrize("signal", SIGNALS, ids=lambda signal: signal.name)
def test_each_row_has_a_coefficient_a_decision_a_test_and_words(signal: Signal) -> None:
    assert signal.coefficient in SearchOptions.model_fields or not signal.values
    assert list((ROOT / "docs/decisions").glob(f"{signal.decision}-*.md"))
    assert (ROOT / "tests" / signal.test).is_file()
    assert signal.says or signal.lowers


def test_names_of_signals_differ() -> None:
    assert len({signal.name for signal in SIGNALS}) == len(SIGNALS)


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
