"""The overlays of infra/k8s: Kubernetes and the operators accept them, and they fit each other and the chart."""

import re
from typing import Any

import pytest
import yaml

from docs.generate.infrastructure import COMPONENTS
from streams.topology import STAGES, TOPICS
from tests.chart.kubernetes_schemas import KUBERNETES as SUPPORTED
from tests.chart.rendering import CHART, KUBERNETES, ROOT, of_kind, run, schema_locations, template

OVERLAYS = ("dev", "staging", "production")
FOLDER = ROOT / "infra" / "k8s" / "overlays"
WITHOUT_SCHEMA = "K8ssandraCluster,MedusaBackupSchedule"
"""Kinds whose schemas are in no package of a registry: only the tests below check them."""


def rendered(overlay: str) -> str:
    done = run("kustomize", "build", FOLDER / overlay)
    assert done.returncode == 0, done.stderr
    return done.stdout


def objects(overlay: str) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all(rendered(overlay)) if document]


def by_name(overlay: str, kind: str) -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each for each in of_kind(objects(overlay), kind)}


def values(overlay: str) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((FOLDER / overlay / "riffle-values.yaml").read_text())
    return read


@pytest.mark.parametrize("version", SUPPORTED)
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_object_is_valid_by_the_schemas_of_kubernetes_and_of_the_operators(overlay: str, version: str) -> None:
    options = ["-strict", "-summary", "-skip", WITHOUT_SCHEMA, *schema_locations(version)]
    done = run("kubeconform", *options, stdin=rendered(overlay))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Skipped: 2" in done.stdout


def test_kubeconform_sees_a_mistake_in_a_custom_resource() -> None:
    wrong = rendered("dev").replace("userOperator:", "usersOperator:", 1)
    done = run("kubeconform", "-strict", "-skip", WITHOUT_SCHEMA, *schema_locations(KUBERNETES), stdin=wrong)
    assert done.returncode == 1


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_chart_accepts_the_overlay_s_values(overlay: str) -> None:
    done = template("--values", FOLDER / overlay / "riffle-values.yaml")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_topics_have_the_partitions_and_replicas_that_the_application_expects(overlay: str) -> None:
    topics = by_name(overlay, "KafkaTopic")
    assert set(topics) == {topic.name for topic in TOPICS}
    kafka = values(overlay)["kafka"]
    assert {topic["spec"]["partitions"] for topic in topics.values()} == {kafka["partitions"]}
    assert {topic["spec"]["replicas"] for topic in topics.values()} == {kafka["replication"]}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_there_are_brokers_and_nodes_for_the_replicas(overlay: str) -> None:
    brokers = by_name(overlay, "KafkaNodePool")["broker"]["spec"]["replicas"]
    datacenter = by_name(overlay, "K8ssandraCluster")["riffle"]["spec"]["cassandra"]["datacenters"][0]
    settings = values(overlay)
    assert brokers >= settings["kafka"]["replication"]
    assert datacenter["size"] >= settings["cassandra"]["replication"]
    assert len(datacenter["racks"]) == settings["cassandra"]["replication"]
    assert datacenter["metadata"]["name"] == settings["cassandra"]["datacenter"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_each_stage_finds_its_certificate(overlay: str) -> None:
    made = {each["spec"]["secretName"] for each in by_name(overlay, "Certificate").values()}
    pattern = values(overlay)["kafka"]["tls"]["clientSecret"]
    assert {pattern.replace("{component}", stage.name) for stage in STAGES} <= made


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_client_shows_the_certificate_that_each_server_asks_for(overlay: str) -> None:
    """All servers of the overlays require one, and all certificates are of the own authority."""
    settings = values(overlay)
    made = {each["spec"]["secretName"] for each in by_name(overlay, "Certificate").values()}
    copied = {each["spec"]["target"]["name"] for each in by_name(overlay, "ExternalSecret").values()}
    for store in ("kafka", "cassandra", "qdrant", "triton"):
        tls = settings[store]["tls"]
        assert tls["enabled"], store
        assert tls["caSecret"] in copied
        assert {tls["clientSecret"].replace("{component}", each) for each in COMPONENTS if each != "keda"} <= made
    assert settings["triton"]["tls"]["serverSecret"] in made
    assert settings["qdrant"]["url"].startswith("https:")


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_names_are_checked_only_where_certificates_have_the_addresses_of_nodes(overlay: str) -> None:
    certificate = by_name(overlay, "Certificate")["cassandra-stores"]["spec"]
    assert values(overlay)["cassandra"]["tls"]["checkHostname"] is ("ipAddresses" in certificate)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_image_is_that_of_a_registry(overlay: str) -> None:
    """An image without a registry is looked for in a public one, under somebody else's name."""
    settings = values(overlay)
    named_images = [settings["image"]["repository"], settings["triton"]["image"]["repository"]]
    (job,) = by_name(overlay, "CronJob").values()
    own = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["image"]
    assert own.rpartition(":")[0] == settings["image"]["repository"]
    assert all("." in image.split("/")[0] for image in named_images)


def test_secrets_have_names_that_every_store_can_hold() -> None:
    """The store of `dev` is Kubernetes, whose names have no slash."""
    for secret in by_name("dev", "ExternalSecret").values():
        for each in secret["spec"]["data"]:
            assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", each["remoteRef"]["key"])


def test_the_readme_makes_every_secret_that_dev_reads() -> None:
    text = (ROOT / "infra" / "k8s" / "README.md").read_text()
    for secret in by_name("dev", "ExternalSecret").values():
        if secret["spec"]["secretStoreRef"]["name"] == "riffle":
            for each in secret["spec"]["data"]:
                key, field = each["remoteRef"]["key"], each["remoteRef"]["property"]
                command = re.search(rf"create secret generic {key} (.*)", text)
                assert command, key
                assert f"--from-literal={field}=" in command[1], f"{key}: {field}"


def test_the_chart_is_where_the_readme_of_the_overlays_says() -> None:
    assert (CHART / "Chart.yaml").exists()
    assert "helm install riffle helm/riffle" in (ROOT / "infra" / "k8s" / "README.md").read_text()
