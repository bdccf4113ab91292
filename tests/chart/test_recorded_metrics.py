"""The alerts on what a real stack exported while it worked, and during each fault of the fault suite.

`record_metrics.py` made the files of `recorded/`, and says how. The local stack has all stages in one worker, no GPUs
and no Triton metrics, so alerts on those are tested by `test_alerts.py` alone, as are faults that the suite does not do
(a poison event, a search that is slow by itself, a host that gets too many requests).
"""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.chart.record_metrics import (
    BACKLOG,
    FOLDER,
    GROWING,
    HEALTHY,
    IDLE,
    LASTING,
    LOOP,
    OF_THE_SUITE,
    READ_SECONDS,
    file_of,
)
from tests.chart.rendering import ROOT
from tests.chart.test_alerts import AT_ANY_TIME, MINUTES, PROMTOOL, Case, Series, run, verdict
from tests.chart.test_monitoring import ALERTS
from tests.sizes import FULL

needs_promtool = pytest.mark.skipif(not PROMTOOL.is_file(), reason="no promtool: `make chart` builds it (needs Go)")

QUIET = 120
"""Number of readings that follow the end of a backlog, or of a fault that passes: half an hour."""
STEADY = {HEALTHY, "skewed clocks"}
"""Scenarios in which nothing is held up. Queues of the small machine that recorded them don't grow for hours: the ages
of waiting events stay as they were read."""
HEALTHY_MINUTES = MINUTES // 2
"""Minutes of the healthy stack before a fault begins."""
FAULT_MINUTES = 120 if FULL else 75
"""Minutes of a fault that lasts: the queue of the slowed worker is old after 46 minutes, and then for 15."""
LATENCY, ROUTE = "riffle_gateway_latency_seconds", 'route="/api/v1/search"'
SKEW, SILENCE = "riffle_clock_ahead_seconds", "riffle_kafka_silence_seconds"
UNSTORED = {"RiffleStoreAway", "RiffleLagIsOld", "RiffleFailuresAreMany"}
"""Events that can't be stored wait, and their first tries fail."""
NO_SEARCHES = {"RiffleSearchBudgetBurnsFast", "RiffleSearchBudgetBurnsSlowly"}
EXPECTED: dict[str, set[str]] = {
    # Searches lack the similar results.
    "cassandra away": {*UNSTORED, "RiffleAnswersArePartial"},
    "disk of cassandra full": {*UNSTORED, "RiffleAnswersArePartial"},
    # Each search is refused; where Qdrant holds its connections open, only after two seconds. The index stage is still
    # at its first tries there when the recording ends, so no worker says yet that it waits for a store.
    "qdrant away": {*NO_SEARCHES, "RiffleLagIsOld", "RiffleSearchIsSlow"},
    "disk of qdrant full": {*NO_SEARCHES, *UNSTORED},
    # Nothing is committed. Searches need no Kafka.
    "kafka away": {"RiffleKafkaAway", "RiffleLagIsOld", "RifflePartitionStuck"},
    "disk of kafka full": {"RiffleKafkaAway", "RiffleLagIsOld", "RifflePartitionStuck"},
    # No event waits. The workers have lost their partitions after ten seconds, and get none.
    IDLE: {"RiffleKafkaAway", "RiffleStageWithoutWorkers"},
    # Searches are answered by words only. The statements of pages wait.
    "triton away": {
        "RiffleLagIsOld", "RifflePartitionStuck", "RiffleFailuresAreMany", "RiffleAnswersArePartial",
    },
    # It exports nothing: all of its series end.
    "worker stopped": {"RiffleStageWithoutWorkers"},
    # It is slower than the crawl.
    "worker slowed": {"RiffleLagIsOld"},
    "skewed clocks": {"RiffleClocksDiffer"},
}  # fmt: skip
"""Faults that last, and the alerts that must fire."""
PASSING: dict[str, set[str]] = {name: set() for name in OF_THE_SUITE if name not in EXPECTED} | {
    # The stage's own worker does not start. A worker of the frontier says what is lost, until it is accepted.
    "retention passes the embed stage": {"RiffleEventsLost"},
}
"""Faults that pass by themselves, or that an operator ends at once, and the alerts that must fire."""


