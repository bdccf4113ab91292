"""The alerts on what a real stack exported while it worked, and while each of some faults lasted.

`record_metrics.py` made the files of `recorded/`, and says how. The local stack has all stages in one worker, no GPUs
and no Triton metrics, so alerts on those are tested by `test_alerts.py` alone.
"""

import json
import re
from pathlib import Path

import pytest

from tests.chart.record_metrics import BACKLOG, BACKLOG_READ_SECONDS, FOLDER, GROWING
from tests.chart.test_alerts import AT_ANY_TIME, MINUTES, PROMTOOL, Case, Series, run, verdict

pytestmark = pytest.mark.skipif(not PROMTOOL.is_file(), reason="no promtool: `make chart` builds it (needs Go)")

BACKLOG_FILE = BACKLOG.replace(" ", "-")
QUIET = 120
"""Number of readings that follow the end of the backlog: half an hour."""
HEALTHY_MINUTES = 60
"""Minutes of the healthy stack before a fault begins."""
EXPECTED: dict[str, set[str]] = {
    # Events that can't be stored wait; their first tries fail. Searches lack the similar results.
    "cassandra-is-away": {
        "RiffleStoreAway", "RiffleLagIsOld", "RiffleFailuresAreMany", "RiffleAnswersArePartial",
    },
    # Nothing is committed. Searches need no Kafka.
    "kafka-is-away": {"RiffleLagIsOld", "RifflePartitionStuck"},
    # Searches are answered by words only. The statements of pages wait.
    "triton-is-away": {
        "RiffleLagIsOld", "RifflePartitionStuck", "RiffleFailuresAreMany", "RiffleAnswersArePartial",
    },
    # It exports nothing: all of its series end.
    "the-worker-is-away": {"RiffleStageWithoutWorkers"},
}  # fmt: skip


def recorded(scenario: str) -> dict[str, tuple[float, float]]:
    """The series of a scenario: the last value, and its step in a minute."""
    found = json.loads((FOLDER / f"{scenario}.json").read_text())
    return {name: (value, step) for name, (value, step) in found.items()}


def steady() -> dict[str, tuple[float, float]]:
    """The healthy stack. Its queues don't grow for hours: the ages of waiting events stay as they were read."""
    series = recorded("healthy").items()
    return {name: (value, 0.0 if name.partition("{")[0] in GROWING else step) for name, (value, step) in series}


def played(scenario: str) -> Series:
    """The healthy stack for an hour, and then the scenario. A series that the fault ended is missing from then on."""
    before, after = steady(), recorded(scenario)
    series = {}
    for name, (first, step) in before.items():
        begin = f"{first:g}+{step:g}x{HEALTHY_MINUTES}"
        reached = first + step * HEALTHY_MINUTES
        if name not in after:
            series[name] = begin
            continue
        value, pace = after[name]
        level = reached if "_total{" in name or "_count{" in name or "_sum{" in name or "_bucket{" in name else value
        series[name] = f"{begin} {level:g}+{pace:g}x{MINUTES}"
    for name, (value, pace) in after.items():
        if name not in before:
            series[name] = f"_x{HEALTHY_MINUTES} {value:g}+{pace:g}x{MINUTES}"
    return series


def test_nothing_fires_while_the_stack_works(tmp_path: Path) -> None:
    series = {name: f"{value:g}+{step:g}x{MINUTES}" for name, (value, step) in steady().items()}
    assert len(series) > 100
    assert verdict(run(tmp_path, Case("healthy", series, set(), judged=AT_ANY_TIME))) == ""


def test_a_recorded_fault_fires_its_own_alerts_and_no_other(tmp_path: Path) -> None:
    minutes = HEALTHY_MINUTES + MINUTES
    cases = [Case(scenario, played(scenario), expected, minutes) for scenario, expected in EXPECTED.items()]
    assert verdict(run(tmp_path, *cases)) == ""


def by_definition(scenario: str) -> set[str]:
    """The alerts on the pipeline and on answers that must fire, computed from the recording by their definitions.

    A fault lasts for `MINUTES`, longer than any of these alerts waits, and what grows goes on at its pace.
    """
    before, after = steady(), recorded(scenario)

    def paces(name: str, stage: str = "") -> list[float]:
        return [step for series, (_, step) in after.items() if series.startswith(f"{name}{{") and stage in series]

    def reaches(name: str, limit: float) -> bool:
        return any(value + step * MINUTES > limit for series, (value, step) in after.items() if series.startswith(name))

    stages = {series.split('stage="')[1].split('"')[0] for series in after if 'stage="' in series}
    failing = (
        sum(paces("riffle_events_failed_total", f'"{stage}"'))
        > 0.05 * sum(paces("riffle_events_in_total", f'"{stage}"'))
        for stage in stages
    )
    searches = sum(step for name, step in ((n, s) for n, (_, s) in after.items()) if is_search(name))
    definitions = {
        "RiffleLagIsOld": reaches("riffle_lag_seconds", 1_800),
        "RifflePartitionStuck": reaches("riffle_committed_age_seconds", 1_800),
        "RiffleStoreAway": reaches("riffle_waiting_for_store", 0),
        "RiffleFailuresAreMany": any(failing),
        "RiffleAnswersArePartial": any(
            pace > 0.02 * searches for pace in paces("riffle_gateway_partial_answers_total")
        ),
        "RiffleStageWithoutWorkers": any(name.startswith("riffle_partitions") and name not in after for name in before),
    }
    return {alert for alert, holds in definitions.items() if holds}


def is_search(series: str) -> bool:
    return (
        series.startswith("riffle_gateway_requests_total")
        and re.search(r'route="(/api/v1)?/search"', series) is not None
    )


@pytest.mark.parametrize("scenario", EXPECTED)
def test_the_expected_alerts_follow_from_the_recording_by_their_definitions(scenario: str) -> None:
    assert by_definition(scenario) == EXPECTED[scenario]


def test_a_backlog_that_ends_fires_nothing(tmp_path: Path) -> None:
    """625 pages are imported beside a crawl. No event waits for 1,800 s, stages commit, and few attempts fail."""
    readings: dict[str, list[float | None]] = json.loads((FOLDER / f"{BACKLOG_FILE}.json").read_text())

    def values_of(name: str) -> list[list[float]]:
        return [
            [value or 0 for value in values] for series, values in readings.items() if series.startswith(f"{name}{{")
        ]

    lags = values_of("riffle_lag_seconds")
    assert 60 < max(map(max, lags)) < 1_800, "events waited"
    assert not any(values[-1] for values in lags), "none waits at the end"
    series = {
        name: " ".join("_" if value is None else f"{value:g}" for value in values) + f" {values[-1] or 0:g}x{QUIET}"
        for name, values in readings.items()
    }
    minutes = int((max(map(len, readings.values())) + QUIET) * BACKLOG_READ_SECONDS / 60)
    case = Case("backlog", series, set(), minutes, AT_ANY_TIME, int(BACKLOG_READ_SECONDS))
    assert verdict(run(tmp_path, case)) == ""


def test_each_recording_is_judged() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == {"healthy", BACKLOG_FILE, *EXPECTED}
