"""The whole journey while its processes are killed, stopped and slowed: at the end every page is indexed exactly once.

The bundled web is crawled with the stack as `riffle up` starts it, and each fault of `faults.FAULTS` is done once, in
an order of chance. By hand: more rounds, longer faults, outages and pauses, some faults alone (only so are those of
`faults.BY_HAND` done), another web, workers of a former release, or the times of the runtime shortened. With times of a
twentieth, 15 seconds without a store are like 5 minutes, and 360 seconds like 2 hours:

    RIFFLE_TEST_ROUNDS=8 RIFFLE_TEST_FAULT_SCALE=3 RIFFLE_TEST_FAULT_PAUSE=15 RIFFLE_TEST_FAULTS="worker-|disk" \\
        RIFFLE_TEST_TIME_SCALE=20 RIFFLE_TEST_OUTAGE_SECONDS=360 RIFFLE_TEST_WEB=/path/to/web \\
        RIFFLE_TEST_FORMER_TREE=/path/to/tree RIFFLE_TEST_SEED=1 pytest tests/faults/test_journey.py -s
"""

import asyncio
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from schemas.ids import page_id
from streams.commands.pages.crawl import run_crawl, seed
from streams.crawl.urls import canonicalize
from streams.local.demo import unpack
from streams.runtime.lag import stage_lags
from streams.runtime.topics import describe_topics
from streams.settings import Settings
from streams.statements.codec import decode_statements
from streams.stores.opener import Stores, open_stores
from streams.topology import STAGES
from tests.faults.disk_web import explore
from tests.faults.faults import BY_HAND, FAULTS, Fault, Times
from tests.faults.processes import LEASE_SECONDS, STACK_SETTINGS, until_healthy

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(10_800)]

ROUNDS = int(os.environ.get("RIFFLE_TEST_ROUNDS", "1"))
SCALE = float(os.environ.get("RIFFLE_TEST_FAULT_SCALE", "1"))
OUTAGE_SECONDS = float(os.environ.get("RIFFLE_TEST_OUTAGE_SECONDS", "15"))
DEPTH = 40
SECONDS_BETWEEN_FAULTS = (0.5, float(os.environ.get("RIFFLE_TEST_FAULT_PAUSE", "2.5")))
IDLE_SECONDS = 240.0
"""Maximum time in which all events are handled after the crawl and the last fault."""
RIFFLE = [sys.executable, "-c", "from streams.cli import main; main()"]
TIMES = Times(stop=12 * SCALE, outage=OUTAGE_SECONDS * SCALE, tier=(LEASE_SECONDS + 6) * SCALE, disk=8 * SCALE)


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    given = os.environ.get("RIFFLE_TEST_WEB")
    return Path(given) if given else unpack(tmp_path_factory.mktemp("web"))


@pytest.fixture(scope="module")
def whole_stack(tmp_path_factory: pytest.TempPathFactory, web: Path) -> Iterator[Settings]:
    home = tmp_path_factory.mktemp("stack")
    environment = {
        **os.environ,
        **STACK_SETTINGS,
        "RIFFLE_HOME": str(home),
        "RIFFLE_LOCAL_WEB": str(web),
    }
    started = subprocess.run([*RIFFLE, "up"], env=environment, capture_output=True, text=True)
    assert started.returncode == 0, started.stdout + started.stderr
    try:
        yield Settings.load(home=home)
    finally:
        subprocess.run([*RIFFLE, "down"], env=environment, capture_output=True)


