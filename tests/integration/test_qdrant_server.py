"""The local Qdrant server as its clients see it: what it keeps when it is killed, and what it refuses."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import httpx2
import pytest

from tests.integration.qdrant_process import QdrantProcess

NAMES = UUID("b1a0c2d4-6b0e-4a54-9a39-0b0c6f2f7a55")
CREATE = {
    "vectors": {"dense": {"size": 2, "distance": "Dot"}},
    "sparse_vectors": {"sparse": {"modifier": "idf"}},
    "quantization_config": {"scalar": {"type": "int8", "quantile": 0.99, "always_ram": True}},
    "shard_number": 64,
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QdrantProcess]:
    process = QdrantProcess(tmp_path_factory.mktemp("server") / "data")
    process.start()
    yield process
    process.stop()


@pytest.fixture
def client(server: QdrantProcess) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=server.url, timeout=30) as client:
        yield client
        for collection in ok(client.get("/collections"))["collections"]:
            ok(client.delete(f"/collections/{collection['name']}"))


def ok(response: httpx2.Response) -> Any:
    assert response.status_code == 200, response.text
    assert response.json()["status"] == "ok"
    return response.json()["result"]


def point(number: int, group: str = "g", x: float = 1.0) -> dict[str, Any]:
    vector = {"dense": [x, 0.0], "sparse": {"indices": [1], "values": [x]}}
    return {"id": str(uuid5(NAMES, str(number))), "vector": vector, "payload": {"group": group, "n": number}}


def fill(client: httpx2.Client, *points: dict[str, Any], name: str = "c") -> None:
    ok(client.put(f"/collections/{name}", json=CREATE))
    ok(client.put(f"/collections/{name}/points?wait=true", json={"points": points}))


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    """Points, removals, payload indexes and aliases; several times, so that a replayed log is killed too."""
    server = QdrantProcess(tmp_path / "data")
    for round_ in range(3):
        server.start()
        with httpx2.Client(base_url=server.url, timeout=30) as client:
            if round_ == 0:
                fill(client, point(-1))
                ok(
                    client.put(
                        "/collections/c/index?wait=true", json={"field_name": "group", "field_schema": "keyword"}
                    )
                )
                create = {"create_alias": {"collection_name": "c", "alias_name": "alias"}}
                ok(client.post("/collections/aliases", json={"actions": [create]}))
            points = [point(round_ * 1_000 + n, group=f"g{n % 10}") for n in range(500)]
            ok(client.put("/collections/alias/points?wait=true", json={"points": points}))
            doomed = {"filter": {"must": [{"key": "group", "match": {"value": "g3"}}]}}
            ok(client.post("/collections/c/points/delete?wait=true", json=doomed))
        server.kill()
    server.start()
    with httpx2.Client(base_url=server.url, timeout=30) as client:
        assert ok(client.post("/collections/alias/points/count", json={"exact": True}))["count"] == 1 + 3 * 450
        info = ok(client.get("/collections/c"))
        assert info["payload_schema"]["group"]["data_type"] == "keyword"
        assert info["config"]["params"]["shard_number"] == 64
        found = ok(client.post("/collections/alias/points/query", json={"query": [1.0, 0.0], "using": "dense"}))
        assert len(found["points"]) == 10
    server.stop()


def test_half_made_and_half_removed_collections_are_cleared_away(tmp_path: Path) -> None:
    for leftover in (".new-1", ".old-2"):
        (tmp_path / "data" / "collections" / leftover / "shard").mkdir(parents=True)
    server = QdrantProcess(tmp_path / "data")
    server.start()
    assert ok(httpx2.get(f"{server.url}/collections")) == {"collections": []}
    server.stop()
    assert list((tmp_path / "data" / "collections").iterdir()) == []


REFUSALS: list[tuple[str, str, Any, int, str]] = [
    ("GET", "/collections/none", None, 404, "Collection `none` doesn't exist!"),
    ("POST", "/collections/none/points/query", {"query": [1, 0]}, 404, "doesn't exist"),
    ("PUT", "/collections/c", CREATE, 409, "Collection `c` already exists!"),
    ("PUT", "/collections/a%2Fb", CREATE, 404, "has no PUT"),
    ("PUT", "/collections/a|b", CREATE, 400, "can't be a collection's name"),
    ("PUT", "/collections/d", {"vectors": {"dense": {"size": 2, "distance": "Far"}}}, 400, "distance"),
    ("PUT", "/collections/d", {"vectors": {"dense": {"size": 0, "distance": "Dot"}}}, 400, "size"),
    ("POST", "/collections/c/points/query", {"query": [1.0], "using": "dense"}, 400, "expected dim: 2, got 1"),
    ("POST", "/collections/c/points/query", {"query": [1.0, 0.0], "using": "x"}, 400, "vector name"),
    ("POST", "/collections/c/points/query", {"query": {"recommend": {}}}, 400, "recommend"),
    ("POST", "/collections/c/points/query", {"query": {"fusion": "rrf"}}, 400, "fusion"),
    ("POST", "/collections/c/points/query", {"limit": 0}, 400, "limit"),
    ("POST", "/collections/c/points/count", {"filter": {"must": [{"key": "n"}]}}, 400, "field condition"),
    ("POST", "/collections/c/points/count", {"filter": {"msut": []}}, 400, "msut"),
    ("POST", "/collections/c/points/count", {"filter": {"must": [{"key": "n", "match": {"x": 1}}]}}, 400, "match"),
    ("POST", "/collections/c/points/count", {"filter": {"must": ["n"]}}, 400, "condition"),
    ("POST", "/collections/c/points/delete", {}, 400, "filter"),
    ("PUT", "/collections/c/points", {"points": [{"id": "not-a-uuid", "vector": {}}]}, 400, "UUID"),
    ("PUT", "/collections/c/points", {"points": [{"vector": {}}]}, 400, "id"),
    ("PUT", "/collections/c/points", {"points": [{"id": 2, "vector": {"dense": ["1", 2]}}]}, 400, "real number"),
    ("PUT", "/collections/c/points", {"points": [{"id": 2, "vector": {"dense": [[1, 2]]}}]}, 400, "multi vectors"),
    ("PUT", "/collections/c/index", {"field_name": "n", "field_schema": "colour"}, 400, "colour"),
    ("POST", "/collections/aliases", {"actions": [{"create_alias": {}}]}, 400, "alias action"),
    ("POST", "/collections/c/points/nothing", {}, 404, "has no POST"),
    ("PATCH", "/collections/c", {}, 404, "has no PATCH"),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "message"), REFUSALS)
def test_refusals(client: httpx2.Client, method: str, path: str, body: Any, status: int, message: str) -> None:
    fill(client, point(1))
    response = client.request(method, path, json=body)
    assert (response.status_code, set(response.json())) == (status, {"status", "time"}), response.text
    assert message in response.json()["status"]["error"]
    assert ok(client.post("/collections/c/points/count", json={}))["count"] == 1, "and nothing changed"


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"Host": "rebound.example:6333"}, id="a name that resolves to loopback"),
        pytest.param({"Origin": "https://page.example", "Content-Type": "text/plain"}, id="a page's form"),
        pytest.param({"Origin": "null"}, id="a page in a frame without an origin"),
        pytest.param({"Host": "127.0.0.1.example"}, id="a name that begins like an address"),
        pytest.param({"Host": "[::1"}, id="no address"),
    ],
)
def test_pages_of_the_web_neither_read_nor_delete(client: httpx2.Client, headers: dict[str, str]) -> None:
    fill(client, point(1))
    delete = {"filter": {"must": [{"key": "n", "match": {"value": 1}}]}}
    refused = client.post("/collections/c/points/delete?wait=true", json=delete, headers=headers)
    assert refused.status_code == 403
    assert client.get("/collections", headers=headers).status_code == 403
    assert ok(client.post("/collections/c/points/count", json={}))["count"] == 1


def test_a_name_that_is_no_folder_is_refused(client: httpx2.Client) -> None:
    assert client.put("/collections/" + "é" * 200, json=CREATE).status_code == 400


@pytest.mark.parametrize("origin", ["http://localhost:8080", "http://127.0.0.1:1", "http://[::1]:8080"])
def test_programs_of_this_machine_are_answered(client: httpx2.Client, origin: str) -> None:
    assert client.get("/collections", headers={"Origin": origin}).status_code == 200


def test_a_body_that_is_not_json_is_refused(client: httpx2.Client) -> None:
    response = client.put("/collections/c", content=b"{nope")
    assert response.status_code == 400
    assert "Format error in JSON body" in response.json()["status"]["error"]


def test_alias_actions_are_all_or_nothing(client: httpx2.Client) -> None:
    fill(client, point(1))
    actions = [{"create_alias": {"collection_name": name, "alias_name": "alias"}} for name in ("c", "none")]
    assert client.post("/collections/aliases", json={"actions": actions}).status_code == 404
    assert ok(client.get("/aliases")) == {"aliases": []}
    ok(client.post("/collections/aliases", json={"actions": actions[:1]}))
    assert ok(client.get("/collections/alias/exists")) == {"exists": True}
    assert ok(client.get("/aliases")) == {"aliases": [{"alias_name": "alias", "collection_name": "c"}]}
    ok(client.delete("/collections/c"))
    assert ok(client.get("/aliases")) == {"aliases": []}, "aliases go with their collection"
    assert ok(client.delete("/collections/c")) is False


def test_scroll_goes_through_all_points(client: httpx2.Client) -> None:
    fill(client, *(point(n) for n in range(25)))
    seen, offset = [], None
    while True:
        page = ok(client.post("/collections/c/points/scroll", json={"limit": 10, "offset": offset}))
        seen += [one["payload"]["n"] for one in page["points"]]
        if (offset := page["next_page_offset"]) is None:
            break
    assert sorted(seen) == list(range(25))


def test_health_and_version(client: httpx2.Client) -> None:
    assert client.get("/readyz").status_code == client.get("/healthz").status_code == 200
    assert client.get("/").json()["version"].startswith("1.")
