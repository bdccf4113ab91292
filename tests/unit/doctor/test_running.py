"""The run of the checks: side by side, each with the deadline, and with a status that follows from the worst."""

import threading
from collections.abc import Iterator

import pytest

from streams.doctor.checks import all_checks
from streams.doctor.findings import Check, Finding, Level, failure, highest_level, ok, run_checks, warning
from streams.errors import StoreUnavailable, UsageError
from streams.settings import Settings


def test_a_check_that_hangs_keeps_what_it_found_and_delays_no_other() -> None:
    release = threading.Event()

    def hangs() -> Iterator[Finding]:
        yield ok("slow", "the first part")
        release.wait(60)

    slow, fine = run_checks([Check("slow", hangs), Check("fine", lambda: [ok("fine", "it is")])], 0.2)
    release.set()

    assert [(finding.level, finding.says) for finding in slow] == [
        (Level.OK, "the first part"),
        (Level.FAILURE, "No answer within 0.2 s"),
    ]
    assert [finding.level for finding in fine] == [Level.OK]


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (StoreUnavailable("Kafka at x doesn't answer"), "Kafka at x doesn't answer"),
        (KeyError("config"), "The check itself failed (KeyError: 'config')"),
    ],
)
def test_an_error_is_a_failure(error: Exception, says: str) -> None:
    def fails() -> list[Finding]:
        raise error

    ((finding,),) = run_checks([Check("it", fails)], 5)
    assert (finding.level, finding.says) == (Level.FAILURE, says)


def test_the_worst_finding_is_the_exit_status() -> None:
    assert highest_level([]) == highest_level([ok("a", "")]) == 0
    assert highest_level([ok("a", ""), warning("b", "", "")]) == 1
    assert highest_level([failure("c", "", ""), warning("b", "", "")]) == 2


def test_an_unknown_check_is_named() -> None:
    with pytest.raises(UsageError, match=r"no check tpoics; the checks are settings, kafka, topics"):
        all_checks(Settings(), only=["tpoics"])
    assert [check.name for check in all_checks(Settings(), only=["topics"])] == ["topics"]
