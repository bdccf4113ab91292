"""Values that trials on other clusters need: registries, roles, sidecars, other security profiles, probes, spread."""

from typing import Any

import pytest

from tests.chart.rendering import CHART, Object, of_kind, render, template

WORKLOADS = ("Deployment", "StatefulSet", "Job", "CronJob")


def pods(objects: list[Object]) -> list[tuple[str, dict[str, Any]]]:
    """Name and pod template of each workload."""
    found = []
    for each in of_kind(objects, *WORKLOADS):
        spec = each["spec"].get("jobTemplate", each)["spec"] if "jobTemplate" in each["spec"] else each["spec"]
        found.append((each["metadata"]["name"], spec["template"]))
    return found


def containers(pod: dict[str, Any]) -> list[dict[str, Any]]:
    return [*pod["spec"].get("initContainers", ()), *pod["spec"]["containers"]]


def test_a_new_version_of_the_chart_restarts_no_pod_by_its_labels() -> None:
    for name, pod in pods(render("gpu-fleet")):
        labels = pod["metadata"]["labels"]
        assert not {"helm.sh/chart", "app.kubernetes.io/version"} & labels.keys(), name
        assert labels["app.kubernetes.io/name"] == "riffle", name


PROBES = ("startup", "liveness", "readiness")


def test_images_come_from_one_registry() -> None:
    objects = render("minimal", {"global": {"imageRegistry": "registry.example/mirror/"}})
    images = {each["image"] for _, pod in pods(objects) for each in containers(pod)}
    assert images
    assert all(image.startswith("registry.example/mirror/riffle") for image in images), images
    assert all(not each["image"].startswith("registry") for _, pod in pods(render()) for each in containers(pod))


def test_labels_roles_and_sidecars_reach_every_pod() -> None:
    changes = {
        "podLabels": {"team": "search"},
        "serviceAccount": {"annotations": {"role.example/arn": "riffle"}},
        "extraVolumes": [{"name": "ca", "configMap": {"name": "company-ca"}}],
        "extraVolumeMounts": [{"name": "ca", "mountPath": "/etc/company"}],
        "extraContainers": [{"name": "proxy", "image": "proxy:1"}],
        "rollout": "after the password of Cassandra was changed",
    }
    objects = render("minimal", changes)
    accounts = of_kind(objects, "ServiceAccount")
    assert accounts
    for account in accounts:
        assert account["metadata"]["annotations"]["role.example/arn"] == "riffle", account["metadata"]["name"]
    for name, pod in pods(objects):
        assert pod["metadata"]["labels"]["team"] == "search", name
    serving = [(each["metadata"]["name"], each["spec"]["template"]) for each in of_kind(objects, "Deployment")]
    for name, pod in serving:
        assert "proxy" in {each["name"] for each in pod["spec"]["containers"]}, name
        if "triton" not in name and "query" not in name:
            assert "ca" in {each["name"] for each in pod["spec"]["volumes"]}, name
        if "operator" not in name:
            assert pod["metadata"]["annotations"]["riffle/rollout"] == changes["rollout"], name


def test_the_restricted_profile_of_openshift_chooses_the_user() -> None:
    free: dict[str, Any] = {"podSecurityContext": dict.fromkeys(("runAsUser", "runAsGroup", "fsGroup"))}
    for name, pod in pods(render("minimal", free)):
        security = pod["spec"]["securityContext"]
        assert not {"runAsUser", "runAsGroup", "fsGroup"} & security.keys(), name
        assert security["runAsNonRoot"] is True
        for each in containers(pod):
            assert each["securityContext"]["capabilities"] == {"drop": ["ALL"]}, name
            assert each["securityContext"]["allowPrivilegeEscalation"] is False
    for name, pod in pods(render()):
        assert pod["spec"]["securityContext"]["runAsUser"] == 10001, name


@pytest.mark.parametrize(
    ("section", "component"),
    [("stageDefaults", "fetch"), ("gateway", "gateway"), ("triton", "triton"), ("admin", "admin")],
)
def test_probes_have_the_numbers_of_the_values(section: str, component: str) -> None:
    values: dict[str, Any] = {"admin": {"enabled": True, "keySecret": "riffle-admin"}}
    values.setdefault(section, {})["probes"] = {kind: {"failureThreshold": 777} for kind in PROBES}
    objects = render("minimal", values)
    pod = dict(pods(objects))[f"riffle-{component}"]
    for kind in PROBES:
        (probe,) = (each[f"{kind}Probe"] for each in pod["spec"]["containers"] if f"{kind}Probe" in each)
        assert probe["failureThreshold"] == 777
        assert probe["periodSeconds"] > 0, "the other numbers stay"


def test_servers_of_models_have_further_volumes() -> None:
    volumes: dict[str, Any] = {
        "extraVolumes": [{"name": "licence", "secret": {"secretName": "nvidia"}}],
        "extraVolumeMounts": [{"name": "licence", "mountPath": "/licence"}],
    }
    by_name = dict(pods(render("gpu-fleet", {"triton": volumes})))
    servers = [name for name in by_name if name.endswith(("-triton", "-query-embedding"))]
    assert len(servers) == 2
    for name in servers:
        spec = by_name[name]["spec"]
        assert volumes["extraVolumes"][0] in spec["volumes"]
        (server,) = (each for each in spec["containers"] if each["name"] == "triton")
        assert volumes["extraVolumeMounts"][0] in server["volumeMounts"]
    assert not any("licence" in str(pod) for name, pod in by_name.items() if name not in servers)


def test_servers_of_models_are_spread() -> None:
    by_name = dict(pods(render("gpu-fleet")))
    spread = {name: pod["spec"].get("topologySpreadConstraints") for name, pod in by_name.items()}
    models = {name: found for name, found in spread.items() if "triton" in name or "query" in name}
    assert len(models) >= 2, by_name.keys()
    assert all(len(found or ()) == 2 for found in models.values()), models


def test_an_unknown_number_of_a_probe_is_refused() -> None:
    done = template("--values", CHART / "ci" / "minimal-values.yaml", "--set", "gateway.probes.startup.port=1")
    assert done.returncode != 0
    assert "port" in done.stderr


def test_networks_of_an_intranet_are_reached_only_where_they_are_named() -> None:
    changes = {"crawl": {"allowedOrigins": ["http://wiki.corp.example"], "allowedNetworks": ["10.20.0.0/16"]}}

    def egress_of_fetchers(objects: list[Object]) -> str:
        (policy,) = (each for each in of_kind(objects, "NetworkPolicy") if each["metadata"]["name"] == "riffle-fetch")
        return str(policy["spec"]["egress"])

    assert "{'cidr': '10.20.0.0/16'}" in egress_of_fetchers(render("minimal", changes))
    assert "'port': 80}" in egress_of_fetchers(render("minimal", changes))
    assert "{'cidr': '10.20.0.0/16'}" not in egress_of_fetchers(render())
    for name, pod in pods(render("minimal", changes)):
        if name == "riffle-fetch":
            values = {each["name"]: each.get("value") for each in containers(pod)[0]["env"]}
            assert values["RIFFLE_CRAWL__ALLOWED_ORIGINS"] == '["http://wiki.corp.example"]'
