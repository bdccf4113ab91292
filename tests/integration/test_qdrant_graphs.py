"""Graphs of the local Qdrant: whatever is built, killed or restarted, answers are those of one exact shard."""

import math
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import numpy as np
import orjson
import pytest
import qdrant_edge as edge

from streams.local.qdrant_server import collection as collections
from streams.local.qdrant_server.collection import Builds, Collection
from streams.local.qdrant_server.errors import ApiError
from streams.local.qdrant_server.payloads import PLACES, TEXTS, StoredPayloads
from streams.local.qdrant_server.shard_process import ShardProcess
from tests.integration.qdrant_process import QdrantProcess

DIMENSIONS, TERMS, SEAL, OF_A_PAGE = 8, 40, 120, 10
DESCRIPTION = {
    "vectors": {"dense": {"size": DIMENSIONS, "distance": "Cosine"}},
    "sparse_vectors": {"words": {"modifier": "idf"}},
    "quantization_config": {"scalar": {"type": "int8", "quantile": 0.99, "always_ram": True}},
}
INDEXES = {"page": "integer", "generation": "integer", "group": "keyword"}
Point = dict[str, Any]


class Expected:
    """The points that there should be, searched by the definitions of cosine and IDF."""

    def __init__(self) -> None:
        self.points: dict[str, Point] = {}
        self._random = np.random.default_rng(7)

    def make(self, numbers: Iterator[int] | range, generation: int) -> list[Point]:
        """Make points, or newer ones in their place, with other vectors and other terms."""
        made: list[Point] = []
        for number in numbers:
            terms = sorted({int(term) for term in self._random.integers(0, TERMS, 6)})
            words = {"indices": terms, "values": [1.0 + term % 3 for term in terms]}
            payload = {"page": number // OF_A_PAGE, "generation": generation, "group": f"g{number % 7}"}
            vector = {"dense": self._random.standard_normal(DIMENSIONS).tolist(), "words": words}
            made.append({"id": str(UUID(int=number)), "vector": vector, "payload": payload})
        self.points.update((str(point["id"]), point) for point in made)
        return made

    def remove_page(self, page: int, below: int) -> dict[str, Any]:
        """Remove older points of a page. Return the filter that does so."""
        for id, point in list(self.points.items()):
            if point["payload"]["page"] == page and point["payload"]["generation"] < below:
                del self.points[id]
        return {
            "must": [{"key": "page", "match": {"value": page}}, {"key": "generation", "range": {"lt": below}}],
        }

    def by_meaning(self, query: list[float], group: str | None = None) -> list[float]:
        wanted = np.asarray(query) / np.linalg.norm(query)
        found = (point for point in self.points.values() if group in (None, point["payload"]["group"]))
        vectors = (np.asarray(point["vector"]["dense"]) for point in found)
        return sorted((float(vector @ wanted / np.linalg.norm(vector)) for vector in vectors), reverse=True)

    def by_words(self, terms: list[int]) -> list[float]:
        total, words = len(self.points), [point["vector"]["words"] for point in self.points.values()]
        having = {term: sum(term in one["indices"] for one in words) for term in terms}
        idf = {term: math.log((total - count + 0.5) / (count + 0.5) + 1) for term, count in having.items()}
        weights = (dict(zip(one["indices"], one["values"], strict=True)) for one in words)
        scores = (sum(idf[term] * of_point.get(term, 0.0) for term in terms) for of_point in weights)
        return sorted((score for score in scores if score), reverse=True)


def check(expected: Expected, query: Callable[[list[dict[str, Any]]], Any], count: Callable[[], int]) -> None:
    """Compare everything that a search can see with what it should see."""
    random = np.random.default_rng(3)
    params = {"hnsw_ef": 512, "quantization": {"rescore": True, "oversampling": 2.0}}
    in_group = {"must": [{"key": "group", "match": {"value": "g3"}}]}
    for _ in range(3):
        vector = random.standard_normal(DIMENSIONS).tolist()
        terms = sorted({int(term) for term in random.integers(0, TERMS, 4)})
        words = {"indices": terms, "values": [1.0] * len(terms)}
        answers = query(
            [
                {"query": vector, "using": "dense", "limit": 40, "params": params, "with_payload": True},
                {"query": vector, "using": "dense", "limit": 20, "params": params, "filter": in_group},
                {"query": words, "using": "words", "limit": 40, "with_payload": ["generation"]},
            ]
        )
        scores = [[point["score"] for point in points] for points in answers]
        assert scores[0] == pytest.approx(expected.by_meaning(vector)[:40], abs=1e-5)
        assert scores[1] == pytest.approx(expected.by_meaning(vector, "g3")[:20], abs=1e-5)
        assert scores[2] == pytest.approx(expected.by_words(terms)[:40], rel=1e-5)
        for point in orjson.loads(orjson.dumps([*answers[0], *answers[2]])):
            live = expected.points[point["id"]]["payload"]
            assert point["payload"] in (live, {"generation": live["generation"]}), "the newest form of the point"
    assert count() == len(expected.points)


class Opened:
    """A collection in a folder, with its expected points."""

    def __init__(self, folder: Path, seal_points: int = SEAL) -> None:
        self.folder, self._builds = folder, Builds(seal_points)
        self.expected = Expected()
        self.collection = Collection.create("c", folder, DESCRIPTION, self._builds)
        for field, schema in INDEXES.items():
            self.collection.create_index(field, schema)

    def write(self, numbers: range, generation: int) -> None:
        self.collection.upsert(orjson.dumps({"points": self.expected.make(numbers, generation)}))

    def remove_page(self, page: int, below: int) -> None:
        self.collection.delete_by_filter(self.expected.remove_page(page, below))

    def check(self) -> None:
        check(self.expected, self.collection.query, self.collection.count)

    def restart(self) -> None:
        """End all processes at once, as a kill does: nothing is flushed."""
        self.collection.close()
        self.collection = Collection.load(self.folder, self._builds)

    def builder(self) -> int:
        """Return the id of the process that builds, when there is one."""
        wait_for(lambda: self.collection._builder is not None and self.collection._builder.is_alive())
        return int(self.collection._builder.pid)

    def wait_built(self) -> None:
        wait_for(lambda: self.collection._build_thread is None and self.collection._sealed is None)


def wait_for(is_so: Callable[[], Any], seconds: float = 240) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    made = Opened(tmp_path / "c")
    yield made
    made.collection.close()


def test_points_are_overwritten_and_removed_while_a_graph_is_built(opened: Opened) -> None:
    """The build stands still while points of the sealed shard and of the run change, and are taken back again."""
    opened.write(range(SEAL), 1)
    opened.wait_built()
    assert len(opened.collection._runs) == 1
    opened.write(range(SEAL, 2 * SEAL), 1)
    os.kill(opened.builder(), signal.SIGSTOP)
    opened.write(range(20, 30), 2)  # of the run
    opened.write(range(SEAL + 20, SEAL + 30), 2)  # of the sealed shard
    opened.remove_page(2, below=2)
    opened.remove_page(5, below=2)
    opened.remove_page(SEAL // OF_A_PAGE + 3, below=2)
    opened.write(range(50, 55), 3)  # removed, and there again
    opened.collection.change_payload(
        {"must": [{"key": "page", "match": {"value": 7}}]}, lambda payload: {**payload, "group": "g3"}
    )
    for point in opened.expected.points.values():
        if point["payload"]["page"] == 7:
            point["payload"]["group"] = "g3"
    opened.check()
    os.kill(opened.builder(), signal.SIGCONT)
    opened.wait_built()
    opened.check()
    opened.restart()
    opened.check()


def test_a_restart_in_each_phase_loses_nothing(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    opened.write(range(SEAL - 20), 1)
    opened.restart()  # before anything is sealed
    opened.check()
    opened.write(range(SEAL - 20, SEAL), 1)
    os.kill(opened.builder(), signal.SIGSTOP)
    opened.write(range(10), 2)

    def fail(*_: Any) -> Any:
        raise OSError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(Collection, "_switch", fail)
        opened.restart()  # while a graph is built
        opened.check()
        wait_for(lambda: opened.collection._build_thread is None)
        assert list((opened.folder / "runs").iterdir())
        opened.write(range(10, 20), 2)
    opened.restart()  # when it is built, and not yet in use
    opened.check()
    opened.wait_built()
    opened.remove_page(3, below=2)
    opened.check()
    opened.restart()  # when it is in use
    assert list((opened.folder / "runs").iterdir()) == [opened.folder / run for run in opened.collection._runs]
    opened.check()


def test_two_builds_are_killed_and_answers_stay_exact(tmp_path: Path) -> None:
    """The whole server is killed while it builds, twice."""
    server, expected = QdrantProcess(tmp_path / "data", options=("--seal-points", str(SEAL))), Expected()
    folder = tmp_path / "data" / "collections" / "c"
    for round_ in range(3):
        server.start()
        with httpx2.Client(base_url=server.url, timeout=120) as client:

            def ask(path: str, body: Any, client: httpx2.Client = client) -> Any:
                response = client.request(
                    "PUT" if path in ("", "/points", "/index") else "POST", f"/collections/c{path}", json=body
                )
                assert response.status_code == 200, response.text
                return response.json()["result"]

            if round_ == 0:
                ask("", DESCRIPTION)
                for field, schema in INDEXES.items():
                    ask("/index", {"field_name": field, "field_schema": schema})
            first = round_ * SEAL
            ask("/points", {"points": expected.make(range(first, first + SEAL), round_)})
            ask("/points", {"points": expected.make(range(first, first + 15), round_ + 1)})
            ask("/points/delete", {"filter": expected.remove_page(first // OF_A_PAGE + 4, round_ + 1)})

            def query(requests: Any, ask: Any = ask) -> Any:
                return [one["points"] for one in ask("/points/query/batch", {"searches": requests})]

            def count(ask: Any = ask) -> Any:
                return ask("/points/count", {})["count"]

            check(expected, query, count)
            if round_ < 2:
                wait_for(lambda: list(folder.glob("runs/*.parts")))
                server.kill()
                continue
            wait_for(lambda: not list(folder.glob("runs/*.parts")) and len(list(folder.glob("log/*"))) == 1)
            check(expected, query, count)
    server.stop()


def test_a_run_without_files_of_payloads_answers_from_the_engine(opened: Opened) -> None:
    """A former Riffle wrote none. A build that takes in such a run has the payloads of the other points only."""
    opened.write(range(SEAL), 1)
    opened.wait_built()
    (run,) = (opened.folder / "runs").iterdir()
    for name in (TEXTS, PLACES):
        (run / name).unlink()
    opened.restart()
    opened.check()
    opened.write(range(SEAL, 2 * SEAL), 1)
    opened.remove_page(3, below=2)
    opened.wait_built()
    (merged,) = (opened.folder / "runs").iterdir()
    stored = StoredPayloads.open(merged)
    assert stored is not None
    assert len(list(stored.items())) == SEAL
    opened.check()


def test_a_point_is_read_by_its_id_only_while_it_is_there(opened: Opened) -> None:
    """The files of a run keep the payloads of removed points until the next build."""
    opened.write(range(SEAL), 1)
    opened.wait_built()
    opened.remove_page(2, below=2)
    ids = [str(UUID(int=number)) for number in range(4 * OF_A_PAGE)]
    found = orjson.loads(orjson.dumps(opened.collection.retrieve({"ids": ids})))
    assert {point["id"]: point["payload"] for point in found} == {
        id: opened.expected.points[id]["payload"] for id in ids if id in opened.expected.points
    }


def test_a_killed_build_is_begun_again(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collections, "_RETRY_SECONDS", 0.0)
    opened.write(range(SEAL), 1)
    os.kill(opened.builder(), signal.SIGKILL)
    opened.check()
    opened.wait_built()
    assert len(opened.collection._runs) == 1
    opened.check()


def test_the_death_of_a_shard_is_an_error_once(opened: Opened) -> None:
    opened.write(range(SEAL), 1)
    opened.wait_built()
    opened.remove_page(1, below=2)
    (run,) = opened.collection._runs.values()
    assert isinstance(run, ShardProcess)
    run.process.kill()
    run.process.join()
    with pytest.raises(ApiError, match="was opened again"):
        opened.collection.count()
    opened.check()


def test_a_folder_of_a_former_riffle_opens_as_it_is(tmp_path: Path) -> None:
    """Its only shard, with a log of the engine's own, is searched at once, and then becomes a run."""
    folder, expected = tmp_path / "c", Expected()
    points = expected.make(range(50), 1)
    folder.mkdir()
    (folder / "collection.json").write_bytes(orjson.dumps({"name": "c", "description": DESCRIPTION}))
    config = edge.EdgeConfig(
        vectors={"dense": edge.EdgeVectorParams(size=DIMENSIONS, distance=edge.Distance.Cosine)},
        sparse_vectors={"words": edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)},
        optimizers=edge.EdgeOptimizersConfig(indexing_threshold=0, default_segment_number=1),
        wal_enabled=True,
    )
    (folder / "shard").mkdir()
    former = edge.EdgeShard.create(str(folder / "shard"), config)
    for field, kind in (("page", "Integer"), ("generation", "Integer"), ("group", "Keyword")):
        former.update(edge.UpdateOperation.create_field_index(field, getattr(edge.PayloadSchemaType, kind)))
    for point in points:
        words = edge.SparseVector(point["vector"]["words"]["indices"], point["vector"]["words"]["values"])
        vector = {"dense": point["vector"]["dense"], "words": words}
        former.update(edge.UpdateOperation.upsert_points([edge.Point(point["id"], vector, point["payload"])]))
    former.close()
    collection = Collection.load(folder, Builds(SEAL))
    try:
        check(expected, collection.query, collection.count)
        assert set(collection.info()["payload_schema"]) == set(INDEXES)
        collection.delete_by_filter(expected.remove_page(2, below=2))
        collection.upsert(orjson.dumps({"points": expected.make(range(30, 60), 2)}))
        check(expected, collection.query, collection.count)
        wait_for(lambda: not (folder / "shard").exists())
        check(expected, collection.query, collection.count)
    finally:
        collection.close()


def test_a_graph_finds_almost_all_that_an_exact_search_finds(tmp_path: Path) -> None:
    """Vectors in clusters, which differ in few directions as vectors of statements do; more of them than the engine
    compares one by one."""
    size, dimensions, directions, limit = 8_000, 384, 32, 200
    random = np.random.default_rng(5)
    axes = random.standard_normal((directions, dimensions))
    centres = random.standard_normal((400, directions))

    def around(count: int) -> Any:
        within = centres[random.integers(len(centres), size=count)] + 0.7 * random.standard_normal((count, directions))
        vectors = within @ axes + 0.7 * random.standard_normal((count, dimensions))
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)

    description = {**DESCRIPTION, "vectors": {"dense": {"size": dimensions, "distance": "Cosine"}}}
    collection = Collection.create("c", tmp_path / "c", description, Builds(size))
    try:
        vectors = around(size)
        for first in range(0, size, 500):
            rows = enumerate(vectors[first : first + 500], first)
            points = [{"id": number, "vector": {"dense": row}, "payload": {}} for number, row in rows]
            collection.upsert(orjson.dumps({"points": points}, option=orjson.OPT_SERIALIZE_NUMPY))
        wait_for(lambda: collection._build_thread is None and collection._runs)
        assert collection.info()["indexed_vectors_count"] == size
        found = 0
        for query in around(20):
            nearest = set(np.argsort(-(vectors @ query))[:limit].tolist())
            params = {"hnsw_ef": 512, "quantization": {"rescore": True, "oversampling": 2.0}}
            request = {"query": query.tolist(), "using": "dense", "limit": limit, "params": params}
            found += len(nearest & {point["id"] for point in collection.query([request])[0]})
        assert found / (20 * limit) >= 0.99
    finally:
        collection.close()
