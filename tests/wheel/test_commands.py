"""Every command works from the wheel: its help, and one use without servers. Nothing of the checkout is there."""

import json
import re
import signal
import socket
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from email.parser import Parser
from pathlib import Path

import pytest

from streams.cli import COMMANDS, load_command
from streams.commands.console import EXIT_UNAVAILABLE
from tests.short_lives import NO_SPELLING
from tests.wheel.environment import JARS, Installed, install

HELPS = """
import sys
from typer.testing import CliRunner
from streams.cli import COMMANDS, app, load_command
assert streams.__file__.startswith(sys.prefix), streams.__file__
for name in COMMANDS:
    below = getattr(load_command(name), "commands", {})
    for path in ([name], *([name, child] for child in below)):
        shown = CliRunner().invoke(app, [*path, "--help"])
        assert shown.exit_code == 0, (path, shown.output)
        print(*path)
"""
NO_KAFKA, NO_CASSANDRA = "Kafka at .* doesn't answer", "Cassandra at .* can't be reached"
NO_GATEWAY, NO_STACK = "gateway at .* doesn't answer", "No stack runs"
NO_LOCAL = r"pip install 'PATH_OF_THE_CLONE\[local\]'"
NO_WEIGHTS = r"the model of all-minilm-l6-v2 was found in none of .*riffle-model-minilm"
LANGUAGES = Path(__file__).parents[2] / "streams/gateway/messages"
MODELS = "environment/lib/python3*/site-packages/streams/_models"

USES: dict[str, tuple[int, str]] = {
    # A command as it is typed, in a folder with the files of `files` below: its exit status, and what it prints.
    "up": (2, NO_LOCAL),
    "down": (0, NO_STACK),
    "status": (1, NO_STACK),
    "demo --exit": (2, NO_LOCAL),
    "certificates": (1, "There are no certificates here"),
    "completion bash": (0, "_RIFFLE_COMPLETE"),
    "crawl https://a.test/": (3, NO_KAFKA),
    "import pages.warc": (3, NO_KAFKA),
    "import web": (3, NO_KAFKA),
    "import pages.warc.wat": (3, NO_KAFKA),
    "import cdx-0.gz --host a.test": (3, NO_KAFKA),
    "export out.warc.gz": (3, NO_CASSANDRA),
    "import entities.json": (3, NO_KAFKA),
    "import dump.xml": (3, NO_KAFKA),
    "import entities.jsonl": (3, NO_KAFKA),
    "watch web --as https://a.test/": (3, NO_KAFKA),
    "search what": (3, NO_GATEWAY),
    "page https://a.test/": (3, NO_CASSANDRA),
    "remove https://a.test/": (3, NO_KAFKA),
    "migrate": (3, NO_KAFKA),
    "admin": (3, NO_KAFKA),
    "map": (3, NO_CASSANDRA),
    "status --topics": (3, NO_KAFKA),
    "dead-letters list": (3, NO_KAFKA),
    "dead-letters show 0/0": (3, NO_KAFKA),
    "dead-letters replay --all --stage embed": (3, NO_KAFKA),
    "backup copies": (3, NO_KAFKA),
    "restore copies": (3, NO_KAFKA),
    "doctor": (2, "5 failures"),
    "round-trip": (3, NO_KAFKA),
    "replay --from embed": (3, NO_KAFKA),
    "reindex": (3, NO_CASSANDRA),
    "frontier hosts": (3, NO_CASSANDRA),
    "frontier show a.test": (3, NO_CASSANDRA),
    "frontier set a.test --block": (3, NO_KAFKA),
    "frontier set a.test --delay 5 --budget 5": (3, NO_CASSANDRA),
    "links rank": (3, NO_CASSANDRA),
    "links show a.test": (3, NO_CASSANDRA),
    "links rank --cluster tcp://a.test:8786": (2, "--cluster and --edges go together"),
    "blobs sweep": (3, NO_KAFKA),
    "models prepare MODELS/production copy --cpu": (0, "statement_chain"),
    "models serve pages.warc": (2, "no file of weights"),
    "plan --pages 1e6": (0, "USD a month"),
    "eval answers questions.json": (3, NO_GATEWAY),
    "queries list": (3, NO_CASSANDRA),
    "queries learn": (3, NO_CASSANDRA),
    "queries purge --yes": (3, NO_CASSANDRA),
    "keys add program": (3, NO_CASSANDRA),
    "keys list": (3, NO_CASSANDRA),
    "keys revoke 3f9a51c0d2b7": (3, NO_CASSANDRA),
    "sites add docs --host docs.example": (3, NO_CASSANDRA),
    "sites list": (3, NO_CASSANDRA),
    "sites remove docs": (3, NO_CASSANDRA),
    "suggest build": (3, NO_CASSANDRA),
}
SERVED = {"web", "worker", "gateway", "mcp"}
"""Commands that run until they are stopped: tests of their own."""
WARC = "WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
WAT = f'{WARC}WARC/1.0\r\nWARC-Type: metadata\r\nContent-Length: 15\r\n\r\n{{"Envelope":{{}}}}\r\n\r\n'
CDX = 'test,a)/ 20260101000000 {"url": "https://a.test/", "status": "200"}\n'
ENTITIES = '{"id": "acme:pump-3", "type": "pump", "label": "Pump 3"}\n'
WORDS = " ".join(f"word{number}" for number in range(80))


