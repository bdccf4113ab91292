"""The workers in the chart: one workload for each stage of the topology, with its settings, probes and scaling."""

import json
import math

import pytest

from docs.generate.chart import chart_topology, events_per_second
from streams.runtime.lags.stage_lags import input_topics
from streams.settings import RuntimeSettings, Settings
from streams.topology import STAGES, Stage, in_regions, stage
from tests.chart.rendering import (
    CHART,
    VALUES,
    WORKLOADS,
    Object,
    component,
    containers,
    environment,
    named,
    of_kind,
    pod_spec,
    render,
)

NAMES = [each.name for each in STAGES]
EVERY_STAGE = {"stages": {name: {"enabled": True} for name in ("render", "queries", "knowledge")}}
"""These stages are off until they are used."""


def test_the_chart_has_the_stages_of_the_topology() -> None:
    kept = json.loads((CHART / "files" / "topology.json").read_text())
    assert kept == chart_topology(), "run `make schemas`"
    assert [each["name"] for each in kept["stages"]] == NAMES


def test_one_deployment_for_each_stage() -> None:
    workers = [each for each in of_kind(render("minimal", EVERY_STAGE), "Deployment") if component(each) in NAMES]
    assert sorted(map(component, workers)) == sorted(NAMES)
    for worker in workers:
        assert containers(worker)[0]["args"] == ["worker", component(worker)]


REGIONS = {
    "eu": {"suffixes": ["de", "fr"], "fetch": {"nodeSelector": {"topology.kubernetes.io/region": "eu-west-1"}}},
    "us": {"fetch": {"replicas": 9}},
    "asia": {"fetch": {"enabled": False}},
}
"""The fetchers of `asia` run in another cluster."""


@pytest.mark.parametrize("values", ["autoscaling", "mtls"])
def test_each_region_has_fetchers_of_its_own(values: str) -> None:
    objects = render(values, {"crawl": {"regions": REGIONS}, "stages": {"fetch": {"replicas": 3}}})
    fetchers = {component(each): each for each in of_kind(objects, "Deployment") if component(each).startswith("fetch")}
    assert sorted(fetchers) == ["fetch-eu", "fetch-us"]
    suffixes = {"eu": ["de", "fr"], "us": [], "asia": []}
    for name, worker in fetchers.items():
        (container,) = containers(worker)
        assert container["args"] == ["worker", "fetch"]
        variables = environment(container)
        assert variables["RIFFLE_CRAWL__REGION"] == name.removeprefix("fetch-")
        assert json.loads(str(variables["RIFFLE_CRAWL__REGIONS"])) == suffixes
        # They leave the cluster, with the identity of the stage.
        policy = named(objects, "NetworkPolicy", name)["spec"]
        assert any("ipBlock" in peer for rule in policy["egress"] for peer in rule["to"])
        if values == "mtls":
            secrets = [
                each
                for volume in pod_spec(worker)["volumes"]
                for each in volume.get("projected", {}).get("sources", [])
            ]
            assert "riffle-fetch" in {each["secret"]["name"] for each in secrets}
        group = f"riffle-{name}"
        triggers = named(objects, "ScaledObject", name)["spec"]["triggers"]
        assert {trigger["metadata"]["consumerGroup"] for trigger in triggers} == {group}
    assert pod_spec(fetchers["fetch-eu"])["nodeSelector"] == {"topology.kubernetes.io/region": "eu-west-1"}
    assert "nodeSelector" not in pod_spec(fetchers["fetch-us"])
    frontier = environment(containers(named(objects, "Deployment", "frontier"))[0])
    assert json.loads(str(frontier["RIFFLE_CRAWL__REGIONS"])) == suffixes
    assert "RIFFLE_CRAWL__REGION" not in frontier


def test_the_groups_of_the_chart_are_those_of_the_application() -> None:
    objects = render("autoscaling", {"crawl": {"regions": REGIONS}})
    scaled = {
        trigger["metadata"].get("consumerGroup")
        for each in of_kind(objects, "ScaledObject")
        for trigger in each["spec"]["triggers"]
    }
    groups = {each.group for each in in_regions(STAGES, ["eu", "us"])}
    assert scaled == groups


@pytest.mark.parametrize("each", STAGES, ids=lambda each: each.name)
def test_a_stage_gets_the_concurrency_of_the_topology_unless_a_value_says_otherwise(each: Stage) -> None:
    assert concurrency(render("minimal", EVERY_STAGE), each.name) == str(each.concurrency)
    assert (
        concurrency(render("minimal", {"stages": {each.name: {"concurrency": 5, "enabled": True}}}), each.name) == "5"
    )


def concurrency(objects: list[Object], name: str) -> str:
    text = environment(containers(named(objects, "Deployment", name))[0])["RIFFLE_RUNTIME__CONCURRENCY"]
    assert isinstance(text, str)
    return text


