"""Reports about a start: through a pipe, and on a terminal."""

import io
import os
from typing import Any

import pytest
from rich.console import Console

from streams.errors import StartError
from streams.local.reporting import EXIT_FAILED, PipeReport, TerminalReport, read_reports
from streams.local.servers.server import Cancelled
from tests.conftest import SERVERS, servers_needed

READY = ("ready", {"title": "Kafka", "seconds": 2.13})


def printed(*reports: tuple[str, dict[str, Any]]) -> tuple[TerminalReport, str]:
    """A TerminalReport after these reports, and the text that it printed."""
    console = Console(file=io.StringIO(), width=100)
    report = TerminalReport(console)
    for what, details in reports:
        report(what, details)
    assert isinstance(console.file, io.StringIO)
    return report, console.file.getvalue()


def test_a_ready_server_is_shown_with_its_seconds() -> None:
    _, text = printed(("preparing", {"title": "Kafka"}), READY)

    assert text.split() == ["Kafka", "ready", "in", "2.1", "s"]


def test_a_warning_is_shown_as_it_is() -> None:
    assert "Triton can't run here: [why]" in printed(("warning", {"text": "Triton can't run here: [why]"}))[1]


def test_an_ended_process_is_shown_with_its_restart_time() -> None:
    _, text = printed(("ended", {"title": "Worker fetch", "how": "signal 9", "again_in_seconds": 0.5}))

    assert text == "Worker fetch ended (signal 9); it starts again in 0.5 s\n"


def test_reports_pass_through_the_pipe_until_the_last() -> None:
    reading, writing = os.pipe()
    pipe = PipeReport(writing)
    pipe(*READY)
    pipe("up", {"settings": {}})
    pipe("ended", {"title": "a report after the last one"})

    seen: list[tuple[str, dict[str, Any]]] = []
    with os.fdopen(reading) as lines:
        assert read_reports(lines, lambda what, details: seen.append((what, details)))
    assert seen == [READY, ("up", {"settings": {}})]


def test_a_supervisor_that_was_killed_is_noticed() -> None:
    assert not read_reports([], lambda *_: None)


def test_a_closed_pipe_does_not_stop_the_supervisor() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    pipe = PipeReport(writing)

    pipe(*READY)
    pipe(*READY)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (StartError("Kafka ended."), "Kafka ended."),
        (Cancelled(), "the start was interrupted; nothing is left running"),
        (RuntimeError("what?"), "the start failed with an unexpected error: RuntimeError('what?')"),
    ],
)
def test_a_failed_start_is_reported(error: Exception, says: str) -> None:
    def run() -> None:
        raise error

    reading, writing = os.pipe()
    assert PipeReport(writing).run_and_report(run) == EXIT_FAILED

    report = TerminalReport(Console(file=io.StringIO()))
    with os.fdopen(reading) as lines:
        assert read_reports(lines, report)
    assert report.failure == says


class Item:
    """A collected test with these integration marks."""

    def __init__(self, *marks: tuple[str, ...]) -> None:
        self.marks = [pytest.mark.integration(*mark).mark for mark in marks]

    def iter_markers(self, _: str) -> list[pytest.Mark]:
        return self.marks


@pytest.mark.parametrize(
    ("items", "needed"),
    [
        ([], set()),
        ([Item()], set()),  # a unit test
        ([Item(("kafka",)), Item(("qdrant",))], {"kafka", "qdrant"}),
        ([Item(("kafka",)), Item(())], SERVERS),  # a mark without names needs all
    ],
)
def test_the_fixture_starts_what_the_selected_tests_name(items: list[Any], needed: set[str]) -> None:
    assert servers_needed(items) == needed


def test_an_unknown_server_in_a_mark_is_a_mistake() -> None:
    with pytest.raises(pytest.UsageError, match=r"kafak.*the servers are"):
        servers_needed([Item(("kafak",))])  # type: ignore[list-item]  # what is used of a test
