"""The preparation of a worker: the stores are opened, Kafka's topics checked and the agents built.

A server that is away before the first event is an outage like any other. The worker waits for it, instead of ending
and being started again and again by its supervisor, with pauses that grow to minutes.
"""

import asyncio
import importlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass

import structlog

from streams.errors import KafkaAway, TransientError
from streams.runtime.agent import Agent
from streams.runtime.breaker import Breaker
from streams.runtime.health import Progress
from streams.runtime.lags.retention import check_retention
from streams.runtime.topics import check_partitions, create_topics
from streams.settings import Settings
from streams.stores.blobs import HandedOnBlobs
from streams.stores.opener import Stores, open_stores
from streams.topology import Stage, topics_needed

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Prepared:
    """The stores, agents and numbers of partitions of a worker, before its first event."""

    stores: Stores
    agents: Mapping[str, Agent]
    partitions: Mapping[str, int]
    close: Callable[[], Awaitable[None]]


async def prepare_with_retries(
    attempt: Callable[[], Awaitable[Prepared]],
    progress: Sequence[Progress],
    stop: asyncio.Event,
    now: Callable[[], float],
) -> Prepared | None:
    """Prepare the worker, and try again until the servers answer. Returns None if the worker is stopped before.

    Meanwhile /readyz names the server that is away, by `waiting_for` of each stage's progress. An attempt that hangs,
    or what follows the last one, counts as a stall. `now`: the time of the progress.
    """
    breaker = Breaker(lambda seconds: _wait(stop, seconds))
    while not stop.is_set():
        for item in progress:
            item.begin(now())
        try:
            prepared = await attempt()
        except TransientError as error:
            breaker.open(error)
            log.warning("the worker waits for a server before it starts", error=str(error))
            for item in progress:
                item.wait_for(breaker.reason)
                item.note_kafka(not isinstance(error, KafkaAway), now())
            await breaker.wait_turn()
        else:
            for item in progress:
                item.waiting_for = ""
                item.begin(now())
                item.note_kafka(True, now())
            return prepared
    return None


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    """Return after some seconds, or when the worker is stopped."""
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)


async def prepare(stages: Sequence[Stage], settings: Settings, stores: Stores | None, *, accept_loss: bool) -> Prepared:
    """Open the stores, check Kafka's topics and build the agents. Raises UsageError, TransientError.

    The stores come first: during a restore they can't be opened, and its topics must not be created by a worker.
    """
    async with AsyncExitStack() as stack:
        late = {store for stage in stages for store in stage.late}
        needs = {store for stage in stages for store in stage.stores if store not in stage.late}
        if stores is None:
            stores = await stack.enter_async_context(open_stores(settings, needs, late))
            if len(stages) > 1 and "records" in needs:
                stores.blobs = HandedOnBlobs(stores.blobs, time.monotonic)
        await asyncio.to_thread(create_topics, settings, topics_needed(tuple(stages)))
        partitions = await asyncio.to_thread(check_partitions, settings, stages)
        await asyncio.to_thread(check_retention, settings, stages, accept_loss=accept_loss)
        agents = {stage.label: await build_agent(stage, settings, stores) for stage in stages}
        return Prepared(stores, agents, partitions, stack.pop_all().aclose)


async def build_agent(stage: Stage, settings: Settings, stores: Stores) -> Agent:
    """Build a stage's agent by its `module:function`."""
    module, function = stage.agent.split(":")
    agent = await getattr(importlib.import_module(module), function)(settings, stores)
    assert isinstance(agent, Agent), f"{stage.agent} returned {type(agent).__name__}, which is not an Agent"
    return agent
