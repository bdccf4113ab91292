"""Figures as data: what a file may hold, what a run writes into it, when a figure is stale, and how pages show it."""

import datetime
import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import typer
from pydantic import ValidationError

from benchmarks.__main__ import SECTIONS
from benchmarks.figures import (
    MAX_AGE_DAYS,
    MAX_CHANGES,
    Figure,
    Results,
    Run,
    as_text,
    describe_machine,
    load_results,
    record,
    significant,
    stale_reason,
    write_results,
)
from benchmarks.recording import run_figures
from docs.generate.figures import figures_page, with_figures
from streams.cli import COMMANDS, commands_of, load_command
from tests.sizes import FULL

ROOT = Path(__file__).parents[3]
TODAY = datetime.date(2026, 11, 28)
RUN = Run(commit="0123abcd", date=TODAY, machine="2 cores, AMD EPYC", load=0.5)


def figure(**changes: Any) -> Figure:
    given = {"id": "rate", "name": "URLs a second", "subject": "crawler", "value": 5, "path": ("rows", 0, "a b")}
    return Figure.model_validate(given | {"commit": "a7bdf0c0", "date": TODAY, "machine": "2 cores"} | changes)


def results(*figures: Figure, **changes: Any) -> Results:
    given = {"program": "python -m benchmarks urls", "arguments": "MIRROR", "paths": ["streams/crawl/urls.py"]}
    return Results.model_validate(given | {"figures": figures or (figure(),)} | changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "Two Words"},
        {"name": ""},
        {"name": "long " * 20},
        {"subject": "weather"},
        {"value": None},
        {"value": [1]},
        {"value": "many", "at_least": 5},
        {"commit": "HEAD"},
        {"date": "yesterday"},
        {"machine": ""},
        {"met": True},
    ],
)
def test_a_figure_with_a_fault_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        figure(**changes)


@pytest.mark.parametrize(
    "changes", [{"program": "rm -r"}, {"program": "python -m streams"}, {"paths": []}, {"figures": []}, {"by": "me"}]
)
def test_a_file_with_a_fault_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        results(**changes)


@pytest.mark.parametrize(
    ("changes", "is_met"),
    [
        ({}, None),
        ({"value": "all"}, None),
        ({"at_least": 5}, True),
        ({"at_least": 5.1}, False),
        ({"at_most": 5}, True),
        ({"at_most": 4.9}, False),
        ({"at_least": 1, "at_most": 4}, False),
        ({"value": 0, "at_most": 0}, True),
    ],
)
def test_a_target_is_met_or_missed(changes: dict[str, Any], is_met: bool | None) -> None:
    assert figure(**changes).is_met is is_met


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    written = results(figure(at_least=0.5, load=1.5, headline=True), figure(id="other", value="yes"))
    write_results("urls", written, tmp_path)
    assert load_results(tmp_path) == {"urls": written}
    assert "null" not in as_text(written)


def test_an_id_stands_in_one_file(tmp_path: Path) -> None:
    write_results("one", results(), tmp_path)
    write_results("two", results(), tmp_path)
    with pytest.raises(ValueError, match="rate"):
        load_results(tmp_path)


def test_a_run_writes_its_values_and_conditions() -> None:
    former = results(figure(stale=True, at_most=3.0), figure(id="by-hand", path=()))
    measured, by_hand = record(former, {"rows": [{"a b": 3.14159}]}, RUN).figures
    assert measured == figure(value=3.142, at_most=3.0, commit="0123abcd", machine="2 cores, AMD EPYC", load=0.5)
    assert by_hand == former.figures[1]


@pytest.mark.parametrize("printed", [{}, {"rows": []}, {"rows": [{"c": 1}]}, {"rows": [{"a b": None}]}, {"rows": 1}])
def test_a_run_without_the_value_is_an_error(printed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="rate"):
        record(results(), printed, RUN)


def test_a_value_is_printed_in_another_unit() -> None:
    (recorded,) = record(results(figure(scale=1e-9, unit="GB")), {"rows": [{"a b": 2_733_000_000}]}, RUN).figures
    assert recorded.value == 2.733


@pytest.mark.parametrize(
    ("number", "rounded"),
    [(0, 0), (0.123456, 0.1235), (204_123, 204_100), (99.996, 100), (-1.23456, -1.235), (1e-7, 1e-7), (5.0, 5)],
)
def test_numbers_have_four_significant_digits(number: float, rounded: float) -> None:
    assert significant(number) == rounded


