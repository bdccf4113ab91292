"""The alerts under promtool: none fires in a healthy installation, and each fault fires its own alerts and no other.

A fault is a change of a few series of the healthy installation: what its workers, gateways and Triton export then, as
the fault suite and the runbook describe it. promtool runs the rules of the chart as Prometheus does, minute by minute.
"""

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.chart.rendering import CHART, ROOT
from tests.chart.test_monitoring import ALERTS

PROMTOOL = ROOT / ".tools" / "promtool"
RULES = sorted((CHART / "rules").glob("*.yaml"))
MINUTES = 240
"""Minutes of each scenario before it is judged: longer than the longest `for` and range of the rules but one."""
DAY = 24 * 60

pytestmark = pytest.mark.skipif(not PROMTOOL.is_file(), reason="no promtool: `make chart` builds it (needs Go)")

SEARCH = 'route="/api/v1/search",method="GET"'
STAGES = ("frontier", "fetch", "normalize", "dedup", "statements", "embed", "index", "links", "ledger", "queries")

Series = dict[str, str]
"""Values of each series in promtool's notation: `10+5xN` begins at 10 and grows by 5 each minute."""


def healthy(minutes: int = MINUTES) -> Series:
    """An installation that crawls and answers: 100 events a minute and stage, 600 searches a minute, 50 ms each."""

    def constant(value: float) -> str:
        return f"{value}x{minutes}"

    series: Series = {}
    for stage in STAGES:
        label = f'{{stage="{stage}"}}'
        topic = f'{{stage="{stage}",topic="t"}}'
        series |= {
            f"riffle_lag_seconds{label}": constant(2),
            f"riffle_committed_age_seconds{label}": constant(1),
            f"riffle_events_lost{label}": constant(0),
            f"riffle_waiting_for_store{label}": constant(0),
            f"riffle_partitions{label}": constant(8),
            f"riffle_events_in_total{topic}": f"0+100x{minutes}",
            f'riffle_events_failed_total{{stage="{stage}",error="Late"}}': f"0+1x{minutes}",
            f"riffle_events_dead_total{label}": constant(0),
        }
    bounds = (0.05, 1, 2.5, "+Inf")
    buckets = {
        f'riffle_gateway_latency_seconds_bucket{{{SEARCH},le="{bound}"}}': f"0+600x{minutes}" for bound in bounds
    }
    return series | buckets | {
        f'riffle_gateway_requests_total{{{SEARCH},status="200"}}': f"0+600x{minutes}",
        f'riffle_gateway_requests_total{{{SEARCH},status="503"}}': constant(0),
        'riffle_gateway_partial_answers_total{part="words"}': constant(0),
        "riffle_gateway_events_unpublished_total": constant(0),
        "riffle_search_recall_sum": f"0+0.99x{minutes}",
        "riffle_search_recall_count": f"0+1x{minutes}",
        'riffle_index_page_age_seconds{stage="index"}': constant(20),
        'riffle_fetch_politeness_violations{stage="fetch"}': constant(0),
        'riffle_frontier_leases_expired{stage="frontier"}': constant(0),
        'riffle_frontier_clock_skew_seconds{stage="frontier"}': constant(0.1),
        'nv_gpu_utilization{gpu="0"}': constant(0.7),
        'nv_inference_request_failure{model="sbert"}': constant(0),
        'kube_cronjob_status_last_schedule_time{namespace="r",cronjob="r-links-rank"}': constant(1_000),
        'kube_cronjob_status_last_successful_time{namespace="r",cronjob="r-links-rank"}': constant(1_060),
    }  # fmt: skip


def of_stage(stage: str, **values: str) -> Series:
    return {f'riffle_{name}{{stage="{stage}"}}': f"{value}x{MINUTES}" for name, value in values.items()}


