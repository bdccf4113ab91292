"""`make audit`: only packages that a source of advisories answered about count as checked, and versions grow old."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from docs.audit import (
    CLEAN,
    LOCKS,
    NOT_ASKED,
    OLD,
    ROOT,
    VULNERABLE,
    Answer,
    ask,
    ask_image,
    ask_others,
    read_answer,
    report,
)
from docs.versions import read_versions
from streams.local.servers.java import read_lock

KNOWN = {"name": "aiohttp", "version": "3.0", "vulns": []}
VULNERABILITY = {"id": "PYSEC-1", "fix_versions": ["3.1"], "aliases": [], "description": "It reads a file."}
BAD = {**KNOWN, "vulns": [VULNERABILITY]}
UNKNOWN = {"name": "faust", "skip_reason": "Dependency not found on PyPI and could not be audited: faust (1.0)"}
ANSWERS = {
    # packages as pip-audit describes them, the exit status, a part of the report
    "all were checked": ([KNOWN], CLEAN, "1 packages were checked, 0 vulnerabilities"),
    "a mirror without advisories": ([UNKNOWN, UNKNOWN], NOT_ASKED, "does not know 2 of 2 packages (faust, faust)"),
    "one package is unknown": ([KNOWN, UNKNOWN], NOT_ASKED, "does not know 1 of 2 packages (faust)"),
    "one is vulnerable": (
        [KNOWN, BAD],
        VULNERABLE,
        "VULNERABLE requirements/production.txt: aiohttp 3.0: PYSEC-1, mended in 3.1",
    ),
    "one is vulnerable and one unknown": ([BAD, UNKNOWN], VULNERABLE, "NOT CHECKED"),
}


@pytest.mark.parametrize(("packages", "status", "part"), ANSWERS.values(), ids=ANSWERS.keys())
def test_an_answer_is_reported(packages: list[dict[str, object]], status: int, part: str) -> None:
    lines, found = report([read_answer("production", {"dependencies": packages, "fixes": []})])
    assert found == status
    assert part in "\n".join(lines)


def test_a_source_that_is_not_reached_is_no_result(tmp_path: Path) -> None:
    program = tmp_path / "pip-audit"
    program.write_text(f"#!{sys.executable}\nimport sys\nsys.exit('ConnectionError: no address')\n")
    program.chmod(0o755)
    answer = ask(str(program), "production", "osv")
    assert answer == Answer("production", 0, error="ConnectionError: no address")
    assert report([answer])[1] == NOT_ASKED


def test_the_program_is_asked_about_the_lock_itself(tmp_path: Path) -> None:
    program = tmp_path / "pip-audit"
    program.write_text(
        f"#!{sys.executable}\nimport json, sys\n"
        "print(json.dumps({'dependencies': [{'name': ' '.join(sys.argv[1:]), 'version': '1', 'vulns': []}]}))\n"
    )
    program.chmod(0o755)
    assert ask(str(program), "triton", "pypi") == Answer("triton", 1)


def test_each_lock_of_what_a_user_runs_is_asked_about() -> None:
    assert all((ROOT / "requirements" / f"{lock}.txt").is_file() for lock in LOCKS)
    images = "".join(
        path.read_text() for path in (ROOT / "Dockerfile", *ROOT.glob("*/Dockerfile"), *ROOT.glob("infra/*/Dockerfile"))
    )
    installed = {lock for lock in ("production", "triton", "models", "map") if f"{lock}.txt" in images}
    assert installed == {"production", "triton", "models", "map"}
    assert installed <= set(LOCKS)


def test_json_of_the_program_is_what_is_read_here() -> None:
    assert read_answer("x", json.loads('{"dependencies": [], "fixes": []}')) == Answer("x", 0)


VERSIONS = read_versions()


@pytest.mark.parametrize(
    ("day", "status", "part"), [("2026-11-30", CLEAN, " 0 beyond"), ("2040-01-01", OLD, "OLD python-image 3.12")]
)
def test_a_version_beyond_its_support_fails_the_audit(day: str, status: int, part: str) -> None:
    command = [sys.executable, "-m", "docs.audit", "pip-audit", "--versions-only", "--date", day]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    assert part in done.stdout


class Source(BaseHTTPRequestHandler):
    """A source of advisories on loopback that speaks OSV's API: it knows one vulnerability of one jar."""

    asked: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        queries = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
        Source.asked += queries
        bad = "org.apache.kafka:kafka-clients"
        results = [{"vulns": [{"id": "GHSA-1"}]} if one["package"]["name"] == bad else {} for one in queries]
        content = json.dumps({"results": results if self.path == "/v1/querybatch" else []}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Write nothing."""


@pytest.fixture
def source() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Source)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_jars_modules_and_actions_are_asked_about(source: str) -> None:
    Source.asked.clear()
    answer = ask_others(VERSIONS, source)

    assert [line for line in answer.found if "kafka-clients" in line] == list(answer.found)
    assert report([answer])[1] == VULNERABLE
    ecosystems = {one["package"]["ecosystem"] for one in Source.asked}
    assert ecosystems >= {"Maven", "Go", "GitHub Actions"}
    jars = [one for server in ("kafka", "cassandra") for one in read_lock(server)]
    asked = {(one["package"]["name"], one["version"]) for one in Source.asked}
    assert {(":".join(jar.coordinate.split(":")[:2]), jar.coordinate.split(":")[2]) for jar in jars} <= asked


@pytest.mark.parametrize("path", ["/elsewhere", None])
def test_a_source_without_a_whole_answer_is_no_result(source: str, path: str | None) -> None:
    address = f"{source}{path}" if path else "http://127.0.0.1:9"
    answer = ask_others(VERSIONS, address)
    assert "gave no whole answer" in answer.error
    assert report([answer])[1] == NOT_ASKED


PACKAGE = {"package": {"name": "openssl", "version": "3.5.1-1", "ecosystem": "Debian:13"}}
SCANS = {
    # what the scanner prints, what is found, a part of the report, and the exit status
    "a vulnerability": (
        {"results": [{"packages": [PACKAGE, {**PACKAGE, "vulnerabilities": [{"id": "DEBIAN-CVE-1"}]}]}]},
        2,
        "VULNERABLE image riffle:1: openssl 3.5.1-1: DEBIAN-CVE-1",
        VULNERABLE,
    ),
    "nothing": ({"results": [{"packages": [PACKAGE]}]}, 1, "1 packages were checked", CLEAN),
    "an empty image": ({"results": []}, 0, "NOT CHECKED image riffle:1: the scanner found no package", NOT_ASKED),
    "no answer": ({}, 0, "NOT CHECKED image riffle:1: no such image", NOT_ASKED),
}


@pytest.mark.parametrize(("printed", "asked", "part", "status"), SCANS.values(), ids=SCANS)
def test_an_image_is_scanned(printed: dict[str, Any], asked: int, part: str, status: int, tmp_path: Path) -> None:
    scanner = tmp_path / "osv-scanner"
    scanner.write_text(
        f"#!{sys.executable}\nimport sys\nassert sys.argv[1:4] == ['scan', 'image', '--all-packages'], sys.argv\n"
        f"print({json.dumps(printed)!r})\nsys.stderr.write('no such image')\nsys.exit(1)\n"
    )
    scanner.chmod(0o755)
    answer = ask_image(str(scanner), "riffle:1")
    assert answer.asked == asked
    lines, found = report([answer])
    assert part in "\n".join(lines)
    assert found == status


def test_without_a_scanner_an_image_counts_as_not_checked() -> None:
    assert "make scanner" in ask_image("/no/such/program", "riffle:1").error
