"""The time of a result page without panels, with panels but no imported entity, and with entities: asked in turns.

    python -m benchmarks panel-cost

Three gateways in this process over the same statements in memory. Each question is asked of all three, in another order
each time, so that other work of the machine meets all of them. The ratio of the medians is the figure: the stores take
no time here, so a real page differs less.
"""

import asyncio
import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any

import httpx2
import typer

from benchmarks.machine import machine
from streams.commands.console import AsJson, command, print_figures
from streams.gateway.app import create_app
from streams.gateway.context import GatewayContext
from streams.gateway.search.beside import sources_of
from streams.knowledge.lookup.source import PanelSource
from streams.search.core import AnySource
from streams.settings import Settings
from streams.stores.memory import MemoryEntities
from tests.e2e.demo import demo_stores
from tests.stages.entities import import_entities

QUESTIONS = ("write-ahead log", "how do readers work", "rust language", "sqlite database file", "douglas adams")


def without_panels(context: GatewayContext) -> Sequence[AnySource]:
    return [source for source in sources_of(context) if not isinstance(source, PanelSource)]


@command
async def run(
    rounds: Annotated[int, typer.Option(min=10, help="Number of questions.")] = 300, as_json: AsJson = False
) -> int:
    """Measure a result page without panels, with panels but no entity, and with entities, asked in turns.

    Example:  python -m benchmarks panel-cost
    """
    stores = await demo_stores()
    filled = await import_entities(replace(stores, entities=MemoryEntities()))
    kinds: dict[str, tuple[Any, Callable[[GatewayContext], Sequence[AnySource]]]] = {
        "without_panels": (stores, without_panels),
        "no_entities": (stores, sources_of),
        "with_entities": (filled, sources_of),
    }
    apps = {
        name: create_app(Settings(), opened, publish=None, clock=lambda: datetime.now(UTC), sources=sources)
        for name, (opened, sources) in kinds.items()
    }
    clients = {
        name: httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1")
        for name, app in apps.items()
    }
    seconds: dict[str, list[float]] = {name: [] for name in clients}
    chance = random.Random(1)
    for number in range(-20, rounds):
        question = QUESTIONS[number % len(QUESTIONS)]
        for name in chance.sample(list(clients), len(clients)):
            started = time.perf_counter()
            await clients[name].get("/search", params={"q": question}, headers={"accept": "text/html"})
            if number >= 0:  # before, everything is loaded and the first look is made
                seconds[name].append(time.perf_counter() - started)
            await asyncio.sleep(0)
    medians = {name: statistics.median(values) * 1e3 for name, values in seconds.items()}
    first = medians["without_panels"]
    figures = {
        "machine": machine(),
        "questions": rounds,
        "median_ms": {name: round(value, 2) for name, value in medians.items()},
        "ratio_to_without_panels": {name: round(value / first, 3) for name, value in medians.items()},
    }
    print_figures("A result page", figures, as_json)
    for app in apps.values():
        await app.state.gateway.close()
    return 0
