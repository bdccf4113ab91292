"""Similar pages through the whole gateway: the order of results, and what `explain` shows of it."""

from typing import Any

import pytest

from streams.stores.memory import MemoryIndex
from streams.stores.opener import Stores, memory_stores
from tests.stages.gateway_fakes import client, gateway, with_vectors
from tests.stages.test_gateway_feedback import MODEL, Fixed

BEST, NEARER, LIKE_BEST = "https://best.example/", "https://nearer.example/", "https://like-best.example/"
POINTS = [
    (BEST, "A slender delta wing has much lift.", [0.95, 0.31, 0.0]),
    (NEARER, "Sails were sewn by hand.", [0.80, 0.60, 0.0]),
    (LIKE_BEST, "Lift of a delta wing that is slender.", [0.79, 0.61, 0.0]),
    ("https://other.example/", "Trains run late.", [0.0, 1.0, 0.0]),
]


@pytest.fixture
async def stores() -> Stores:
    made = memory_stores()
    made.embedder, made.vectors = Fixed(), MemoryIndex()
    return await with_vectors(made, MODEL, POINTS)


async def ask(stores: Stores, question: str, *, explain: bool = True, **limits: Any) -> Any:
    limits = {"authority_weight": 0, "freshness_weight": 0, "feedback_pages": 0, **limits}
    async with client(gateway(stores, deadline_seconds=20.0, limits=limits)) as web:
        return (await web.get("/api/v1/search", params={"q": question, "explain": str(explain).lower()})).json()


async def test_a_page_like_the_best_one_comes_before_a_page_that_is_slightly_nearer(stores: Stores) -> None:
    found = (await ask(stores, "gliders"))["results"]
    assert [result["url"] for result in found[:3]] == [BEST, LIKE_BEST, NEARER]
    gained = {result["url"]: result.get("parts", {}).get("neighbours") for result in found}
    assert gained.pop(LIKE_BEST) > 0
    assert set(gained.values()) == {None}


@pytest.mark.parametrize(
    ("question", "limits"), [("gliders", {"neighbour_weight": 0}), ("when were gliders built", {})], ids=["off", "form"]
)
async def test_without_it_the_nearer_page_comes_first(stores: Stores, question: str, limits: dict[str, Any]) -> None:
    """It is not used for a question with a form of answer: often only one page answers the question."""
    found = (await ask(stores, question, **limits))["results"]
    assert [result["url"] for result in found[:3]] == [BEST, NEARER, LIKE_BEST]
    assert not any("neighbours" in result.get("parts", {}) for result in found)


async def test_it_is_explained_on_request_alone(stores: Stores) -> None:
    found = (await ask(stores, "gliders", explain=False))["results"]
    assert found[1]["url"] == LIKE_BEST
    assert not any("parts" in result for result in found)
