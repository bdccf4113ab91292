"""The gateway, Triton and the jobs before an installation."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from streams.cli import COMMANDS, app
from streams.gateway.serve import STOP_SECONDS
from streams.runtime.lags.stage_lags import input_topics
from streams.topology import stage
from tests.chart.rendering import (
    CHART,
    ROOT,
    VALUES,
    Object,
    component,
    containers,
    environment,
    named,
    of_kind,
    pod_spec,
    render,
)
from triton_models.check_server import ANSWER_SECONDS


def test_a_roll_out_of_the_gateway_loses_no_request() -> None:
    gateway = named(render(), "Deployment", "gateway")
    assert gateway["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    (container,) = containers(gateway)
    drain = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert pod_spec(gateway)["terminationGracePeriodSeconds"] > drain + STOP_SECONDS
    probe = container["readinessProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] <= drain, "an unready gateway is out before it stops"


def test_operators_have_a_port_of_their_own_that_nothing_publishes() -> None:
    objects = render("autoscaling")
    (container,) = containers(named(objects, "Deployment", "gateway"))
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    assert environment(container)["RIFFLE_GATEWAY__ADMIN_PORT"] == str(ports["admin"])
    assert ports["admin"] != ports["http"]
    assert [p["targetPort"] for p in named(objects, "Service", "gateway")["spec"]["ports"]] == ["http"]
    assert named(objects, "Service", "gateway-admin")["spec"]["type"] == "ClusterIP"
    backends = [
        path["backend"]["service"]["name"]
        for rule in named(objects, "Ingress", "gateway")["spec"]["rules"]
        for path in rule["http"]["paths"]
    ]
    assert backends == ["riffle-gateway"]


def allowed_hosts(objects: list[Object]) -> set[str]:
    variables = environment(containers(named(objects, "Deployment", "gateway"))[0])
    return set(json.loads(variables.get("RIFFLE_GATEWAY__ALLOWED_HOSTS", "[]")))


def test_a_gateway_answers_to_its_published_names_and_its_services() -> None:
    in_cluster = {"riffle-gateway", "riffle-gateway-admin", "riffle-gateway.search.svc.cluster.local"}
    published = {
        "publicUrl": "https://one.example:8443/riffle",
        "ingress": {"enabled": True, "hosts": ["two.example", "*.three.example"]},
        "httpRoute": {"enabled": True, "parentRefs": [{"name": "public"}], "hostnames": ["four.example"]},
    }
    names = allowed_hosts(render(changes={"gateway": published}))
    assert names > in_cluster | {"one.example", "two.example", "*.three.example", "four.example"}
    own = allowed_hosts(render(changes={"gateway": {**published, "allowedHosts": ["five.example"]}}))
    assert own > in_cluster | {"five.example"}
    assert not any(name.endswith((".three.example", "one.example")) for name in own)
    assert allowed_hosts(render()) == set(), "without a published name any name is answered"


def test_with_certificates_every_hop_is_encrypted() -> None:
    objects = render("mtls")
    (container,) = containers(named(objects, "Deployment", "gateway"))
    variables = environment(container)
    for store in ("KAFKA", "CASSANDRA", "QDRANT", "TRITON"):
        assert variables[f"RIFFLE_{store}__CA_FILE"].endswith("/ca.crt")
        assert variables[f"RIFFLE_{store}__KEY_FILE"].endswith("/tls.key")
    assert variables["RIFFLE_GATEWAY__CLIENT_CA_FILE"] == "/etc/riffle/tls/gateway/ca.crt"
    assert container["readinessProbe"]["httpGet"]["scheme"] == "HTTPS"
    for probe in ("startupProbe", "livenessProbe"):  # a thread that says whether the process is alive, and nothing else
        assert container[probe]["httpGet"] == {"path": "/healthz", "port": "health"}
    (endpoint,) = named(objects, "PodMonitor", "monitoring-gateway")["spec"]["podMetricsEndpoints"]
    assert endpoint["scheme"] == "https"
    for name in ("triton", "query-embedding"):
        server = containers(named(objects, "Deployment", name))[-1]
        assert "--grpc-use-ssl-mutual=1" in server["command"]
    mounted = {mount["mountPath"] for mount in container["volumeMounts"]}
    files = [value for value in variables.values() if isinstance(value, str) and value.startswith("/etc/riffle/tls/")]
    assert {str(Path(file).parent) for file in files} <= mounted


def test_routes_leave_headers_alone() -> None:
    route = named(render("external-services"), "HTTPRoute", "search-gateway")["spec"]
    assert route["rules"] == [
        {
            "matches": [{"path": {"type": "PathPrefix", "value": "/"}}],
            "backendRefs": [{"name": "search-gateway", "port": 443}],
        }
    ]
    assert route["hostnames"] == ["search.example.org"]


@pytest.mark.parametrize("values", ["minimal", "gpu-fleet"])
@pytest.mark.parametrize("name", ["triton", "query-embedding"])
def test_a_server_that_lost_a_models_process_is_restarted_and_a_busy_one_is_not(values: str, name: str) -> None:
    """Only the flavour `cpu` has model processes: the graphs of the other one run inside the server."""
    probe = containers(named(render(values, {"queryEmbedding": {"enabled": True}}), "Deployment", name))[-1][
        "livenessProbe"
    ]
    if values == "minimal":
        dockerfile = (ROOT / "triton_models" / "Dockerfile").read_text()
        *_, script = probe["exec"]["command"]
        assert f"COPY triton_models/check_server.py {script}\n" in dockerfile
    else:
        assert probe["httpGet"] == {"path": "/v2/health/live", "port": "http"}
    assert probe["periodSeconds"] * probe["failureThreshold"] <= 100, "what the server answers counts soon"
    assert probe["timeoutSeconds"] * probe["failureThreshold"] >= 300, "silence counts late"
    assert probe["timeoutSeconds"] <= ANSWER_SECONDS, "the probe's own limit decides what is silence"


def test_queries_are_embedded_by_a_server_of_their_own() -> None:
    objects = render("gpu-fleet")
    gateway, embed = named(objects, "Deployment", "gateway"), named(objects, "Deployment", "embed")
    assert environment(containers(gateway)[0])["RIFFLE_TRITON__URL"] == "riffle-query-embedding.search.svc:8001"
    assert environment(containers(embed)[0])["RIFFLE_TRITON__URL"] == "riffle-triton.search.svc:8001"
    small = named(objects, "Deployment", "query-embedding")
    assert all("nvidia.com/gpu" not in each["resources"]["limits"] for each in containers(small))
    (prepare,) = (each for each in containers(small) if each["name"] == "prepare-repository")
    assert "--cpu" in prepare["args"]


@pytest.mark.parametrize(("values", "repository"), [("mtls", "local"), ("gpu-fleet", "production")])
def test_the_server_for_queries_can_serve_the_repository(values: str, repository: str, tmp_path: Path) -> None:
    """The init container's own command, on the repository that the values are for."""
    objects = render(values)
    (prepare,) = (
        each
        for each in containers(named(objects, "Deployment", "query-embedding"))
        if each["name"] == "prepare-repository"
    )
    arguments = {"/source": str(ROOT / "triton_models" / repository), "/models": str(tmp_path)}
    done = CliRunner().invoke(app, [arguments.get(each, each) for each in prepare["args"]])
    assert done.exit_code == 0, done.output
    model = environment(containers(named(objects, "Deployment", "gateway"))[0])["RIFFLE_TRITON__QUERY_MODEL"]
    assert [path.name for path in tmp_path.iterdir()] == [model]


