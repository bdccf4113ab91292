"""The second search by meaning through the whole gateway: what it finds, and that no search fails for it."""

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from fastapi import FastAPI

from streams.errors import PoisonError, StoreUnavailable
from streams.gateway.lazy_stores import AbsentStore
from streams.models.protocols import ModelInfo, Vectors
from streams.stores.memory import MemoryIndex
from streams.stores.opener import Stores, memory_stores
from streams.stores.protocols import Candidates
from tests.stages.gateway_fakes import client, gateway, with_vectors

MODEL = ModelInfo("axes", "1", 3)
QUERY = [1.0, 0.0, 0.0]
NAMED, RELATED, OTHER = "https://named.example/", "https://related.example/", "https://other.example/"
POINTS = [
    (NAMED, "The sloop has one mast.", [0.8, 0.6, 0.0]),
    (OTHER, "Trains run late.", [0.7, 0.0, 0.714]),
    (RELATED, "A cutter has two foresails.", [0.65, 0.76, 0.0]),
]
"""Only by meaning OTHER is nearer to the query than RELATED. RELATED is nearer to the first page."""


class Fixed:
    """An embedder for which each text means the same."""

    async def info(self, **_: Any) -> ModelInfo:
        return MODEL

    async def embed(self, texts: Sequence[str], **_: Any) -> Vectors:
        return np.array([QUERY] * len(texts), dtype=np.float32)


class SecondSearch(MemoryIndex):
    """An index whose searches after the first one fail, hang, or are late."""

    def __init__(self, error: Exception | None = None, seconds: float = 0.0, first_seconds: float = 0.0) -> None:
        super().__init__()
        self._error, self._seconds, self._first_seconds = error, seconds, first_seconds
        self.searches = 0

    async def candidates(self, **query: Any) -> Candidates:
        self.searches += 1
        await asyncio.sleep(self._seconds if self.searches > 1 else self._first_seconds)
        if self.searches > 1 and self._error:
            raise self._error
        return await super().candidates(**query)


async def stores(index: MemoryIndex | None = None) -> Stores:
    made = memory_stores()
    made.embedder, made.vectors = Fixed(), index or MemoryIndex()
    return await with_vectors(made, MODEL, POINTS)


async def answer(made: Stores, *, deadline_seconds: float = 10.0, **limits: Any) -> Any:
    return await asked(gateway(made, deadline_seconds=deadline_seconds, limits=limits))


async def asked(app: FastAPI) -> Any:
    async with client(app) as web:
        return (await web.get("/api/v1/search", params={"q": "sloop", "explain": "true"})).json()


def urls(answer: Any) -> list[str]:
    return [result["url"] for result in answer["results"]]


async def test_what_is_near_to_the_first_page_comes_before_what_is_near_to_the_query_alone() -> None:
    made = await stores()
    once = await answer(made, feedback_pages=0)
    assert urls(once) == [NAMED, OTHER, RELATED]
    assert "feedback" not in once["explain"]
    twice = await answer(made, feedback_pages=1)
    assert urls(twice) == [NAMED, RELATED, OTHER]
    assert twice["explain"]["feedback"] == {"statements": [twice["results"][0]["statements"][0]["id"]], "skipped": ""}
    assert twice["explain"]["timings_ms"]["feedback_ms"] > 0


async def test_a_share_of_zero_changes_no_order() -> None:
    assert urls(await answer(await stores(), feedback_share=0.0)) == [NAMED, OTHER, RELATED]


FAILURES = [
    (SecondSearch(StoreUnavailable("Qdrant is down")), "failed"),
    (SecondSearch(PoisonError("another model")), "failed"),
    (SecondSearch(seconds=60.0), "took too long"),
]


@pytest.mark.parametrize(("index", "reason"), FAILURES, ids=[reason for _, reason in FAILURES])
async def test_the_answer_is_that_of_the_first_search_when_the_second_fails(index: SecondSearch, reason: str) -> None:
    found = await answer(await stores(index), deadline_seconds=2.0)
    assert (urls(found), index.searches) == ([NAMED, OTHER, RELATED], 2)
    assert found["partial"] is False
    assert found["explain"]["feedback"] == {"statements": [], "skipped": f"The second search by meaning {reason}."}


async def test_meaning_is_searched_once_when_the_first_search_took_most_of_the_time() -> None:
    index = SecondSearch(first_seconds=1.2)
    found = await answer(await stores(index), deadline_seconds=2.0)
    assert (urls(found), index.searches) == ([NAMED, OTHER, RELATED], 1)
    assert "Too little time" in found["explain"]["feedback"]["skipped"]


async def test_an_index_that_is_opened_after_the_start_is_searched_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    made = await stores()
    with monkeypatch.context() as starting:
        starting.setattr(made, "vectors", AbsentStore("vectors", "it is being opened"))
        app = gateway(made, limits={"feedback_pages": 1})
    found = await asked(app)
    assert (urls(found), found["explain"]["feedback"]["skipped"]) == ([NAMED, RELATED, OTHER], "")
