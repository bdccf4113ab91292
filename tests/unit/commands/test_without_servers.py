"""Every command where no server runs: one message, what to do, and an exit status of the documented table.

In this process, since a process for each command costs seconds. `tests/wheel/test_commands.py` has the uses, and runs
the others as they are installed.
"""

import ast
import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from docs.generate import ROOT
from streams.cli import COMMANDS, app, load_command
from streams.commands import console
from streams.commands.console import EXIT_STATUSES, EXIT_UNAVAILABLE
from tests.wheel.test_commands import CDX, ENTITIES, NEEDS_A_SERVER, USES, WARC, WAT

FILES = {
    "web/a.test/index.html": "<title>Logs</title><p>words",
    "pages.warc": WARC,
    "pages.warc.wat": WAT,
    "cdx-0.gz": CDX,
    "entities.json": "[]",
    "entities.jsonl": ENTITIES,
    "dump.xml": "<mediawiki/>",
    "questions.json": json.dumps([{"question": "What is fast?", "answer": "a log"}]),
    "panels.jsonl": json.dumps({"query": "log", "entity": None}),
    "copies/manifest.json": "{}",
}
"""The files that the uses name."""
WITHOUT_JSON = {
    "up": "it starts processes: `riffle status --json` says what runs",
    "down": "it stops processes",
    "demo": "for people",
    "web": "it serves until it is stopped",
    "worker": "it runs until it is stopped",
    "gateway": "it runs until it is stopped",
    "admin": "it runs until it is stopped",
    "models serve": "it runs until it is stopped",
    "mcp": "it speaks JSON by itself",
    "completion": "for shells",
}


@pytest.fixture(scope="module")
def nowhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the files that the uses name, and settings with addresses at which nothing answers."""
    folder = tmp_path_factory.mktemp("nowhere")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    with socket.socket() as bound, pytest.MonkeyPatch.context() as patch:
        bound.bind(("127.0.0.1", 0))
        port = str(bound.getsockname()[1])
        for name, value in (("HOME", str(folder / "home")), ("KAFKA__BOOTSTRAP", f"127.0.0.1:{port}"),
                            ("CASSANDRA__PORT", port), ("QDRANT__URL", f"http://127.0.0.1:{port}"),
                            ("GATEWAY__PORT", port)):  # fmt: skip
            patch.setenv(f"RIFFLE_{name}", value)
        patch.chdir(folder)
        yield folder


@pytest.mark.parametrize("use", NEEDS_A_SERVER)
def test_a_command_without_its_server_says_so_once_and_what_to_do(
    use: str, nowhere: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    result = CliRunner().invoke(app, use.split())
    printed = result.stderr + capfd.readouterr().err
    assert result.exit_code == EXIT_UNAVAILABLE, printed
    lines = [line for line in printed.splitlines() if line.strip()]
    assert "Traceback" not in printed
    assert [line for line in lines if line.startswith("Error:")] == lines[-1:], "one message, and nothing after it"
    assert re.search(USES[use][1], lines[-1])
    assert re.search("riffle up|RIFFLE_", lines[-1]), "it says what to do"
    assert result.stdout == ""


def paths() -> Iterator[tuple[str, Any]]:
    """Each command, also of groups in groups, with its Click command."""
    waiting = [(name, load_command(name)) for name in COMMANDS]
    while waiting:
        path, command = waiting.pop()
        below = getattr(command, "commands", {})
        waiting += [(f"{path} {name}", child) for name, child in below.items()]
        if not below:
            yield path, command


def test_every_command_that_reports_has_json() -> None:
    without = {
        path for path, command in paths() if "--json" not in {name for each in command.params for name in each.opts}
    }
    assert without == WITHOUT_JSON.keys()


def test_every_exit_status_is_in_the_table_and_the_reference_has_the_table() -> None:
    assert {status for status, _ in USES.values()} <= EXIT_STATUSES.keys()
    reference = (ROOT / "docs/reference/commands.md").read_text()
    assert all(f"| {status} | {meaning} |" in reference for status, meaning in EXIT_STATUSES.items())


@pytest.mark.parametrize("path", sorted((ROOT / "streams/commands").rglob("*.py")), ids=lambda path: path.stem)
def test_commands_end_with_a_status_of_the_table(path: Path) -> None:
    """A number that is written down, as in `raise typer.Exit(4)` or `return 4`, must be one of the table."""
    tree = ast.parse(path.read_text())
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    given = [call.args[0] for call in calls if ast.unparse(call.func) in ("typer.Exit", "sys.exit") and call.args]
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    commands = [each for each in functions if "command" in map(ast.unparse, each.decorator_list)]
    given += [node.value for each in commands for node in ast.walk(each) if isinstance(node, ast.Return) and node.value]
    statuses = [value for each in given for value in _values(each)]
    assert [ast.unparse(value) for value in statuses if _is_foreign(value)] == []


def _values(given: ast.expr) -> list[ast.expr]:
    """Return the values of `a if condition else b`, or the one value."""
    return [*_values(given.body), *_values(given.orelse)] if isinstance(given, ast.IfExp) else [given]


def _is_foreign(value: ast.expr) -> bool:
    if isinstance(value, ast.Constant):
        return value.value not in EXIT_STATUSES
    if isinstance(value, ast.Name) and value.id.startswith("EXIT_"):
        return getattr(console, value.id, None) not in EXIT_STATUSES
    return False


def test_json_on_stdout_is_one_document_also_where_the_answer_is_no(nowhere: Path) -> None:
    result = CliRunner().invoke(app, ["certificates", "--json"])
    assert (result.exit_code, json.loads(result.stdout)) == (1, [])


@pytest.mark.parametrize("path", [path for path, _ in paths()])
def test_a_misspelt_option_ends_with_2_and_names_the_right_one(path: str) -> None:
    shown = CliRunner().invoke(app, [*path.split(), "--help"])
    assert shown.exit_code == 0
    assert path in WITHOUT_JSON or "--json" in shown.stdout
    if path not in WITHOUT_JSON:
        wrong = CliRunner().invoke(app, [*path.split(), "--jsn"])
        assert (wrong.exit_code, wrong.stdout) == (2, "")
        assert "--json" in wrong.stderr
