"""The cross-encoder's order through the whole gateway: with its model, without, and when it fails."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from streams.gateway.app import create_app
from streams.models.inprocess import InProcessReranker
from streams.settings import GatewaySettings, Settings, TritonSettings
from streams.stores.opener import Stores
from tests.stages.gateway_fakes import NOW, Dead, Hanging, change_options, client, searchable, statement
from tests.tiny_cross_encoder import exported

PAGES = [
    statement("https://a.example/", "River: the river and a river.", title="Rivers"),
    statement("https://b.example/", "The river has shallow water, and shallow water has a riffle.", title="Riffle"),
    statement("https://c.example/", "The checkpoint of the database.", title="Database"),
]
QUERY = "river shallow water riffle"


@pytest.fixture
async def stores() -> Stores:
    return await searchable(PAGES)


async def ask(
    stores: Stores, model: str = "rerank", query: str = QUERY, weight: float = 10.0, deadline_seconds: float = 2.0
) -> dict[str, Any]:
    async def publish(event: object, cause: str | None = None) -> None: ...

    gateway = GatewaySettings(deadline_seconds=deadline_seconds, allowed_hosts=("riffle.test",))
    settings = Settings(triton=TritonSettings(rerank_model=model), gateway=gateway)
    app = create_app(settings, stores, publish=publish, clock=lambda: NOW)
    change_options(app, rerank_weight=weight)
    async with client(app) as web:
        response = await web.get("/api/v1/search", params={"q": query, "explain": "true"})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


class Reversing:
    """Scores texts in the opposite order, and notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[str]]] = []

    async def scores(self, query: str, texts: Sequence[str], *, deadline_seconds: float | None = None) -> list[float]:
        self.asked.append((query, list(texts)))
        return [float(place) for place in range(len(texts))]


def hosts(answer: dict[str, Any]) -> list[str]:
    return [result["host"] for result in answer["results"]]


async def test_with_a_high_weight_the_model_decides_the_order(stores: Stores) -> None:
    before = await ask(stores, model="")
    stores.reranker = model = Reversing()
    after = await ask(stores)
    assert hosts(after) == hosts(before)[::-1]
    assert after["explain"]["parts"]["rerank"] == "ok"
    # 10 times the distance from the lowest of 0, 1, 2, in standard deviations.
    assert [result["parts"]["rerank"] for result in after["results"]] == pytest.approx([24.49, 12.25, 0.0], abs=0.01)
    scores = [result["score"] for result in after["results"]]
    assert scores == sorted(scores, reverse=True)
    ((query, texts),) = model.asked
    assert query == QUERY
    assert "Riffle\nThe river has shallow water, and shallow water has a riffle." in texts


async def test_it_is_one_signal_beside_the_scores(stores: Stores) -> None:
    """With its own weight it does not lift a page on another subject to the first place."""
    stores.reranker = Reversing()
    before, after = await ask(stores, model=""), await ask(stores, weight=0.6)
    assert hosts(after)[0] == hosts(before)[0] == "b.example"
    gained = {result["host"]: result["score"] for result in after["results"]}
    assert {result["host"]: gained[result["host"]] - result["score"] for result in before["results"]} == pytest.approx(
        {result["host"]: result["parts"]["rerank"] for result in after["results"]}, abs=1e-3
    )


async def test_without_its_setting_it_is_not_asked(stores: Stores) -> None:
    stores.reranker = model = Reversing()
    answer = await ask(stores, model="")
    assert not model.asked
    assert "rerank" not in answer["explain"]["parts"]
    assert all("rerank" not in result["parts"] for result in answer["results"])


async def test_operators_are_no_part_of_what_it_reads(stores: Stores) -> None:
    stores.reranker = model = Reversing()
    await ask(stores, query="river -checkpoint lang:en")
    assert model.asked[0][0] == "river"


@pytest.mark.parametrize(
    ("broken", "reason"), [(Dead(), "did not answer"), (Hanging(), "took too long")], ids=["dead", "hanging"]
)
async def test_when_it_fails_the_order_of_the_scores_stays(stores: Stores, broken: Any, reason: str) -> None:
    expected = hosts(await ask(stores, model=""))
    stores.reranker = broken
    answer = await ask(stores)
    assert hosts(answer) == expected
    assert answer["partial"] is True
    (failed,) = answer["reasons"]
    assert failed == {
        "part": "rerank",
        "detail": f"The cross-encoder {reason}; results are in the order of their scores.",
    }


async def test_a_real_model_is_run_through_the_gateway(stores: Stores, tmp_path: Path) -> None:
    """A tiny one, which counts the words in common."""
    stores.reranker = model = InProcessReranker(exported(tmp_path) / "rerank")
    answer = await ask(stores, deadline_seconds=60.0)  # the model is loaded at the first call
    await model.close()
    assert hosts(answer)[0] == "b.example"
    gains = {result["host"]: result["parts"]["rerank"] for result in answer["results"]}
    # It counts 3, 7 and 0 words.
    assert gains["c.example"] == 0.0
    assert gains["b.example"] / gains["a.example"] == pytest.approx(7 / 3, abs=1e-3)
