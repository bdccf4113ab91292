"""`riffle reindex --batch`: requests for a server's Batch API, and results that are compared with them."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from streams.commands.operate import reindex as reindex_module
from streams.commands.operate.reindex import _batch_files, _fill_and_switch, _print, _take_batch
from streams.errors import UsageError
from streams.maintenance.reindexing import Reindexer
from streams.models import batch_files
from streams.models.batch_files import BatchFiles
from streams.models.memory import MemoryEmbedder
from streams.models.openai_answers import PROBES, ServedModel
from streams.models.openai_embedder import OpenAIEmbedder
from streams.models.protocols import ModelInfo
from streams.stores.opener import Stores
from tests.embedding_server import EmbeddingServer, Way, embedding_server
from tests.stages.reindexing import PAGES, filled_stores, index_page

Rows = list[dict[str, Any]]
Change = Callable[[Rows], Rows]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits until the workers see a switch. Files are read in blocks that rows are longer than."""
    monkeypatch.setattr(reindex_module, "SEEN_SECONDS", 0.0)
    monkeypatch.setattr(batch_files, "BLOCK_BYTES", 1_000)


@pytest.fixture
async def server() -> AsyncIterator[EmbeddingServer]:
    async with embedding_server() as running:
        yield running


@pytest.fixture
async def embedder(server: EmbeddingServer) -> AsyncIterator[OpenAIEmbedder]:
    info = ModelInfo("served", "1", 64, passage_prefix="passage: ")
    model = ServedModel(info, "any", await MemoryEmbedder().embed(PROBES, "passage"), batch_size=8)
    made = OpenAIEmbedder(server.url, model)
    yield made
    await made.close()


@pytest.fixture
async def stores() -> Stores:
    return await filled_stores()


async def take(stores: Stores, embedder: OpenAIEmbedder, folder: Path) -> tuple[BatchFiles, dict[str, Any] | None]:
    """A run of the command up to the filling."""
    files = _batch_files(folder, embedder)
    return files, await _take_batch(files, Reindexer(stores, embedder))


def rows_of(path: Path) -> Rows:
    return [json.loads(line) for line in path.read_text().splitlines()]


async def answer(
    server: EmbeddingServer, requests: Path, results: Path, change: Change = list, way: Way = "right"
) -> None:
    """Do what the operator and the server do: write the result of each row of requests."""
    rows = []
    for request in await asyncio.to_thread(rows_of, requests):
        assert (request["method"], request["url"]) == ("POST", "/v1/embeddings")
        body = json.loads(await server._content(way, request["body"]["input"], in_base64=True))
        row = {"id": "batch_req_1", "custom_id": request["custom_id"], "error": None}
        rows.append({**row, "response": {"status_code": 200, "request_id": "r", "body": body}})
    content = "".join(json.dumps(row) + "\n" for row in change(rows))
    await asyncio.to_thread(results.write_text, content)


async def fill(stores: Stores, embedder: OpenAIEmbedder, files: BatchFiles) -> dict[str, Any]:
    collection = await stores.vectors.ensure(await embedder.info())
    reindexer = Reindexer(stores, files.before(embedder))
    assert await _fill_and_switch(stores, reindexer, collection, switch=True, as_json=True) == 0
    return {"searched": await stores.vectors.active()}