@pytest.fixture(scope="module")
def nowhere() -> Iterator[dict[str, str]]:
    """Addresses at which nothing answers. The port is bound, so that no other process gets it."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = str(bound.getsockname()[1])
        yield {
            "RIFFLE_KAFKA__BOOTSTRAP": f"127.0.0.1:{port}",
            "RIFFLE_CASSANDRA__PORT": port,
            "RIFFLE_QDRANT__URL": f"http://127.0.0.1:{port}",
            "RIFFLE_GATEWAY__PORT": port,
        }


@pytest.fixture(scope="module")
def files(plain: Installed) -> None:
    """The files that the uses name."""
    texts = {
        "web/a.test/index.html": f"<title>Logs</title><p>{WORDS}</p>",
        "pages.warc": WARC,
        "pages.warc.wat": WAT,
        "cdx-0.gz": CDX,
        "copies/manifest.json": "{}",
        "questions.json": json.dumps([{"question": "What is fast?", "answer": "a log"}]),
        "entities.json": "[]",
        "entities.jsonl": ENTITIES,
        "dump.xml": "<mediawiki/>",
    }
    for name, text in texts.items():
        path = plain.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_the_wheel_holds_the_product_and_nothing_of_the_workshop(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names if ".dist-info/" not in name} == {"streams", "schemas"}
    models = {name.split("/")[2] for name in names if name.startswith("streams/_models/")}
    assert models == {"local", "production", "rerank"}
    assert "streams/local/servers/jgo.lock.toml" in names
    catalogues = {path.name for path in LANGUAGES.glob("*.po")}
    assert catalogues == {Path(name).name for name in names if name.endswith(".po")}, "the pages' languages"
    laboratory = ("evaluation", "threshold_choice", "labelling", "label_routes")
    assert not [name for name in names if Path(name).stem in laboratory or "/evaluation/" in name]
    assert {"streams/py.typed", "schemas/py.typed"} <= {*names}, "the client's types reach those who use it (PEP 561)"


def test_the_wheel_is_small(wheel: Path) -> None:
    """Weights that are made from packages, or a large file by accident, would be in each version for ever."""
    assert wheel.stat().st_size < 30e6


def test_the_wheel_says_where_the_project_is_and_its_page_has_no_link_into_a_checkout(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(name).decode())
    urls = dict(url.split(", ") for url in metadata.get_all("Project-URL", []))
    assert {"Homepage", "Documentation", "Changelog", "Issues"} <= urls.keys()
    page = metadata.get_payload()
    assert isinstance(page, str)
    assert page.startswith("# Riffle")
    assert re.findall(r"\]\((?!https://|#)[^)]*\)", page) == []


def test_a_module_is_the_command_too(plain: Installed) -> None:
    assert plain.run("python", "-m", "streams", "--version").stdout == plain.run("riffle", "--version").stdout != ""


def test_every_command_has_its_help(plain: Installed) -> None:
    shown = plain.run("python", "-c", f"import streams\n{HELPS}")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.splitlines() == list(paths())


def paths() -> Iterator[str]:
    for name in COMMANDS:
        yield name
        yield from (f"{name} {below}" for below in getattr(load_command(name), "commands", {}))


def test_every_command_has_a_use_here() -> None:
    groups = {name for name in COMMANDS if getattr(load_command(name), "commands", {})}
    used = {path for path in paths() for use in (*USES, *SERVED) if f"{use} ".startswith(f"{path} ")}
    assert set(paths()) - groups - used == set()


NEEDS_A_SERVER = tuple(use for use, (status, _) in USES.items() if status == EXIT_UNAVAILABLE)
"""Uses that end at a server that is away. `tests/unit/commands/test_without_servers.py` runs them, in one process."""


@pytest.mark.parametrize("use", [use for use in USES if use not in NEEDS_A_SERVER])
def test_a_use_without_servers(use: str, plain: Installed, files: None, nowhere: dict[str, str]) -> None:
    status, expected = USES[use]
    models = str(next(plain.prefix.parent.glob(MODELS)))
    starts_servers = use.split()[0] in ("up", "demo")
    shown = plain.run("riffle", *use.replace("MODELS", models).split(), **({} if starts_servers else nowhere))
    printed = " ".join((shown.stdout + shown.stderr).split())
    assert shown.returncode == status, printed[-2000:]
    assert re.search(expected, printed), printed[-2000:]


@contextmanager
def served(plain: Installed, *arguments: str, **variables: str) -> Iterator["subprocess.Popen[str]"]:
    """A command that runs until it is stopped. It is killed at the end of the block, if it still runs."""
    process = subprocess.Popen(
        [str(plain.prefix / "bin" / "riffle"), *arguments],
        cwd=plain.folder,
        env=plain.environ(**variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


LONG_USES = {
    "web web": "https://a.test/  at",
    "worker fetch": "the worker waits for a server",
    "gateway": "a store could not be opened yet",
}


@pytest.mark.timeout(600)  # the environment may be made in it
@pytest.mark.parametrize("use", LONG_USES)
def test_a_server_starts_and_ends_when_it_is_asked_to(
    use: str, plain: Installed, files: None, nowhere: dict[str, str]
) -> None:
    with served(plain, *use.split(), **{**nowhere, **NO_SPELLING, "RIFFLE_GATEWAY__PORT": "0"}) as process:
        assert process.stdout
        printed = ""
        for line in process.stdout:
            printed += line
            if LONG_USES[use] in line:
                break
        else:
            pytest.fail(printed)
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=60)
        assert process.returncode in (0, 130), printed + rest


def test_a_stack_without_the_weights_of_its_model_starts_no_server(
    wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Extras are looked at first: the servers are there, and the data package is not."""
    without = install(wheel, tmp_path_factory.mktemp("without"), ["local"])
    done = without.run("riffle", "up", **JARS)
    assert done.returncode == 2, done.stdout + done.stderr
    assert re.search(NO_WEIGHTS, re.sub(r"\s+", " ", done.stderr))
    assert [path.name for path in (without.folder / "home" / "logs").iterdir()] == ["supervisor.log"]
