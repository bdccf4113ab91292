"""The pod in which people run commands: it reaches every server, and nothing reaches it."""

import re
from pathlib import Path

import pytest

from streams.settings import Settings
from tests.chart.rendering import ROOT, VALUES, containers, environment, named, of_kind, pod_spec, render

DOCS = sorted((ROOT / "docs" / "operate").glob("*.md"))


@pytest.mark.parametrize("values", [each for each in VALUES if each != "region"])
def test_it_has_no_pod_until_people_ask_for_one(values: str) -> None:
    deployment = named(render(values), "Deployment", "operator")
    assert deployment["spec"]["replicas"] == (1 if values == "mtls" else 0)
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}, "never two superusers"


def test_it_reaches_all_servers_and_nothing_reaches_it() -> None:
    policy = named(render(), "NetworkPolicy", "operator")["spec"]
    ports = {port["port"] for rule in policy["egress"] for port in rule["ports"]}
    assert ports == {53, 9092, 9042, 6333, 8001, 8080}
    assert "ingress" not in policy
    variables = environment(containers(named(render(), "Deployment", "operator"))[0])
    for store in ("KAFKA", "CASSANDRA", "QDRANT", "TRITON", "GATEWAY"):
        assert any(name.startswith(f"RIFFLE_{store}__") for name in variables), store
    assert variables["RIFFLE_GATEWAY__HOST"] == "riffle-gateway"


def test_it_shows_the_certificate_of_operators_and_keeps_backups_on_a_claim() -> None:
    deployment = named(render("mtls"), "Deployment", "operator")
    volumes = pod_spec(deployment)["volumes"]
    secrets = {s["secret"]["name"] for each in volumes for s in each.get("projected", {}).get("sources", [])}
    assert secrets == {"riffle-authority", "riffle-operator"}
    assert {"name": "backups", "persistentVolumeClaim": {"claimName": "riffle-backups"}} in volumes
    assert {"name": "backups", "mountPath": "/backups"} in containers(deployment)[0]["volumeMounts"]
    variables = environment(containers(deployment)[0])
    assert variables["RIFFLE_KAFKA__KEY_FILE"] == "/etc/riffle/tls/kafka/tls.key"
    assert variables["RIFFLE_GATEWAY__CA_FILE"] == "/etc/riffle/tls/kafka/ca.crt"
    assert "RIFFLE_GATEWAY__KEY_FILE" not in variables, "that is the gateway's own"


@pytest.mark.parametrize("values", [each for each in VALUES if each != "region"])
def test_its_settings_are_valid_and_lead_to_the_servers_of_the_release(
    values: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = render(values)
    for name, value in environment(containers(named(objects, "Deployment", "operator"))[0]).items():
        monkeypatch.setenv(name, value if isinstance(value, str) else "a-secret")
    settings = Settings.load()
    assert settings.profile == "production"
    service = named(objects, "Service", "gateway")
    scheme = "https" if values == "mtls" else "http"
    port = service["spec"]["ports"][0]["port"]
    assert settings.gateway.address == f"{scheme}://{service['metadata']['name']}:{port}"
    assert settings.triton.url.endswith(":8001")


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_commands_of_the_docs_run_in_a_deployment_that_may_do_them(path: Path) -> None:
    """A stage's pod has the addresses, rights and certificate only of its stage."""
    text = path.read_text()
    deployments = set(re.findall(r"deploy/([\w-]+)", text))
    assert deployments <= {"search-riffle-operator"}, path


def test_a_cluster_with_the_fetchers_of_a_region_alone_has_none() -> None:
    names = {each["metadata"]["name"] for each in of_kind(render("region"), "Deployment")}
    assert not any(name.endswith("operator") for name in names)
