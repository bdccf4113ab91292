"""The pages of operators in the chart: off by default, with a key of their own, and reached only by the named peers."""

import json
from typing import Any

import pytest

from streams.admin.app import PORT
from streams.settings import Settings
from tests.chart.rendering import CHART, containers, environment, named, of_kind, render, template

ON = {"admin": {"enabled": True, "keySecret": "riffle-admin"}}


def names(objects: list[Any]) -> set[str]:
    return {each["metadata"]["name"] for each in objects}


def test_it_is_off_by_default_and_needs_a_secret() -> None:
    assert "riffle-admin" not in names(render())
    done = template("--values", CHART / "ci" / "minimal-values.yaml", "--set=admin.enabled=true")
    assert "admin.keySecret is empty" in done.stderr


def test_its_settings_are_valid_and_it_answers_to_the_names_of_proxy_and_service(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (container,) = containers(named(render("mtls"), "Deployment", "admin"))
    variables = environment(container)
    assert variables["RIFFLE_ADMIN__KEY"] == {"secretKeyRef": {"name": "riffle-admin", "key": "key"}}
    for name, value in variables.items():
        monkeypatch.setenv(name, value if isinstance(value, str) else "a-secret-of-24-characters")
    settings = Settings.load()
    assert set(settings.admin.allowed_hosts) >= {"riffle-admin.corp.example", "riffle-admin.search.svc"}
    assert container["args"] == ["admin", "--host=0.0.0.0", f"--port={PORT}"]
    assert container["ports"] == [{"name": "admin", "containerPort": PORT}]


def test_only_the_named_peers_reach_it() -> None:
    policy = named(render("mtls"), "NetworkPolicy", "admin")["spec"]
    (rule,) = policy["ingress"]
    assert rule["ports"] == [{"protocol": "TCP", "port": 8090}]
    assert [peer["podSelector"]["matchLabels"] for peer in rule["from"]] == [{"app.kubernetes.io/name": "oauth2-proxy"}]
    assert "ingress" not in named(render(changes=ON), "NetworkPolicy", "admin")["spec"], "without peers: nobody"


def test_nothing_publishes_it_and_its_jobs_run_in_one_pod() -> None:
    objects = render("autoscaling", ON)
    assert named(objects, "Deployment", "admin")["spec"]["strategy"]["rollingUpdate"]["maxSurge"] == 0
    assert named(objects, "Service", "admin")["spec"]["type"] == "ClusterIP"
    routes = json.dumps(of_kind(objects, "Ingress", "HTTPRoute"))
    assert "riffle-admin" not in routes


def test_its_jobs_reach_the_models() -> None:
    users = named(render(changes=ON), "NetworkPolicy", "triton")["spec"]["ingress"][0]["from"]
    reached_by = {peer["podSelector"]["matchLabels"]["app.kubernetes.io/component"] for peer in users}
    assert {"admin", "operator"} <= reached_by
