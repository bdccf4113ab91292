"""The embedding model behind a server of OpenAI's API: right answers, each fault of the protocol, and the key."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from structlog.testing import capture_logs

from streams.doctor.triton import check_answer, check_triton, embedding_model
from streams.errors import DeadlineExceeded, PoisonError, StoreUnavailable, UsageError
from streams.models import openai_embedder
from streams.models.inference.repository import LOCAL_REPOSITORY, model_info, parameters_of, read_config, set_parameters
from streams.models.memory import MemoryEmbedder
from streams.models.openai_answers import PROBES, Request, ServedModel
from streams.models.openai_embedder import OpenAIEmbedder
from streams.models.opening import open_models
from streams.models.protocols import ForeignAnswer, ModelInfo
from streams.settings import Settings, TritonSettings
from tests.embedding_server import FAULTS, KEY, EmbeddingServer, Way, embedding_server
from triton_models import describe_server

TEXTS = ["A dog barked.", "Write-ahead logging lets readers go on.", "数据库"]
NAME = "served"


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_embedder, "BACKOFF_SECONDS", 0.001)


async def served(**changed: Any) -> ServedModel:
    info = ModelInfo(
        "any", "1", 64, **{key: changed.pop(key) for key in ("query_prefix", "max_tokens") if key in changed}
    )
    return ServedModel(info, "any-at-server", await MemoryEmbedder().embed(PROBES, "passage"), **changed)


@asynccontextmanager
async def opened(
    key: Callable[[], str] = str, model: dict[str, Any] | None = None, **server: Any
) -> AsyncIterator[tuple[EmbeddingServer, OpenAIEmbedder]]:
    async with embedding_server(**server) as running:
        embedder = OpenAIEmbedder(running.url, await served(**model or {}), key, seconds=20.0)
        yield running, embedder
        await embedder.close()


@pytest.mark.parametrize("way", ["right", "shuffled"])
@pytest.mark.parametrize("encoding", ["base64", "float"])
async def test_vectors_are_those_of_the_texts_in_their_order(way: Way, encoding: str) -> None:
    async with opened(model={"encoding": encoding}, always=way) as (server, embedder):
        vectors = await embedder.embed(TEXTS, "passage")
    assert np.allclose(vectors, await MemoryEmbedder().embed(TEXTS, "passage"), atol=1e-7)
    assert server.requests[0]["encoding_format"] == encoding


@pytest.mark.parametrize("encoding", ["base64", "float"])
@pytest.mark.parametrize(("way", "fault"), FAULTS.items())
async def test_an_answer_with_a_fault_is_asked_for_again_and_never_believed(
    way: Way, fault: str, encoding: str
) -> None:
    async with opened(model={"encoding": encoding}) as (server, embedder):
        right = await embedder.embed(TEXTS, "passage")
        server.ways = [way]
        with capture_logs() as logs:
            assert (await embedder.embed(TEXTS, "passage") == right).all()
        assert [entry["event"] for entry in logs] == ["the answer of a model does not belong to its request"]
        server.always = way
        if encoding == "float" and way == "nan":
            fault = "no JSON"  # which has no such number
        with pytest.raises(ForeignAnswer, match=fault):
            await embedder.embed(TEXTS, "passage")


async def test_an_answer_of_another_request_is_recognized() -> None:
    """A proxy that gives two requests of the same length each the other's answer: 1 of 8 x (texts + 1) passes."""
    model = await served()
    answers, requests = {}, [Request.of([f"text {n}", f"more of {n}"]) for n in range(40)]
    async with embedding_server() as server:
        for request in requests:
            answers[request] = await server._content("right", request.texts, in_base64=True)

    def is_believed(request: Request, answer: bytes) -> bool:
        try:
            return bool(request.vectors(answer, model).any())
        except ValueError as error:
            return "the probe has another vector" not in str(error)

    assert all(is_believed(request, answers[request]) for request in requests)
    foreign = [is_believed(one, answers[other]) for one in requests for other in requests if one is not other]
    assert sum(foreign) < 2 * len(foreign) / 24


@pytest.mark.parametrize("way", ["busy", "down", "cut"])
async def test_a_server_that_answers_later_is_asked_again(way: Way) -> None:
    async with opened(ways=[way] * 3) as (server, embedder):
        assert (await embedder.embed(TEXTS, "passage")).shape == (3, 64)
        assert len(server.requests) == 4
        server.always = way
        with pytest.raises(StoreUnavailable, match=server.url):
            await embedder.embed(TEXTS, "passage")
        assert len(server.requests) == 8