FAULTS: dict[str, tuple[Series, set[str]]] = {
    "Cassandra is away": (
        {
            **of_stage("dedup", waiting_for_store="1", lag_seconds="1900", committed_age_seconds="1900"),
            'riffle_gateway_partial_answers_total{part="words"}': f"0+60x{MINUTES}",
        },
        {"RiffleStoreAway", "RiffleLagIsOld", "RifflePartitionStuck", "RiffleAnswersArePartial"},
    ),
    "Qdrant is away": (
        {f'riffle_gateway_requests_total{{{SEARCH},status="503"}}': f"0+300x{MINUTES}"},
        {"RiffleSearchBudgetBurnsFast", "RiffleSearchBudgetBurnsSlowly"},
    ),
    "a few searches fail all day": (
        {f'riffle_gateway_requests_total{{{SEARCH},status="503"}}': f"0+5x{MINUTES}"},
        {"RiffleSearchBudgetBurnsSlowly"},
    ),
    "a burst of pages": (of_stage("embed", lag_seconds="2000"), {"RiffleLagIsOld"}),
    "the GPUs of embed are gone from the pool": (
        {**of_stage("embed", lag_seconds="400"), 'nv_gpu_utilization{gpu="0"}': f"0.05x{MINUTES}"},
        {"RiffleGpusAreIdle"},
    ),
    "retention passes the embed stage": (
        of_stage("embed", lag_seconds=str(5 * 86_400), events_lost="7"),
        {"RiffleLagIsOld", "RiffleLagNearsRetention", "RiffleEventsLost"},
    ),
    "poison events": (of_stage("normalize", events_dead_total="0+5"), {"RiffleDeadLetters"}),
    "a model that fails": (
        {
            'nv_inference_request_failure{model="sbert"}': f"0+60x{MINUTES}",
            'riffle_events_failed_total{stage="embed",error="TritonError"}': f"0+40x{MINUTES}",
        },
        {"RiffleModelFails", "RiffleFailuresAreMany"},
    ),
    "all workers of a stage are gone": (of_stage("index", partitions="0"), {"RiffleStageWithoutWorkers"}),
    "all workers of a stage are killed": (
        {name: f"{value.partition('x')[0]}x10" for name, value in healthy().items() if 'stage="index"' in name
         and not name.startswith(("riffle_events_dead", "riffle_index_page_age"))},
        {"RiffleStageWithoutWorkers"},
    ),
    "one partition is stuck": (of_stage("index", committed_age_seconds="2400"), {"RifflePartitionStuck"}),
    "skewed clocks": (
        {'riffle_frontier_clock_skew_seconds{stage="frontier"}': f"4x{MINUTES}"}, {"RiffleClocksDiffer"},
    ),
    "fetchers get their events too late": (
        {'riffle_frontier_leases_expired{stage="frontier"}': f"0+20x{MINUTES}"}, {"RiffleLeasesExpire"},
    ),
    "a host gets too many requests": (
        {'riffle_fetch_politeness_violations{stage="fetch"}': f"0+1x{MINUTES}"}, {"RifflePolitenessViolated"},
    ),
    "slow searches": (
        {f'riffle_gateway_latency_seconds_bucket{{{SEARCH},le="{le}"}}': f"0+300x{MINUTES}" for le in (0.05, 1)},
        {"RiffleSearchIsSlow"},
    ),
    "the index finds too little": ({"riffle_search_recall_sum": f"0+0.8x{MINUTES}"}, {"RiffleRecallIsLow"}),
    "Kafka is away for the gateway": (
        {"riffle_gateway_events_unpublished_total": f"0+30x{MINUTES}"}, {"RiffleQueryEventsLost"},
    ),
    "pages take long": (
        {'riffle_index_page_age_seconds{stage="index"}': f"1200x{MINUTES}"}, {"RifflePagesAreNotFresh"},
    ),
}  # fmt: skip
SLOW_FAULT = {
    'kube_cronjob_status_last_schedule_time{namespace="r",cronjob="r-links-rank"}': f"5000x{2 * DAY}",
}


def run(folder: Path, series: Series, expected: set[str], minutes: int = MINUTES) -> subprocess.CompletedProcess[str]:
    """Let promtool play the series, and compare all alerts that fire at the end with the expected ones."""
    test = {
        "rule_files": [str(path) for path in RULES],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": name, "values": values} for name, values in series.items()],
                "promql_expr_test": [
                    {
                        "expr": 'count by (alertname) (ALERTS{alertstate="firing"}) >= bool 1',
                        "eval_time": f"{minutes}m",
                        "exp_samples": [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in sorted(expected)],
                    }
                ],
            }
        ],
    }
    file = folder / "alerts.yaml"
    file.write_text(yaml.safe_dump(test))
    return subprocess.run([PROMTOOL, "test", "rules", file], capture_output=True, text=True, timeout=120, check=False)


def verdict(done: subprocess.CompletedProcess[str]) -> str:
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_promtool_accepts_the_rules() -> None:
    done = subprocess.run([PROMTOOL, "check", "rules", *RULES], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_fires_in_a_healthy_installation(tmp_path: Path) -> None:
    assert verdict(run(tmp_path, healthy(), set())) == ""


def test_a_wrong_expectation_is_seen(tmp_path: Path) -> None:
    assert "FAILED" in verdict(run(tmp_path, healthy(), {"RiffleLagIsOld"}))
    assert "FAILED" in verdict(run(tmp_path, healthy() | FAULTS["slow searches"][0], set()))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_fires_its_own_alerts_and_no_other(fault: str, tmp_path: Path) -> None:
    changed, alerts = FAULTS[fault]
    assert changed.keys() <= healthy().keys() | {key for key in changed if "TritonError" in key}, "a series is new"
    assert verdict(run(tmp_path, healthy() | changed, alerts)) == ""


def test_a_scheduled_command_that_fails_for_a_day_fires(tmp_path: Path) -> None:
    minutes = DAY + 30
    assert verdict(run(tmp_path, healthy(minutes) | SLOW_FAULT, {"RiffleScheduledCommandFails"}, minutes)) == ""


def test_each_alert_has_a_fault() -> None:
    tested = set[str]().union(*(alerts for _, alerts in FAULTS.values())) | {"RiffleScheduledCommandFails"}
    assert tested == {alert["alert"] for alert in ALERTS}, json.dumps(sorted(tested))
