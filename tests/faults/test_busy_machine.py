"""The whole journey on a machine that is busy with other work: it is slow, and nothing else.

Nothing limits its time while pages get on. `make faults` runs the journey of one host of the bundled web, and the demo:
with everything of Riffle 15 nice beside 4 busy processes, and beside 12 and 30 busy processes of normal niceness.
"""

import asyncio
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from streams.commands.pages.crawl import run_crawl
from streams.crawl.seeds import seed
from streams.local.demo import unpack
from streams.local.home import running_state
from streams.settings import Settings
from streams.stores.opener import open_stores
from tests.faults.at_rest import check_index, check_limbo, check_vectors, dead_letters, until_idle
from tests.faults.disk_web import explore
from tests.faults.processes import RIFFLE, STACK_SETTINGS, busy

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.timeout(10_800),
    pytest.mark.skipif(not os.environ.get("RIFFLE_TEST_FAULTS"), reason="only in `make faults`"),
]

SMALL_HOST = "sqlite.test"
"""The host whose pages are crawled."""
DEPTH = 40
IDLE_SECONDS = 1_800.0
"""Maximum time in which all events are handled after the crawl."""
BUSY = [
    pytest.param(15, 4, id="15 nice beside 4"),
    pytest.param(0, 12, id="beside 12"),
    pytest.param(0, 30, id="beside 30"),
]
"""The niceness of the stack, and the number of busy processes."""


@contextmanager
def nice_stack(home: Path, web: Path, added: int) -> Iterator[Settings]:
    """A whole stack, all of it this nice."""
    environment = {**os.environ, **STACK_SETTINGS, "RIFFLE_HOME": str(home), "RIFFLE_LOCAL_WEB": str(web)}
    command = ["nice", "-n", str(added), *RIFFLE]
    try:
        started = subprocess.run([*command, "up"], env=environment, capture_output=True, text=True)
        assert started.returncode == 0, started.stdout + started.stderr
        yield Settings.load(home=home)
    finally:
        subprocess.run([*RIFFLE, "down"], env=environment, capture_output=True)


@pytest.mark.parametrize(("added", "processes"), BUSY)
async def test_on_a_busy_machine_pages_are_late_and_right(tmp_path: Path, added: int, processes: int) -> None:
    web = unpack(tmp_path / "web")
    for folder in web.iterdir():
        if folder.is_dir() and folder.name != SMALL_HOST:
            shutil.rmtree(folder)
    expected, crawl_id = explore(web), uuid4().hex[:12]
    assert expected.allowed
    began = time.monotonic()
    with busy(processes), nice_stack(tmp_path / "home", web, added) as settings:
        up = time.monotonic()
        seeds = [seed(f"https://{host}/", DEPTH) for host in sorted(settings.crawl.local_hosts)]
        assert await run_crawl(settings, seeds, crawl_id, wait=True, as_json=True) == 0
        await until_idle(settings, IDLE_SECONDS)
        async with open_stores(settings, ["records", "vectors", "models"]) as stores:
            counts = await check_index(stores, expected)
            await check_limbo(stores, crawl_id, expected)
            compared = await check_vectors(stores, expected)
        assert dead_letters(settings) == {}
        state = running_state(settings.home)
        assert state
        assert {found.name: found.restarts for found in state.processes if found.restarts} == {}
    print(
        f"{processes} busy processes, {added} nice: {counts}, {compared} right vectors, up after {up - began:.0f} s, "
        f"all done after {time.monotonic() - began:.0f} s, load {os.getloadavg()[0]:.0f}, no restart, no dead letter"
    )


@pytest.mark.parametrize(("added", "processes"), BUSY)
async def test_the_demo_on_a_busy_machine_ends_with_its_answers(tmp_path: Path, added: int, processes: int) -> None:
    environment = {**os.environ, "RIFFLE_HOME": str(tmp_path)}
    began = time.monotonic()
    with busy(processes):
        command = ["nice", "-n", str(added), *RIFFLE, "demo", "--exit"]
        done = await asyncio.to_thread(
            subprocess.run, command, env=environment, capture_output=True, text=True, check=False
        )
        seconds, load = time.monotonic() - began, os.getloadavg()[0]
    assert done.returncode == 0, done.stdout + done.stderr
    assert not list((tmp_path / "logs").glob("*.crash-*")), "a process ended, or was restarted"
    web = tmp_path / "web" / "demo"
    with nice_stack(tmp_path, web, added=0) as settings:  # what it left
        assert dead_letters(settings) == {}
        async with open_stores(settings, ["records", "vectors", "models"]) as stores:
            compared = await check_vectors(stores, explore(web))
    print(
        f"the demo, {processes} busy processes, {added} nice: {seconds:.0f} s, load {load:.0f}, "
        f"{compared} right vectors, no restart, no dead letter"
    )
