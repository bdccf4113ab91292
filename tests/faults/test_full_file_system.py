"""The whole stack on a real file system that is full for a while: no process stays away, and nothing is lost.

The faults of `test_journey.py` limit the files of one server. Here no process can write a byte: the supervisor with its
state and its logs, Kafka, Cassandra, Qdrant's engine, the worker and the gateway.
"""

import asyncio
import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from schemas.ids import page_id
from streams.local.home import running_state
from streams.settings import Settings
from streams.stores.opener import open_stores
from streams.stores.page_record import Indexed
from tests.faults.at_rest import dead_letters, until_idle
from tests.faults.processes import RIFFLE, STACK_SETTINGS, until_healthy
from tests.file_system import FILLER, fill, mounted

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.night, pytest.mark.timeout(1_500)]

SIZE = "1200m"
FULL_SECONDS = 30.0
IDLE_SECONDS = 300.0
PAGES = 12
HOST = "full.test"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "home", SIZE) as folder:
        yield folder


async def test_a_stack_on_a_full_disk_comes_back_with_all_pages(home: Path, tmp_path: Path) -> None:
    # A crawler would wait before the disk is full: another program fills it.
    environment = {**os.environ, **STACK_SETTINGS, "RIFFLE_HOME": str(home), "RIFFLE_CRAWL__MIN_FREE_BYTES": "0"}

    async def riffle(*arguments: str) -> str:
        command = [*RIFFLE, *arguments]
        done = await asyncio.to_thread(subprocess.run, command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    try:
        await riffle("up")
        await riffle("import", str(_web(tmp_path / "first", range(PAGES))))
        state = running_state(home)
        assert state
        await riffle("import", str(_web(tmp_path / "later", range(PAGES, 2 * PAGES))), "--no-wait")
        await _stay_full(home, state.pid)
        for process in state.processes:
            await until_healthy(home, process.name)
        settings = Settings.load(home=home)
        await until_idle(settings, IDLE_SECONDS)
        async with open_stores(settings, ["records", "vectors"]) as stores:
            records = [await stores.pages.get(page_id(f"https://{HOST}/{n}.html")) for n in range(2 * PAGES)]
            assert [n for n, record in enumerate(records) if not record.has(Indexed)] == []
            (collection,) = await stores.vectors.collections()
            assert await stores.vectors.count(collection) == sum(record.indexed.statements for record in records)
        assert dead_letters(settings) == {}
        assert list(Path.cwd().glob("hs_err_pid*")) == [], "what a JVM says about its end is in the home"
    finally:
        with suppress(FileNotFoundError):
            (home / FILLER).unlink()
        await asyncio.to_thread(subprocess.run, [*RIFFLE, "down"], env=environment, capture_output=True)


async def _stay_full(home: Path, supervisor: int) -> None:
    """Leave no byte free for a time, also behind files that are deleted meanwhile."""
    for _ in range(int(FULL_SECONDS)):
        with suppress(OSError):
            await asyncio.to_thread(fill, home / FILLER)
        state = running_state(home)
        assert state, "the supervisor ended"
        assert state.pid == supervisor
        await asyncio.sleep(1)
    (home / FILLER).unlink()


def _web(folder: Path, numbers: range) -> Path:
    (folder / HOST).mkdir(parents=True)
    for number in numbers:
        text = (
            f"<p>Number {number} of the lighthouses has a lamp of its own, and a keeper who counts {number} ships.</p>"
        )
        page = f"<html lang=en><title>Lighthouse {number}</title><main><h1>Lighthouse {number}</h1>{text}</main></html>"
        (folder / HOST / f"{number}.html").write_text(page)
    return folder
