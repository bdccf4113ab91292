"""Printing strangers' text: no control sequence and no markup of theirs reaches the terminal."""

import ast
import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from schemas.ids import page_id
from streams.commands import console
from streams.commands.pages.entities import print_saved
from streams.commands.pages.importing import print_report
from streams.commands.pages.page import print_document_of, print_life
from streams.commands.pages.search import print_answer
from streams.crawl.archives.sending import ImportReport
from streams.errors import UsageError
from streams.gateway.http.openapi import EXAMPLES
from streams.knowledge.dumps.progress import Saved
from streams.pages.sandbox.normalizing import normalize_to_outcome
from streams.stores.opener import memory_stores
from streams.stores.page_record import Normalized
from streams.stores.protocols import Transition

COMMANDS = Path(__file__).parents[3] / "streams/commands"
URL = "https://evil.example/"
HTML = {"content-type": "text/html"}
HOSTILE = [
    # text, the part that must not be printed
    ("\x1b]0;owned\x07", "\x1b"),
    ("\x1b[2J", "\x1b"),
    ("\x9b31m", "\x9b"),
    ("\x08\x08secret", "\x08"),
    ("a\rb", "\r"),
    ("\u202egnp.exe", "\u202e"),
]
MARKUP = ["[/bold]", "[link=https://evil.example/]x[/link]", "[red]", "\\", "[dim]\\", ":warning:", "{} {0} {x!r}"]


def hostile_history(text: str) -> list[Transition]:
    return [Transition(page_id(URL), page_id(URL), "pages.fetched", text, 1, f"type {text}", {"outcome": text})]


async def print_everything(text: str) -> None:
    """Print the text through each command that shows a page's own text."""
    result = {**EXAMPLES["search"]["results"][0], "title": f"t{text}", "url": f"{URL}{text}"}
    statements = [{**EXAMPLES["search"]["results"][0]["statements"][0], "text": f"s{text}"}]
    similar = {"count": 1, "more": False, "pages": [{"page_id": "", "url": text}]}
    reasons = [{"part": "dense", "detail": text}]
    print_answer(
        {
            **EXAMPLES["search"],
            "results": [{**result, "statements": statements, "similar": similar}],
            "reasons": reasons,
        }
    )
    print_life(page_id(URL), f"{URL}{text}", hostile_history(text))
    report = ImportReport()
    report.skipped[f"reason {text}"] = 1
    report.examples[f"reason {text}"] = text
    print_report(report)
    print_saved(Saved("", "", skipped={f"reason {text}": 1}, lost={f"template {text}": 1}), as_json=False)
    stores = memory_stores()
    await stores.pages.put(page_id(URL), Normalized.of_row({"refused": text}), 1)
    await print_document_of(stores, page_id(URL), URL + text, as_json=False)
    kept = normalize_to_outcome(f"<title>{text}</title><pre>{text}</pre>".encode(), url=URL, headers=HTML).document
    await stores.pages.put(page_id(URL), Normalized.of_row({"document_ref": await stores.blobs.put(kept)}), 2)
    await print_document_of(stores, page_id(URL), URL + text, as_json=False)
    shown = console.table("One", title=text)
    shown.add_row(console.styled("[dim]{}[/]", text), text)
    console.out.print(shown)
    console.err.print(console.styled("[red]Error:[/] {}", text))


@pytest.mark.parametrize(("text", "unsafe"), HOSTILE)
async def test_no_control_sequence_of_a_page_reaches_the_terminal(
    text: str, unsafe: str, capsys: pytest.CaptureFixture[str]
) -> None:
    await print_everything(text)
    printed = capsys.readouterr()
    assert unsafe not in printed.out + printed.err


