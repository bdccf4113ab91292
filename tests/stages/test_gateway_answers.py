"""The form of the answer through the whole gateway: the order of results, and what `explain` shows of it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from streams.models.protocols import ModelInfo, Vectors
from streams.stores.memory import MemoryIndex
from streams.stores.opener import Stores, memory_stores
from tests.stages.gateway_fakes import client, gateway, with_vectors

MODEL = ModelInfo("axes", "1", 3)
QUESTION = "when was the sloop built"
NEARER, ANSWER = "https://nearer.example/", "https://answer.example/"
POINTS = [
    (NEARER, "The sloop was built by hand.", [0.8, 0.6, 0.0]),
    (ANSWER, "The sloop was built in 1912.", [0.79, 0.613, 0.0]),
    ("https://other.example/", "Trains run late.", [0.0, 1.0, 0.0]),
]


class Fixed:
    """An embedder for which each text means the same."""

    async def info(self, role: Any = "passage") -> ModelInfo:
        return MODEL

    async def embed(self, texts: Sequence[str], role: Any, **_: Any) -> Vectors:
        return np.array([[1.0, 0.0, 0.0]] * len(texts), dtype=np.float32)


@pytest.fixture
async def stores() -> Stores:
    made = memory_stores()
    made.embedder, made.vectors = Fixed(), MemoryIndex()
    return await with_vectors(made, MODEL, POINTS)


async def ask(stores: Stores, question: str = QUESTION, *, explain: bool = True, **limits: Any) -> Any:
    limits = {"authority_weight": 0, "freshness_weight": 0, **limits}
    async with client(gateway(stores, deadline_seconds=20.0, limits=limits)) as web:
        return (await web.get("/api/v1/search", params={"q": question, "explain": str(explain).lower()})).json()


async def test_a_statement_with_the_form_of_the_answer_comes_first(stores: Stores) -> None:
    found = await ask(stores)
    assert [result["url"] for result in found["results"][:2]] == [ANSWER, NEARER]
    assert found["explain"]["passes"]["answer_form"] == {"form": "time"}
    assert [result.get("parts", {}).get("answer_form") for result in found["results"]] == [0.6, None, None]


@pytest.mark.parametrize(
    ("question", "limits"), [(QUESTION, {"answer_weight": 0}), ("the sloop that was built", {})], ids=["off", "no form"]
)
async def test_without_it_the_nearest_statement_comes_first(
    stores: Stores, question: str, limits: dict[str, Any]
) -> None:
    found = await ask(stores, question, **limits)
    assert found["results"][0]["url"] == NEARER
    assert "answer_form" not in found["explain"]["passes"]
    assert not any("answer_form" in result.get("parts", {}) for result in found["results"])


async def test_it_is_explained_on_request_alone(stores: Stores) -> None:
    found = await ask(stores, explain=False)
    assert found["results"][0]["url"] == ANSWER
    assert not any("parts" in result for result in found["results"])