async def test_a_collection_is_filled_from_results_and_switched_to(
    stores: Stores,
    server: EmbeddingServer,
    embedder: OpenAIEmbedder,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, written = await take(stores, embedder, tmp_path)
    assert written == {"batch": {"texts": 3 * PAGES, "written": ["requests-0001.jsonl"]}}
    _print(written, as_json=False)
    assert "120 texts in requests-0001.jsonl. Give each file" in " ".join(capsys.readouterr().out.split())
    _, waiting = await take(stores, embedder, tmp_path)
    assert waiting == {"batch": {"texts": 0, "waiting": ["requests-0001.jsonl"]}}
    await answer(server, tmp_path / "requests-0001.jsonl", tmp_path / "output.jsonl", lambda rows: rows[::-1])
    files, unready = await take(stores, embedder, tmp_path)
    assert unready is None
    server.requests.clear()
    assert await fill(stores, embedder, files) == {"searched": "statements-served-1"}
    assert server.requests == [], "each vector was in the results, also those that the verification compares"


async def test_files_are_no_larger_than_the_api_takes(
    stores: Stores, server: EmbeddingServer, embedder: OpenAIEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_files, "MAX_INPUTS", 60)
    _, written = await take(stores, embedder, tmp_path)
    assert written
    assert len(written["batch"]["written"]) == 3
    for name in written["batch"]["written"]:
        rows = await asyncio.to_thread(rows_of, tmp_path / name)
        assert sum(len(row["body"]["input"]) for row in rows) <= 60
        assert max(len(row["custom_id"]) for row in rows) <= 64
    await answer(server, tmp_path / "requests-0002.jsonl", tmp_path / "output.jsonl")
    _, unready = await take(stores, embedder, tmp_path)
    assert unready == {"batch": {"texts": 48, "waiting": ["requests-0001.jsonl", "requests-0003.jsonl"]}}


def failed(rows: Rows) -> Rows:
    error = {"code": "batch_expired", "message": "..."}
    return [{**rows[0], "response": None, "error": error}, {**rows[1], "response": {"status_code": 500}}, *rows[2:]]


def exchanged(rows: Rows) -> Rows:
    """Two rows have each other's answer."""
    first, second, *others = rows
    return [{**first, "response": second["response"]}, {**second, "response": first["response"]}, *others]


@pytest.mark.parametrize(
    ("change", "way", "reasons"),
    [
        pytest.param(lambda rows: rows[2:], "right", ["no result"] * 2, id="missing"),
        pytest.param(failed, "right", ["status None", "status 500"], id="failed"),
        pytest.param(exchanged, "right", ["the probe has another vector"] * 2, id="exchanged"),
        pytest.param(list, "other", ["the probe has another vector"] * 15, id="of another model"),
        pytest.param(list, "short", ["63 dimensions"] * 15, id="of other dimensions"),
        pytest.param(list, "nan", ["not finite"] * 15, id="no numbers"),
        pytest.param(lambda rows: [*rows, {"custom_id": "x"}], "right", ["no request"], id="of no request"),
        pytest.param(lambda rows: [*rows, rows[0]], "right", [], id="twice"),
        pytest.param(lambda rows: [*failed(rows), *rows[:2]], "right", [], id="failed at first"),
    ],
)
async def test_rows_without_a_result_are_named_and_asked_for_directly(
    stores: Stores,
    server: EmbeddingServer,
    embedder: OpenAIEmbedder,
    tmp_path: Path,
    change: Change,
    way: Way,
    reasons: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    await take(stores, embedder, tmp_path)
    await answer(server, tmp_path / "requests-0001.jsonl", tmp_path / "output.jsonl", change, way)
    state = _batch_files(tmp_path, embedder).read()
    assert len(state.failed) == len(reasons)
    assert all(reason in failure for reason, failure in zip(reasons, state.failed, strict=True))
    files, unready = await take(stores, embedder, tmp_path)
    assert unready is None
    assert capsys.readouterr().err.count("Asked for directly") == min(len(reasons), 11)
    await index_page(stores, 3, generation=2, words="second")  # it came since
    server.requests.clear()
    await fill(stores, embedder, files)
    asked = {text for request in server.requests for text in request["input"]} - set(PROBES)
    directly = 0 if reasons == ["no request"] else len(reasons)
    assert 3 + 8 * directly - 3 <= len(asked) <= 3 + 8 * directly


async def test_an_interrupted_writing_begins_anew(
    stores: Stores, embedder: OpenAIEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_files, "MAX_INPUTS", 60)

    async def killed() -> AsyncIterator[list[str]]:
        async for texts in Reindexer(stores, embedder).texts():
            yield list(texts)
            if "2" in texts[0].split()[-1]:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await _batch_files(tmp_path, embedder).write(killed())
    files, written = await take(stores, embedder, tmp_path)
    assert written
    assert written["batch"]["texts"] == 3 * PAGES
    assert files.has_requests


async def test_damaged_and_foreign_files_are_recognized(
    stores: Stores, server: EmbeddingServer, embedder: OpenAIEmbedder, tmp_path: Path
) -> None:
    await take(stores, embedder, tmp_path)
    requests, results = tmp_path / "requests-0001.jsonl", tmp_path / "output.jsonl"
    await answer(server, requests, results)
    results.write_bytes(results.read_bytes()[:-40])
    (lost, unreadable) = sorted(_batch_files(tmp_path, embedder).read().failed, key=lambda line: "byte" in line)
    assert lost.endswith("no result")
    assert unreadable.startswith("output.jsonl, byte ")
    changed = tmp_path / "changed"
    changed.mkdir()
    text = requests.read_text()
    for other in (text.replace("first statement", "another statement", 1), "{}", '{"body": {"input": [3]}}', "x"):
        (changed / requests.name).write_text(other)
        with pytest.raises(UsageError, match="not a request of served 1"):
            _batch_files(changed, embedder).read()
    later = ServedModel(ModelInfo("served", "2", 64), "any", embedder.model.probes)
    shutil.copy(requests, changed)
    with pytest.raises(UsageError, match="not a request of served 2"):
        BatchFiles(changed, later, "/v1/embeddings").read()
    with pytest.raises(UsageError, match=r"openai\+https"):
        _batch_files(tmp_path, MemoryEmbedder())