@pytest.mark.parametrize("text", MARKUP)
async def test_no_markup_of_a_page_is_carried_out(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    await print_everything(text)
    printed = capsys.readouterr()
    assert printed.out.count(text) >= 5
    assert f"Error: {text}" in printed.err


@pytest.mark.parametrize(("text", "unsafe"), HOSTILE)
def test_json_escapes_what_a_terminal_would_carry_out(
    text: str, unsafe: str, capsys: pytest.CaptureFixture[str]
) -> None:
    console.print_json({text: [text]})
    printed = capsys.readouterr().out
    assert unsafe not in printed
    assert json.loads(printed) == {text: [text]}


@pytest.mark.parametrize("path", sorted(COMMANDS.rglob("*.py")), ids=lambda path: path.stem)
def test_commands_print_through_the_console_alone(path: Path) -> None:
    """The two consoles clean what they print; a bare print() or another Console would not."""
    if path.stem == "console":
        return
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    faults = [ast.unparse(call) for call in calls if _prints_past_the_console(call)]
    assert not faults


def _prints_past_the_console(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    markup: list[Any] = [keyword for keyword in call.keywords if keyword.arg == "markup"]
    return name in ("print", "Console", "Text.from_markup", "sys.stdout.write", "sys.stderr.write") or bool(markup)


def _markup(tree: ast.AST) -> set[int]:
    """Return the lines with texts that hold rich's markup."""
    return {
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "[/" in node.value
    }


def test_markup_is_only_in_styled_texts() -> None:
    """The consoles print markup as it is, so `[red]Lost:[/]` would be read by people."""
    wrong = []
    for path in COMMANDS.rglob("*.py"):
        tree = ast.parse(path.read_text())
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "styled"]
        inside = set().union(*(_markup(call.args[0]) for call in calls if call.args))
        wrong += [f"{path.name}:{line}" for line in sorted(_markup(tree) - inside) if path.name != "console.py"]
    assert wrong == []


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with the program, as in a clone after `make setup`."""
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "riffle").write_text("#!/bin/sh\n")
    (tmp_path / ".venv" / "bin" / "riffle").chmod(0o755)
    return tmp_path


@pytest.mark.parametrize(
    ("typed", "folder", "searched", "expected"),
    [
        (".venv/bin/riffle", ".", "", ".venv/bin/riffle"),
        ("{clone}/.venv/bin/riffle", ".", "", ".venv/bin/riffle"),
        ("{clone}/.venv/bin/riffle", "/usr", "", "{clone}/.venv/bin/riffle"),
        ("{clone}/.venv/bin/riffle", "/usr", "{clone}/.venv/bin", "riffle"),  # the shell finds it
        ("{clone}/.venv/bin/gone", ".", "", "riffle"),
        ("-c", ".", "", "riffle"),  # a program that imports Riffle
        ("/usr/bin/pytest", ".", "", "riffle"),
    ],
)
def test_a_hint_names_the_program_as_it_was_started(
    clone: Path, typed: str, folder: str, searched: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(clone)
    monkeypatch.setenv("PATH", searched.format(clone=clone))
    assert console.program(typed.format(clone=clone), clone / folder) == expected.format(clone=clone)


def test_commands_in_messages_can_be_copied(
    clone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Commands are named by errors, hints and templates. A stranger's text stays as it is."""

    @console.command
    def fail() -> None:
        raise UsageError("nothing runs. Start it with `riffle up`")

    monkeypatch.chdir(clone)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "argv", [".venv/bin/riffle"])
    with pytest.raises(typer.Exit):
        fail()
    console.err.advise("Next    riffle crawl URL   riffle down; of the folder .riffle and riffle-search, nothing")
    console.err.print(console.styled("[red]{}[/] See `riffle doctor`", "`riffle up`"))
    errors = capsys.readouterr().err
    assert "Start it with `.venv/bin/riffle up`" in errors
    assert "Next    .venv/bin/riffle crawl URL   .venv/bin/riffle down" in errors
    assert ".riffle and riffle-search" in errors
    assert "`riffle up` See `.venv/bin/riffle doctor`" in errors


def test_a_print_that_names_a_command_is_an_advice() -> None:
    """`advise` and `styled` show a command as it can be typed. A plain `print` doesn't."""
    found = []
    for path in COMMANDS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("out.print", "err.print"):
                plain = [argument for argument in node.args if not ast.unparse(argument).startswith("styled(")]
                texts = [each.value for one in plain for each in ast.walk(one) if isinstance(each, ast.Constant)]
                names = [text for text in texts if isinstance(text, str) and console.as_typed(text, "X") != text]
                found += [f"{path.name}:{node.lineno} {name}" for name in names]
    assert not found


LINE = f"See {' '.join(['words'] * 20)} https://example.org/{'a' * 90} and more."


def test_lines_are_broken_only_on_a_terminal_and_words_never(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    console.PlainConsole().print(LINE)
    console.PlainConsole().print_indented(LINE, 3)
    assert capsys.readouterr().out.splitlines() == [LINE, f"   {LINE}"]
    monkeypatch.setattr(console.PlainConsole, "is_terminal", True)
    console.PlainConsole().print(LINE)
    console.PlainConsole().print_indented(LINE, 3)
    lines = capsys.readouterr().out.splitlines()
    address = f"https://example.org/{'a' * 90}"
    assert [line.strip() for line in lines].count(address) == 2
    assert all(len(line.rstrip()) <= 60 for line in lines if address not in line)
    assert " ".join(" ".join(lines).split()) == f"{LINE} {LINE}"


def test_a_signal_wakes_the_event_loop_of_a_command() -> None:
    """Else a Ctrl-C that arrives right before the loop begins to wait is noticed with its next event."""
    seen: list[int] = []

    @console.command
    async def waits() -> None:
        seen.append(signal.set_wakeup_fd(-1))
        signal.set_wakeup_fd(seen[0])

    with pytest.raises(typer.Exit):
        waits()
    assert seen[0] >= 0