def test_clients_find_added_servers_since_connections_end_and_the_name_has_every_address() -> None:
    objects = render("gpu-fleet")
    for name in ("triton", "query-embedding"):
        assert named(objects, "Service", name)["spec"]["clusterIP"] == "None"
        assert "--grpc-max-connection-age=120000" in containers(named(objects, "Deployment", name))[-1]["command"]


def test_a_gpu_server_asks_for_its_gpus_and_tolerates_preemptible_nodes() -> None:
    triton = named(render("gpu-fleet"), "Deployment", "triton")
    (server,) = (each for each in containers(triton) if each["name"] == "triton")
    assert server["resources"]["limits"]["nvidia.com/gpu"] == 1
    assert {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"} in pod_spec(triton)["tolerations"]
    (prepare,) = (each for each in containers(triton) if each["name"] == "prepare-repository")
    assert "--cpu" not in prepare["args"]
    assert "--instances=e5=2" in prepare["args"]
    assert "--max-queue-delay=4000" in prepare["args"]
    assert "--preferred-sizes=64,128,256" in prepare["args"]


def test_gpus_follow_the_lag_of_the_stage_that_embeds() -> None:
    scaled = named(render("gpu-fleet"), "ScaledObject", "triton")["spec"]
    assert [t["metadata"]["topic"] for t in scaled["triggers"]] == input_topics(stage("embed"))
    assert scaled["maxReplicaCount"] == 64


@pytest.mark.parametrize(
    ("repository", "first"),
    [
        ({"source": "bundled"}, "riffle-triton:0.1.0-cpu"),
        ({"source": "image", "image": "models:7"}, "models:7"),
        ({"source": "volume", "existingClaim": "models"}, None),
        ({"source": "objectStore", "objectStore": {"image": "rclone:1", "command": ["rclone"]}}, "rclone:1"),
    ],
    ids=lambda value: value["source"] if isinstance(value, dict) else "",
)
def test_the_model_repository_comes_from_any_of_four_sources(repository: dict[str, object], first: str | None) -> None:
    triton = named(render("minimal", {"triton": {"repository": repository}}), "Deployment", "triton")
    pod = pod_spec(triton)
    images = {each["name"]: each["image"] for each in pod["initContainers"]}
    assert images.get("copy-repository") == first
    assert images["prepare-repository"] == "riffle:0.1.0"
    source = next(volume for volume in pod["volumes"] if volume["name"] == "source")
    assert ("persistentVolumeClaim" in source) == (repository["source"] == "volume")


def test_jobs_run_before_workers_and_in_order() -> None:
    jobs = of_kind(render(), "Job")
    steps = sorted(jobs, key=lambda job: int(job["metadata"]["annotations"]["helm.sh/hook-weight"]))
    assert [containers(job)[0]["args"][:2] for job in steps] == [
        ["migrate", "--only=topics"],
        ["migrate", "--only=tables"],
        ["migrate", "--only=collection"],
    ]
    for job in jobs:
        notes = job["metadata"]["annotations"]
        assert notes["helm.sh/hook"] == "pre-install,pre-upgrade"
        assert "before-hook-creation" in notes["helm.sh/hook-delete-policy"], "a second run must not meet the first"
        assert job["spec"]["activeDeadlineSeconds"] > 600, "longer than the wait for servers"


def test_what_the_jobs_need_exists_before_them() -> None:
    objects = render()
    first = min(int(job["metadata"]["annotations"]["helm.sh/hook-weight"]) for job in of_kind(objects, "Job"))
    for each in (named(objects, "ServiceAccount", "setup"), named(objects, "NetworkPolicy", "setup")):
        assert int(each["metadata"]["annotations"]["helm.sh/hook-weight"]) < first


def test_the_collection_needs_no_triton_that_does_not_run_yet() -> None:
    arguments = containers(named(render(), "Job", "setup-collection"))[-1]["args"]
    assert "--repository=local" in arguments
    fleet = named(render("gpu-fleet"), "Job", "setup-collection")
    assert [each["name"] for each in containers(fleet)] == ["copy-repository", "setup"]
    assert "--repository=/source" in containers(fleet)[-1]["args"]
    external = containers(named(render("external-services"), "Job", "search-setup-collection"))[-1]
    assert not [each for each in external["args"] if each.startswith("--repository")]
    assert environment(external)["RIFFLE_TRITON__URL"] == "triton.example.net:8001"


@pytest.mark.parametrize("values", ["minimal", "mtls"])
def test_helm_test_sends_a_page_through_the_whole_journey(values: str) -> None:
    objects = render(values)
    (pod,) = of_kind(objects, "Pod")
    assert pod["metadata"]["annotations"]["helm.sh/hook"] == "test"
    (container,) = containers(pod)
    assert container["args"][0] in COMMANDS
    variables = environment(container)
    assert variables["RIFFLE_GATEWAY__HOST"] == named(objects, "Service", "gateway")["metadata"]["name"]
    assert {"RIFFLE_KAFKA__BOOTSTRAP", "RIFFLE_CASSANDRA__HOSTS"} <= variables.keys()
    if values == "mtls":
        (volume,) = (each for each in pod_spec(pod)["volumes"] if each["name"] == "tls-kafka")
        assert volume["projected"]["sources"][1]["secret"]["name"] == "riffle-operator", (
            "it sends what no stage may send"
        )


IMMUTABLE = {
    "Deployment": ("selector",),
    "StatefulSet": ("selector", "serviceName", "podManagementPolicy"),
    "Service": ("clusterIP",),
}


@pytest.mark.parametrize("values", VALUES)
def test_an_upgrade_and_a_rollback_change_no_immutable_field_and_no_name(values: str, tmp_path: Path) -> None:
    """The next version of chart and application, rendered beside this one."""
    newer = tmp_path / "riffle"
    shutil.copytree(CHART, newer)
    chart = (newer / "Chart.yaml").read_text()
    (newer / "Chart.yaml").write_text(chart.replace("version: 0.1.0", "version: 0.2.0").replace('"0.1.0"', '"0.2.0"'))
    before, after = render(values), render(values, chart=newer)
    assert [(each["kind"], each["metadata"]["name"]) for each in before] == [
        (each["kind"], each["metadata"]["name"]) for each in after
    ]
    for old, new in zip(before, after, strict=True):
        for field in IMMUTABLE.get(old["kind"], ()):
            assert old["spec"].get(field) == new["spec"].get(field), (old["kind"], field)
        assert component(old) == component(new)
    assert before != after, "the versions are in the labels and images"


@pytest.mark.parametrize("values", VALUES)
def test_selectors_match_their_own_pods_and_no_others(values: str) -> None:
    objects = render(values)
    pods = {
        component(each): each["spec"]["template"]["metadata"]["labels"]
        for each in of_kind(objects, "Deployment", "StatefulSet")
    }
    for each in of_kind(objects, "Deployment", "StatefulSet", "Service", "PodDisruptionBudget"):
        selector = each["spec"]["selector"]
        selector = selector.get("matchLabels", selector)
        matching = [name for name, labels in pods.items() if selector.items() <= labels.items()]
        assert matching == [component(each)], each["metadata"]["name"]


def test_scripts_of_other_origins_ask_the_api_only_where_they_are_named() -> None:
    def variables(changes: dict[str, Any]) -> dict[str, Any]:
        return environment(containers(named(render(changes=changes), "Deployment", "gateway"))[0])

    assert "RIFFLE_GATEWAY__CORS_ORIGINS" not in variables({})
    named_origins = variables({"gateway": {"corsOrigins": ["https://docs.example.org"]}})
    assert named_origins["RIFFLE_GATEWAY__CORS_ORIGINS"] == '["https://docs.example.org"]'
