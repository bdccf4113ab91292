"""Kafka with SASL in the chart: what each pod and KEDA get, and what is refused."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from streams.settings import Settings
from tests.chart.rendering import CHART, containers, environment, named, of_kind, pod_spec, render, template

SASL = {"mechanism": "SCRAM-SHA-512", "existingSecret": "kafka-user"}
TOKENS = {**SASL, "mechanism": "OAUTHBEARER", "tokenUrl": "https://login.example/token", "scope": "kafka"}


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


REFUSED = [
    ({"kafka": {"tls": {"enabled": False}, "sasl": SASL}}, "set kafka.tls.enabled"),
    (kafka({"mechanism": "PLAIN"}), "kafka.sasl.existingSecret is empty"),
    (kafka({**SASL, "mechanism": "OAUTHBEARER"}), "kafka.sasl.tokenUrl is empty"),
    (kafka({**SASL, "mechanism": "GSSAPI"}), "kafka.sasl.mechanism"),
]


@pytest.mark.parametrize(("values", "says"), REFUSED)
def test_incomplete_values_are_refused(values: dict[str, Any], says: str, tmp_path: Any) -> None:
    (tmp_path / "values.json").write_text(json.dumps(values))
    minimal = CHART / "ci" / "minimal-values.yaml"
    done: subprocess.CompletedProcess[str] = template("--values", minimal, "--values", tmp_path / "values.json")
    assert done.returncode != 0
    assert says in done.stderr or says in done.stderr.replace("/", ".")
