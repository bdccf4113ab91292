"""The files for one machine name settings, commands, stages and targets that exist. No engine runs them here."""

import configparser
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from streams.cli import COMMANDS
from streams.settings import Settings
from streams.topology import STAGES
from tests.rules.test_docs import settings_named

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "infra" / "one_machine"
COMPOSE: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
VARIABLE = re.compile(r"\$\{\w+(?::[-?]([^}]*))?\}")


def test_each_variable_of_a_file_is_a_setting() -> None:
    known = settings_named()
    for file in FOLDER.iterdir():
        named = set(re.findall(r"\bRIFFLE_[A-Z]+(?:_{1,2}[A-Z]+)*\b", file.read_text()))
        assert named - known - {"RIFFLE_CONTACT_URL", "RIFFLE_MODELS"} == set(), file.name


def test_the_settings_of_the_containers_are_valid_in_production(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {"RIFFLE_PROFILE": "production", **COMPOSE["x-settings"]}
    variables["RIFFLE_CRAWL__CONTACT_URL"] = "https://example.org/contact"
    for name, value in variables.items():
        monkeypatch.setenv(name, VARIABLE.sub(lambda found: found[1] or "", value))
    settings = Settings.load()
    assert settings.triton.url == "triton-cpu:8001"
    addresses = f"{settings.kafka.bootstrap} {settings.qdrant.url} {settings.triton.url} {settings.cassandra.hosts}"
    assert all(name in addresses for name in ("kafka", "qdrant", "triton-cpu", "cassandra"))


def test_the_containers_run_commands_that_exist_and_the_worker_all_stages_but_the_browser() -> None:
    own = {name: service.get("command", []) for name, service in SERVICES.items() if service["image"] == "riffle:0.1.0"}
    assert {command[0] for command in own.values() if command} <= set(COMMANDS)
    assert own["worker"] == ["worker", *(stage.name for stage in STAGES if stage.name != "render")]
    assert set(own) == {"migrate", "worker", "gateway", "riffle"}


def test_the_images_are_built_from_targets_that_exist() -> None:
    for service in SERVICES.values():
        build = service.get("build")
        if build:
            text = (FOLDER / build["context"] / build["dockerfile"]).resolve().read_text()
            assert build.get("target") is None or f" AS {build['target']}\n" in text


def test_only_the_gateway_has_a_port_and_it_is_of_this_machine_alone() -> None:
    assert {name: service["ports"] for name, service in SERVICES.items() if "ports" in service} == {
        "gateway": ["127.0.0.1:8080:8080"]
    }


def test_what_is_stored_is_on_volumes() -> None:
    mounted = {volume.partition(":")[0] for service in SERVICES.values() for volume in service.get("volumes", [])}
    assert mounted == set(COMPOSE["volumes"]) == {"kafka", "cassandra", "qdrant"}


def test_the_service_starts_and_stops_the_stack() -> None:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.read(FOLDER / "riffle.service")
    service = parser["Service"]
    for line in (service["ExecStart"], service["ExecStop"]):
        program, command = line.split()
        assert program == "/opt/riffle/bin/riffle"
        assert command in COMMANDS
    assert service["Type"] == "oneshot"


def test_the_image_runs_the_local_stack_with_settings_that_are_valid(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = (FOLDER / "Dockerfile").read_text().replace("\\\n", " ")
    of_base = dict(re.findall(r"(RIFFLE_\w+)=(\S+)", (ROOT / "Dockerfile").read_text()))
    own = dict(re.findall(r"(RIFFLE_\w+)=(\S+)", text[text.index("\nENV RIFFLE_PROFILE") :]))
    for name, value in {**of_base, **own}.items():
        monkeypatch.setenv(name, value)
    settings = Settings.load(home=tmp_path)
    assert settings.profile == "local"
    assert (settings.gateway.host, settings.gateway.port) == ("0.0.0.0", 8080)
    assert settings.runtime.health_host == "127.0.0.1"
    assert str(settings.kafka.bootstrap).startswith("localhost"), "the stack names its own servers"
    assert "unset RIFFLE_RUNTIME__HEALTH_PORT;" in text, "the base has one port, and the supervisor asks another one"
    called = re.findall(r"\briffle (up|down|status)\b", text[text.index("HEALTHCHECK") :])
    assert {"up", "down"} <= set(called) <= set(COMMANDS)


def test_the_proxy_waits_for_no_end_of_an_answer() -> None:
    text = (FOLDER / "Caddyfile").read_text()
    port = SERVICES["gateway"]["ports"][0].split(":")[1]
    assert f"reverse_proxy 127.0.0.1:{port} {{" in text
    assert "flush_interval -1" in text
