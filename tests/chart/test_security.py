"""Rights of pods, and the addresses that they may reach."""

import ipaddress
from typing import Any

import pytest
import yaml

from streams.crawl.fetch.guard import _DENIED_V4, _DENIED_V6, denial_reason
from streams.topology import STAGES
from tests.chart.rendering import (
    CHART,
    VALUES,
    WORKLOADS,
    Object,
    component,
    containers,
    named,
    of_kind,
    pod_spec,
    render,
)

RENDERING_PROFILE = {"type": "Localhost", "localhostProfile": "riffle/rendering.json"}
"""The profile with which Chromium's own sandbox works (tests/chart/test_rendering.py)."""
LEAVING = ("fetch", "hooks", "render")
"""Stages whose workers leave the cluster."""
INTERNET = {"0.0.0.0/0", "2000::/3", "::/0"}


def every_stage() -> list[Object]:
    return render("minimal", {"stages": {name: {"enabled": True} for name in ("render", "queries", "knowledge")}})


@pytest.mark.parametrize("values", VALUES)
def test_every_container_runs_without_rights(values: str) -> None:
    for workload in of_kind(render(values), *WORKLOADS):
        pod = pod_spec(workload)
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] > 0
        profile = {"type": "RuntimeDefault"} if component(workload) != "render" else RENDERING_PROFILE
        assert pod["securityContext"]["seccompProfile"] == profile
        assert not any(pod.get(name) for name in ("hostNetwork", "hostPID", "hostIPC"))
        assert not any("hostPath" in volume for volume in pod["volumes"])
        for container in containers(workload):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }, container["name"]


@pytest.mark.parametrize("values", VALUES)
def test_no_pod_has_a_token_for_the_api_server(values: str) -> None:
    objects = render(values)
    accounts = {each["metadata"]["name"]: each for each in of_kind(objects, "ServiceAccount")}
    for workload in of_kind(objects, *WORKLOADS):
        pod = pod_spec(workload)
        assert pod["automountServiceAccountToken"] is False
        assert accounts[pod["serviceAccountName"]]["automountServiceAccountToken"] is False
    assert not of_kind(objects, "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")


@pytest.mark.parametrize("values", VALUES)
def test_every_container_asks_for_cpu_and_memory_and_has_a_limit_of_memory(values: str) -> None:
    for workload in of_kind(render(values), *WORKLOADS):
        for container in containers(workload):
            resources = container["resources"]
            assert {"cpu", "memory"} <= resources["requests"].keys(), container["name"]
            assert "memory" in resources["limits"], container["name"]


@pytest.mark.parametrize("values", VALUES)
def test_no_secret_is_in_a_rendered_object(values: str) -> None:
    objects = render(values)
    assert not of_kind(objects, "Secret")
    for workload in of_kind(objects, *WORKLOADS):
        for container in containers(workload):
            for variable in container.get("env", []):
                if "USERNAME" in variable["name"]:
                    assert set(variable) == {"name", "valueFrom"}
                    assert "secretKeyRef" in variable["valueFrom"]
                elif any(word in variable["name"] for word in ("PASSWORD", "API_KEY")):
                    store = variable["name"].split("__")[0].removeprefix("RIFFLE_").lower()
                    assert variable["value"] == f"/etc/riffle/secrets/{store}/secret", "a file, which is read again"
                    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
                    assert mounts[f"secret-{store}"] == f"/etc/riffle/secrets/{store}"
                    volumes = {volume["name"]: volume for volume in pod_spec(workload)["volumes"]}
                    assert volumes[f"secret-{store}"]["secret"]["items"][0]["path"] == "secret"


@pytest.mark.parametrize("values", VALUES)
def test_images_have_a_version(values: str) -> None:
    for workload in of_kind(render(values), *WORKLOADS):
        for container in containers(workload):
            image = container["image"]
            assert "@sha256:" in image or (":" in image and not image.endswith(":latest")), image


@pytest.mark.parametrize("values", VALUES)
def test_every_workload_has_a_network_policy_for_both_directions(values: str) -> None:
    objects = render(values)
    policies = {component(each): each["spec"] for each in of_kind(objects, "NetworkPolicy")}
    assert {component(each) for each in of_kind(objects, *WORKLOADS)} <= policies.keys()
    for name, spec in policies.items():
        assert spec["policyTypes"] == ["Ingress", "Egress"]
        assert spec["podSelector"]["matchLabels"]["app.kubernetes.io/component"] == name


def egress(objects: list[Object], name: str) -> list[Any]:
    rules: list[Any] = named(objects, "NetworkPolicy", name)["spec"].get("egress", [])
    return rules


def blocks(objects: list[Object], name: str) -> list[Any]:
    return [peer["ipBlock"] for rule in egress(objects, name) for peer in rule.get("to", []) if "ipBlock" in peer]