def recorded(scenario: str) -> dict[str, tuple[float, float]]:
    """The series of a scenario: the last value, and its step in a minute."""
    found = json.loads(file_of(scenario).read_text())
    stays = GROWING if scenario in STEADY else ()
    return {name: (value, 0.0 if name.partition("{")[0] in stays else step) for name, (value, step) in found.items()}


def played(scenario: str) -> Series:
    """The healthy stack for a while, and then the scenario. A series that the fault ended is missing from then on."""
    before, after = recorded(HEALTHY), recorded(scenario)
    series = {}
    for name, (first, step) in before.items():
        begin = f"{first:g}+{step:g}x{HEALTHY_MINUTES}"
        reached = first + step * HEALTHY_MINUTES
        if name not in after:
            series[name] = begin
            continue
        value, pace = after[name]
        level = reached if "_total{" in name or "_count{" in name or "_sum{" in name or "_bucket{" in name else value
        series[name] = f"{begin} {level:g}+{pace:g}x{FAULT_MINUTES}"
    for name, (value, pace) in after.items():
        if name not in before:
            series[name] = f"_x{HEALTHY_MINUTES} {value:g}+{pace:g}x{FAULT_MINUTES}"
    return series


@needs_promtool
def test_nothing_fires_while_the_stack_works(tmp_path: Path) -> None:
    series = {name: f"{value:g}+{step:g}x{MINUTES}" for name, (value, step) in recorded(HEALTHY).items()}
    assert len(series) > 100
    assert verdict(run(tmp_path, Case("healthy", series, set(), judged=AT_ANY_TIME))) == ""


@needs_promtool
def test_a_recorded_fault_fires_its_own_alerts_and_no_other(tmp_path: Path) -> None:
    minutes = HEALTHY_MINUTES + FAULT_MINUTES
    cases = [Case(scenario, played(scenario), expected, minutes) for scenario, expected in EXPECTED.items()]
    assert verdict(run(tmp_path, *cases)) == ""


