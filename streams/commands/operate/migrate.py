"""`riffle migrate`: prepare a cluster before the first worker starts, and after each upgrade."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from streams.commands.console import AsJson, command, err, load_settings, out, print_json, styled
from streams.errors import StoreUnavailable
from streams.runtime.topics import create_topics, grow_topics, set_record_times
from streams.settings import Settings

RETRY_SECONDS = 3.0
"""Pause between tries while a server does not answer (seconds)."""


class Step(StrEnum):
    """A part of the preparation, in its order."""

    topics = "topics"
    tables = "tables"
    collection = "collection"


@command
async def migrate(
    only: Annotated[list[Step] | None, typer.Option(help="Only this step; may be repeated. Default: all.")] = None,
    wait: Annotated[float, typer.Option(min=0, help="Seconds to wait for a server that doesn't answer yet.")] = 0.0,
    repository: Annotated[
        str,
        typer.Option(
            metavar="NAME|DIR",
            help="Read the model's description there instead of asking Triton: `local`, `production`, or a folder.",
        ),
    ] = "",
    partitions: Annotated[
        int | None, typer.Option(min=1, help="Give all topics this many partitions. Then restart all workers.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create the topics, tables and search collection that this version needs. Safe to repeat.

    A deployment runs it before its workers. `riffle up` runs it by itself.

    Examples:

        RIFFLE_PROFILE=production riffle migrate
        riffle migrate --only topics --only tables --wait 600
        riffle migrate --only collection --repository /models
        riffle migrate --only topics --partitions 16
    """
    settings = load_settings()
    steps: dict[Step, Callable[[], Awaitable[str]]] = {
        Step.topics: lambda: _topics(settings, partitions),
        Step.tables: lambda: _tables(settings),
        Step.collection: lambda: _collection(settings, repository),
    }
    until = time.monotonic() + wait
    done: dict[str, str] = {}
    for step in Step:
        if not only or step in only:
            done[step] = await _take_step(steps[step], until)
            if not as_json:
                out.print(done[step])
    if as_json:
        print_json(done)


async def _take_step(step: Callable[[], Awaitable[str]], until: float) -> str:
    """Take the step, and repeat it while its server doesn't answer. Raises StoreUnavailable after `until`."""
    while True:
        try:
            return await step()
        except StoreUnavailable as error:
            if time.monotonic() >= until:
                raise
            err.print(styled("[yellow]Waiting:[/] {}", error))
            await asyncio.sleep(RETRY_SECONDS)


async def _topics(settings: Settings, partitions: int | None = None) -> str:
    created = await asyncio.to_thread(create_topics, settings)
    changed = await asyncio.to_thread(set_record_times, settings)
    grown = await asyncio.to_thread(grow_topics, settings, partitions) if partitions else []
    steps = ((created, "created"), (changed, "changed"), (grown, "with added partitions"))
    done = [f"{len(names)} {what}" for names, what in steps if names]
    return f"Topics: {', '.join(done)}." if done else "Topics: all exist."


async def _tables(settings: Settings) -> str:
    from streams.stores import cassandra

    applied = await cassandra.migrate(settings.cassandra)
    return f"Tables: {', '.join(applied)} applied." if applied else "Tables: up to date."


async def _collection(settings: Settings, repository: str) -> str:
    from streams.models.inference.repository import model_info, parameters_of, read_config
    from streams.stores.opener import open_stores

    if not repository:
        async with open_stores(settings, ["vectors", "models"]) as stores:
            return f"Collection: {await stores.vectors.ensure(await stores.embedder.info())}."
    folder = settings.models_path / repository if "/" not in repository else Path(repository)
    described = read_config(folder / settings.triton.model)
    async with open_stores(settings, ["vectors"]) as stores:
        return f"Collection: {await stores.vectors.ensure(model_info(parameters_of(described), str(folder)))}."