@pytest.mark.parametrize("values", VALUES)
def test_every_variable_is_a_setting_of_the_application(values: str) -> None:
    settings = set()
    for name, field in Settings.model_fields.items():
        below = getattr(field.annotation, "model_fields", None)
        settings |= {f"RIFFLE_{name}__{each}".upper() for each in below} if below else {f"RIFFLE_{name}".upper()}
    for workload in of_kind(render(values), *WORKLOADS):
        for container in containers(workload):
            variables = {name for name in environment(container) if name.startswith("RIFFLE_")}
            assert variables <= settings, container["name"]


def test_the_settings_of_a_rendered_worker_are_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = named(render("mtls"), "Deployment", "index")
    for name, value in environment(containers(worker)[0]).items():
        monkeypatch.setenv(name, value if isinstance(value, str) else "a-secret")
    settings = Settings.load()
    assert settings.profile == "production"
    assert settings.kafka.security_protocol == "SSL"
    assert settings.cassandra.hosts == ("riffle-dc1-service.cassandra",)
    assert settings.qdrant.shards == 64


def test_the_grace_period_is_longer_than_the_shutdown_of_a_worker() -> None:
    for grace in (5, 20, 120):
        worker = named(render("minimal", {"runtime": {"graceSeconds": grace}}), "Deployment", "fetch")
        assert environment(containers(worker)[0])["RIFFLE_RUNTIME__GRACE_SECONDS"] == str(grace)
        assert pod_spec(worker)["terminationGracePeriodSeconds"] >= grace + 20


def test_the_startup_probe_outlasts_a_slow_start_and_liveness_is_progress() -> None:
    container = containers(named(render(), "Deployment", "frontier"))[0]
    startup = container["startupProbe"]
    assert startup["periodSeconds"] * startup["failureThreshold"] >= 300
    assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "health"}
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "health"}


def test_stages_differ_from_the_defaults_key_by_key() -> None:
    changes = {
        "stageDefaults": {"replicas": 3, "nodeSelector": {"disk": "fast"}},
        "stages": {
            "fetch": {"replicas": 9, "nodeSelector": {"pool": "egress"}, "extraEnv": [{"name": "X", "value": "1"}]}
        },
    }
    objects = render("minimal", changes)
    fetch, dedup = named(objects, "Deployment", "fetch"), named(objects, "Deployment", "dedup")
    assert (fetch["spec"]["replicas"], dedup["spec"]["replicas"]) == (9, 3)
    assert pod_spec(fetch)["nodeSelector"] == {"disk": "fast", "pool": "egress"}
    assert environment(containers(fetch)[0])["X"] == "1"
    assert pod_spec(dedup)["nodeSelector"] == {"disk": "fast"}


def test_a_disabled_stage_leaves_nothing_behind() -> None:
    objects = render("minimal", {"stages": {"fetch": {"enabled": False}}})
    assert [each["kind"] for each in objects if component(each) == "fetch"] == []


def test_static_membership_gives_a_worker_a_name_that_outlives_a_restart() -> None:
    frontier = named(render("gpu-fleet"), "StatefulSet", "frontier")
    variables = environment(containers(frontier)[0])
    assert variables["RIFFLE_RUNTIME__INSTANCE"] == {"fieldRef": {"fieldPath": "metadata.name"}}
    assert float(variables["RIFFLE_RUNTIME__SESSION_TIMEOUT_SECONDS"]) > pod_start_seconds()
    assert frontier["spec"]["podManagementPolicy"] == "Parallel"
    service = named(render("gpu-fleet"), "Service", frontier["spec"]["serviceName"])
    assert service["spec"]["clusterIP"] == "None"
    assert "RIFFLE_RUNTIME__INSTANCE" not in environment(containers(named(render(), "Deployment", "frontier"))[0])


def pod_start_seconds() -> float:
    """Seconds in which a worker of this chart stops and another one with its name starts, at most."""
    return RuntimeSettings().grace_seconds + 30


def test_workers_are_spread_over_zones_and_nodes() -> None:
    spread = pod_spec(named(render(), "Deployment", "embed"))["topologySpreadConstraints"]
    assert [each["topologyKey"] for each in spread] == ["topology.kubernetes.io/zone", "kubernetes.io/hostname"]
    for each in spread:
        assert each["labelSelector"]["matchLabels"]["app.kubernetes.io/component"] == "embed"


def test_a_disruption_budget_never_blocks_the_only_worker() -> None:
    budgets = of_kind(render("minimal", EVERY_STAGE), "PodDisruptionBudget")
    assert {component(each) for each in budgets} >= set(NAMES) | {"gateway"}
    for budget in budgets:
        amount = budget["spec"]["maxUnavailable"]
        allowed = math.ceil(int(amount[:-1]) / 100) if isinstance(amount, str) else amount
        assert allowed >= 1
        assert budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


