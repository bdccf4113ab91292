"""Kafka with SASL in the chart: what each pod and KEDA get, and what is refused."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from streams.settings import Settings
from tests.chart.kubernetes_schemas import MODULES
from tests.chart.rendering import CHART, ROOT, containers, environment, named, of_kind, pod_spec, render, template

SASL = {"mechanism": "SCRAM-SHA-512", "existingSecret": "kafka-user"}
PEERS = [{"ipBlock": {"cidr": "203.0.113.7/32"}}]
TOKENS = {
    **SASL,
    "mechanism": "OAUTHBEARER",
    "tokenUrl": "https://login.example/token",
    "tokenPeers": PEERS,
    "scope": "kafka",
}
KEDA = next(module for module in MODULES if "/keda/" in module)


def kafka(sasl: dict[str, Any], **tls: Any) -> dict[str, Any]:
    return {"kafka": {"tls": {"enabled": True, **tls}, "sasl": sasl}}


@pytest.mark.parametrize("sasl", [SASL, {**SASL, "mechanism": "PLAIN"}, TOKENS], ids=lambda each: each["mechanism"])
def test_the_settings_of_a_pod_are_valid(sasl: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gateway = named(render("minimal", kafka(sasl)), "Deployment", "gateway")
    given = environment(containers(gateway)[0])
    for name, value in given.items():
        monkeypatch.setenv(name, value if isinstance(value, str) else "a-name")
    (tmp_path / "secret").write_text("a-password")
    monkeypatch.setenv("RIFFLE_KAFKA__SASL_PASSWORD_FILE", str(tmp_path / "secret"))
    found = Settings.load().kafka
    assert found.current_password() == "a-password"
    assert (found.security_protocol, found.sasl_mechanism) == ("SASL_SSL", sasl["mechanism"])
    assert (found.sasl_token_url, found.sasl_scope) == (sasl.get("tokenUrl", ""), sasl.get("scope", ""))
    assert found.ca_file is None, "a public authority signed the brokers' certificates"
    assert "tls-kafka" not in str(pod_spec(gateway)["volumes"])


def test_an_authority_of_its_own_is_mounted_beside_sasl() -> None:
    gateway = named(render("minimal", kafka(SASL, caSecret="kafka-ca")), "Deployment", "gateway")
    assert environment(containers(gateway)[0])["RIFFLE_KAFKA__CA_FILE"] == "/etc/riffle/tls/kafka/ca.crt"
    assert "kafka-ca" in json.dumps(pod_spec(gateway)["volumes"])


def test_keda_signs_in_too() -> None:
    objects = render("autoscaling", kafka(SASL))
    (authentication,) = of_kind(objects, "TriggerAuthentication")
    parameters = {each["parameter"]: each["name"] for each in authentication["spec"]["secretTargetRef"]}
    assert {"username": "kafka-user", "password": "kafka-user"}.items() <= parameters.items()
    triggers = [each for scaled in of_kind(objects, "ScaledObject") for each in scaled["spec"]["triggers"]]
    assert {each["metadata"]["sasl"] for each in triggers if each["type"] == "kafka"} == {"scram_sha512"}


def test_keda_gets_a_token_by_its_own_parameters() -> None:
    """Each parameter stands where KEDA reads it, by the tags in its source: an authentication, or a trigger."""
    objects = render("autoscaling", kafka(TOKENS))
    (authentication,) = of_kind(objects, "TriggerAuthentication")
    by_reference = {
        each["parameter"]: (each["name"], each["key"])
        for kind in ("secretTargetRef", "configMapTargetRef")
        for each in authentication["spec"][kind]
    }
    config = named(objects, "ConfigMap", "keda")["data"]
    assert config == {"tokenUrl": TOKENS["tokenUrl"], "scope": "kafka"}
    assert by_reference["oauthTokenEndpointUri"] == ("riffle-keda", "tokenUrl")
    assert by_reference["scopes"] == ("riffle-keda", "scope")
    triggers = [each["metadata"] for scaled in of_kind(objects, "ScaledObject") for each in scaled["spec"]["triggers"]]
    places = places_of_parameters()
    assert all("authParams" in places[name] for name in by_reference)
    assert all("triggerMetadata" in places[name] for each in triggers for name in each)


BY_KEY = {"mechanism": "AWS_MSK_IAM", "existingSecret": "kafka-key"}
BY_ROLE = {"mechanism": "AWS_MSK_IAM", "tokenPeers": PEERS}


def on_aws(sasl: dict[str, Any]) -> dict[str, Any]:
    values = kafka(sasl)
    values["kafka"]["bootstrap"] = "b-1.riffle.a1b2c3.c2.kafka.eu-west-1.amazonaws.com:9098"
    return values


@pytest.mark.parametrize("sasl", [BY_KEY, BY_ROLE], ids=["a key", "a role"])
def test_a_pod_signs_in_at_aws_by_a_key_or_by_its_role(
    sasl: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    objects = render("minimal", on_aws(sasl))
    given = environment(containers(named(objects, "Deployment", "gateway"))[0])
    for name, value in given.items():
        monkeypatch.setenv(name, value if isinstance(value, str) else "AKIDEXAMPLE")
    if "RIFFLE_KAFKA__SASL_PASSWORD_FILE" in given:
        (tmp_path / "secret").write_text("a-key")
        monkeypatch.setenv("RIFFLE_KAFKA__SASL_PASSWORD_FILE", str(tmp_path / "secret"))
    found = Settings.load().kafka
    assert (found.sasl_mechanism, bool(found.sasl_username)) == ("AWS_MSK_IAM", sasl is BY_KEY)
    ways = json.dumps([each for each in of_kind(objects, "NetworkPolicy") if "203.0.113.7" in json.dumps(each)])
    assert ("203.0.113.7" in ways) == (sasl is BY_ROLE), "the way to STS, or to the agent of the node"


@pytest.mark.parametrize("sasl", [BY_KEY, BY_ROLE], ids=["a key", "a role"])
def test_keda_signs_in_at_aws_by_its_own_parameters(sasl: dict[str, Any]) -> None:
    objects = render("autoscaling", on_aws(sasl))
    triggers = [each["metadata"] for scaled in of_kind(objects, "ScaledObject") for each in scaled["spec"]["triggers"]]
    (ways,) = {(each["sasl"], each["saslTokenProvider"], each["awsRegion"]) for each in triggers if "sasl" in each}
    assert ways == ("oauthbearer", "aws_msk_iam", "eu-west-1")
    assert all("triggerMetadata" in places_of_parameters()[name] for each in triggers for name in each)
    (authentication,) = of_kind(objects, "TriggerAuthentication")
    parameters = {each["parameter"] for each in authentication["spec"].get("secretTargetRef", [])}
    if sasl is BY_KEY:
        assert parameters == {"awsAccessKeyID", "awsSecretAccessKey"}
        source = (keda_source() / "aws" / "aws_common.go").read_text()
        assert all(f'authParams["{name}"]' in source for name in parameters)
    else:
        assert authentication["spec"] == {"podIdentity": {"provider": "aws"}}


def places_of_parameters() -> dict[str, set[str]]:
    """Return where KEDA's scaler for Kafka reads each parameter."""
    source = (keda_source() / "kafka_scaler.go").read_text()
    return {name: set(order.split(";")) for name, order in re.findall(r'keda:"name=(\w+),order=([\w;]+)', source)}


