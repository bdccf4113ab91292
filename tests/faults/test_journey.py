"""The whole journey while its processes are killed, stopped and slowed: at the end every page is indexed exactly once.

A part of the bundled web is crawled with the stack as `riffle up` starts it, and each fault is done once, in an order
of chance: by day those of `faults.BY_DAY` on 26 pages, which come at a slower pace, and at night those of
`faults.IN_SHORT` on all 78 pages of two hosts. `make faults` runs it at length: all of `faults.FAULTS`, on the whole
bundled web, and the outages of stores also with Triton.

RIFFLE_TEST_FAULTS may also be a pattern for the names of some faults. Further settings: more rounds, longer faults and
pauses, outages, another web, workers of a former release, the order of the faults, and the times of the runtime
shortened. With times of a fortieth, 180 seconds without a store are like 2 hours:

    RIFFLE_TEST_FAULTS="away$" RIFFLE_TEST_TIME_SCALE=40 RIFFLE_TEST_OUTAGE_SECONDS=180 RIFFLE_TEST_CRAWL_DELAY=5 \\
        RIFFLE_TEST_ROUNDS=1 RIFFLE_TEST_FAULT_SCALE=1 RIFFLE_TEST_FAULT_PAUSE=15 RIFFLE_TEST_WEB=/path/to/web \\
        RIFFLE_TEST_FORMER_TREE=/path/to/tree RIFFLE_TEST_FORMER_STAGES=embed RIFFLE_TEST_SEED=1 pytest tests/faults -s
"""

import asyncio
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest

from schemas import PageDiscovered, PageIndexed
from streams.commands.pages.crawl import run_crawl
from streams.crawl.seeds import seed
from streams.errors import StoreUnavailable
from streams.local.demo import unpack
from streams.runtime.topics import describe_topics
from streams.settings import Settings
from streams.stores.opener import open_stores
from tests.faults.at_rest import check_index, check_limbo, dead_letters, until_idle
from tests.faults.disk_web import explore
from tests.faults.evidence import describe_stack
from tests.faults.faults import BY_DAY, FAULTS, IN_SHORT, SERVERS, Fault, Times
from tests.faults.processes import LEASE_SECONDS, STACK_SETTINGS, until_healthy
from tests.sizes import FULL

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(10_800)]

CHOSEN = os.environ.get("RIFFLE_TEST_FAULTS", "")
ROUNDS = int(os.environ.get("RIFFLE_TEST_ROUNDS", "1"))
SCALE = float(os.environ.get("RIFFLE_TEST_FAULT_SCALE", "1"))
OUTAGE_SECONDS = float(os.environ.get("RIFFLE_TEST_OUTAGE_SECONDS", "15"))
DEPTH = 40
LARGE_HOSTS = ("postgresql.test", "docs.python.test")
"""The hosts with most statements of the bundled web. A run in short leaves them out."""
PAGES_OF_DAY = 70
"""Number of pages that a run by day unpacks, those of LARGE_HOSTS among them."""
SECONDS_BETWEEN_FAULTS = (0.5, float(os.environ.get("RIFFLE_TEST_FAULT_PAUSE", "2.5")))
IDLE_SECONDS = 240.0
"""Maximum time in which all events are handled after the crawl and the last fault."""
RIFFLE = [sys.executable, "-c", "from streams.cli import main; main()"]
TIMES = Times(stop=12 * SCALE, outage=OUTAGE_SECONDS * SCALE, tier=(LEASE_SECONDS + 6) * SCALE, disk=8 * SCALE)


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if given := os.environ.get("RIFFLE_TEST_WEB"):
        return Path(given)
    folder = unpack(tmp_path_factory.mktemp("web"), None if CHOSEN or FULL else PAGES_OF_DAY)
    if not CHOSEN:
        for host in LARGE_HOSTS:
            shutil.rmtree(folder / host)
    return folder