@pytest.mark.parametrize("each", STAGES, ids=lambda each: each.name)
def test_keda_scales_a_stage_by_every_topic_that_it_reads(each: Stage) -> None:
    scaled = named(render("autoscaling"), "ScaledObject", each.name)["spec"]
    assert [t["metadata"]["topic"] for t in scaled["triggers"]] == input_topics(each)
    assert {t["metadata"]["consumerGroup"] for t in scaled["triggers"]} == {each.group}
    assert {t["metadata"]["offsetResetPolicy"] for t in scaled["triggers"]} == {"earliest"}
    assert scaled["fallback"]["behavior"] == "currentReplicasIfHigher"
    assert "replicas" not in named(render("autoscaling"), "Deployment", each.name)["spec"], "two would fight over it"


@pytest.mark.parametrize(("partitions", "most", "expected"), [(48, 96, 48), (256, 96, 96), (1, 96, 1)])
def test_a_stage_never_has_more_workers_than_partitions(partitions: int, most: int, expected: int) -> None:
    changes = {"kafka": {"partitions": partitions}, "stageDefaults": {"autoscaling": {"maxReplicas": most}}}
    for engine, kind, field in (
        ("keda", "ScaledObject", "maxReplicaCount"),
        ("hpa", "HorizontalPodAutoscaler", "maxReplicas"),
    ):
        objects = render("autoscaling", {**changes, "autoscaling": {"engine": engine}})
        assert named(objects, kind, "fetch")["spec"][field] == expected
        assert named(objects, kind, "frontier")["spec"][field] <= expected


def test_the_lag_threshold_is_the_work_of_one_worker_in_the_time_for_catching_up() -> None:
    scaling = {"eventsPerSecond": 2.5, "catchUpSeconds": 90}
    scaled = named(render("autoscaling", {"stages": {"index": {"autoscaling": scaling}}}), "ScaledObject", "index")
    assert {t["metadata"]["lagThreshold"] for t in scaled["spec"]["triggers"]} == {"225"}


@pytest.mark.parametrize("each", STAGES, ids=lambda each: each.name)
def test_the_speed_of_a_worker_is_the_measured_one_unless_a_value_names_another(each: Stage) -> None:
    measured = next(s for s in chart_topology()["stages"] if s["name"] == each.name)["eventsPerSecond"]
    assert measured == events_per_second(each) > 0
    scaled = named(render("autoscaling"), "ScaledObject", each.name)["spec"]
    assert {t["metadata"]["lagThreshold"] for t in scaled["triggers"]} == {str(int(measured * 60))}


def test_without_keda_an_autoscaler_reads_the_lag_that_workers_export() -> None:
    metric = named(render("air-gapped"), "HorizontalPodAutoscaler", "ledger")["spec"]["metrics"]
    assert metric[0]["pods"]["metric"]["name"] == "riffle_lag_events"
    assert metric[0]["pods"]["target"]["type"] == "AverageValue"
    assert not of_kind(render("air-gapped"), "ScaledObject")


def test_keda_has_an_identity_of_its_own() -> None:
    objects = render("mtls")
    references = {
        e["parameter"]: e["name"] for e in named(objects, "TriggerAuthentication", "keda")["spec"]["secretTargetRef"]
    }
    assert references == {"ca": "riffle-authority", "cert": "riffle-keda", "key": "riffle-keda"}
    for trigger in named(objects, "ScaledObject", "fetch")["spec"]["triggers"]:
        assert (trigger["metadata"]["tls"], trigger["authenticationRef"]["name"]) == ("enable", "riffle-keda")


def test_each_stage_shows_its_own_certificate_to_kafka() -> None:
    for name in NAMES:
        pod = pod_spec(named(render("mtls"), "Deployment", name))
        (volume,) = (each for each in pod["volumes"] if each["name"] == "tls-kafka")
        assert [s["secret"]["name"] for s in volume["projected"]["sources"]] == [
            "riffle-authority",
            f"riffle-{name}",
        ]


def test_a_stage_gets_addresses_and_secrets_only_of_its_stores() -> None:
    for name in NAMES:
        variables = environment(containers(named(render("gpu-fleet"), kind_of(name), name))[0])
        for store, server in (("records", "CASSANDRA"), ("vectors", "QDRANT"), ("models", "TRITON")):
            given = any(variable.startswith(f"RIFFLE_{server}__") for variable in variables)
            assert given == (store in stage(name).stores), (name, store)


def kind_of(name: str) -> str:
    return "StatefulSet" if name == "frontier" else "Deployment"