def keda_source() -> Path:
    """Return the folder with the source of KEDA's scalers, which `make chart` reads, too."""
    go = shutil.which("go") or "/usr/local/go/bin/go"
    if not Path(go).exists():
        pytest.skip("Go is not there, which has KEDA's source")
    done = subprocess.run([go, "mod", "download", "-json", KEDA], capture_output=True, text=True)
    folder = json.loads(done.stdout or "{}").get("Dir")
    if not folder:
        pytest.skip("KEDA's source can't be had here")
    return Path(folder) / "pkg" / "scalers"


PLAIN = {
    "a user name": kafka(SASL),
    "tokens": kafka(TOKENS),
    "a role of AWS": on_aws(BY_ROLE),
    "certificates": kafka({}, caSecret="ca"),
    "neither": {},
}
"""Values of an installation that uses no optional API, by its sign-in at Kafka."""
BUILT_IN = ("v1", "apps/", "batch/", "policy/", "autoscaling/", "networking.k8s.io/", "rbac.authorization.k8s.io/")


@pytest.mark.parametrize("values", PLAIN.values(), ids=PLAIN)
def test_only_kinds_that_each_cluster_has_are_rendered(values: dict[str, Any]) -> None:
    """A cluster without KEDA refuses its kinds, and the whole installation with them."""
    assert {
        each["apiVersion"] for each in render("minimal", values) if not each["apiVersion"].startswith(BUILT_IN)
    } == set()


def test_triton_that_scales_has_the_authentication_also_without_keda_for_stages() -> None:
    changes = {"autoscaling": {"engine": "hpa"}, "triton": {"autoscaling": {"enabled": True}}, **kafka(SASL)}
    objects = render("minimal", changes)
    assert len(of_kind(objects, "ScaledObject")) == len(of_kind(objects, "TriggerAuthentication")) == 1


@pytest.mark.parametrize("overlay", ["dev", "staging"])
def test_the_overlays_that_scale_nothing_need_no_keda(overlay: str) -> None:
    done = template("--values", ROOT / "infra" / "k8s" / "overlays" / overlay / "riffle-values.yaml")
    assert done.returncode == 0, done.stderr
    assert "keda.sh" not in done.stdout


REFUSED = [
    ({"kafka": {"tls": {"enabled": False}, "sasl": SASL}}, "set kafka.tls.enabled"),
    (kafka({"mechanism": "PLAIN"}), "kafka.sasl.existingSecret is empty"),
    (kafka({**SASL, "mechanism": "OAUTHBEARER"}), "kafka.sasl.tokenUrl is empty"),
    (kafka({**SASL, "mechanism": "GSSAPI"}), "kafka.sasl.mechanism"),
    (kafka(BY_KEY), "kafka.bootstrap has no name of AWS's brokers"),
    (on_aws({"mechanism": "AWS_MSK_IAM"}), "kafka.sasl.tokenPeers is empty"),
]


@pytest.mark.parametrize(("values", "says"), REFUSED)
def test_incomplete_values_are_refused(values: dict[str, Any], says: str, tmp_path: Any) -> None:
    (tmp_path / "values.json").write_text(json.dumps(values))
    minimal = CHART / "ci" / "minimal-values.yaml"
    done: subprocess.CompletedProcess[str] = template("--values", minimal, "--values", tmp_path / "values.json")
    assert done.returncode != 0
    assert says in done.stderr or says in done.stderr.replace("/", ".")
