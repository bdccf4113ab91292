"""Another embedding model by settings: other dimensions, another tokenizer, and languages of its own."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from streams.gateway.app import create_app
from streams.models.opening import open_models
from streams.models.protocols import Models, TextRole
from streams.settings import GatewaySettings, Settings, TritonSettings
from streams.stores.opener import Stores, memory_stores
from tests.stages.gateway_fakes import NOW, client, with_vectors
from tests.tiny_sentence_encoder import DIMENSIONS, MODEL, NAME, write_repository

STATEMENTS = {"https://a.example/": "The cat sleeps.", "https://b.example/": "She bakes bread."}
SPANISH = "dónde duerme el gato por la noche"


@pytest.fixture
async def models(tmp_path: Path) -> AsyncIterator[Models]:
    triton = TritonSettings(url="inprocess:", model=NAME, query_model="", threads=1)
    opened = await open_models(Settings(model_repository=write_repository(tmp_path), triton=triton))
    yield opened
    await opened.close()


@pytest.mark.parametrize(
    ("own", "query_model"),
    [({}, "sbert_query"), ({"model": "e5"}, "e5_query"), ({"model": "e5", "query_model": ""}, "")],
)
def test_one_setting_names_the_model_and_the_one_for_queries(own: dict[str, str], query_model: str) -> None:
    assert TritonSettings(**own).query_model == query_model


async def searchable(models: Models) -> Stores:
    """Stores with an index of this model, in which nothing is found by its words."""
    made = memory_stores()
    made.embedder = models.embedder
    vectors = await models.embedder.embed(list(STATEMENTS.values()), "passage")
    points = [(url, text, vector.tolist()) for (url, text), vector in zip(STATEMENTS.items(), vectors, strict=True)]
    return await with_vectors(made, await models.embedder.info(), points)


async def ask(models: Models, query: str, **gateway: Any) -> dict[str, Any]:
    async def publish(event: object, cause: str | None = None) -> None: ...

    settings = Settings(gateway=GatewaySettings(deadline_seconds=20.0, allowed_hosts=("riffle.test",), **gateway))
    app = create_app(settings, await searchable(models), publish=publish, clock=lambda: NOW)
    async with client(app) as web:
        response = await web.get("/api/v1/search", params={"q": query, "explain": "true"})
    answer: dict[str, Any] = response.json()
    return answer


async def test_its_vectors_have_its_own_length_and_name(models: Models) -> None:
    info = await models.embedder.info()
    assert (info.name, info.dimensions) == (MODEL, DIMENSIONS)
    english, spanish, other = await models.embedder.embed(
        ["the cat sleeps", "el gato duerme", "ella hornea pan"], "passage"
    )
    assert english @ spanish == pytest.approx(1.0)
    assert english @ other == pytest.approx(0.0)


async def test_its_words_before_queries_and_passages_are_read_with_each_text(tmp_path: Path) -> None:
    repository = write_repository(tmp_path, query_prefix="the cat ", passage_prefix="the river ", max_tokens="8")
    triton = TritonSettings(url="inprocess:", model=NAME, query_model="", threads=1)
    opened = await open_models(Settings(model_repository=repository, triton=triton))
    long = f"Title\n{'word ' * 30}\n bread"  # only a part of it is read, and that begins with the words, too
    bread: list[tuple[str, TextRole]] = [("bread", "query"), ("bread", "passage"), (long, "passage")]
    found = [(await opened.embedder.embed([text], role))[0].astype(bool).tolist() for text, role in bread]
    await opened.close()
    assert found == [[True, False, True, False, False], *[[False, False, True, False, True]] * 2]


async def test_a_page_is_found_by_a_question_in_another_language(models: Models) -> None:
    answer = await ask(models, SPANISH)
    assert answer["results"][0]["host"] == "a.example"
    assert answer["explain"]["parts"]["dense"] == "ok"
    assert not answer["nearest_only"], "without a measured bound its results are not judged"


async def test_of_a_language_that_the_setting_does_not_name_only_words_are_searched(models: Models) -> None:
    answer = await ask(models, SPANISH, model_languages=("en",))
    assert answer["results"] == []
    assert any(reason["part"] == "dense" and "(es)" in str(reason) for reason in answer["reasons"])
