"""The models: one suite over the fake, the files in this process, a server of OpenAI's API, and the real Triton."""

import asyncio
from collections.abc import AsyncIterator

import numpy as np
import pytest
import pytest_asyncio

from streams.errors import DeadlineExceeded, StoreUnavailable, UsageError
from streams.local.ports import free_ports
from streams.models.memory import MemoryChains, MemoryEmbedder, MemoryReranker
from streams.models.openai_answers import PROBES, ServedModel
from streams.models.openai_embedder import OpenAIEmbedder
from streams.models.opening import open_models
from streams.models.protocols import Models
from streams.settings import Settings, TritonSettings
from tests.embedding_server import embedding_server
from tests.integration.contracts.proxy import Proxy

TEXTS = ("A dog barked.", "Write-ahead logging lets readers go on.", "", "数据库", "\ud800", "word " * 4_000)
ROUNDING = 1e-6
"""Maximum difference of one number between two vectors of a text."""


async def _nothing() -> None: ...


@pytest_asyncio.fixture(
    scope="session",
    params=["memory", "inprocess", "openai", pytest.param("triton", marks=pytest.mark.integration("triton"))],
)
async def models(request: pytest.FixtureRequest) -> AsyncIterator[Models]:
    if request.param == "memory":
        yield Models(MemoryEmbedder(), MemoryChains(), MemoryReranker(), _nothing)
        return
    if request.param == "openai":
        info, probes = await MemoryEmbedder().info(), await MemoryEmbedder().embed(PROBES, "passage")
        async with embedding_server() as server:
            embedder = OpenAIEmbedder(server.url, ServedModel(info, "any", probes))
            yield Models(embedder, MemoryChains(), MemoryReranker(), embedder.close)
            await embedder.close()
        return
    settings = Settings(triton=TritonSettings(url="inprocess:"))
    if request.param == "triton":
        settings = request.getfixturevalue("stack")
    try:
        opened = await open_models(settings)
    except UsageError as missing:
        pytest.skip(str(missing))
    yield opened
    await opened.close()


async def test_info_describes_the_vectors(models: Models) -> None:
    info = await models.embedder.info()
    vectors = await models.embedder.embed(TEXTS, "passage")
    assert vectors.shape == (len(TEXTS), info.dimensions)
    assert vectors.dtype == np.float32
    assert info.name
    assert info.version
    assert not info.normalized or np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)


async def test_no_texts_have_no_vectors(models: Models) -> None:
    assert (await models.embedder.embed([], "passage")).shape == (0, (await models.embedder.info()).dimensions)


async def test_vectors_are_in_the_order_of_the_texts_and_repeatable(models: Models) -> None:
    """More than one batch, of many lengths: each text has the same vector as by itself (without VNNI: up to 2e-7)."""
    texts = [f"{'more ' * (n % 7)}text number {n}" for n in range(70)]
    together = await models.embedder.embed(texts, "passage")
    for index in (0, 13, 69):
        alone = (await models.embedder.embed([texts[index]], "passage"))[0]
        assert np.abs(together[index] - alone).max() < ROUNDING


async def test_like_texts_are_nearer(models: Models) -> None:
    dog, dogs, journal = await models.embedder.embed(
        ["The dog barked at the cat.", "The dog barked at a cat once.", "Journal files are deleted at commit."],
        "passage",
    )
    assert dog @ dogs > dog @ journal


async def test_calls_at_the_same_time_don_t_mix(models: Models) -> None:
    texts = [f"text {n}" for n in range(12)]
    alone = await models.embedder.embed(texts, "passage")
    at_once = await asyncio.gather(*(models.embedder.embed([text], "passage", deadline_seconds=30) for text in texts))
    assert (np.concatenate(at_once) == alone).all()


@pytest.mark.parametrize(
    ("sentences", "expected"),
    [([], []), (["A dog came."], [-1]), (["A dog came.", "It barked.", "", "It slept."], [-1, 0, -1, -1])],
)
async def test_antecedents_are_earlier_and_never_beyond_a_break(
    models: Models, sentences: list[str], expected: list[int]
) -> None:
    links = await models.chains.links(sentences)
    assert [link.antecedents[0] if link.antecedents else -1 for link in links] == expected
    assert all(
        0 <= at < index for index, link in enumerate(links) for at in (*link.antecedents, link.followed) if at >= 0
    )
    assert all(0 <= link.need <= 1 and 0 <= link.leaf <= 1 for link in links)


