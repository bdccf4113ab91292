"""The ways of a page and of a query as traces, each made in a fresh process: `python -m tests.stages.walked`.

In a process of other tests, caches that are full and tasks that are left over would change which files are entered.
One process imports what both need, which takes longer than the ways, and forks a process for each.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from streams.settings import CrawlSettings
from tests.hostile.servers import response
from tests.stages import test_fetch
from tests.stages.call_trace import ValueTrace, traced
from tests.stages.frontier_world import Site, World
from tests.stages.gateway_fakes import client, gateway, searchable
from tests.stages.test_call_traces import PAGE, InlinePool
from tests.stages.test_gateway_search import STATEMENTS
from tests.stages.whole_journey import WholeJourney


async def page() -> list[ValueTrace]:
    """Return the traces of a URL that is queued and fetched, and of its page until it is indexed."""
    world = World({"sqlite.test": Site()}, CrawlSettings(), seed=1, kill_probability=0)
    world.seed("https://sqlite.test/")
    journey = WholeJourney(InlinePool())
    with traced(ValueTrace()) as crawled:
        await world.run()
    with tempfile.TemporaryDirectory() as folder, traced(crawled):
        await test_fetch.run(Path(folder), response(PAGE.encode()), test_fetch.scheduled())
    with traced(ValueTrace()) as indexed:
        await journey.fetch("https://sqlite.test/wal.html", PAGE, 1)
    return [crawled, indexed]


async def query() -> list[ValueTrace]:
    """Return the trace of a query from HTTP to HTML."""
    app = gateway(await searchable(STATEMENTS), deadline_seconds=60)  # traced calls are slow
    async with client(app) as web:
        with traced(ValueTrace()) as trace:
            await web.get("/search", params={"q": "which file holds the changes of a row?"})
        await app.state.gateway.search.drain()
    return [trace]


EXPECT_IMPORTS = "from streams.resources import expect_imports; expect_imports(); "
"""As the program `riffle` begins. A third of the time of the imports is the collector's else."""
WAYS = {"page": page, "query": query}


def walk(name: str) -> list[ValueTrace]:
    """Return the traces of `page` or `query`, of a process of its own."""
    return [
        ValueTrace(*({file: set(types) for file, types in part.items()} for part in parts)) for parts in _walked()[name]
    ]


@cache
def _walked() -> dict[str, Any]:
    command = [sys.executable, "-c", f"{EXPECT_IMPORTS}import runpy; runpy.run_module({__name__!r}, {{}}, '__main__')"]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith('["'))


def _print(name: str) -> None:
    """Walk, and print the name with the traces as a line."""
    traces = [
        [{file: sorted(types) for file, types in part.items()} for part in (one.given, one.returned)]
        for one in asyncio.run(WAYS[name]())
    ]
    print(json.dumps([name, traces]), flush=True)


if __name__ == "__main__":
    for each in WAYS:
        if not (child := os.fork()):
            _print(each)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0, f"the way of a {each} failed"