def by_definition(scenario: str) -> set[str]:
    """The alerts on the pipeline and on answers that must fire, computed from the recording by their definitions.

    A fault lasts for `FAULT_MINUTES`, longer than any of these alerts waits, and what grows goes on at its pace.
    """
    before, after = recorded(HEALTHY), recorded(scenario)

    def paces(name: str, stage: str = "") -> list[float]:
        return [step for series, (_, step) in after.items() if series.startswith(f"{name}{{") and stage in series]

    def reaches(name: str, limit: float) -> bool:
        return any(
            value + step * FAULT_MINUTES > limit for series, (value, step) in after.items() if series.startswith(name)
        )

    stages = {series.split('stage="')[1].split('"')[0] for series in after if 'stage="' in series}
    failing = (
        sum(paces("riffle_events_failed_total", f'"{stage}"'))
        > 0.05 * sum(paces("riffle_events_in_total", f'"{stage}"'))
        for stage in stages
    )
    searches = sum(step for name, (_, step) in after.items() if is_search(name))
    failed = sum(step for name, (_, step) in after.items() if is_search(name) and re.search(r'status="5', name))
    quick, answered = (sum(paces(f"{LATENCY}_bucket", f'le="{le}",{ROUTE}')) for le in ("1.0", "+Inf"))
    definitions = {
        "RiffleLagIsOld": reaches("riffle_lag_seconds", 1_800),
        "RifflePartitionStuck": reaches("riffle_committed_age_seconds", 1_800),
        "RiffleKafkaAway": reaches(SILENCE, 60),
        "RiffleStoreAway": reaches("riffle_waiting_for_store", 0),
        "RiffleFailuresAreMany": any(failing),
        "RiffleAnswersArePartial": any(
            pace > 0.02 * searches for pace in paces("riffle_gateway_partial_answers_total")
        ),
        "RiffleSearchBudgetBurnsFast": failed > 14.4 * 0.001 * searches,
        "RiffleSearchBudgetBurnsSlowly": failed > 6 * 0.001 * searches,
        "RiffleSearchIsSlow": quick < 0.99 * answered,
        "RiffleClocksDiffer": any(abs(value) > 2 for name, (value, _) in after.items() if name.startswith(SKEW)),
        "RiffleStageWithoutWorkers": any(
            not sum(
                after.get(name, (0.0, 0.0))[0]
                for name in before
                if name.startswith("riffle_partitions{") and stage in name
            )
            for stage in {name.partition("{")[2] for name in before if name.startswith("riffle_partitions{")}
        ),
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


def readings(scenario: str) -> dict[str, list[float | None]]:
    """All values of each series, as they were read."""
    found: dict[str, list[float | None]] = json.loads(file_of(scenario).read_text())
    return found


def as_read(scenario: str, expected: set[str]) -> Case:
    """The values as they were read, and then half an hour in which nothing changes, but people search."""
    found, healthy = readings(scenario), recorded(HEALTHY)

    def after(name: str, value: float | None) -> str:
        if value is None:
            return ""
        pace = healthy.get(name, (0.0, 0.0))[1] * READ_SECONDS / 60 if name.startswith("riffle_gateway") else 0.0
        return f" {value + pace:g}+{pace:g}x{QUIET}"

    series = {
        name: " ".join("_" if value is None else f"{value:g}" for value in values) + after(name, values[-1])
        for name, values in found.items()
    }
    minutes = int((max(map(len, found.values())) + QUIET) * READ_SECONDS / 60)
    return Case(scenario, series, expected, minutes, AT_ANY_TIME, int(READ_SECONDS))


@needs_promtool
def test_a_backlog_that_ends_fires_nothing(tmp_path: Path) -> None:
    """625 pages are imported beside a crawl. No event waits for 1,800 s, stages commit, and few attempts fail."""
    lags = [
        [value or 0 for value in values]
        for series, values in readings(BACKLOG).items()
        if series.startswith("riffle_lag_seconds{")
    ]
    assert 60 < max(map(max, lags)) < 1_800, "events waited"
    assert not any(values[-1] for values in lags), "none waits at the end"
    assert verdict(run(tmp_path, as_read(BACKLOG, set()))) == ""


@needs_promtool
def test_a_fault_that_passes_fires_only_what_a_person_must_answer(tmp_path: Path) -> None:
    """Workers are back within a minute, and events are handled late. A person must do something about a loss only."""
    assert verdict(run(tmp_path, *(as_read(scenario, expected) for scenario, expected in PASSING.items()))) == ""


@needs_promtool
def test_a_worker_that_is_killed_again_and_again_fires_nothing_as_long_as_it_works(tmp_path: Path) -> None:
    """The eight kills of the recording are played again and again. Between them the worker owns its partitions."""
    once = as_read(LOOP, set())
    rounds = MINUTES * 60 // int(READ_SECONDS * max(map(len, readings(LOOP).values()))) + 1
    series = {name: " ".join([values.rpartition(" ")[0]] * rounds) for name, values in once.series.items()}
    assert verdict(run(tmp_path, replace(once, series=series, minutes=MINUTES))) == ""


def test_each_fault_of_the_suite_is_recorded_and_each_recording_judged() -> None:
    judged = {HEALTHY, BACKLOG, LOOP, *EXPECTED, *PASSING}
    assert judged - {HEALTHY, BACKLOG, LOOP, IDLE} == OF_THE_SUITE.keys()
    assert set(FOLDER.glob("*.json")) == set(map(file_of, judged))
    assert EXPECTED.keys() == LASTING.keys()


def test_the_guide_names_the_alerts_that_no_recording_fires() -> None:
    guide = (ROOT / "docs" / "guide" / "contribute.md").read_text()
    (named,) = re.findall(r"These alerts have only made series.*?: (Riffle.*?)\.\s", guide, re.DOTALL)
    fired = set[str]().union(*EXPECTED.values(), *PASSING.values())
    assert set(re.findall(r"\w+", named)) == {alert["alert"] for alert in ALERTS} - fired
