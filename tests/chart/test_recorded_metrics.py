"""The alerts on what a real stack exported while it worked, and while each of some faults lasted.

`record_metrics.py` made the files of `recorded/`, and says how. The local stack has all stages in one worker, no GPUs
and no Triton metrics, so alerts on those are tested by `test_alerts.py` alone.
"""

import json
from pathlib import Path

import pytest

from tests.chart.record_metrics import FOLDER, GROWING
from tests.chart.test_alerts import AT_ANY_TIME, MINUTES, PROMTOOL, Case, Series, run, verdict

pytestmark = pytest.mark.skipif(not PROMTOOL.is_file(), reason="no promtool: `make chart` builds it (needs Go)")

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


def test_each_recording_is_judged() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == {"healthy", *EXPECTED}
