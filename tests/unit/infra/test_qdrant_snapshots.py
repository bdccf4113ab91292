"""The nightly snapshots of Qdrant: which of them are deleted, and the whole script against a small server."""

import importlib.util
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[3] / "infra" / "k8s" / "base" / "qdrant" / "snapshots.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("snapshots", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Qdrant(BaseHTTPRequestHandler):
    """The four routes that the script uses, with two collections and their snapshots in memory."""

    snapshots: dict[str, list[dict[str, Any]]]
    keys: list[str | None]

    def do_GET(self) -> None:
        self.keys.append(self.headers.get("api-key"))
        if self.path == "/collections":
            self.answer({"collections": [{"name": name} for name in self.snapshots]})
        else:
            self.answer(self.snapshots[self.path.split("/")[2]])

    def do_POST(self) -> None:
        made = self.snapshots[self.path.split("/")[2]]
        made.append({"name": f"s{len(made)}", "creation_time": f"2026-01-{len(made) + 1:02}T00:00:00", "size": 1})
        self.answer(made[-1])

    def do_DELETE(self) -> None:
        _, _, collection, _, name = self.path.split("/")
        self.snapshots[collection] = [s for s in self.snapshots[collection] if s["name"] != name]
        self.answer(True)

    def answer(self, result: Any) -> None:
        body = json.dumps({"result": result}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        """Nothing is logged."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Qdrant]]:
    handler = type("Handler", (Qdrant,), {"snapshots": {"statements": [], "other": []}, "keys": []})
    listening = HTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=listening.serve_forever)
    thread.start()
    monkeypatch.setenv("QDRANT_URL", f"http://127.0.0.1:{listening.server_port}")
    monkeypatch.setenv("QDRANT_NODES", "1")
    monkeypatch.setenv("QDRANT_API_KEY", "secret")
    yield handler
    listening.shutdown()
    thread.join()
    listening.server_close()


def test_the_last_snapshots_are_kept(script: ModuleType, server: type[Qdrant], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEP", "2")
    assert [script.main() for _ in range(4)] == [0, 0, 0, 0]
    assert [len(snapshots) for snapshots in server.snapshots.values()] == [2, 2]
    newest = server.snapshots["statements"][-1]["creation_time"]
    assert newest == max(snapshot["creation_time"] for snapshot in server.snapshots["statements"])
    assert set(server.keys) == {"secret"}


def test_a_node_that_is_away_fails_the_job_after_the_others_were_asked(
    script: ModuleType, server: type[Qdrant], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    port = script.os.environ["QDRANT_URL"].rsplit(":", 1)[1]
    # Node 0 is a port that nothing listens on, node 1 the server.
    monkeypatch.setenv("QDRANT_URL", "http://127.0.0.1:{node}" + port[1:])
    monkeypatch.setenv("QDRANT_NODES", str(int(port[0]) + 1))
    assert script.main() == 1
    assert len(server.snapshots["statements"]) == 1
    assert "node 0" in capsys.readouterr().err


@pytest.mark.parametrize(("keep", "deleted"), [(3, []), (2, ["a"]), (0, ["c", "b", "a"])])
def test_the_oldest_are_deleted(script: ModuleType, keep: int, deleted: list[str]) -> None:
    made = [{"name": name, "creation_time": f"2026-01-0{day}T00:00:00"} for name, day in (("b", 2), ("a", 1), ("c", 3))]
    assert script.outdated(made, keep) == deleted