async def test_the_pause_that_a_server_asks_for_is_kept_or_the_call_fails_at_once() -> None:
    async with opened(ways=["busy"], retry_after="1") as (server, embedder):
        begun = asyncio.get_running_loop().time()
        await embedder.embed(TEXTS, "passage")
        assert asyncio.get_running_loop().time() - begun >= 1
        server.ways, server.retry_after = ["busy"], "3600"
        with pytest.raises(StoreUnavailable, match="429"):
            await embedder.embed(TEXTS, "passage", deadline_seconds=60)
    assert len(server.requests) == 3


async def test_a_silent_server_is_too_late_and_one_that_is_not_there_is_named() -> None:
    async with opened(always="silent") as (_, embedder):
        with pytest.raises(DeadlineExceeded, match=r"no answer in 0\.2 s"):
            await embedder.embed(TEXTS, "query", deadline_seconds=0.2)
    gone = OpenAIEmbedder("http://127.0.0.1:1/v1", await served())
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:1"):
        await gone.embed(TEXTS, "passage")
    await gone.close()


async def test_a_redirect_is_not_followed() -> None:
    async with opened(lambda: KEY, always="redirect") as (server, embedder):
        with pytest.raises(StoreUnavailable, match="307"):
            await embedder.embed(TEXTS, "passage")
    assert len(server.requests) == 1


