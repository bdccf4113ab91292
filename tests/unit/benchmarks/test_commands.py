"""The benchmarks as commands: each has its module, and `fingerprint`, which needs no server, measures and prints."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from typer.testing import CliRunner

from benchmarks.__main__ import SECTIONS, bench_app
from streams.cli import commands_of, load_command

COMMANDS = commands_of(SECTIONS)


def run(*arguments: object) -> str:
    """Run the benchmark of fingerprints. Returns its output."""
    shown = CliRunner(env={"COLUMNS": "200"}).invoke(bench_app, ["fingerprint", *map(str, arguments)])
    assert shown.exit_code == 0, shown.output
    return shown.stdout


def figures(*arguments: object) -> Any:
    return json.loads(run(*arguments, "--json"))


def rows(printed: str) -> dict[str, str]:
    """Each line's name and what stands behind it."""
    parts = [line.strip().partition("  ") for line in printed.splitlines()]
    return {name: rest.strip() for name, _, rest in parts}


def test_the_program_lists_every_benchmark() -> None:
    shown = subprocess.run([sys.executable, "-m", "benchmarks", "--help"], capture_output=True, text=True, check=True)
    assert [name for name in COMMANDS if f"  {name} " not in shown.stdout] == []


def leaves(name: str) -> Iterator[tuple[str, Any]]:
    """Yield the benchmark with this name, or each one of a group, by both names: `eval search`."""
    command = load_command(name, COMMANDS)
    below = getattr(command, "commands", {})
    yield from ((f"{name} {each}", child) for each, child in below.items()) if below else [(name, command)]


@pytest.mark.parametrize("group", COMMANDS)
def test_every_benchmark_has_an_example(group: str) -> None:
    """The modules are imported here: the collection of tests, in each process, would wait for all of them."""
    for name, command in leaves(group):
        examples = command.help.partition("\n\n")[2].splitlines()
        assert any(f"python -m benchmarks {name} " in f"{line.strip()} " for line in examples), name


def test_an_unknown_benchmark_gets_the_names_that_are_like_it() -> None:
    shown = CliRunner().invoke(bench_app, ["frontir"])
    assert (shown.exit_code, shown.stdout) == (2, "")
    assert "Did you mean `frontier`" in shown.stderr


def test_the_time_of_a_fingerprint_is_measured_and_printed() -> None:
    found = figures()
    assert set(found) == {"machine", "fingerprint_ms_per_1000_words"}
    assert float(rows(run())["fingerprint ms per 1000 words"]) > 0


def test_an_unknown_option_has_a_message_of_one_line() -> None:
    shown = CliRunner(env={"COLUMNS": "200"}).invoke(bench_app, ["fingerprint", "--tables", "5"])
    assert (shown.exit_code, shown.stdout) == (2, "")
    assert "--tables" in shown.stderr
