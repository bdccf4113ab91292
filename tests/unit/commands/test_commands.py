"""The command line without servers: helps, mistakes, exit statuses, and that --json is JSON and nothing else."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from streams.cli import COMMANDS, app, load_command
from streams.commands.console import need_kafka
from streams.errors import StoreUnavailable
from streams.settings import KafkaSettings, Settings
from streams.topology import STAGES


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A closed port. It is bound, so that no other process gets it."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.fixture
def nowhere(tmp_path: Path, closed_port: int) -> dict[str, str]:
    """An environment in which no server answers."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("RIFFLE_")},
        "RIFFLE_HOME": str(tmp_path),
        "RIFFLE_KAFKA__BOOTSTRAP": f"127.0.0.1:{closed_port}",
        "RIFFLE_GATEWAY__PORT": str(closed_port),
    }


def riffle(*arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """As a person runs it: exit status, stdout and stderr of the real program."""
    command = [sys.executable, "-c", "from streams.cli import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=120)


def paths() -> Iterator[tuple[str, Any]]:
    """Every command and what is below it, by what a person types."""
    for name in COMMANDS:
        command = load_command(name)
        yield name, command
        for below, child in getattr(command, "commands", {}).items():
            yield f"{name} {below}", child


@pytest.mark.parametrize(("path", "command"), list(paths()), ids=lambda value: value if isinstance(value, str) else "")
def test_help_says_what_it_does_with_an_example_that_exists(path: str, command: Any) -> None:
    shown = CliRunner().invoke(app, [*path.split(), "--help"])
    assert shown.exit_code == 0, shown.output
    if hasattr(command, "commands"):
        assert command.commands, "a group without commands"
        return
    examples = [line.strip() for line in shown.output.splitlines() if f"riffle {path}" in line and "Usage" not in line]
    assert examples, f"`riffle {path} --help` has no example"
    for example in examples:
        assert example.count(f"riffle {path}") == 1, f"two examples were filled into one line: {example}"


def test_the_version_is_that_of_the_package() -> None:
    shown = CliRunner().invoke(app, ["--version"])
    assert (shown.exit_code, shown.output) == (0, f"riffle {metadata.version('riffle-search')}\n")


def test_the_table_of_contents_names_every_command_once() -> None:
    lines = CliRunner().invoke(app, ["--help"]).output.splitlines()
    assert all(sum(line.startswith(f"  {name} ") for line in lines) == 1 for name in COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["nothing"], "No such command 'nothing'", id="unknown command"),
        pytest.param(["worker", "fetsh"], "no stage 'fetsh'", id="unknown stage"),
        pytest.param(["worker", "fetsh"], ", ".join(stage.name for stage in STAGES), id="which lists the stages"),
        pytest.param(["replay", "--from", "fetsh"], "no stage 'fetsh'", id="replay of an unknown stage"),
        pytest.param(["dead-letters", "list", "--stage", "x"], "no stage 'x'", id="letters of an unknown stage"),
        pytest.param(["dead-letters", "replay"], "name the letters to replay, or add --all", id="replay of nothing"),
        pytest.param(["dead-letters", "replay", "x", "--all"], "name the letters", id="replay of one and all"),
        pytest.param(["crawl", "ftp://example.org/"], "'ftp://example.org/' can't be crawled", id="not the web"),
        pytest.param(["crawl", "https://"], "'https://' can't be crawled", id="no host"),
        pytest.param(["crawl", "http://[::1"], "can't be crawled", id="a host that is cut off"),
        pytest.param(["crawl", "https://a.test/", "--depth", "-1"], "--depth", id="a depth below 0"),
        pytest.param(["crawl"], "name the seeds", id="no address"),
        pytest.param(["page", "mailto://x@y"], "is neither a page's address nor an id", id="page of no address"),
        pytest.param(["import", "missing.warc.gz"], "missing.warc.gz", id="a file that isn't there"),
        pytest.param(["mcp", "--gateway", "127.0.0.1:8080"], "begins with http:// or https://", id="no scheme"),
        pytest.param(["replay", "--from", "fetch", "--since", "yesterday"], "--since", id="no time"),
    ],
)
def test_mistakes_exit_with_2_and_a_message(arguments: list[str], message: str, nowhere: dict[str, str]) -> None:
    shown = CliRunner(env=nowhere).invoke(app, arguments)
    assert shown.exit_code == 2, shown.output
    assert message in " ".join(shown.stderr.split())
    assert shown.stdout == ""


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        pytest.param({"RIFFLE_PROFILE": "production"}, "Set RIFFLE_CRAWL__CONTACT_URL", id="production, no contact"),
        pytest.param(
            {
                "RIFFLE_PROFILE": "production",
                "RIFFLE_CRAWL__CONTACT_URL": "https://x.test/",
                "RIFFLE_CRAWL__LOCAL_HOSTS": '{"a.test": "127.0.0.1:1"}',
            },
            "the production profile refuses them",
            id="production, local hosts",
        ),
        pytest.param({"RIFFLE_KAFKA__PARTITIONS": "none"}, "RIFFLE_KAFKA__PARTITIONS: Input should be", id="no number"),
        pytest.param({"RIFFLE_KAFKA__BOOTSTRP": "x:1"}, "RIFFLE_KAFKA__BOOTSTRP: Extra inputs", id="a typo"),
        pytest.param({"RIFFLE_CASSANDRA__HOSTS": "a, b"}, "as JSON", id="a list that is no JSON"),
        pytest.param(
            {"RIFFLE_PROFILE": "prod"}, "RIFFLE_PROFILE: Input should be 'local' or 'production'", id="profile"
        ),
    ],
)
def test_settings_that_are_wrong_exit_with_2_and_name_the_variable(
    variables: dict[str, str], message: str, nowhere: dict[str, str]
) -> None:
    shown = CliRunner(env={**nowhere, **variables}).invoke(app, ["status", "--topics"])
    assert shown.exit_code == 2, shown.output
    assert message in " ".join(shown.stderr.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ["status", "--topics"],
        ["status", "--topics", "--json"],
        ["crawl", "https://example.org/", "--json"],
        ["crawl", "example.org"],
        ["dead-letters", "list"],
        ["dead-letters", "show", "fetch/pages.scheduled/0/1"],
        ["dead-letters", "replay", "--all"],
        ["replay", "--from", "normalize"],
    ],
    ids=" ".join,
)
def test_without_kafka_the_status_is_3_and_the_advice_is_how_to_start_it(
    arguments: list[str], nowhere: dict[str, str]
) -> None:
    shown = CliRunner(env=nowhere).invoke(app, arguments)
    assert shown.exit_code == 3, shown.output
    assert f"Kafka at {nowhere['RIFFLE_KAFKA__BOOTSTRAP']} doesn't answer" in shown.stderr
    assert "riffle up" in shown.stderr
    assert shown.stdout == ""


def test_one_broker_of_several_is_enough(closed_port: int, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as broker:
        both = f"127.0.0.1:{closed_port},127.0.0.1:{broker.getsockname()[1]}"
        need_kafka(Settings(home=tmp_path, kafka=KafkaSettings(bootstrap=both)))
    with pytest.raises(StoreUnavailable, match="riffle up"):
        need_kafka(Settings(home=tmp_path, kafka=KafkaSettings(bootstrap="no-port")))


def test_the_program_itself_exits_with_the_status_and_keeps_stdout_clean(nowhere: dict[str, str]) -> None:
    shown = riffle("crawl", "https://example.org/", "--json", env=nowhere)
    assert (shown.returncode, shown.stdout) == (3, "")
    assert "Traceback" not in shown.stderr
    assert riffle("worker", "x", env=nowhere).returncode == 2


def test_status_of_no_stack_is_json_too(nowhere: dict[str, str]) -> None:
    shown = CliRunner(env=nowhere).invoke(app, ["status", "--json"])
    assert isinstance(json.loads(shown.stdout), dict), shown.output