@pytest.fixture(scope="module")
def whole_stack(tmp_path_factory: pytest.TempPathFactory, web: Path) -> Iterator[Settings]:
    home = tmp_path_factory.mktemp("stack")
    environment = {
        **os.environ,
        **STACK_SETTINGS,
        "RIFFLE_HOME": str(home),
        "RIFFLE_LOCAL_WEB": str(web),
    }
    try:
        started = subprocess.run([*RIFFLE, "up"], env=environment, capture_output=True, text=True)
        assert started.returncode == 0, started.stdout + started.stderr
        yield Settings.load(home=home)
    finally:
        subprocess.run([*RIFFLE, "down"], env=environment, capture_output=True)


async def test_through_all_faults_every_page_is_indexed_exactly_once(whole_stack: Settings, web: Path) -> None:
    chance = random.Random(os.environ.get("RIFFLE_TEST_SEED", "riffle"))
    expected = explore(web)
    assert expected.allowed
    seeds = [seed(f"https://{host}/", DEPTH) for host in sorted(whole_stack.crawl.local_hosts)]
    began, crawl_id = time.monotonic(), uuid4().hex[:12]
    async with asyncio.TaskGroup() as both:  # a fault that fails ends the crawl
        crawl = both.create_task(_crawl(whole_stack, seeds, crawl_id))
        faults = both.create_task(_do_faults(whole_stack, chance))
    done, last_fault = faults.result()
    for server in ("cassandra", *SERVERS):
        await until_healthy(whole_stack.home, server)
    try:
        await until_idle(whole_stack, IDLE_SECONDS)
    except AssertionError:
        print(await describe_stack(whole_stack, sorted(whole_stack.crawl.local_hosts)), flush=True)
        raise
    idle = time.monotonic()
    async with open_stores(whole_stack, ["records", "vectors", "models"]) as stores:
        counts = await check_index(stores, expected)
        await check_limbo(stores, crawl_id, expected)
    assert dead_letters(whole_stack) == {}, "a fault of the stack is no fault of an event"
    assert len(done) == ROUNDS * len(_chosen())
    print(
        f"{len(done)} faults, {len(expected.allowed)} pages, {counts}: the index equals the disk "
        f"{idle - last_fault:.0f} s after the last fault and {idle - began:.0f} s after the begin; "
        f"the crawl ended after {crawl.result() - began:.0f} s"
    )


async def _crawl(settings: Settings, seeds: list[PageDiscovered], crawl_id: str) -> float:
    """Returns the time of its end."""
    status = await run_crawl(settings, seeds, crawl_id, wait=True, as_json=True)
    if status:
        print(await describe_stack(settings, sorted(settings.crawl.local_hosts)), flush=True)
    assert status == 0, "the crawl did not come to its end"
    return time.monotonic()


def _chosen() -> list[Fault]:
    if not CHOSEN:
        return list(IN_SHORT if FULL else BY_DAY)
    return [fault for fault in FAULTS if CHOSEN == "all" or re.search(CHOSEN, fault.name)]


async def _do_faults(settings: Settings, chance: random.Random) -> tuple[list[str], float]:
    """Do each fault once in each round, in an order of chance, while the crawl runs.

    Returns their names, and the time of the last one's end.
    """
    done = []
    while await _indexed(settings) in ("0", "?"):  # so that the first faults meet events of every stage
        await asyncio.sleep(0.5)
    for _ in range(ROUNDS):
        order = chance.sample(_chosen(), len(_chosen()))
        for fault in sorted(order, key=lambda fault: not fault.is_early):
            await asyncio.sleep(chance.uniform(*SECONDS_BETWEEN_FAULTS))
            began, before = time.monotonic(), await _indexed(settings)
            await fault.act(settings.home, chance, TIMES)
            done.append(fault.name)
            print(f"{time.monotonic() - began:6.1f} s  {fault.name} (after {before} indexed events)", flush=True)
    return done, time.monotonic()


async def _indexed(settings: Settings) -> str:
    """The number of events of pages that became searchable."""
    with suppress(StoreUnavailable):
        states = await asyncio.to_thread(describe_topics, settings)
        return str(sum(state.messages for state in states if state.topic.name == PageIndexed.topic))
    return "?"