async def test_the_key_is_sent_as_its_file_has_it_now_and_is_in_no_message(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "key"
    file.write_text("sk-former\n")
    settings = TritonSettings(url="openai+http://127.0.0.1:1/v1", key_file=file)
    caplog.set_level(logging.DEBUG)
    with capture_logs() as logs:
        async with opened(settings.current_api_key, needs_key=True) as (server, embedder):
            with pytest.raises(StoreUnavailable, match="RIFFLE_TRITON__KEY_FILE") as denied:
                await embedder.embed(TEXTS, "passage")
            file.write_text(f"{KEY}\n")
            await embedder.embed(TEXTS, "passage")
            file.write_text("sk-schlüssel")
            with pytest.raises(StoreUnavailable, match="visible ASCII") as unreadable:
                await embedder.embed(TEXTS, "passage")
    assert server.keys == ["sk-former", KEY]
    assert "sk-" not in f"{denied.value}{unreadable.value}{logs}{caplog.text}"


@pytest.mark.parametrize(
    "wrong", ["openai+https://", "openai+ftp://a/v1", "openai+https://a:b@c/v1", "openai+http://a/v1?k=1"]
)
async def test_other_addresses_are_refused(wrong: str) -> None:
    with pytest.raises(UsageError, match=r"openai\+https"):
        OpenAIEmbedder.of(TritonSettings(url=wrong), await served())


async def test_a_request_with_too_many_texts_is_divided() -> None:
    texts = [f"text {n}" for n in range(20)]
    async with opened(max_rows=6) as (_, embedder):
        vectors = await embedder.embed(texts, "passage")
    assert np.allclose(vectors, await MemoryEmbedder().embed(texts, "passage"), atol=1e-7)


async def test_a_text_that_is_too_long_loses_its_beginning_and_keeps_the_words_before_it() -> None:
    long = f"{'context ' * 100}\nthe statement"
    async with opened(model={"query_prefix": "query: ", "max_tokens": 100}, max_chars=110) as (server, embedder):
        await embedder.embed(["short", long], "query")
    sent = [text for request in server.requests for text in request["input"] if text.endswith("the statement")]
    assert all(text.startswith("query: ") for text in sent)
    assert [len(text) <= 110 for text in sent] == [False, False, True]


async def test_a_server_that_takes_nothing_is_away_and_one_that_refuses_a_text_makes_it_poison() -> None:
    async with opened(max_chars=0) as (server, embedder):
        with pytest.raises(StoreUnavailable, match="400"):
            await embedder.embed(TEXTS, "passage")
        server.max_chars = max(map(len, PROBES))
        with pytest.raises(PoisonError, match="does not take a text of 60 characters"):
            await embedder.embed(["short", "w" * 60], "passage")


@pytest.fixture
async def repository(tmp_path: Path) -> AsyncIterator[tuple[EmbeddingServer, Settings]]:
    """A server, and the settings of its description as the script writes it."""
    local = Settings().models_path / LOCAL_REPOSITORY
    (tmp_path / LOCAL_REPOSITORY).mkdir()
    (tmp_path / LOCAL_REPOSITORY / "statement_chain").symlink_to(local / "statement_chain")
    async with embedding_server(max_rows=40) as server:
        await describe(server, tmp_path, "--query-prefix", 'find "this":\n')
        triton = TritonSettings(url=f"openai+{server.url}", model=NAME, timeout_seconds=20)
        yield server, Settings(model_repository=tmp_path, triton=triton)


async def describe(server: EmbeddingServer, folder: Path, *more: str, status: int = 0) -> None:
    arguments = [server.url, "any", "--name", NAME, "--repository", str(folder), *more]
    assert await asyncio.to_thread(describe_server.main, arguments) == status


async def test_a_description_is_written_and_read(repository: tuple[EmbeddingServer, Settings]) -> None:
    server, settings = repository
    models = await open_models(settings)
    info = await models.embedder.info()
    assert (info.name, info.version, info.dimensions, info.normalized) == (NAME, "1", 64, True)
    assert info.cosine_unrelated < info.cosine_related
    await models.embedder.embed(["words"], "query")
    assert 'find "this":\nwords' in server.requests[-1]["input"]
    assert (await models.chains.links(["A dog came.", "It barked."]))[1].antecedents == (0,)
    await models.close()
    config = read_config(settings.models_path / LOCAL_REPOSITORY / NAME)
    assert parameters_of(config)["batch_size"] == "32"


async def test_the_doctor_asks_the_server(repository: tuple[EmbeddingServer, Settings]) -> None:
    server, settings = repository
    for look, count in ((check_triton, 1), (check_answer, 0)):
        assert len(await asyncio.to_thread(list, look(settings))) == count
    info = await asyncio.to_thread(embedding_model, settings)
    assert info
    assert info.name == NAME
    server.always = "other"
    for look in (check_triton, check_answer):
        (finding,) = await asyncio.to_thread(list, look(settings))
        assert "the probe has another vector" in finding.says


@pytest.mark.parametrize(("way", "base64"), [("right", False), ("long", True)])
async def test_other_forms_of_vectors_are_described(tmp_path: Path, way: Way, base64: bool) -> None:
    async with embedding_server(always=way, base64=base64) as server:
        await describe(server, tmp_path)
    parameters = parameters_of(read_config(tmp_path / LOCAL_REPOSITORY / NAME))
    assert parameters["encoding_format"] == ("base64" if base64 else "float")
    assert parameters["normalized"] == ("false" if way == "long" else "true")


@pytest.mark.parametrize("way", ["nonsense", "down", "denied", "missing", "nan", "redirect", "huge"])
async def test_a_server_with_a_fault_is_not_described(tmp_path: Path, way: Way) -> None:
    async with embedding_server(always=way) as server:
        await describe(server, tmp_path, status=1)
    assert not await asyncio.to_thread(lambda: list(tmp_path.iterdir()))


async def test_descriptions_and_addresses_belong_together(repository: tuple[EmbeddingServer, Settings]) -> None:
    _, settings = repository
    here = settings.triton.model_copy(update={"url": "inprocess:"})
    with pytest.raises(UsageError, match=r"openai\+https"):
        await open_models(settings.model_copy(update={"triton": here}))
    theirs = settings.triton.model_copy(update={"model": "e5"})
    with pytest.raises(UsageError, match=r"describe_server\.py"):
        await open_models(Settings(triton=theirs))


def test_a_client_certificate_does_not_go_with_an_api_key(tmp_path: Path) -> None:
    wrong = TritonSettings(url="openai+https://a/v1", cert_file=tmp_path / "c", key_file=tmp_path / "k")
    with pytest.raises(ValueError, match=r"no triton\.cert_file"):
        Settings(triton=wrong)


@pytest.mark.parametrize("model", ["e5", "sbert"])
def test_changed_prefixes_are_another_version(tmp_path: Path, model: str) -> None:
    folder = Settings().models_path / LOCAL_REPOSITORY / model
    own = parameters_of(read_config(folder))
    assert model_info(own, "here").version == own["model_version"]
    config = tmp_path / "config.pbtxt"
    config.write_text(set_parameters((folder / "config.pbtxt").read_text(), {"passage_prefix": "text: "}))
    changed = model_info(parameters_of(read_config(tmp_path)), "here").version
    assert changed.startswith(f"{own['model_version']}-")
    own.pop("prefixes_digest")
    assert model_info({**own, "passage_prefix": "text: "}, "a former one").version == own["model_version"]
