"""The cross-encoder: one suite over the model files in this process and the real Triton, with a tiny real model."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from tokenizers import Tokenizer

from streams.errors import DeadlineExceeded, StoreUnavailable, UsageError
from streams.local.child_process import Child, stop
from streams.local.servers.triton import Triton, why_not
from streams.models.inference.pairs import fitting_pairs
from streams.models.inprocess import InProcessReranker
from streams.models.protocols import Reranker
from streams.models.triton import TritonReranker
from streams.models.triton_connection import TritonConnection
from streams.settings import TritonSettings
from tests.tiny_cross_encoder import exported

READY_SECONDS = 60


@pytest_asyncio.fixture(
    scope="module", params=["inprocess", pytest.param("triton", marks=pytest.mark.integration("triton"))]
)
async def reranker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Reranker]:
    folder = tmp_path_factory.mktemp("rerank")
    repository = exported(folder)
    if request.param == "inprocess":
        here = InProcessReranker(repository / "rerank")
        yield here
        await here.close()
        return
    if reason := why_not():
        pytest.skip(reason)
    server = Triton(folder / "home" / "data" / "triton", repository, ["rerank"])
    server.data.mkdir(parents=True)
    server.log.parent.mkdir(parents=True)
    child = Child("triton", server.prepare(), server.log, server.port)
    try:
        async with asyncio.timeout(READY_SECONDS):
            while not await asyncio.to_thread(server.is_ready):
                await asyncio.sleep(0.2)
        connection = TritonConnection(TritonSettings(url=server.url))
        yield TritonReranker(connection, "rerank")
        with pytest.raises(StoreUnavailable, match="no_such_model"):
            await TritonReranker(connection, "no_such_model").scores("a", ["b"])
        await connection.close()
    finally:
        stop([child], 5.0)
        server.clean()


async def test_scores_are_in_the_order_of_the_texts(reranker: Reranker) -> None:
    texts = ["a river", "a log", "a shallow river with shallow water", "", "\ud800", "zzz " * 100 + "river"]
    assert list(await reranker.scores("a shallow river", texts)) == [2, 1, 4, 0, 0, 0]


async def test_fifty_texts_are_one_call(reranker: Reranker) -> None:
    texts = [f"{'river ' * (n % 7)}number {n}" for n in range(50)]
    assert list(await reranker.scores("river", texts)) == [n % 7 for n in range(50)]


async def test_no_texts_have_no_scores(reranker: Reranker) -> None:
    assert list(await reranker.scores("river", [])) == []


@pytest.mark.parametrize(
    ("query", "text", "cut"),
    [
        ("river", "log " * 3, ("river", "log " * 3)),
        ("river", "log " * 30, ("river", "log log log log")),
        ("river " * 30, "log " * 30, ("river river", "log log log")),
        ("", "log " * 30, ("", "log log log log log")),
    ],
    ids=["short enough", "the text is cut", "the query has at most half", "an empty query leaves all room"],
)
def test_a_pair_is_cut_before_it_is_encoded(query: str, text: str, cut: tuple[str, str], tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_file(str(exported(tmp_path) / "rerank" / "1" / "tokenizer.json"))
    tokenizer.no_truncation()
    assert fitting_pairs(tokenizer, query, [text], 8) == [cut]


async def test_an_answer_that_takes_too_long_is_given_up(reranker: Reranker) -> None:
    with pytest.raises(DeadlineExceeded):
        await reranker.scores("river " * 300, ["water " * 300] * 2_000, deadline_seconds=0.001)


async def test_a_model_without_its_files_is_named(tmp_path: Path) -> None:
    repository = exported(tmp_path)
    (repository / "rerank" / "1" / "model.onnx").unlink()
    with pytest.raises(UsageError, match=r"the model of tiny was found in none of path:model\.onnx"):
        await InProcessReranker(repository / "rerank").scores("a", ["b"])