async def test_through_all_faults_every_page_is_indexed_exactly_once(whole_stack: Settings, web: Path) -> None:
    chance = random.Random(os.environ.get("RIFFLE_TEST_SEED", "riffle"))
    expected = explore(web)
    seeds = [seed(f"https://{host}/", DEPTH) for host in sorted(whole_stack.crawl.local_hosts)]
    async with asyncio.TaskGroup() as both:  # a fault that fails ends the crawl
        crawl = both.create_task(run_crawl(whole_stack, seeds, uuid4().hex[:12], wait=True, as_json=True))
        faults = both.create_task(_do_faults(whole_stack.home, chance))
    status, done = crawl.result(), faults.result()
    assert status == 0, "the crawl did not come to its end"
    for server in ("kafka", "cassandra", "qdrant", "triton"):
        await until_healthy(whole_stack.home, server)
    await _until_idle(whole_stack)
    async with open_stores(whole_stack, ["cassandra", "qdrant", "triton"]) as stores:
        counts = await _compare(stores, expected.allowed)
    print(f"{len(done)} faults ({', '.join(done)}), {len(expected.allowed)} pages, {counts}")
    assert len(done) == ROUNDS * len(_chosen())
    assert _dead_letters(whole_stack) == {}, "a fault of the stack is no fault of an event"


def _chosen() -> list[Fault]:
    wanted = os.environ.get("RIFFLE_TEST_FAULTS")
    return [fault for fault in (*FAULTS, *BY_HAND) if re.search(wanted, fault.name)] if wanted else list(FAULTS)


async def _do_faults(home: Path, chance: random.Random) -> list[str]:
    """Do each fault once in each round, in an order of chance, while the crawl runs. Returns their names."""
    done = []
    for _ in range(ROUNDS):
        order = chance.sample(_chosen(), len(_chosen()))
        for fault in sorted(order, key=lambda fault: not fault.is_early):
            await asyncio.sleep(chance.uniform(*SECONDS_BETWEEN_FAULTS))
            began = time.monotonic()
            await fault.act(home, chance, TIMES)
            done.append(fault.name)
            print(f"{time.monotonic() - began:6.1f} s  {fault.name}", flush=True)
    return done


def _dead_letters(settings: Settings) -> dict[str, int]:
    dead = {stage.dead_topic for stage in STAGES}
    return {
        state.topic.name: state.messages
        for state in describe_topics(settings)
        if state.topic.name in dead and state.messages
    }


async def _until_idle(settings: Settings) -> None:
    """Wait until no event waits anywhere: a replay may outlast the crawl."""
    end = time.monotonic() + IDLE_SECONDS
    waiting = {"": 1}
    while waiting and time.monotonic() < end:
        await asyncio.sleep(1)
        lags = await asyncio.to_thread(stage_lags, settings)
        waiting = {lag.topic: lag.events for lag in lags if lag.events}
    assert not waiting, f"events still wait: {waiting}"


async def _compare(stores: Stores, allowed: set[str]) -> dict[str, int]:
    """Each allowed page: searchable with exactly its statements, or a duplicate of one that is."""
    info = await stores.embedder.info()
    collection = await stores.vectors.ensure(info)
    indexed: dict[UUID, int] = {}
    duplicates: dict[UUID, UUID] = {}
    lost, wrong = [], []
    for url in sorted(allowed):
        page = page_id(canonicalize(url))
        parts = await stores.pages.get(page)
        representative = UUID(str(parts.get("deduplicated", {}).get("canonical_page_id", page)))
        points = await stores.vectors.scroll(collection, page)
        if representative != page:
            duplicates[page] = representative
            wanted = 0
        elif "chunked" not in parts:
            lost.append((url, sorted(parts)))
            continue
        else:
            page_statements = decode_statements(await stores.blobs.get(parts["chunked"]["statements_ref"]))
            wanted = len(page_statements.statements)
            indexed[page] = wanted
        if len(points) != wanted:
            wrong.append((url, f"{len(points)} points, {wanted} statements"))
    assert not lost, f"never became searchable: {lost[:10]}"
    assert not wrong, f"not exactly its statements in the index: {wrong[:10]}"
    adrift = {page for page, representative in duplicates.items() if representative not in indexed}
    assert not adrift, f"duplicates of pages that are not indexed: {adrift}"
    total = await stores.vectors.count(collection)
    assert total == sum(indexed.values()), "the index holds statements of pages that should not be there"
    return {"indexed": len(indexed), "duplicates": len(duplicates), "statements": total}
