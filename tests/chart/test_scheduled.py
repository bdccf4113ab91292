"""The commands that the chart runs on a schedule: what they run, with which rights, and that runs don't overlap."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docs.generate.infrastructure import (
    BLOBS_SWEEP,
    COMPONENTS,
    DRAW_MAP,
    LINKS_RANK,
    SCHEDULED,
    SUGGEST_BUILD,
)
from streams.cli import app
from streams.local.ports import free_ports
from tests.chart.rendering import (
    CHART,
    VALUES,
    Object,
    containers,
    environment,
    named,
    of_kind,
    pod_spec,
    render,
    template,
)

NAMES = SCHEDULED
COMMANDS = {
    LINKS_RANK: ["links", "rank", "--json"],
    BLOBS_SWEEP: ["blobs", "sweep", "--delete", "--json"],
    SUGGEST_BUILD: ["suggest", "build", "--json"],
    DRAW_MAP: ["map", "--json"],
}
STORES = {
    LINKS_RANK: {"CASSANDRA"},
    BLOBS_SWEEP: {"CASSANDRA", "KAFKA"},
    SUGGEST_BUILD: {"CASSANDRA"},
    DRAW_MAP: {"CASSANDRA", "QDRANT", "TRITON"},
}
ALL = {"scheduled": {"suggestBuild": {"enabled": True}, "drawMap": {"enabled": True}}}
"""Every command is on."""
PORTS = {"KAFKA": "9092", "CASSANDRA": "9042", "QDRANT": "6333", "TRITON": "8001"}
MINIMAL = CHART / "ci" / "minimal-values.yaml"
MAX_CRON_JOB_NAME = 52
"""Kubernetes adds 11 characters for the name of a job, and a name has 63 at most."""


def container(objects: list[Object], name: str) -> Object:
    (only,) = containers(named(objects, "CronJob", name))
    return only


@pytest.mark.parametrize("name", NAMES)
def test_it_runs_a_command_with_options_that_exist(name: str) -> None:
    objects = render("gpu-fleet")
    arguments = container(objects, name)["args"]
    assert arguments[: len(COMMANDS[name])] == COMMANDS[name]
    usage = CliRunner().invoke(app, [*arguments, "--help"], env={"COLUMNS": "300"})
    assert usage.exit_code == 0, usage.output
    for option in (each.split("=")[0] for each in arguments if each.startswith("--")):
        assert option in usage.output


@pytest.mark.parametrize("values", [each for each in VALUES if each != "region"])
def test_runs_do_not_overlap_and_end_by_a_deadline(values: str) -> None:
    jobs = of_kind(render(values, ALL), "CronJob")
    assert len(jobs) == len(NAMES)
    for job in jobs:
        assert job["spec"]["concurrencyPolicy"] == "Forbid"
        assert job["spec"]["startingDeadlineSeconds"] > 0
        assert job["spec"]["jobTemplate"]["spec"]["activeDeadlineSeconds"] >= 3600


def test_suggestions_and_the_map_are_made_only_where_the_operator_wants_it() -> None:
    assert [each["metadata"]["name"] for each in of_kind(render(), "CronJob")] == [
        f"riffle-{name}" for name in (LINKS_RANK, BLOBS_SWEEP)
    ]


def test_a_cluster_with_the_fetchers_of_a_region_alone_runs_none() -> None:
    assert of_kind(render("region"), "CronJob") == []


def test_schedule_suspension_and_resources_are_values() -> None:
    own = {"schedule": "5 4 * * *", "suspend": True, "deadlineSeconds": 600, "options": ["--anew"]}
    own["resources"] = {"requests": {"cpu": "3", "memory": "9Gi"}, "limits": {"memory": "9Gi"}}
    objects = render("minimal", {"scheduled": {"linksRank": own, "blobsSweep": {"enabled": False}}})
    job = named(objects, "CronJob", LINKS_RANK)["spec"]
    assert (job["schedule"], job["suspend"]) == ("5 4 * * *", True)
    assert job["jobTemplate"]["spec"]["activeDeadlineSeconds"] == 600
    assert container(objects, LINKS_RANK)["args"] == [*COMMANDS[LINKS_RANK], "--anew"]
    assert container(objects, LINKS_RANK)["resources"]["limits"]["memory"] == "9Gi"
    names = {each["metadata"]["name"] for each in objects}
    assert not any(each.endswith(BLOBS_SWEEP) for each in names), "a disabled command leaves nothing behind"


@pytest.mark.parametrize("name", NAMES)
def test_it_gets_addresses_and_secrets_only_of_its_stores_and_reaches_nothing_else(name: str) -> None:
    objects = render("gpu-fleet")
    variables = environment(container(objects, name))
    stores = {each for each in ("KAFKA", "CASSANDRA", "QDRANT", "TRITON") if any(f"_{each}__" in v for v in variables)}
    assert stores == STORES[name]
    policy = named(objects, "NetworkPolicy", name)["spec"]
    ports = {port["port"] for rule in policy["egress"] for port in rule["ports"]}
    assert {str(port) for port in ports} == {"53", *(PORTS[store] for store in STORES[name])}
    assert "ingress" not in policy, "nothing connects to it"


@pytest.mark.parametrize("name", NAMES)
def test_it_shows_a_certificate_of_its_own(name: str) -> None:
    volumes = pod_spec(named(render("mtls", ALL), "CronJob", name))["volumes"]
    secrets = {s["secret"]["name"] for each in volumes for s in each.get("projected", {}).get("sources", [])}
    assert secrets == {"riffle-authority", f"riffle-{name}"}
    assert name in COMPONENTS


@pytest.mark.parametrize("name", NAMES)
def test_a_sweep_that_starts_again_finds_its_progress(name: str) -> None:
    objects = render(changes=ALL)
    pod = pod_spec(named(objects, "CronJob", name))
    assert pod["restartPolicy"] == "OnFailure", "the same pod, with the same folder"
    home = environment(container(objects, name))["RIFFLE_HOME"]
    mounts = [mount["mountPath"] for mount in container(objects, name)["volumeMounts"] if not mount.get("readOnly")]
    assert any(str(home).startswith(f"{mount}/") for mount in mounts)


def test_the_longest_name_of_a_release_leaves_room_for_the_names_of_jobs() -> None:
    done = template(
        "--values",
        MINIMAL,
        "--set=scheduled.suggestBuild.enabled=true,scheduled.drawMap.enabled=true",
        release="a-release-with-a-very-long-name-of-53-characters-xxxx",
    )
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("  name: ") and line.endswith(NAMES)]
    names = [line.split()[-1] for line in lines]
    assert names
    assert max(map(len, names)) <= MAX_CRON_JOB_NAME


@pytest.mark.parametrize("name", NAMES)
def test_the_command_starts_with_the_variables_of_its_pod(name: str, tmp_path: Path) -> None:
    """The program itself, up to the first server: no setting is missing or refused."""
    kafka, cassandra = free_ports(2)
    objects = render(
        "minimal", ALL | {"kafka": {"bootstrap": f"127.0.0.1:{kafka}"}, "cassandra": {"hosts": ["127.0.0.1"]}}
    )
    one = container(objects, name)
    variables = {key: str(value) for key, value in environment(one).items()}
    variables |= {"RIFFLE_CASSANDRA__PORT": str(cassandra), "RIFFLE_HOME": f"{tmp_path}/riffle"}
    command = [sys.executable, "-c", "from streams.cli import main; main()", *one["args"]]
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=240)
    assert done.returncode == 3, done.stderr
    assert "127.0.0.1" in done.stderr


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("scheduled.linksRank.schedule=hourly", "schedule"),
        ("scheduled.linksRank.suspended=true", "suspended"),
        ("scheduled.blobsSweep.options={delete}", "options"),
        ("scheduled.sweep.enabled=false", "sweep"),
    ],
)
def test_a_wrong_value_is_an_error_that_names_it(argument: str, message: str) -> None:
    done = template("--values", MINIMAL, f"--set={argument}")
    assert done.returncode == 1
    assert message in done.stderr


def test_the_map_is_drawn_by_an_image_of_its_own() -> None:
    values = {"global": {"imageRegistry": "r.example"}, "scheduled": {"drawMap": {"enabled": True}}}
    objects = render("minimal", values)
    assert container(objects, DRAW_MAP)["image"].startswith("r.example/riffle-map:")
    assert container(objects, LINKS_RANK)["image"].startswith("r.example/riffle:")
