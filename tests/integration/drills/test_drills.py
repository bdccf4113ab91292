"""The two drills of docs/operate/backup.md on a whole stack: everything is lost and restored, and only Qdrant is lost.

A small web is crawled. The same searches must give the same answers after each drill, and an event that was in flight
when the backup was made must be handled after the restore.
"""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from streams.cli import COMMANDS
from streams.commands.pages.search import ask
from streams.crawl.seeds import seed
from streams.errors import RiffleError
from streams.gateway.lazy_stores import RESTORE_SECONDS
from streams.local.home import running_state, workers_paused
from streams.runtime.producer import EventProducer
from streams.settings import Settings
from streams.stores.cassandra import connect
from streams.stores.cassandra.restoring import unfinished_restore
from streams.stores.qdrant.rest import QdrantRest
from streams.stores.vector_collection import ALIAS
from tests.short_lives import NEVER_STARTED_AGAIN, NO_SPELLING
from tests.sizes import FULL

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(1_500)]

RIFFLE = [sys.executable, "-c", "from streams.cli import main; main()"]
HOST, LATE_HOST = "drill.test", "late.test"
PAGES = {
    "index.html": "Write-ahead logs keep a database whole when a machine loses power in the middle of a write.",
    "otters.html": "Sea otters hold hands while they sleep, so that the current does not carry them apart.",
    "bread.html": "Sourdough rises slowly, because wild yeast needs a night to fill the dough with bubbles.",
    "bridges.html": "A suspension bridge hangs its deck from cables that two high towers carry across the water.",
}
LATE_PAGE = "Lighthouses flash in a rhythm of their own, so that sailors know which one they see."
QUESTIONS = ("what happens when the power fails during a write?", "why do otters hold hands?", "towers and cables")
WAIT_SECONDS = 240.0


def page(title: str, text: str, links: list[str]) -> str:
    items = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    return (
        f"<!doctype html><html lang=en><title>{title}</title><main><h1>{title}</h1><p>{text}</p>"
        f"<p>This page is about {title}. {text} It was written for a drill.</p></main><ul>{items}</ul></html>"
    )


