"""Requests to Qdrant: the consistency of writes to replicas, and connections that are kept."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from streams.errors import DeadlineExceeded, StoreUnavailable
from streams.models.protocols import ModelInfo
from streams.settings import QdrantSettings
from streams.stores.protocols import Point, SparseVector
from streams.stores.qdrant import connections
from streams.stores.qdrant.index import QdrantIndex
from streams.stores.statement_payload import StatementPayload
from streams.tracing import traced

PAYLOAD = StatementPayload.of_row({"page_id": str(UUID(int=2)), "generation": 1})
POINT = Point(UUID(int=1), [1.0, 0.0], SparseVector((1,), (1.0,)), PAYLOAD)


class Recorder:
    """A server that answers every request like a Qdrant with one collection, and records the requests."""

    def __init__(self, write_consistency: int) -> None:
        self.connections = 0
        self.requests: list[tuple[str, Any]] = []
        self.authorizations: list[str] = []
        self._write_consistency = write_consistency

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        # The client closes the connection when it is done.
        with closing(writer), suppress(asyncio.IncompleteReadError, ConnectionError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                line, *lines = head.decode().lower().split("\r\n")
                sizes = [int(one.partition(":")[2]) for one in lines if one.startswith("content-length:")]
                self.authorizations += [one for one in lines if one.startswith(("authorization:", "api-key:"))]
                body = await reader.readexactly(sizes[0]) if sizes else b""
                self.requests.append((line, json.loads(body) if body else None))
                answer = json.dumps({"result": self._result(line), "status": "ok", "time": 0.0}).encode()
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n")
                writer.write(f"content-length: {len(answer)}\r\n\r\n".encode())
                await asyncio.sleep(0.005)  # as Qdrant, which sends an answer in two writes
                writer.write(answer)
                await writer.drain()

    def _result(self, line: str) -> Any:
        if "/exists" in line:
            return {"exists": "/made/" in line}
        if "/aliases" in line:
            return True if line.startswith("post") else {"aliases": []}
        if line.startswith("get /collections/"):
            return self._collection()
        if line.startswith(("put /collections/statements-m-1 ", "put /collections/statements-m-1?", "patch")):
            return True
        return {"operation_id": 0, "status": "completed"}

    def _collection(self) -> Any:
        params = {
            "vectors": {"dense": {"size": 2, "distance": "Cosine"}},
            "sparse_vectors": {"sparse": {}, "private": {}},
            "write_consistency_factor": self._write_consistency,
        }
        hnsw = {"m": 16, "ef_construct": 100, "full_scan_threshold": 10_000}
        optimizer = {"deleted_threshold": 0.2, "vacuum_min_vector_number": 1_000, "default_segment_number": 0}
        config = {"params": params, "hnsw_config": hnsw, "optimizer_config": {**optimizer, "flush_interval_sec": 5}}
        return {
            "status": "green",
            "optimizer_status": "ok",
            "segments_count": 1,
            "payload_schema": {},
            "config": config,
        }

    def bodies(self, start: str) -> list[Any]:
        return [body for line, body in self.requests if line.startswith(start)]


@pytest.fixture(params=[1])
async def recorder(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Recorder, str]]:
    recorder = Recorder(request.param)
    server = await asyncio.start_server(recorder, "127.0.0.1")
    yield recorder, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()


@pytest.mark.parametrize(
    ("settings", "wanted", "why"),
    [
        ({}, 1, "one replica"),
        ({"replication": 2}, 2, "a majority of two is both"),
        ({"replication": 3}, 2, "a majority of three"),
    ],
)
async def test_a_collection_acknowledges_writes_on_a_majority_of_its_replicas(
    recorder: tuple[Recorder, str], settings: dict[str, Any], wanted: int, why: str
) -> None:
    server, url = recorder
    index = QdrantIndex(QdrantSettings(url=url, **settings), production=False)
    await index.ensure(ModelInfo("m", "1", 2))
    await index.close()
    created = server.bodies("put /collections/statements-m-1 ") + server.bodies("put /collections/statements-m-1?")
    assert [body["write_consistency_factor"] for body in created] == [wanted], why
    changed = [body["params"]["write_consistency_factor"] for body in server.bodies("patch")]
    assert changed == ([] if wanted == 1 else [wanted]), "an existing collection with another factor is changed"


async def test_writes_of_one_page_are_ordered_alike_on_all_replicas(recorder: tuple[Recorder, str]) -> None:
    server, url = recorder
    index = QdrantIndex(QdrantSettings(url=url), production=False)
    await index.upsert("c", [POINT])
    await index.remove_page("c", UUID(int=2))
    await index.close()
    writes = [line for line, _ in server.requests if "/points" in line]
    assert len(writes) == 2
    assert all("ordering=medium" in line and "wait=true" in line for line in writes), writes


async def test_requests_one_after_the_other_share_a_connection(recorder: tuple[Recorder, str]) -> None:
    # The client closes each connection to a server on this machine, unless it is told otherwise.
    server, url = recorder
    index = QdrantIndex(QdrantSettings(url=url), production=False)
    for number in range(3):
        await index.remove_page("c", UUID(int=number))
    await index.close()
    assert len(server.requests) == 3
    assert server.connections == 1


async def test_each_request_has_a_span_with_its_operation(recorder: tuple[Recorder, str]) -> None:
    _, url = recorder
    exporter = InMemorySpanExporter()
    with traced("test", "", processor=SimpleSpanProcessor(exporter)):
        index = QdrantIndex(QdrantSettings(url=url), production=False)
        await index.remove_page("c", UUID(int=1))
        await index.close()
    assert [span.name for span in exporter.get_finished_spans()] == ["POST points/delete c"]


async def test_each_request_has_the_api_key_that_its_file_has_then(
    recorder: tuple[Recorder, str], tmp_path: Path
) -> None:
    server, url = recorder
    (tmp_path / "key").write_text("first\n")
    index = QdrantIndex(QdrantSettings(url=url, api_key_file=tmp_path / "key"), production=False)
    await index.remove_page("c", UUID(int=1))
    (tmp_path / "key").write_text("second\n")
    await index.remove_page("c", UUID(int=2))
    await index.close()
    assert server.authorizations == ["api-key: first", "api-key: second"]


async def test_what_a_request_is_answered_with_is_acknowledged_at_once(
    recorder: tuple[Recorder, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Qdrant sends an answer in two writes, and without this the second one waits 40 ms on a connection that is kept.
    if connections.QUICKACK is None:
        pytest.skip("this system has no such option")
    _, url = recorder
    acknowledge, prompt = connections.acknowledge_promptly, []

    def recorded(connection: socket.socket) -> None:
        acknowledge(connection)
        assert connections.QUICKACK is not None
        prompt.append(connection.getsockopt(socket.IPPROTO_TCP, connections.QUICKACK))

    monkeypatch.setattr(connections, "acknowledge_promptly", recorded)
    index = QdrantIndex(QdrantSettings(url=url), production=False)
    for number in range(3):
        await index.remove_page("c", UUID(int=number))
    await index.close()
    assert len(prompt) >= 3, "once for each request, and not for a connection alone"
    assert set(prompt) == {1}


def test_a_connection_that_refuses_is_used_all_the_same() -> None:
    # Slower, not wrong: a request must not fail for it.
    class Refusing(socket.socket):
        asked = 0

        def setsockopt(self, *_: object) -> None:
            self.asked += 1
            raise OSError

    with Refusing() as connection:
        connections.acknowledge_promptly(connection)

        assert connection.asked == (connections.QUICKACK is not None)


@pytest.mark.parametrize(("kind", "made"), [("int8", "scalar"), ("binary", "binary"), ("none", "")])
async def test_a_new_collection_has_the_compressed_vectors_of_the_setting(
    recorder: tuple[Recorder, str], kind: Any, made: str
) -> None:
    server, url = recorder
    index = QdrantIndex(QdrantSettings(url=url, quantization=kind), production=False)
    await index.ensure(ModelInfo("m", "1", 2))
    await index.close()
    (created,) = server.bodies("put /collections/statements-m-1 ") + server.bodies("put /collections/statements-m-1?")
    assert list(created.get("quantization_config") or {}) == ([made] if made else [])


async def test_a_request_ends_after_its_time() -> None:
    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            await reader.read()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    index = QdrantIndex(QdrantSettings(url=url, timeout_seconds=0.2), production=False)
    async with asyncio.timeout(9):  # the default is longer
        with pytest.raises((StoreUnavailable, DeadlineExceeded)):
            await index.collections()
    await index.close()
    server.close()
