"""The alerts under promtool: none fires in a healthy installation, and each fault fires its own alerts and no other.

A fault is a change of a few series of the healthy installation: what its workers, gateways and Triton export then, as
the fault suite and the runbook describe it. promtool runs the rules of the chart as Prometheus does, minute by minute.
"""

import json
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart.rendering import CHART, ROOT, of_kind
from tests.chart.rendering import run as tool_run
from tests.chart.test_monitoring import ALERTS
from tests.sizes import FULL

PROMTOOL = ROOT / ".tools" / "promtool"
RULES = sorted((CHART / "rules").glob("*.yaml"))
MINUTES = 120 if FULL else 60
"""Minutes of each scenario before it is judged: longer than the longest `for` of the rules but one (30 minutes)."""
BEFORE = MINUTES // 2
"""Minutes before something unusual that passes."""
DAY = 24 * 60

pytestmark = pytest.mark.skipif(not PROMTOOL.is_file(), reason="no promtool: `make chart` builds it (needs Go)")

SEARCH = 'route="/api/v1/search",method="GET"'
STAGES = ("frontier", "fetch", "normalize", "dedup", "statements", "embed", "index", "links", "ledger", "queries")

VOLUME = '{namespace="r",persistentvolumeclaim="data-riffle-kafka-0"}'
STORE = '{namespace="r",pod="riffle-kafka-0",container="kafka"}'
STORE_MEMORY = '{namespace="r",pod="riffle-kafka-0",container="kafka",resource="memory"}'
STORE_CPU = '{namespace="r",pod="riffle-kafka-0",container="kafka",resource="cpu"}'

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
            f"riffle_kafka_silence_seconds{label}": constant(5),
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
        'riffle_dedup_visits_unchanged{stage="dedup"}': f"0+60x{minutes}",
        'riffle_dedup_visits_indexed_again{stage="dedup"}': f"0+2x{minutes}",
        'riffle_fetch_politeness_violations{stage="fetch"}': constant(0),
        'riffle_frontier_leases_expired{stage="frontier"}': constant(0),
        'riffle_clock_ahead_seconds{stage="frontier"}': constant(0.1),
        f"kubelet_volume_stats_available_bytes{VOLUME}": constant(500),
        f"kubelet_volume_stats_capacity_bytes{VOLUME}": constant(1_000),
        f"container_memory_working_set_bytes{STORE}": constant(500),
        f"kube_pod_container_resource_limits{STORE_MEMORY}": constant(1_000),
        f"container_cpu_usage_seconds_total{STORE}": f"0+30x{minutes}",
        f"kube_pod_container_resource_requests{STORE_CPU}": constant(1),
        'nv_gpu_utilization{gpu="0"}': constant(0.7),
        'nv_inference_request_failure{model="sbert"}': constant(0),
        'kube_cronjob_status_last_schedule_time{namespace="r",cronjob="r-links-rank"}': constant(1_000),
        'kube_cronjob_status_last_successful_time{namespace="r",cronjob="r-links-rank"}': constant(1_060),
    }  # fmt: skip


def healthy_commands(minutes: int) -> Series:
    """The scheduled commands of a healthy installation by themselves: promtool plays a day of all series for long."""
    return {name: values for name, values in healthy(minutes).items() if "cronjob" in name}


def of_stage(stage: str, **values: str) -> Series:
    return {f'riffle_{name}{{stage="{stage}"}}': f"{value}x{MINUTES}" for name, value in values.items()}


