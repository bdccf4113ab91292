"""Addresses outside of a release: each is a value that also opens the network policies, or the template refuses it."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from streams.settings import Settings
from tests.chart.rendering import CHART, component, containers, environment, named, of_kind, render, template

OWNED: dict[str, str] = yaml.safe_load((CHART / "files" / "addresses.yaml").read_text())
LISTENING = {
    "RIFFLE_ACCESS__AUTHORIZATION_SERVER",  # assistants ask it
    "RIFFLE_RUNTIME__HEALTH_HOST",
    "RIFFLE_GATEWAY__HOST",
    "RIFFLE_GATEWAY__PUBLIC_URL",
    "RIFFLE_GATEWAY__ALLOWED_HOSTS",
    "RIFFLE_GATEWAY__CORS_ORIGINS",
    "RIFFLE_ADMIN__ALLOWED_HOSTS",
    "RIFFLE_CASSANDRA__CHECK_HOSTNAME",
    "RIFFLE_CRAWL__CONTACT_URL",
    "RIFFLE_CRAWL__LOCAL_HOSTS",  # refused in production
    "RIFFLE_CRAWL__MAX_PAGES_PER_HOST",
    "RIFFLE_CRAWL__REQUESTS_PER_ADDRESS",
    "RIFFLE_GATEWAY__RESULTS_PER_HOST",
}
"""Settings whose names sound like addresses, and to which no pod connects."""
ADDRESS_PARTS = ("url", "host", "proxy", "endpoint", "bootstrap", "address", "origin", "network", "server", "webhook")
LLM = {"url": "https://llm.example/v1", "model": "small", "existingSecret": "llm"}
PEERS = [{"ipBlock": {"cidr": "203.0.113.7/32"}}]
TOKENS = {"mechanism": "OAUTHBEARER", "existingSecret": "user", "tokenUrl": "https://login.example:8443/token"}


def settings_of(model: type[BaseModel], prefix: str) -> list[str]:
    names = []
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            names += settings_of(kind, f"{prefix}{name.upper()}__")
        else:
            names.append(f"{prefix}{name.upper()}")
    return names


def test_each_setting_that_is_an_address_has_a_value_of_its_own() -> None:
    """A new setting of this kind is denied by default: give it a value and a policy, or name it as harmless."""
    every = set(settings_of(Settings, "RIFFLE_"))
    sounds = {name for name in every if any(part in name.rpartition("__")[2].lower() for part in ADDRESS_PARTS)}
    assert sounds - LISTENING - OWNED.keys() == set()
    assert OWNED.keys() <= every


@pytest.mark.parametrize(("name", "value"), OWNED.items())
def test_an_address_among_the_settings_is_refused(name: str, value: str, tmp_path: Path) -> None:
    done = rendered_with({"settings": {name: "http://elsewhere.example"}}, tmp_path)
    assert done.returncode != 0
    assert value in done.stderr or name in done.stderr


def rendered_with(values: dict[str, Any], folder: Path) -> Any:
    (folder / "values.json").write_text(json.dumps(values))
    return template("--values", CHART / "ci" / "minimal-values.yaml", "--values", folder / "values.json")


def egress(objects: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    rules: list[dict[str, Any]] = named(objects, "NetworkPolicy", name)["spec"].get("egress", [])
    return rules


def reaches(rules: list[dict[str, Any]], port: int) -> bool:
    return any(each.get("to") == PEERS and each["ports"] == [{"protocol": "TCP", "port": port}] for each in rules)


WAYS: list[tuple[dict[str, Any], set[str], int]] = [
    # values, the components that then reach the peers, the port
    ({"answers": {**LLM, "peers": PEERS}}, {"gateway"}, 443),
    ({"answers": {**LLM, "url": "http://llm.models:8000/v1", "peers": PEERS}}, {"gateway"}, 8000),
    ({"crawl": {"proxy": "http://proxy.corp.example:3128", "proxyPeers": PEERS}}, {"fetch", "hooks"}, 3128),
    (
        {"crawl": {"proxy": "http://proxy.corp.example:3128", "proxyPeers": PEERS}, "access": {"fetchNow": "keys"}},
        {"fetch", "hooks", "gateway"},
        3128,
    ),
    (
        {"networkPolicy": {"extraEgress": {"ledger": [{"to": PEERS, "ports": [{"protocol": "TCP", "port": 9}]}]}}},
        {"ledger"},
        9,
    ),
]


@pytest.mark.parametrize(("values", "components", "port"), WAYS)
def test_a_policy_opens_the_way_that_a_value_names(values: dict[str, Any], components: set[str], port: int) -> None:
    objects = render("minimal", values)
    found = {
        component(each) for each in of_kind(objects, "NetworkPolicy") if reaches(each["spec"].get("egress", []), port)
    }
    assert found == components


def test_every_client_of_kafka_reaches_the_token_server() -> None:
    objects = render("minimal", {"kafka": {"tls": {"enabled": True}, "sasl": {**TOKENS, "tokenPeers": PEERS}}})
    with_kafka = {
        component(each)
        for each in of_kind(objects, "Deployment", "Job", "CronJob", "Pod")
        if any("RIFFLE_KAFKA__SASL_TOKEN_URL" in environment(one) for one in containers(each))
    }
    found = {
        component(each) for each in of_kind(objects, "NetworkPolicy") if reaches(each["spec"].get("egress", []), 8443)
    }
    assert with_kafka <= found
    assert "query-embedding" not in found


def test_only_a_gateway_that_fetches_pages_reaches_the_internet() -> None:
    def leaves(rules: list[dict[str, Any]]) -> bool:
        return any("0.0.0.0/0" in str(each.get("to")) for each in rules)

    assert not leaves(egress(render("minimal"), "gateway"))
    assert (
        environment(containers(named(render("minimal"), "Deployment", "gateway"))[0])["RIFFLE_ACCESS__FETCH_NOW"]
        == "nobody"
    )
    assert leaves(egress(render("minimal", {"access": {"fetchNow": "keys"}}), "gateway"))


REFUSED = [
    ({"answers": LLM}, "answers.peers is empty"),
    ({"crawl": {"proxy": "http://proxy.corp.example:3128"}}, "crawl.proxyPeers is empty"),
    ({"runtime": {"otlpEndpoint": "http://collector:4318"}}, "runtime.otlpPeers is empty"),
    ({"kafka": {"tls": {"enabled": True}, "sasl": TOKENS}}, "kafka.sasl.tokenPeers is empty"),
    ({"networkPolicy": {"extraEgress": {"gatway": []}}}, "there is no such component"),
    (
        {"triton": {"url": "openai+https://embeddings.example/v1"}},
        "set triton.enabled and queryEmbedding.enabled to false",
    ),
]


@pytest.mark.parametrize(("values", "says"), REFUSED)
def test_an_address_without_peers_is_refused(values: dict[str, Any], says: str, tmp_path: Path) -> None:
    done = rendered_with(values, tmp_path)
    assert done.returncode != 0
    assert says in done.stderr


def test_opentelemetrys_variables_are_settings_but_for_addresses_and_keys(tmp_path: Path) -> None:
    """An address would have no policy, and a header may have a key."""
    objects = render("minimal", {"settings": {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}})
    for name in ("gateway", "embed"):
        assert environment(containers(named(objects, "Deployment", name))[0])["OTEL_EXPORTER_OTLP_PROTOCOL"] == "grpc"
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS"):
        assert rendered_with({"settings": {name: "x"}}, tmp_path).returncode != 0


@pytest.mark.parametrize("values", [{"answers": LLM}, {"runtime": {"otlpEndpoint": "http://collector:4318"}}])
def test_without_policies_an_address_needs_no_peers(values: dict[str, Any]) -> None:
    objects = render("minimal", {**values, "networkPolicy": {"enabled": False}})
    assert not of_kind(objects, "NetworkPolicy")


def test_the_key_of_the_language_model_is_a_file_of_the_gateway_alone() -> None:
    objects = render("minimal", {"answers": {**LLM, "peers": PEERS}})
    given = environment(containers(named(objects, "Deployment", "gateway"))[0])
    assert given["RIFFLE_ANSWERS__URL"] == LLM["url"]
    assert given["RIFFLE_ANSWERS__KEY_FILE"] == "/etc/riffle/secrets/answers/secret"
    others = [each for each in of_kind(objects, "Deployment") if component(each) != "gateway"]
    assert not any("RIFFLE_ANSWERS__URL" in environment(one) for each in others for one in containers(each))


def test_an_embedding_server_takes_the_place_of_triton(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The API of OpenAI: its key is a file, its policy has its port, and the settings of each pod are valid."""
    url = "openai+https://embeddings.example/v1"
    server = {"enabled": False, "url": url, "model": "e5", "existingSecret": "embeddings", "peers": PEERS}
    objects = render("minimal", {"triton": server})
    for name in ("gateway", "embed", "statements"):
        assert reaches(egress(objects, name), 443)
        given = environment(containers(named(objects, "Deployment", name))[0])
        assert (given["RIFFLE_TRITON__URL"], given["RIFFLE_TRITON__KEY_FILE"]) == (
            url,
            "/etc/riffle/secrets/triton/secret",
        )
    assert reaches(egress(objects, "setup"), 443), "the job asks it for the size of its vectors"
    for name, value in given.items():
        monkeypatch.setenv(name, value if isinstance(value, str) else "a-name")
    (tmp_path / "secret").write_text("a-key")
    monkeypatch.setenv("RIFFLE_TRITON__KEY_FILE", str(tmp_path / "secret"))
    found = Settings.load().triton
    assert found.is_openai
    assert found.current_api_key() == "a-key"
