"""`riffle search` against a gateway's answers, served on loopback."""

import json
import os
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from typer.testing import CliRunner

from streams.cli import app
from streams.gateway.http.openapi import EXAMPLES, NO_QUERY


class Gateway:
    """Answers every search with what it was given, and remembers what was asked."""

    def __init__(self, home: Path) -> None:
        self.status, self.answer = 200, EXAMPLES["search"]
        self.asked: list[tuple[str, dict[str, list[str]]]] = []
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                url = urlsplit(self.path)
                gateway.asked.append((url.path, parse_qs(url.query)))
                self.send_response(gateway.status)
                self.end_headers()
                self.wfile.write(json.dumps(gateway.answer).encode())

            def log_message(self, *_: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RIFFLE_")}
        self.env = {**kept, "RIFFLE_HOME": str(home), "RIFFLE_GATEWAY__PORT": str(self.server.server_port)}

    def search(self, *arguments: str) -> Any:
        return CliRunner(env=self.env).invoke(app, ["search", *arguments])


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    gateway = Gateway(tmp_path)
    yield gateway
    gateway.server.shutdown()
    gateway.server.server_close()


def test_it_asks_what_was_given_and_shows_titles_addresses_and_statements(gateway: Gateway) -> None:
    shown = gateway.search("write-ahead", "log", "--limit", "3", "--host", "sqlite.org", "--language", "en")
    assert shown.exit_code == 0, shown.output
    ((path, asked),) = gateway.asked
    assert path == "/api/v1/search"
    assert asked == {"q": ["write-ahead log"], "per_page": ["3"], "host": ["sqlite.org"], "language": ["en"]}
    (result,) = EXAMPLES["search"]["results"]
    for text in (result["title"], result["url"], result["statements"][0]["text"]):
        assert text in shown.stdout
    assert "This answer is partial: The embedding model took too long; meaning" in " ".join(shown.stderr.split())
    assert "{" not in shown.stderr, "reasons are sentences"


def test_json_is_the_answer_and_nothing_else(gateway: Gateway) -> None:
    assert json.loads(gateway.search("x", "--json").stdout) == EXAMPLES["search"]


@pytest.mark.parametrize(
    ("hosts", "message"),
    [
        pytest.param(("a",), "1 similar page: https://a.test/", id="one"),
        pytest.param(("a", "b"), "2 similar pages: https://a.test/, https://b.test/", id="two"),
        pytest.param(
            "abcd", "4 or more similar pages: https://a.test/, https://b.test/, https://c.test/, ...", id="more"
        ),
        pytest.param((), "similar", id="none"),
    ],
)
def test_similar_pages_of_a_result_are_counted(gateway: Gateway, hosts: Sequence[str], message: str) -> None:
    pages = [{"page_id": host, "url": f"https://{host}.test/"} for host in hosts]
    similar = {"count": len(pages), "more": len(pages) > 3, "pages": pages} if pages else None
    gateway.answer = {**EXAMPLES["search"], "results": [{**EXAMPLES["search"]["results"][0], "similar": similar}]}
    assert (message in " ".join(gateway.search("x").stdout.split())) is bool(pages)


SQUARE = {"kind": "sum", "asked": "15% of 80", "answer": "12", "note": ""}
QUOTED = {"text": "The default port is 5432.", "url": "https://pg.test/conf.html", "context": ["Settings", "port"]}


@pytest.mark.parametrize(
    ("changes", "first_lines"),
    [
        pytest.param({"quick": SQUARE}, ["15% of 80 = 12"], id="an answer by itself"),
        pytest.param({"quick": SQUARE, "results": []}, ["15% of 80 = 12"], id="then nothing is said of results"),
        pytest.param(
            {"beside": {"answer": {"answers": [QUOTED]}}},
            ["The default port is 5432.", "   https://pg.test/conf.html › Settings › port"],
            id="a quoted answer",
        ),
        pytest.param(
            {"spelling": {"kind": "instead", "original": "vaccum", "corrected": "vacuum"}},
            ["Showing results for vacuum instead of vaccum."],
            id="other words were searched",
        ),
        pytest.param(
            {"spelling": {"kind": "suggestion", "original": "vaccum", "corrected": "vacuum"}},
            ["Did you mean vacuum?"],
            id="a proposal",
        ),
    ],
)
def test_what_the_answer_says_beside_results_comes_first(
    changes: dict[str, Any], first_lines: list[str], gateway: Gateway
) -> None:
    gateway.answer = {**EXAMPLES["search"], "partial": False, **changes}
    shown = gateway.search("x").stdout
    assert shown.splitlines()[: len(first_lines)] == first_lines
    assert "Nothing was found" not in shown


def test_the_nearest_pages_are_no_part_of_an_answer_by_itself(gateway: Gateway) -> None:
    gateway.answer = {**EXAMPLES["search"], "partial": False, "quick": SQUARE, "nearest_only": True, "missing": ["80"]}
    assert gateway.search("x").stdout.split("\n") == ["15% of 80 = 12", "", ""]


def test_headings_stand_once_above_their_statements_and_code_keeps_its_indent(gateway: Gateway) -> None:
    (result,) = EXAMPLES["search"]["results"]
    (statement,) = result["statements"]
    texts = [("It begins.", "sentence"), ("if x:\n    y()", "code"), ("It ends.", "sentence")]
    statements = [{**statement, "text": text, "kind": kind, "context": ["A", "B"]} for text, kind in texts]
    gateway.answer = {**EXAMPLES["search"], "results": [{**result, "statements": statements, "similar": None}]}
    shown = gateway.search("x").stdout.splitlines()
    assert shown[2:] == ["   A › B", "   It begins.", "      if x:", "          y()", "   It ends.", ""]


def test_no_gateway_is_asked_in_a_folder_without_a_stack(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RIFFLE_")}
    shown = CliRunner(env={**kept, "RIFFLE_HOME": str(tmp_path)}).invoke(app, ["search", "x"])
    assert shown.exit_code == 3, shown.output
    assert f"no stack runs in {tmp_path}, and no gateway is named" in shown.stderr


def test_brackets_of_a_page_are_no_markup(gateway: Gateway) -> None:
    result = {**EXAMPLES["search"]["results"][0], "title": "a[red]b[/nonsense]"}
    gateway.answer = {**EXAMPLES["search"], "results": [result]}
    assert "a[red]b[/nonsense]" in gateway.search("x").stdout


@pytest.mark.parametrize(
    ("status", "answer", "exit_code", "message"),
    [
        pytest.param(
            200, {**EXAMPLES["search"], "results": [], "partial": False}, 1, "Nothing was found", id="nothing found"
        ),
        pytest.param(400, NO_QUERY.to_json("/api/v1/search"), 2, "No query was given", id="the gateway refuses it"),
        pytest.param(503, {"detail": "No index answers."}, 3, "No index answers", id="the gateway is down itself"),
        pytest.param(503, {"detail": "A.", "hint": "Do B."}, 3, "A. Do B.", id="what to do"),
    ],
)
def test_the_answer_of_the_gateway_decides_the_exit_status(
    gateway: Gateway, status: int, answer: dict[str, Any], exit_code: int, message: str
) -> None:
    gateway.status, gateway.answer = status, answer
    shown = gateway.search("x")
    assert shown.exit_code == exit_code, shown.output
    assert message in shown.output


def test_no_gateway_and_what_to_do(gateway: Gateway) -> None:
    gateway.server.shutdown()
    gateway.server.server_close()
    shown = gateway.search("x", "--json")
    assert (shown.exit_code, shown.stdout) == (3, "")
    assert "Start it with `riffle up` or `riffle gateway`" in shown.stderr


def test_an_answer_that_is_not_the_gateways(gateway: Gateway) -> None:
    gateway.answer = ["some", "other", "program"]  # type: ignore[assignment]  # no answer of a gateway
    assert gateway.search("x").exit_code == 3