@pytest.mark.parametrize("values", VALUES)
def test_only_fetchers_browsers_and_webhooks_leave_the_cluster(values: str) -> None:
    objects = render(values)
    for policy in of_kind(objects, "NetworkPolicy"):
        name = component(policy)
        for rule in policy["spec"].get("egress", []):
            assert rule.get("to"), f"{name}: a rule without peers allows every address"
            assert rule.get("ports"), f"{name}: a rule without ports allows every port"
        leaves = any(block["cidr"] in INTERNET for block in blocks(objects, name))
        assert leaves == (name.partition("-")[0] in LEAVING), name


@pytest.mark.parametrize("name", LEAVING)
def test_who_leaves_the_cluster_reaches_https_alone(name: str) -> None:
    (rule,) = (r for r in egress(every_stage(), name) if any("ipBlock" in peer for peer in r["to"]))
    assert rule["ports"] == [{"protocol": "TCP", "port": 443}]


@pytest.mark.parametrize(
    "address",
    ["10.1.2.3", "172.20.0.1", "192.168.1.1", "169.254.169.254", "169.254.170.2", "100.100.100.200", "127.0.0.1",
     "168.63.129.16", "198.18.0.1", "224.0.0.1", "255.255.255.255", "2002:7f00:1::", "2001:db8::1", "fd00::1",
     "fe80::1", "::1", "fd00:ec2::254", "64:ff9b::a9fe:a9fe"],
)  # fmt: skip
def test_the_fetcher_never_reaches_private_link_local_or_metadata_addresses(address: str) -> None:
    assert denial_reason(address), "the application's own guard refuses it, too"
    assert not any(reaches(blocks(every_stage(), name), address) for name in LEAVING)


@pytest.mark.parametrize("address", ["93.184.216.34", "1.1.1.1", "2606:4700::1111"])
def test_the_fetcher_reaches_public_addresses(address: str) -> None:
    assert reaches(blocks(render(), "fetch"), address)


def reaches(allowed: list[Any], address: str) -> bool:
    """True if one of the blocks allows the address, as Kubernetes reads them."""
    parsed = ipaddress.ip_address(address)
    return any(
        parsed in ipaddress.ip_network(block["cidr"])
        and not any(parsed in ipaddress.ip_network(each) for each in block.get("except", ()))
        for block in allowed
    )


def test_the_denied_networks_are_those_of_the_applications_guard() -> None:
    kept = yaml.safe_load((CHART / "files" / "denied-networks.yaml").read_text())
    unicast = ipaddress.IPv6Network(kept["globalUnicast"])
    assert kept["ipv4"] == [str(network) for network, _ in _DENIED_V4]
    denied = [ipaddress.IPv6Network(str(network)) for network, _ in _DENIED_V6]
    inside = {network for network in denied if network.subnet_of(unicast)}
    outermost = {n for n in inside if not any(n != other and n.subnet_of(other) for other in inside)}
    assert {ipaddress.ip_network(each) for each in kept["ipv6"]} == outermost


def test_further_networks_can_be_denied_to_the_fetcher() -> None:
    allowed = blocks(render("external-services"), "fetch")
    assert not reaches(allowed, "203.0.114.7")
    assert not reaches(allowed, "2a02:2e0::1")


STORE_PORTS = {"records": 9042, "vectors": 6333, "models": 8001}


@pytest.mark.parametrize("each", STAGES, ids=lambda each: each.name)
def test_a_stage_reaches_only_the_stores_that_the_topology_names(each: Any) -> None:
    ports = {port["port"] for rule in egress(every_stage(), each.name) for port in rule["ports"]}
    expected = {53, 9092} | {STORE_PORTS[store] for store in each.stores} | ({443} if each.name in LEAVING else set())
    assert ports == expected


def test_triton_is_reached_by_the_stages_that_use_it_and_queries_have_a_server_of_their_own() -> None:
    def users(objects: list[Object], name: str) -> set[str]:
        (rule,) = (r for r in named(objects, "NetworkPolicy", name)["spec"]["ingress"] if r["ports"][0]["port"] == 8001)
        return {peer["podSelector"]["matchLabels"]["app.kubernetes.io/component"] for peer in rule["from"]}

    using = {each.name for each in STAGES if "models" in each.stores}
    using.add("operator")
    assert users(render("gpu-fleet"), "triton") == {*using, "map"}, "the map is drawn there"
    assert users(render("gpu-fleet"), "query-embedding") == {"gateway"}
    assert users(every_stage(), "triton") == {*using, "gateway"}


def test_the_admin_port_of_the_gateway_is_for_monitoring_alone() -> None:
    rules = named(render(), "NetworkPolicy", "gateway")["spec"]["ingress"]
    by_port = {port["port"]: rule for rule in rules for port in rule["ports"]}
    assert set(by_port) == {8080, 8081}
    assert by_port[8081]["from"][0]["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "monitoring"}
