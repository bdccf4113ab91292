"""The time of a result page with and without answers, in one run: no model is configured.

    python -m benchmarks.answers.page_time DIR [--count 100] [--cache DIR]

DIR is a test collection in BEIR's format, whose questions are asked. The gateway's app answers each question twice in
this process, once with its sources beside the results (the answer without a model) and once without any, in turn, so
that a busy machine slows both.
"""

import argparse
import asyncio
import json
import statistics
import sys
from contextlib import AsyncExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.parse import urlencode

from starlette.types import ASGIApp, Message, Scope

from benchmarks.evaluation.collection import read_collection
from benchmarks.evaluation.search import Options, open_run
from benchmarks.machine import Latency, machine
from streams.gateway.app import create_app
from streams.gateway.search.beside import sources_of
from streams.settings import Settings
from streams.stores.opener import memory_stores

RESULTS_END = b"</ol>"
"""The end of the list of results, in a page."""


async def measure(folder: Path, count: int, cache: Path) -> dict[str, list[tuple[float, float]]]:
    """The milliseconds until the results of each page have left, and until its end, with and without sources."""
    settings = Settings.load(triton={"url": "inprocess:"})
    times: dict[str, list[tuple[float, float]]] = {"without": [], "with answers": []}
    async with AsyncExitStack() as stack:
        run = await open_run(stack, settings, Options(cache), lambda step, done, total: None)
        collection = read_collection(folder, count)
        _, index = await run.index(collection.name, collection.documents)
        apps = {}
        for name, sources in (("without", lambda _: ()), ("with answers", sources_of)):
            stores = memory_stores()
            stores.vectors, stores.embedder = index, run.models.embedder
            apps[name] = create_app(settings, stores, publish=None, clock=lambda: datetime.now(UTC), sources=sources)
        for number, query in enumerate(collection.queries):
            for name in sorted(apps, reverse=number % 2 == 0):
                times[name].append(await time_page(apps[name], query.text))
    return times


async def time_page(app: ASGIApp, query: str) -> tuple[float, float]:
    """Ask for the page of a query. Returns the milliseconds until its results have left, and until its end."""
    scope: Scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": "/search",
        "raw_path": b"/search",
        "query_string": urlencode({"q": query}).encode(),
        "headers": [(b"host", b"localhost"), (b"accept", b"text/html")],
        "client": ("127.0.0.1", 1),
        "server": ("localhost", 80),
    }
    started, results_at, sent = perf_counter(), 0.0, b""

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        nonlocal results_at, sent
        assert message.get("status", 200) == 200
        sent += message.get("body", b"")
        if not results_at and RESULTS_END in sent:
            results_at = perf_counter()

    await app(scope, receive, send)
    ended = perf_counter()
    return 1_000 * ((results_at or ended) - started), 1_000 * (ended - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--cache", type=Path, default=Path(".riffle/eval"))
    arguments = parser.parse_args()
    times = asyncio.run(measure(arguments.folder, arguments.count, arguments.cache))
    figures: dict[str, Any] = {"machine": machine()}
    for place, what in enumerate(("results", "whole page")):
        for name, found in times.items():
            own = [each[place] for each in found]
            figures.setdefault(name, {})[what] = asdict(Latency.of([ms / 1_000 for ms in own]))
        pairs = [y[place] - x[place] for x, y in zip(times["without"], times["with answers"], strict=True)]
        figures.setdefault("median difference (ms)", {})[what] = round(statistics.median(pairs), 2)
    sys.stdout.write(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