# Each alert has a fault in which it must fire, argued by its definition in `helm/riffle/rules`: the condition, and for
# how long it must hold. A fault lasts for `MINUTES`, which is longer than each of these times.
FAULTS: dict[str, tuple[Series, set[str]]] = {
    # RiffleStoreAway: a worker waits (1 > 0) for longer than 10 minutes. Its events wait for 1,900 s > 1,800 s (15
    # minutes), none is committed for 1,900 s > 1,800 s (5 minutes), and 60 of 600 answers lack a part: 10 % > 2 %.
    "Cassandra is away": (
        {
            **of_stage("dedup", waiting_for_store="1", lag_seconds="1900", committed_age_seconds="1900"),
            'riffle_gateway_partial_answers_total{part="words"}': f"0+60x{MINUTES}",
        },
        {"RiffleStoreAway", "RiffleLagIsOld", "RifflePartitionStuck", "RiffleAnswersArePartial"},
    ),
    # It answers no question from the first minute on: at the end for 3,600 s > 60 s. Nothing waits.
    "Kafka is away while nothing waits": (of_stage("index", kafka_silence_seconds="0+60"), {"RiffleKafkaAway"}),
    # The worker is started again every 4 minutes, and is at most 240 s > 60 s old.
    "Kafka is away and an unhealthy worker is started again": (
        {'riffle_kafka_silence_seconds{stage="index"}': " ".join(["0+60x3"] * (MINUTES // 4 + 1))}, {"RiffleKafkaAway"},
    ),
    # 300 failed and 600 answered a minute: a third fails, above 1.44 % (14.4 times the budget of 0.1 %) in the last
    # hour and the last 5 minutes, and above 0.6 % (6 times) in 6 hours and 30 minutes.
    "Qdrant is away": (
        {f'riffle_gateway_requests_total{{{SEARCH},status="503"}}': f"0+300x{MINUTES}"},
        {"RiffleSearchBudgetBurnsFast", "RiffleSearchBudgetBurnsSlowly"},
    ),
    # 5 of 605 fail: 0.83 %. Above 0.6 %, and below 1.44 %.
    "a few searches fail all day": (
        {f'riffle_gateway_requests_total{{{SEARCH},status="503"}}': f"0+5x{MINUTES}"},
        {"RiffleSearchBudgetBurnsSlowly"},
    ),
    # The oldest event waits for 2,000 s > 1,800 s. Events are committed all the time, so no partition is stuck.
    "a burst of pages": (of_stage("embed", lag_seconds="2000"), {"RiffleLagIsOld"}),
    # GPUs are busy for 5 % < 20 %, and pages wait for 400 s > 300 s.
    "the GPUs of embed are gone from the pool": (
        {**of_stage("embed", lag_seconds="400"), 'nv_gpu_utilization{gpu="0"}': f"0.05x{MINUTES}"},
        {"RiffleGpusAreIdle"},
    ),
    # 5 days are more than 4 days, and so more than 1,800 s. 7 events are lost, and one would be enough.
    "retention passes the embed stage": (
        of_stage("embed", lag_seconds=str(5 * 86_400), events_lost="7"),
        {"RiffleLagIsOld", "RiffleLagNearsRetention", "RiffleEventsLost"},
    ),
    # 50 of 1,000 bytes are left: 5 % < 10 %.
    "the disk of a store is full": (
        {f"kubelet_volume_stats_available_bytes{VOLUME}": f"50x{MINUTES}"},
        {"RiffleStoreDiskFills"},
    ),
    # 980 of 1,000 bytes are used: 98 % > 95 %.
    "a store needs more memory": (
        {f"container_memory_working_set_bytes{STORE}": f"980x{MINUTES}"},
        {"RiffleStoreMemoryIsShort"},
    ),
    # 120 seconds a minute are 2 cores, and 1 is requested: 200 % > 150 %.
    "a store needs more CPU time": (
        {f"container_cpu_usage_seconds_total{STORE}": f"0+120x{MINUTES}"},
        {"RiffleStoreCpuIsShort"},
    ),
    # 5 letters a minute are 300 in an hour: more than 10.
    "poison events": (of_stage("normalize", events_dead_total="0+5"), {"RiffleDeadLetters"}),
    # The model fails 60 times a minute: 1 in a second > 0.1. 40 and 1 of 100 attempts of the stage fail: 41 % > 5 %.
    "a model that fails": (
        {
            'nv_inference_request_failure{model="sbert"}': f"0+60x{MINUTES}",
            'riffle_events_failed_total{stage="embed",error="TritonError"}': f"0+40x{MINUTES}",
        },
        {"RiffleModelFails", "RiffleFailuresAreMany"},
    ),
    # The last worker gave its partitions back before it ended.
    "all workers of a stage are gone": (of_stage("index", partitions="0"), {"RiffleStageWithoutWorkers"}),
    # Nobody exports the series of the stage after minute 10, and somebody did within the last 6 hours.
    "all workers of a stage are killed": (
        {name: f"{value.partition('x')[0]}x10" for name, value in healthy().items() if 'stage="index"' in name
         and not name.startswith(("riffle_events_dead", "riffle_index_page_age"))},
        {"RiffleStageWithoutWorkers"},
    ),
    # No commit for 2,400 s > 1,800 s. Events of other partitions are handled, so the stage's lag is small.
    "one partition is stuck": (of_stage("index", committed_age_seconds="2400"), {"RifflePartitionStuck"}),
    # 4 s > 2 s.
    "skewed clocks": (
        {'riffle_clock_ahead_seconds{stage="frontier"}': f"4x{MINUTES}"}, {"RiffleClocksDiffer"},
    ),
    # 20 a minute are 300 in 15 minutes: more than 100.
    "fetchers get their events too late": (
        {'riffle_frontier_leases_expired{stage="frontier"}': f"0+20x{MINUTES}"}, {"RiffleLeasesExpire"},
    ),
    # One is too many.
    "a host gets too many requests": (
        {'riffle_fetch_politeness_violations{stage="fetch"}': f"0+1x{MINUTES}"}, {"RifflePolitenessViolated"},
    ),
    # Half of the searches take longer than 1 s, so the slowest of a hundred does.
    "slow searches": (
        {f'riffle_gateway_latency_seconds_bucket{{{SEARCH},le="{le}"}}': f"0+300x{MINUTES}" for le in (0.05, 1)},
        {"RiffleSearchIsSlow"},
    ),
    # The mean is 0.8 < 0.95, of 60 comparisons > 20.
    "the index finds too little": ({"riffle_search_recall_sum": f"0+0.8x{MINUTES}"}, {"RiffleRecallIsLow"}),
    # 30 a minute are 1,800 in an hour: more than 10.
    "Kafka is away for the gateway": (
        {"riffle_gateway_events_unpublished_total": f"0+30x{MINUTES}"}, {"RiffleQueryEventsLost"},
    ),
    # 6 of 10 unchanged visits are made anew: 60 % > 50 %, and more than 100 after 17 minutes.
    "unchanged pages are made anew": (
        {
            'riffle_dedup_visits_indexed_again{stage="dedup"}': f"0+6x{MINUTES}",
            'riffle_dedup_visits_unchanged{stage="dedup"}': f"0+4x{MINUTES}",
        },
        {"RiffleUnchangedPagesAreCostly"},
    ),
    # 1,200 s > 900 s.
    "pages take long": (
        {'riffle_index_page_age_seconds{stage="index"}': f"1200x{MINUTES}"}, {"RifflePagesAreNotFresh"},
    ),
}  # fmt: skip


def moment(usual: float, unusual: float, minutes: int) -> str:
    """A value that is unusual for some minutes in the middle, and usual before and after."""
    return f"{usual}x{BEFORE - 1} {unusual}x{minutes - 1} {usual}x{MINUTES - BEFORE - minutes}"


# Each alert has a case that is close to its condition, or holds for too short a time, and in which it must not fire at
# any time. The last set has the alerts that must fire, as another condition is met.
NEAR_MISSES: dict[str, list[tuple[Series, set[str]]]] = {
    "RiffleLagIsOld": [
        (of_stage("embed", lag_seconds="1790"), set()),  # 1,790 s < 1,800 s, all the time
        ({'riffle_lag_seconds{stage="embed"}': moment(2, 2_500, 14)}, set()),  # a burst that ends before 15 minutes
    ],
    "RiffleLagNearsRetention": [  # 100 s less than 4 days, which is an old lag
        (of_stage("embed", lag_seconds=str(4 * 86_400 - 100)), {"RiffleLagIsOld"}),
    ],
    "RiffleEventsLost": [  # almost 7 days, and Kafka has deleted nothing yet
        (of_stage("embed", lag_seconds=str(6.9 * 86_400)), {"RiffleLagIsOld", "RiffleLagNearsRetention"}),
    ],
    "RiffleDeadLetters": [(of_stage("normalize", events_dead_total="0+0.15"), set())],  # 9 in an hour < 10
    "RifflePartitionStuck": [
        (of_stage("index", committed_age_seconds="1790"), set()),  # < 1,800 s
        ({'riffle_committed_age_seconds{stage="index"}': moment(1, 2_400, 4)}, set()),  # 4 minutes < 5 minutes
    ],
    # A server that starts again within 9 minutes < 10 minutes.
    "RiffleStoreAway": [({'riffle_waiting_for_store{stage="dedup"}': moment(0, 1, 9)}, set())],
    "RiffleKafkaAway": [
        # A rolling restart of the brokers: each is silent for 50 s < 60 s.
        ({'riffle_kafka_silence_seconds{stage="index"}': f"50x{MINUTES}"}, set()),
        # An outage of 6 minutes. The longest silence of the last 5 minutes is above 60 s for 10 minutes, and no longer.
        ({'riffle_kafka_silence_seconds{stage="index"}': f"5x{BEFORE - 1} 60+60x5 5x{MINUTES - BEFORE - 6}"}, set()),
    ],
    # 3 and 1 of 100 attempts fail: 4 % < 5 %. They succeed at a later attempt.
    "RiffleFailuresAreMany": [({'riffle_events_failed_total{stage="embed",error="Late"}': f"0+4x{MINUTES}"}, set())],
    # A new version is rolled out: nobody owns a partition for 9 minutes < 10 minutes.
    "RiffleStageWithoutWorkers": [({'riffle_partitions{stage="index"}': moment(8, 0, 9)}, set())],
    # 6 of 606 fail: 0.99 % < 1.44 %. It is more than 0.6 %, for more than 15 minutes.
    "RiffleSearchBudgetBurnsFast": [
        (
            {f'riffle_gateway_requests_total{{{SEARCH},status="503"}}': f"0+6x{MINUTES}"},
            {"RiffleSearchBudgetBurnsSlowly"},
        ),
    ],
    # 3 of 603 fail: 0.5 % < 0.6 %.
    "RiffleSearchBudgetBurnsSlowly": [
        ({f'riffle_gateway_requests_total{{{SEARCH},status="503"}}': f"0+3x{MINUTES}"}, set()),
    ],
    # 595 of 600 take less than 1 s: of a hundred, less than one is slower (594 are 99 %).
    "RiffleSearchIsSlow": [
        (
            {
                f'riffle_gateway_latency_seconds_bucket{{{SEARCH},le="0.05"}}': f"0+300x{MINUTES}",
                f'riffle_gateway_latency_seconds_bucket{{{SEARCH},le="1"}}': f"0+595x{MINUTES}",
            },
            set(),
        ),
    ],
    # 11 of 600: 1.8 % < 2 %.
    "RiffleAnswersArePartial": [({'riffle_gateway_partial_answers_total{part="words"}': f"0+11x{MINUTES}"}, set())],
    "RiffleRecallIsLow": [
        ({"riffle_search_recall_sum": f"0+0.96x{MINUTES}"}, set()),  # 0.96 > 0.95
        (  # 18 comparisons < 20, whatever they found
            {
                "riffle_search_recall_sum": f"0+{7 / MINUTES:.3f}x{MINUTES}",
                "riffle_search_recall_count": f"0+{18 / MINUTES:.3f}x{MINUTES}",
            },
            set(),
        ),
    ],
    "RiffleQueryEventsLost": [({"riffle_gateway_events_unpublished_total": f"0+0.15x{MINUTES}"}, set())],  # 9 < 10
    # The mean of 10 minutes with 4 at 2,000 s and 6 at 20 s is 812 s < 900 s.
    "RifflePagesAreNotFresh": [({'riffle_index_page_age_seconds{stage="index"}': moment(20, 2_000, 4)}, set())],
    "RiffleUnchangedPagesAreCostly": [
        (  # 4 of 10 are made anew: 40 % < 50 %
            {
                'riffle_dedup_visits_indexed_again{stage="dedup"}': f"0+4x{MINUTES}",
                'riffle_dedup_visits_unchanged{stage="dedup"}': f"0+6x{MINUTES}",
            },
            set(),
        ),
        # All of them, but 90 in an hour < 100.
        (
            {
                'riffle_dedup_visits_indexed_again{stage="dedup"}': f"0+1.5x{MINUTES}",
                'riffle_dedup_visits_unchanged{stage="dedup"}': f"0x{MINUTES}",
            },
            set(),
        ),
    ],
    # A quarter is left, and 0.01 less each minute: 58 less in four days.
    "RiffleStoreDiskFills": [({f"kubelet_volume_stats_available_bytes{VOLUME}": f"250-0.01x{MINUTES}"}, set())],
    "RiffleStoreMemoryIsShort": [({f"container_memory_working_set_bytes{STORE}": f"940x{MINUTES}"}, set())],
    "RiffleStoreCpuIsShort": [({f"container_cpu_usage_seconds_total{STORE}": f"0+84x{MINUTES}"}, set())],  # 1.4 < 1.5
    # Violations of before, whose number does not grow.
    "RifflePolitenessViolated": [({'riffle_fetch_politeness_violations{stage="fetch"}': f"3x{MINUTES}"}, set())],
    # 6 a minute are 90 in 15 minutes < 100.
    "RiffleLeasesExpire": [({'riffle_frontier_leases_expired{stage="frontier"}': f"0+6x{MINUTES}"}, set())],
    # 1.9 s < 2 s, in the other direction.
    "RiffleClocksDiffer": [({'riffle_clock_ahead_seconds{stage="frontier"}': f"-1.9x{MINUTES}"}, set())],
    "RiffleGpusAreIdle": [
        ({'nv_gpu_utilization{gpu="0"}': f"0x{MINUTES}"}, set()),  # idle, and no page waits for longer than 2 s
        # Pages wait, and the GPUs are busy for 21 % > 20 %.
        ({**of_stage("embed", lag_seconds="400"), 'nv_gpu_utilization{gpu="0"}': f"0.21x{MINUTES}"}, set()),
    ],
    # 5 a minute are 0.083 in a second < 0.1.
    "RiffleModelFails": [({'nv_inference_request_failure{model="sbert"}': f"0+5x{MINUTES}"}, set())],
}
SCHEDULED = '{namespace="r",cronjob="r-links-rank"}'
SLOW_FAULT = {
    f"kube_cronjob_status_last_schedule_time{SCHEDULED}": f"5000x{2 * DAY}",
}
"""A run was started at 5,000 s, and the last that succeeded ended at 1,060 s. After a day this is an alert."""
SLOW_RUN = {
    **SLOW_FAULT,
    f"kube_cronjob_status_last_successful_time{SCHEDULED}": f"1060x{23 * 60} 87000x{DAY}",
}
"""A run that succeeds after 23 hours."""


AT_THE_END = 'count by (alertname) (ALERTS{alertstate="firing"}) >= bool 1'
AT_ANY_TIME = 'count by (alertname) (count_over_time(ALERTS{alertstate="firing"}[2d])) >= bool 1'


@dataclass(frozen=True, slots=True)
class Case:
    """Series that promtool plays, and the alerts that must fire: no other may."""

    name: str
    series: Series
    expected: set[str]
    minutes: int = MINUTES
    judged: str = AT_THE_END
    interval_seconds: int = 60

    def as_test(self) -> dict[str, Any]:
        """Return it in promtool's form."""
        wanted = [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in sorted(self.expected)]
        return {
            "name": self.name,
            "interval": f"{self.interval_seconds}s",
            "input_series": [{"series": name, "values": values} for name, values in self.series.items()],
            "promql_expr_test": [
                {"expr": f"{self.judged} # {self.name}", "eval_time": f"{self.minutes}m", "exp_samples": wanted}
            ],
        }


def run(folder: Path, *cases: Case, rules: Sequence[Path] = RULES) -> subprocess.CompletedProcess[str]:
    """Let one promtool play all cases: its start takes longer than a case."""
    test = {
        "rule_files": [str(path) for path in rules],
        "evaluation_interval": "1m",
        "tests": [case.as_test() for case in cases],
    }
    file = folder / "alerts.yaml"
    file.write_text(json.dumps(test))  # JSON is YAML
    return subprocess.run([PROMTOOL, "test", "rules", file], capture_output=True, text=True, timeout=300, check=False)


def verdict(done: subprocess.CompletedProcess[str]) -> str:
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_promtool_accepts_the_rules() -> None:
    done = subprocess.run([PROMTOOL, "check", "rules", *RULES], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_alert_fires_in_a_healthy_installation_or_in_a_near_miss(tmp_path: Path) -> None:
    cases = [Case("healthy", healthy(), set(), judged=AT_ANY_TIME)]
    for alert, misses in NEAR_MISSES.items():
        for changed, others in misses:
            assert alert not in others
            assert changed.keys() <= healthy().keys(), "a series is new"
            cases.append(Case(f"almost {alert}", healthy() | changed, others, judged=AT_ANY_TIME))
    cases.append(Case("slow command", healthy_commands(DAY + 30) | SLOW_RUN, set(), DAY + 30, AT_ANY_TIME))
    assert verdict(run(tmp_path, *cases)) == ""


def rules_of(folder: Path, release: str, namespace: str) -> Path:
    """The rules of a release as the chart renders them, in Prometheus' own form."""
    minimal = CHART / "ci" / "minimal-values.yaml"
    done = tool_run(
        "helm", "template", release, CHART, f"--namespace={namespace}", "--kube-version=1.34", "--values", minimal,
        "--set=monitoring.rules=true", "--show-only=templates/monitoring.yaml",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (found,) = of_kind([each for each in yaml.safe_load_all(done.stdout) if each], "PrometheusRule")
    file = folder / f"{namespace}-{release}.json"
    file.write_text(json.dumps(found["spec"]))
    return file


def of_release(series: Series, release: str, namespace: str) -> Series:
    """The series with the labels that Prometheus adds to those of a release."""
    own = f'namespace="{namespace}",app_kubernetes_io_instance="{release}"'
    moved = {}
    for name, values in series.items():
        plain = re.sub(r'namespace="r",?', "", name).replace("r-links-rank", f"{release}-riffle-links-rank")
        metric, _, labels = plain.partition("{")
        moved[f"{metric}{{{own}" + (f",{labels}" if labels else "}")] = values
    return moved


@pytest.mark.parametrize("fault", ["Qdrant is away", "Cassandra is away", "the disk of a store is full"])
def test_a_fault_of_one_release_pages_nobody_else(tmp_path: Path, fault: str) -> None:
    """Two installations in a cluster: rules of the first are silent while the second is broken, and fire for theirs."""
    rules = [rules_of(tmp_path, "prod", "shop")]
    whole = of_release(healthy(), "prod", "shop")
    changed, alerts = FAULTS[fault]
    broken = healthy() | changed
    others = Case("staging is broken", whole | of_release(broken, "staging", "trial"), set(), judged=AT_ANY_TIME)
    own = Case("prod is broken", of_release(broken, "prod", "shop"), alerts)
    assert verdict(run(tmp_path, others, own, rules=rules)) == ""


def test_an_alert_names_its_release_and_namespace(tmp_path: Path) -> None:
    groups = json.loads(rules_of(tmp_path, "prod", "shop").read_text())["groups"]
    for rule in (rule for group in groups for rule in group["rules"]):
        assert {"namespace": "shop", "release": "prod"}.items() <= rule["labels"].items()


def test_a_wrong_expectation_is_seen(tmp_path: Path) -> None:
    wrong = run(
        tmp_path,
        Case("missing", healthy(), {"RiffleLagIsOld"}),
        Case("unexpected", healthy() | FAULTS["slow searches"][0], set()),
    )
    assert wrong.returncode != 0
    assert "missing" in verdict(wrong)
    assert "unexpected" in verdict(wrong)


def test_a_fault_fires_its_own_alerts_and_no_other(tmp_path: Path) -> None:
    cases = [Case(fault, healthy() | changed, alerts) for fault, (changed, alerts) in FAULTS.items()]
    for fault, (changed, _) in FAULTS.items():
        assert changed.keys() <= healthy().keys() | {key for key in changed if "TritonError" in key}, fault
    failing = Case(
        "a command fails", healthy_commands(DAY + 30) | SLOW_FAULT, {"RiffleScheduledCommandFails"}, DAY + 30
    )
    assert verdict(run(tmp_path, *cases, failing)) == ""


def test_each_alert_has_a_fault_and_a_near_miss() -> None:
    tested = set[str]().union(*(alerts for _, alerts in FAULTS.values())) | {"RiffleScheduledCommandFails"}
    assert tested == {alert["alert"] for alert in ALERTS}, json.dumps(sorted(tested))
    assert {*NEAR_MISSES, "RiffleScheduledCommandFails"} == tested