@pytest.mark.parametrize(
    ("changes", "days", "is_stale"),
    [
        (0, 0, False),
        (MAX_CHANGES, MAX_AGE_DAYS, False),
        (MAX_CHANGES + 1, 0, True),
        (0, MAX_AGE_DAYS + 1, True),
    ],
)
def test_when_a_figure_is_stale(changes: int, days: int, is_stale: bool) -> None:
    assert bool(stale_reason(figure(), changes, TODAY + datetime.timedelta(days=days))) is is_stale


@pytest.mark.parametrize(
    ("conditions", "words"),
    [
        ({"cores": 2, "processor": "AMD EPYC 7B13 64-Core Processor"}, "2 cores, AMD EPYC 7B13"),
        ({"cores": 16, "processor": "Intel(R) Xeon(R) CPU @ 2.20GHz"}, "16 cores, Intel Xeon CPU"),
        ({"cores": 2, "processor": "x86_64", "gpus": ["NVIDIA H200"]}, "2 cores, x86_64, NVIDIA H200"),
    ],
)
def test_a_machine_in_words(conditions: dict[str, Any], words: str) -> None:
    assert describe_machine(conditions) == words


SHOWN = {
    "urls": results(
        figure(headline=True, value=204_000, unit="URLs/s", at_least=100_000),
        figure(id="rest", name="the rest", value=0.00025, at_most=0.0001, stale=True),
    )
}
HEADLINE = "| URLs a second | **204,000** URLs/s | at least 100,000 | 2026-11-28 |"


def test_the_page_of_figures_has_a_row_for_each_below_its_command() -> None:
    rows = [line for line in figures_page(SHOWN).splitlines() if line.startswith("| ")]
    assert rows == [
        "| figure | value | target | date | commit |",
        "| `python -m benchmarks urls MIRROR` |",
        f"{HEADLINE} `a7bdf0c0` |",
        "| the rest | 0.00025 | at most 0.0001: **missed** | 2026-11-28, **stale** | `a7bdf0c0` |",
    ]


def test_a_page_shows_the_main_figures_of_a_subject() -> None:
    page = "# URLs\n\n<!-- figures: crawler -->\nold\n<!-- end of figures -->\n\nText.\n"
    shown = with_figures(page, SHOWN)
    assert HEADLINE in shown.splitlines()
    assert ("old" in shown, "the rest" in shown, shown.endswith("\n\nText.\n")) == (False, False, True)
    assert with_figures(shown, SHOWN) == shown
    assert with_figures("# Without\n", SHOWN) == "# Without\n"


@pytest.mark.parametrize("subject", ["links", "weather"])
def test_a_page_that_asks_for_figures_that_do_not_exist_is_an_error(subject: str) -> None:
    with pytest.raises(ValueError, match=subject):
        with_figures(f"<!-- figures: {subject} -->\n<!-- end of figures -->", SHOWN)


def test_checked_in_figures_name_commands_and_code_that_exist() -> None:
    benchmarks = commands_of(SECTIONS)
    faults = []
    for file, found in load_results().items():
        faults += [f"{file}: {path}: no such file" for path in found.paths if not (ROOT / path).exists()]
        first, *words = found.program.removeprefix("python -m benchmarks ").removeprefix("riffle ").split()
        if found.program.startswith("make "):
            known = f"\n{found.program.removeprefix('make ')}:" in (ROOT / "Makefile").read_text()
        elif found.program.startswith("riffle "):
            known = first in COMMANDS and (not words or words[0] in load_command(first).commands)
        else:
            module = found.program.removeprefix("python -m ").replace(".", "/")
            known = first in benchmarks or (ROOT / f"{module}.py").is_file()
        faults += [] if known else [f"{file}: {found.program}: no such command"]
        ways = {"json" for figure in found.figures if figure.path}
        if ways and first in benchmarks:
            command = load_command(first, benchmarks)
            command = command.commands[words[0]] if hasattr(command, "commands") else command
            options = {option for each in command.params for option in each.opts}
            faults += [] if "--json" in options else [f"{file}: {found.program} has no --json"]
    assert faults == []


def test_each_name_is_understood_by_itself() -> None:
    names = [each.name for found in load_results().values() for each in found.figures]
    assert [name for name in names if name.startswith(("The same", "Of it", "Its "))] == []
    assert len(set(names)) == len(names)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs the history of the repository")
def test_stale_figures_are_listed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """By day, those of one file: the history is read for each."""
    results = dict(islice(load_results().items(), None if FULL else 1))
    monkeypatch.setattr("benchmarks.recording.load_results", lambda: results)
    with pytest.raises(typer.Exit):
        run_figures(as_json=True)
    known = {each.id for found in results.values() for each in found.figures}
    assert set(json.loads(capsys.readouterr().out)) <= known