@dataclass(frozen=True, slots=True)
class Drill:
    """A home, and the commands that people run in it."""

    home: Path
    web: Path

    @property
    def environment(self) -> dict[str, str]:
        home = {"RIFFLE_HOME": str(self.home), "RIFFLE_LOCAL_WEB": str(self.web)}
        return {**os.environ, **NEVER_STARTED_AGAIN, **NO_SPELLING, **home}

    def start(self, *arguments: str, stdout: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        """Start a command without waiting for its end."""
        return subprocess.Popen([*RIFFLE, *arguments], env=self.environment, stdout=stdout, stderr=subprocess.DEVNULL)

    def elsewhere(self, *arguments: str) -> str:
        """Run a command with another home, as beside a cluster: it knows the servers, and has no workers to pause."""
        own, home = self.settings, self.home.with_name("elsewhere")
        servers = {
            "KAFKA__BOOTSTRAP": own.kafka.bootstrap,
            "KAFKA__PARTITIONS": str(own.kafka.partitions),
            "CASSANDRA__HOSTS": json.dumps(own.cassandra.hosts),
            "CASSANDRA__PORT": str(own.cassandra.port),
            "QDRANT__URL": own.qdrant.url,
            "TRITON__URL": own.triton.url,
        }
        return self.riffle(*arguments, HOME=str(home), **servers)

    def riffle(self, *arguments: str, **variables: str) -> str:
        environment = {**self.environment, **{f"RIFFLE_{name}": value for name, value in variables.items()}}
        done = subprocess.run([*RIFFLE, *arguments], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"riffle {' '.join(arguments)}: {done.stdout[-3_000:]}{done.stderr[-3_000:]}"
        return done.stdout

    @property
    def settings(self) -> Settings:
        return Settings.load(home=self.home)

    def answers(self) -> list[list[tuple[str, str, float]]]:
        """For each question the statements of the crawled host, with their scores."""
        return [
            [
                (result["url"], statement["text"], round(statement["score"], 5))
                for result in self.until_found(question, HOST)["results"]
                for statement in result["statements"]
            ]
            for question in QUESTIONS
        ]

    def until_found(self, question: str, host: str) -> dict[str, Any]:
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                answer = ask(self.settings, question, host=host)
                # After a restore the stores are opened one by one: until all are, words alone are searched.
                if answer["results"] and not answer["partial"]:
                    return answer
            except RiffleError:
                answer = {}
            assert time.monotonic() < deadline, f"not found: {question} ({answer})"
            time.sleep(0.2)


@pytest.fixture(scope="module")
def drill(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drill]:
    web = tmp_path_factory.mktemp("web")
    for host in (HOST, LATE_HOST):
        (web / host).mkdir()
    for name, text in PAGES.items():
        (web / HOST / name).write_text(page(name.removesuffix(".html"), text, sorted(PAGES)))
    (web / LATE_HOST / "index.html").write_text(page("lighthouses", LATE_PAGE, []))
    made = Drill(tmp_path_factory.mktemp("home"), web)
    try:
        made.riffle("up")
        made.riffle("crawl", f"https://{HOST}/", "--depth", "2")
        yield made
    finally:
        made.riffle("down")


def test_everything_is_lost_and_restored(drill: Drill, tmp_path: Path) -> None:
    """The restore is killed and repeated. At night, what it restores is a backup of what was restored before."""
    before = drill.answers()
    assert all(before), "each question has an answer"
    with workers_paused(drill.home):
        asyncio.run(_discover(drill.settings, f"https://{LATE_HOST}/"))

        made = json.loads(drill.elsewhere("backup", str(tmp_path / "first"), "--json"))
        assert made["rows"] > len(PAGES)
        assert made["events"] >= 1, "the event in flight"
        assert made["points"] >= len(PAGES)
        backup = tmp_path / "first"
        if FULL:
            drill.elsewhere("restore", str(backup), "--replace")
            drill.elsewhere("backup", str(tmp_path / "second"))
            _hold_the_same(backup, tmp_path / "second")
            backup = tmp_path / "second"

        drill.riffle("down", "--clean")
    drill.riffle("up")
    _kill_a_restore(drill, backup)
    _is_refused_until_restored(drill, tmp_path / "half")
    drill.riffle("restore", str(backup), "--replace")

    drill.until_found(QUESTIONS[0], HOST)
    assert drill.answers() == before
    found = drill.until_found("why do lighthouses flash?", LATE_HOST)
    assert LATE_PAGE in found["results"][0]["statements"][0]["text"], "the event in flight was handled"
    # Another page changes how rare each word is, and so the scores: the statements are the same.
    assert [{answer[:2] for answer in answers} for answers in drill.answers()] == [
        {answer[:2] for answer in answers} for answers in before
    ]


async def _discover(settings: Settings, url: str) -> None:
    async with EventProducer(settings, "drill") as producer:
        await producer(seed(url, 0))


def _hold_the_same(one: Path, other: Path) -> None:
    """Two backups with a restore between them have the same values with the same times, and as many points. No worker
    ran, so nothing changed meanwhile."""
    first, second = (json.loads((folder / "manifest.json").read_text()) for folder in (one, other))
    changed = {name for name, part in first["tables"].items() if part["checksum"] != second["tables"][name]["checksum"]}
    assert not changed
    assert first["tables"]["blobs"]["items"] > 0
    # Vectors are normalized again when they are written, which may change their last bits.
    points = [{name: part["items"] for name, part in made["collections"].items()} for made in (first, second)]
    assert points[0] == points[1]


def _kill_a_restore(drill: Drill, backup: Path) -> None:
    restoring = drill.start("restore", str(backup))
    while not asyncio.run(_restore_mark(drill.settings)):
        assert restoring.poll() is None, "the restore ended before it was killed"
        time.sleep(0.05)
    restoring.kill()
    restoring.wait()


def _is_refused_until_restored(drill: Drill, half: Path) -> None:
    """Half an installation is neither searched nor backed up, and the doctor names what to do."""
    time.sleep(2 * RESTORE_SECONDS)
    with pytest.raises(RiffleError, match=r"A restore of this .* is not finished.*riffle doctor"):
        ask(drill.settings, QUESTIONS[0], host=HOST)
    doctor = drill.start("doctor", stdout=subprocess.PIPE)
    shown = doctor.communicate(timeout=WAIT_SECONDS)[0].decode()
    assert doctor.returncode != 0
    assert "A restore is not finished" in shown
    assert "riffle worker STAGE" not in shown, "workers run, and refuse"
    assert "newer release" not in shown, "the mark of the restore is no migration"
    status = drill.start("status", stdout=subprocess.PIPE)
    shown = status.communicate(timeout=WAIT_SECONDS)[0].decode()
    assert status.returncode != 0
    assert "a restore is not finished" in " ".join(shown.split())
    assert drill.start("backup", str(half)).wait(WAIT_SECONDS) != 0, "half an installation is no backup"


async def _restore_mark(settings: Settings) -> str:
    session = await connect(settings.cassandra)
    try:
        return await unfinished_restore(session)
    finally:
        await session.close()


@pytest.mark.skipif("reindex" not in COMMANDS, reason="needs `riffle reindex`")
def test_qdrant_is_lost_and_made_again_from_cassandra(drill: Drill) -> None:
    before = drill.answers()
    state = running_state(drill.home)
    assert state is not None
    (qdrant,) = [process for process in state.processes if process.name == "qdrant"]
    shutil.rmtree(drill.home / "data" / "qdrant")
    os.kill(qdrant.pid, signal.SIGKILL)
    _until_restarted(drill.home, qdrant.pid, drill.settings.qdrant.url)

    drill.riffle("reindex")

    drill.until_found(QUESTIONS[0], HOST)
    assert drill.answers() == before


def test_a_wrong_vector_is_found_and_mended(drill: Drill) -> None:
    """Two points have each other's vector, as if a model server had mixed up its answers."""
    before = drill.answers()
    pages = _swap_vectors(drill.settings)
    doctor = drill.start("doctor", "--vectors", stdout=subprocess.PIPE)
    shown = doctor.communicate(timeout=WAIT_SECONDS)[0].decode()
    assert doctor.returncode == 2
    assert all(f"{page}, " in shown for page in pages), "the doctor names the pages"
    assert "riffle reindex --recompute" in shown

    mended = json.loads(drill.riffle("reindex", "--recompute", "--json"))["recomputed"]["index_vectors"]

    assert set(mended) == pages
    drill.riffle("doctor", "--vectors")
    assert drill.answers() == before


def _swap_vectors(settings: Settings) -> set[str]:
    """Exchange the vectors of two statements of the crawled host. Returns the URLs of their pages."""
    with QdrantRest(settings.qdrant, WAIT_SECONDS) as qdrant:
        collection = qdrant.aliases()[ALIAS]
        points = [point for some in qdrant.points(collection) for point in some if point["payload"]["host"] == HOST]
        one, other = (
            points[0],
            next(point for point in points if point["payload"]["text"] != points[0]["payload"]["text"]),
        )
        vectors = [
            {**point["vector"], "dense": wrong["vector"]["dense"]} for point, wrong in ((one, other), (other, one))
        ]
        qdrant.upsert(collection, [{**one, "vector": vectors[0]}, {**other, "vector": vectors[1]}])
    return {one["payload"]["url"], other["payload"]["url"]}


def _answers(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/readyz", trust_env=False).is_success
    except httpx2.TransportError:
        return False


def _until_restarted(home: Path, former_pid: int, qdrant_url: str) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        state = running_state(home)
        assert state is not None
        (qdrant,) = [process for process in state.processes if process.name == "qdrant"]
        if qdrant.pid != former_pid and qdrant.alive and _answers(qdrant_url):
            return
        time.sleep(0.2)
    raise AssertionError("Qdrant was not started again")


def test_a_page_goes_the_whole_way_and_is_removed(drill: Drill) -> None:
    """The check that `helm test` runs after an installation, here after both drills."""
    report = json.loads(drill.riffle("round-trip", "--timeout", "240", "--json"))
    assert report["whole"] is True
