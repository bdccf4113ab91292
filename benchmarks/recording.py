"""The commands `record` and `figures`: measure the figures of a file again, and list those that are stale.

`record` runs the command of `benchmarks/results/NAME.json` with `--json` and writes what it printed into the file, so a
command needs no code of its own for it. Each figure says where its value stands in that JSON.
"""

import shlex
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from benchmarks.figures import (
    RESULTS,
    Figure,
    Results,
    Run,
    describe_machine,
    load_results,
    record,
    stale_reason,
    write_results,
)
from benchmarks.machine import machine
from streams.commands.console import AsJson, command, err, out, print_json, table
from streams.errors import UsageError

ROOT = Path(__file__).parents[1]


@command
def run_record(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A file of benchmarks/results, without .json.")],
    arguments: Annotated[list[str] | None, typer.Argument(help="Arguments of its command, behind `--`.")] = None,
    printed: Annotated[
        Path | None, typer.Option("--from", exists=True, dir_okay=False, help="JSON that the command printed already.")
    ] = None,
) -> int:
    """Measure the figures of a file again, and write them into it.

    Example:  python -m benchmarks record urls -- mirror/
    """
    found = load_results()
    if name not in found:
        raise UsageError(f"no benchmarks/results/{name}.json; there are {', '.join(found)}")
    results = found[name]
    if not any(figure.path for figure in results.figures):
        raise UsageError(f"no figure of {name} has a path: run `{results.command}`, and edit the file")
    if changed := _git("status", "--porcelain", "--", *results.paths):
        raise UsageError(f"commit first, so that the figures belong to a commit:\n{changed}")
    conditions = machine()
    measured = orjson.loads(printed.read_bytes() if printed else _run(results, arguments or []))
    conditions |= measured.get("machine", {}) if isinstance(measured, dict) else {}
    try:
        new = record(results, measured, _run_of(conditions))
    except ValueError as error:
        raise UsageError(str(error)) from None
    write_results(name, new)
    for former, figure in zip(results.figures, new.figures, strict=True):
        if figure.path:
            out.print(f"{figure.id}: {former.value} -> {figure.value} {figure.unit}", highlight=False)
    err.print(f"Wrote {(RESULTS / name).relative_to(ROOT)}.json. `python -m docs.generate` writes the pages.")
    return 0


def _run(results: Results, arguments: list[str]) -> bytes:
    """Run a command with `--json`; a module of its own prints JSON always. Returns what it printed."""
    words = shlex.split(results.program)
    as_json = [] if words[:1] == ["python"] and "." in words[2] else ["--json"]
    program = ["-m", "streams.cli"] if words[0] == "riffle" else []
    return _printed([sys.executable, *program, *words[1:], *arguments, *as_json])


def _printed(words: list[str]) -> bytes:
    done = subprocess.run(words, stdout=subprocess.PIPE)
    if done.returncode:
        raise UsageError(f"`{shlex.join(words)}` ended with status {done.returncode}")
    return done.stdout


def _run_of(conditions: Mapping[str, Any]) -> Run:
    return Run(
        commit=_git("rev-parse", "--short=8", "HEAD")[:8],
        date=datetime.now(UTC).date(),
        machine=describe_machine(conditions),
        load=conditions.get("load_before"),
    )


@command
def run_figures(
    mark: Annotated[bool, typer.Option("--mark", help="Write the marks into benchmarks/results.")] = False,
    as_json: AsJson = False,
) -> int:
    """List the figures that are stale: too old, or of code that has changed since. Needs the history of the repository.

    Example:  python -m benchmarks figures --mark
    """
    found = load_results()
    reasons = {name: _reasons(results) for name, results in found.items()}
    if mark:
        for name, results in found.items():
            marked = [figure.model_copy(update={"stale": figure.id in reasons[name]}) for figure in results.figures]
            write_results(name, results.model_copy(update={"figures": tuple(marked)}))
    if as_json:
        print_json({figure: reason for of_file in reasons.values() for figure, reason in of_file.items()})
        return 0
    shown = table("figure", "file", "stale, since", whole=["figure"])
    for name, of_file in reasons.items():
        for figure, reason in of_file.items():
            shown.add_row(figure, name, reason)
    out.print(shown)
    total = sum(len(results.figures) for results in found.values())
    out.print(f"{sum(map(len, reasons.values()))} of {total} figures are stale.", highlight=False)
    return 0


def _reasons(results: Results) -> dict[str, str]:
    """Return why each stale figure of a file is stale, by its id."""
    today = datetime.now(UTC).date()
    by_run: dict[tuple[str, str], int] = {}
    found = {}
    for figure in results.figures:
        run = (figure.commit, figure.date.isoformat())
        if run not in by_run:
            by_run[run] = _changes(figure, results)
        if reason := stale_reason(figure, by_run[run], today):
            found[figure.id] = reason
    return found


def _changes(figure: Figure, results: Results) -> int:
    """Return how many commits changed the measured code since a figure.

    A commit that is not in the history was rewritten since: the day of the figure takes its place.
    """
    since = f"{figure.commit}..HEAD" if _is_known(figure.commit) else f"--since={figure.date} 23:59:59"
    return _count_commits(since, *results.paths)


@cache
def _is_known(commit: str) -> bool:
    """Return whether a commit is in the history."""
    asked = ["git", "merge-base", "--is-ancestor", commit, "HEAD"]
    return subprocess.run(asked, cwd=ROOT, stderr=subprocess.DEVNULL).returncode == 0


@cache
def _count_commits(since: str, *paths: str) -> int:
    """Return the number of commits that changed these paths. The figures of a run are asked about together."""
    return int(_git("rev-list", "--count", since, "HEAD", "--", *paths))


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise UsageError(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout.strip()
