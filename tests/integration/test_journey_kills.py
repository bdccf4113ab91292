"""The whole journey while its workers are killed at random: at the end every page is indexed exactly once.

The bundled web is crawled with the stack as `riffle up` starts it, and each worker is killed as often as the others, in
an order of chance. More kills, further apart, or another web:

    RIFFLE_TEST_KILLS=160 RIFFLE_TEST_KILL_PAUSE=15 RIFFLE_TEST_WEB=/path/to/web \\
        pytest tests/integration/test_journey_kills.py -s
"""

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from schemas.ids import page_id
from streams.commands.crawl import run_crawl, seed
from streams.crawl.urls import canonicalize
from streams.local.demo import unpack
from streams.local.state import running_state
from streams.settings import Settings
from streams.statements.codec import decode_statements
from streams.stores.opener import Stores, open_stores
from tests.integration.disk_web import explore

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(10_800)]

KILLS = int(os.environ.get("RIFFLE_TEST_KILLS", "8"))
DEPTH = 40
SECONDS_BETWEEN_KILLS = (0.5, float(os.environ.get("RIFFLE_TEST_KILL_PAUSE", "2.5")))
RIFFLE = [sys.executable, "-c", "from streams.cli import main; main()"]


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    given = os.environ.get("RIFFLE_TEST_WEB")
    return Path(given) if given else unpack(tmp_path_factory.mktemp("web"))


@pytest.fixture(scope="module")
def whole_stack(tmp_path_factory: pytest.TempPathFactory, web: Path) -> Iterator[Settings]:
    home = tmp_path_factory.mktemp("stack")
    environment = {**os.environ, "RIFFLE_HOME": str(home), "RIFFLE_LOCAL_WEB": str(web)}
    started = subprocess.run([*RIFFLE, "up"], env=environment, capture_output=True, text=True)
    assert started.returncode == 0, started.stdout + started.stderr
    try:
        yield Settings.load(home=home)
    finally:
        subprocess.run([*RIFFLE, "down"], env=environment, capture_output=True)


async def test_killed_at_random_every_page_is_indexed_exactly_once(whole_stack: Settings, web: Path) -> None:
    chance = random.Random(os.environ.get("RIFFLE_TEST_SEED", "riffle"))
    expected = explore(web)
    killer = asyncio.create_task(_kill_workers(whole_stack.home, chance))
    seeds = [seed(f"https://{host}/", DEPTH) for host in sorted(whole_stack.crawl.local_hosts)]
    status = await run_crawl(whole_stack, seeds, uuid4().hex[:12], wait=True, as_json=True)
    kills = await killer
    assert status == 0, "the crawl did not come to its end"
    async with open_stores(whole_stack, ["cassandra", "qdrant", "triton"]) as stores:
        found = await _compare(stores, expected.allowed)
    print(f"{sum(kills.values())} kills ({kills}), {len(expected.allowed)} pages, {found}")
    assert sum(kills.values()) == KILLS


async def _kill_workers(home: Path, chance: random.Random) -> dict[str, int]:
    """Kill a worker that runs now, again and again, while the crawl goes on."""
    kills: dict[str, int] = {}
    while sum(kills.values()) < KILLS:
        await asyncio.sleep(chance.uniform(*SECONDS_BETWEEN_KILLS))
        state = running_state(home)
        assert state, "the supervisor is gone"
        workers = [process for process in state.processes if process.name.startswith("worker-")]
        fewest = min(kills.get(worker.name, 0) for worker in workers)
        victims = [worker for worker in workers if worker.alive and kills.get(worker.name, 0) == fewest]
        if not victims:  # those whose turn it is are just being started again
            continue
        victim = chance.choice(victims)
        os.kill(victim.pid, signal.SIGKILL)
        kills[victim.name] = kills.get(victim.name, 0) + 1
    return kills


async def _compare(stores: Stores, allowed: set[str]) -> dict[str, int]:
    """Each allowed page: searchable with exactly its statements, or set aside as a duplicate of one that is."""
    info = await stores.embedder.info()
    collection = await stores.vectors.ensure(info)
    indexed: dict[UUID, int] = {}
    duplicates: dict[UUID, UUID] = {}
    lost, doubled = [], []
    for url in sorted(allowed):
        page = page_id(canonicalize(url))
        parts = await stores.pages.get(page)
        canonical = UUID(str(parts.get("deduplicated", {}).get("canonical_page_id", page)))
        points = await stores.vectors.scroll(collection, page)
        if canonical != page:
            duplicates[page] = canonical
            wanted = 0
        elif "chunked" not in parts:
            lost.append((url, sorted(parts)))
            continue
        else:
            page_statements = decode_statements(await stores.blobs.get(parts["chunked"]["statements_ref"]))
            wanted = len(page_statements.statements)
            indexed[page] = wanted
        if len(points) != wanted:
            doubled.append((url, f"{len(points)} points, {wanted} statements"))
    assert not lost, f"never became searchable: {lost[:10]}"
    assert not doubled, f"not exactly its statements in the index: {doubled[:10]}"
    adrift = {page for page, canonical in duplicates.items() if canonical not in indexed}
    assert not adrift, f"duplicates of pages that are not indexed: {adrift}"
    total = await stores.vectors.count(collection)
    assert total == sum(indexed.values()), "the index holds statements of pages that should not be there"
    return {"indexed": len(indexed), "duplicates": len(duplicates), "statements": total}
