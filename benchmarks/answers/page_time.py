"""The time of a result page with and without answers, in one run: no model is configured.

    python -m benchmarks.answers.page_time DIR [--count 100] [--cache DIR]

DIR is a test collection in BEIR's format, whose questions are asked. The gateway's app answers each question twice in
this process, once with its sources beside the results (the answer without a model) and once without any, in turn, so
that a busy machine slows both.
"""

import argparse
import asyncio
import statistics
import sys
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

import httpx

from benchmarks.machine import machine
from streams.evaluation.collection import read_collection
from streams.evaluation.search import Options, open_run
from streams.gateway.app import create_app
from streams.gateway.search.beside import sources_of
from streams.settings import Settings
from streams.stores.opener import memory_stores


async def measure(folder: Path, count: int, cache: Path) -> dict[str, list[float]]:
    """The milliseconds of each page, with and without sources."""
    settings = Settings.load(triton={"url": "inprocess:"})
    times: dict[str, list[float]] = {"without": [], "with answers": []}
    async with AsyncExitStack() as stack:
        run = await open_run(stack, settings, Options(cache), lambda step, done, total: None)
        collection = read_collection(folder, count)
        _, index = await run.index(collection.name, collection.documents)
        clients = {}
        for name, sources in (("without", lambda _: ()), ("with answers", sources_of)):
            stores = memory_stores()
            stores.vectors, stores.embedder = index, run.models.embedder
            app = create_app(settings, stores, publish=None, clock=lambda: datetime.now(UTC), sources=sources)
            transport = httpx.ASGITransport(app)
            clients[name] = await stack.enter_async_context(
                httpx.AsyncClient(transport=transport, base_url="http://localhost")
            )
        for number, query in enumerate(collection.queries):
            for name in sorted(clients, reverse=number % 2 == 0):
                started = perf_counter()
                answer = await clients[name].get("/search", params={"q": query.text}, headers={"accept": "text/html"})
                times[name].append(1_000 * (perf_counter() - started))
                assert answer.status_code == 200, answer.text[:200]
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--cache", type=Path, default=Path(".riffle/eval"))
    arguments = parser.parse_args()
    times = asyncio.run(measure(arguments.folder, arguments.count, arguments.cache))
    sys.stdout.write(f"{machine()}\n")
    for name, found in times.items():
        middle, late = statistics.median(found), statistics.quantiles(found, n=20)[-1]
        sys.stdout.write(f"{name:14} {len(found)} pages, p50 {middle:.1f} ms, p95 {late:.1f} ms\n")
    pairs = [with_ - without for without, with_ in zip(times["without"], times["with answers"], strict=True)]
    sys.stdout.write(f"difference     median {statistics.median(pairs):+.2f} ms\n")


if __name__ == "__main__":
    main()