async def test_a_server_that_is_not_there_is_named() -> None:
    url = f"127.0.0.1:{free_ports(1)[0]}"
    with pytest.raises(StoreUnavailable, match=f"{url}.*RIFFLE_TRITON__URL"):
        await open_models(Settings(triton=TritonSettings(url=url, timeout_seconds=2)))


async def test_a_server_that_says_nothing_is_too_late() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    url = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    with pytest.raises((DeadlineExceeded, StoreUnavailable), match=url):
        await open_models(Settings(triton=TritonSettings(url=url, timeout_seconds=0.5)))
    server.close()


@pytest.mark.integration("triton")
async def test_a_server_that_comes_back_answers_again(stack: Settings) -> None:
    """Cut off it is unavailable, silent it is too late, and afterwards all is as before."""
    async with Proxy(int(stack.triton.url.rpartition(":")[2])) as proxy:
        settings = TritonSettings(url=f"127.0.0.1:{proxy.port}", timeout_seconds=20)
        models = await open_models(Settings(triton=settings))
        expected = await models.embedder.embed(["A dog barked."], "passage")
        await proxy.cut()
        with pytest.raises((StoreUnavailable, DeadlineExceeded), match=settings.url):
            await models.embedder.embed(["A dog barked."], "passage", deadline_seconds=1)
        await proxy.restore()
        assert (await models.embedder.embed(["A dog barked."], "passage") == expected).all()
        proxy.hush()
        with pytest.raises(DeadlineExceeded, match=r"no answer in 0\.5 s"):
            await models.embedder.embed(["A dog barked."], "passage", deadline_seconds=0.5)
        await models.close()


@pytest.mark.integration("triton")
async def test_a_query_is_answered_while_statements_wait(stack: Settings) -> None:
    """Far more statements than the bulk instances embed in the time of a query."""
    models = await open_models(stack)
    assert await models.embedder.info("query") == await models.embedder.info()
    statements = asyncio.create_task(models.embedder.embed([f"statement {n} " * 40 for n in range(400)], "passage"))
    await asyncio.sleep(0.5)
    query = await models.embedder.embed(["A dog barked."], "query", deadline_seconds=30)
    assert not statements.done(), "the statements were embedded before the query: nothing was tested"
    await statements
    assert (query == await models.embedder.embed(["A dog barked."], "query")).all()
    await models.close()


@pytest.mark.integration("triton")
async def test_a_server_without_the_query_model_embeds_queries_by_the_other_one(stack: Settings) -> None:
    models = await open_models(Settings(triton=stack.triton.model_copy(update={"query_model": "no_such_model"})))
    query = await models.embedder.embed(["A dog barked."], "query")
    await models.close()
    whole = await open_models(stack)
    assert (query == await whole.embedder.embed(["A dog barked."], "query")).all()
    await whole.close()


@pytest.mark.integration("triton")
async def test_queries_have_a_server_of_their_own(stack: Settings) -> None:
    """The server for statements is away: a gateway only needs the other server."""
    away = TritonSettings(url=f"127.0.0.1:{free_ports(1)[0]}", query_url=stack.triton.url, timeout_seconds=5)
    models = await open_models(Settings(triton=away))
    assert (await models.embedder.embed(["A dog barked."], "query")).shape[0] == 1
    with pytest.raises(StoreUnavailable):
        await models.embedder.embed(["A dog barked."], "passage")
    await models.close()


@pytest.mark.integration("triton")
async def test_a_model_of_the_servers_repository_is_opened_by_its_description(stack: Settings) -> None:
    models = await open_models(stack)
    own = await models.embedder.info()
    found = await models.other_models.find(lambda info: info.model == own.model)
    assert found
    vectors = await found.embed(["A dog barked."], "query")
    assert (vectors == await models.embedder.embed(["A dog barked."], "query")).all()
    assert await models.other_models.find(lambda info: info.name == "no such model") is None
    await models.close()
