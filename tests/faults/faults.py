"""The faults that the stack survives: each is done to a running stack, and ends.

A process that is stopped (SIGSTOP) holds its connections open and answers nothing: this is how an overloaded machine, a
long garbage collection or a cut network looks from outside. A process that is killed loses all that it held in memory.
"""

import asyncio
import os
import random
import re
import sys
import urllib.request
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from streams.runtime.connection import client_config
from streams.runtime.lags.offsets import committed_offsets
from streams.runtime.lags.stage_lags import input_topics
from streams.runtime.topics import describe_topics
from streams.settings import Settings
from streams.topology import STAGES, Stage, stage
from tests.faults.processes import (
    FIND_SECONDS,
    HAS_TRITON,
    LOOK_SECONDS,
    RIFFLE,
    beside,
    full_disk,
    kill,
    process,
    read_log,
    riffle,
    stopped,
    until_healthy,
    until_logged,
    worker_of,
)

SLOW_SHARE = 0.8
"""The share of time for which a slowed process is stopped."""
SLOW_PERIOD_SECONDS = 0.25
RESTART_SECONDS = 2.0
"""Time after the start of a process at which it is killed again (seconds)."""
SKEW_SECONDS = 4.0
"""The difference of a clock that is within the bound (`RIFFLE_CRAWL__CLOCK_BOUND_SECONDS`)."""
FORMER_STAGES = tuple(os.environ.get("RIFFLE_TEST_FORMER_STAGES", "ledger,embed").split(","))
"""Stages of which the former release's workers can read what today's write."""


@dataclass(frozen=True, slots=True)
class Times:
    """The lengths of the faults (seconds)."""

    stop: float = 12.0
    """Longer than the Kafka session's timeout, so that a stopped worker loses its partitions."""
    outage: float = 15.0
    """Longer than one request's deadline and all tries in place."""
    tier: float = 20.0
    """Longer than a lease."""
    disk: float = 8.0
    """Long enough for a server to end and fail to start again."""


Act = Callable[[Path, random.Random, Times], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: its name, and the function that does it and returns when it is over."""

    name: str
    act: Act
    is_early: bool = False
    """It is done before the others, while events of every stage flow."""


def killed(name: str) -> Fault:
    async def act(home: Path, _chance: random.Random, _times: Times) -> None:
        kill((await process(home, name)).pid)

    return Fault(f"{name} killed", act)


def held(name: str, seconds: Callable[[Times], float], why: str) -> Fault:
    async def act(home: Path, _chance: random.Random, times: Times) -> None:
        async with stopped((await process(home, name)).pid):
            await asyncio.sleep(seconds(times))

    return Fault(f"{name} {why}", act)


def slowed(name: str) -> Fault:
    async def act(home: Path, _chance: random.Random, times: Times) -> None:
        pid = (await process(home, name)).pid
        for _ in range(int(times.stop / SLOW_PERIOD_SECONDS)):
            if not psutil.pid_exists(pid):
                return
            async with stopped(pid):
                await asyncio.sleep(SLOW_PERIOD_SECONDS * SLOW_SHARE)
            await asyncio.sleep(SLOW_PERIOD_SECONDS * (1 - SLOW_SHARE))

    return Fault(f"{name} slowed", act)


def disk_is_full(name: str, *, killed_too: bool = False) -> Fault:
    """A server can't write. One that only writes to files that it has allocated ahead is killed, too."""

    async def act(home: Path, _chance: random.Random, times: Times) -> None:
        async with asyncio.TaskGroup() as both:
            both.create_task(full_disk(home, name, times.disk))
            await asyncio.sleep(times.disk / 8)
            if killed_too:
                kill((await process(home, name)).pid)
        await until_healthy(home, name)

    return Fault(f"disk of {name} full", act)


async def _kill_child(home: Path, chance: random.Random, _times: Times) -> None:
    """Kill a parsing process, as the kernel does when memory ends."""
    for _ in range(int(FIND_SECONDS / LOOK_SECONDS)):
        worker = await process(home, worker_of("normalize"))
        children = psutil.Process(worker.pid).children() if psutil.pid_exists(worker.pid) else []
        if children:
            kill(chance.choice(children).pid)
            return
        await asyncio.sleep(LOOK_SECONDS)
    raise AssertionError("the normalize worker has no parsing process")


async def _frontier_loses_its_partitions(home: Path, _chance: random.Random, times: Times) -> None:
    """A second frontier worker takes over while the first is stopped. Then the first goes on with what it was doing."""
    async with beside(home, "second-frontier", [*RIFFLE, "worker", "frontier"]) as log:
        await until_logged(log, "worker started")
        async with stopped((await process(home, worker_of("frontier"))).pid):
            await asyncio.sleep(times.tier)
        await asyncio.sleep(times.stop / 2)


async def _skewed_clocks(home: Path, chance: random.Random, times: Times) -> None:
    """A fetcher ahead and a frontier behind join the stack for a while. One beyond the bound is refused."""
    early, late = chance.choice([("fetch", "frontier"), ("frontier", "fetch")])
    async with (
        beside(home, "skewed-early", [*_skewed(SKEW_SECONDS), early]) as early_log,
        beside(home, "skewed-late", [*_skewed(-SKEW_SECONDS), late]) as late_log,
        beside(home, "skewed-beyond", [*_skewed(60.0), "fetch"]) as beyond_log,
    ):
        await until_logged(early_log, "worker started")
        await until_logged(late_log, "worker started")
        await until_logged(beyond_log, "s ahead of Cassandra")
        await asyncio.sleep(times.stop)


def _skewed(seconds: float) -> list[str]:
    return [sys.executable, "-m", "tests.faults.skewed_worker", str(seconds), "worker"]


async def _killed_twice(home: Path, _chance: random.Random, _times: Times) -> None:
    """Kill a worker, and kill it again while it starts."""
    name = worker_of("frontier")
    first = await process(home, name)
    kill(first.pid)
    while (second := await process(home, name)).pid == first.pid:
        await asyncio.sleep(LOOK_SECONDS)
    await asyncio.sleep(RESTART_SECONDS)
    kill(second.pid)


async def _kafka_killed_at_a_start(home: Path, _chance: random.Random, _times: Times) -> None:
    """Kill a worker, and Kafka while the stages of the next one join their groups: a start that fails half-way."""
    name = worker_of("frontier")
    first = await process(home, name)
    kill(first.pid)
    while (await process(home, name)).pid == first.pid:
        await asyncio.sleep(LOOK_SECONDS)
    log = home / "logs" / f"{name}.log"
    for _ in range(int(FIND_SECONDS / LOOK_SECONDS)):
        if log.exists() and "CompleteConsumer" in log.read_text(errors="replace"):
            break
        await asyncio.sleep(LOOK_SECONDS)
    kill((await process(home, "kafka")).pid)


async def _retention_passes_embed(home: Path, _chance: random.Random, times: Times) -> None:
    """Kafka deletes what the embed stage had not read. Its worker refuses to start, a worker of the frontier exports
    the loss, and an operator whom the alert calls replays."""
    settings, since = Settings.load(home=home), datetime.now(UTC) - timedelta(hours=1)
    name = worker_of("embed")
    worker = await process(home, name)
    others = [one.name for one in STAGES if one.name != "embed" and worker_of(one.name) == name]
    log = home / "logs" / f"{worker_of('frontier')}.log"
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(stopped(worker.pid))
        if others:  # the stages in the same process go on in another one
            log = await stack.enter_async_context(beside(home, "other-stages", [*RIFFLE, "worker", *others]))
            await until_logged(log, "worker started")
        await _until_deleted(settings, stage("embed"), "pages.chunked")
        kill(worker.pid)
        await until_logged(home / "logs" / f"{name}.log", "Kafka deleted events before they were handled")
        await _until_loss_is_exported(log)
        await asyncio.sleep(times.outage)
    async with beside(home, "accept-loss", [*RIFFLE, "worker", "embed", "--accept-loss"]) as log:
        await until_logged(log, "worker started")
    assert "offsets can't be moved" not in read_log(log)
    await until_healthy(home, name)  # by itself: the loss is accepted once, for all partitions
    sent = await riffle(home, "replay", "--from", "statements", "--since", since.strftime("%Y-%m-%dT%H:%M:%S"))
    assert "events to statements again" in sent, sent


async def _until_loss_is_exported(log: Path) -> None:
    """Wait until the metrics of the worker with this log say that the embed stage has lost events."""
    for _ in range(int(FIND_SECONDS / LOOK_SECONDS)):
        if re.search(r'\nriffle_events_lost\{stage="embed"\} [1-9]', await asyncio.to_thread(_metrics, log)):
            return
        await asyncio.sleep(LOOK_SECONDS)
    raise AssertionError("no worker of the frontier says that the embed stage has lost events")


def _metrics(log: Path) -> str:
    """The metrics of the worker with this log, as text."""
    addresses = re.findall(r"http://127\.0\.0\.1:\d+", read_log(log))
    assert addresses, "the log does not name the worker's metrics"
    with urllib.request.urlopen(f"{addresses[-1]}/metrics", timeout=10) as answer:
        return str(answer.read().decode())


async def _until_deleted(settings: Settings, behind: Stage, topic: str) -> None:
    """Delete events that one stage has not read, and all other stages of the topic have."""
    for _ in range(int(FIND_SECONDS / LOOK_SECONDS)):
        if await asyncio.to_thread(_delete_records, settings, behind, topic):
            return
        await asyncio.sleep(LOOK_SECONDS)
    raise AssertionError(f"no event of {topic} waited for {behind.name}, so none could be lost")


def _delete_records(settings: Settings, behind: Stage, topic: str) -> int:
    """Returns the number of events that the stage has lost."""
    (partitions,) = [state.partitions for state in describe_topics(settings) if state.topic.name == topic]
    places = [(topic, number) for number in range(partitions)]
    others = [reader for reader in STAGES if reader != behind and topic in input_topics(reader)]
    read = [committed_offsets(settings, reader, places) for reader in others]
    own = committed_offsets(settings, behind, places)
    upto = {place: min(offsets.get(place, 0) for offsets in read) for place in places}
    lost = {place: offset - own.get(place, 0) for place, offset in upto.items() if offset > own.get(place, 0)}
    if lost:
        admin = AdminClient(client_config(settings.kafka))
        deleted = admin.delete_records([TopicPartition(*place, upto[place]) for place in lost])
        for future in deleted.values():
            future.result(30)
    return sum(lost.values())


async def _more_partitions(home: Path, _chance: random.Random, times: Times) -> None:
    """All topics get more partitions, and all workers start anew. Two frontier workers share the partitions, so that
    events of a host's former partition arrive at the worker that does not own the host now."""
    settings = Settings.load(home=home)
    most = max(state.partitions for state in await asyncio.to_thread(describe_topics, settings))
    assert "with added partitions" in await riffle(home, "migrate", "--only", "topics", "--partitions", str(most + 2))
    async with beside(home, "second-frontier", [*RIFFLE, "worker", "frontier"]) as log:
        for name in WORKERS:
            kill((await process(home, name)).pid)
        await until_logged(log, "worker started")
        for name in WORKERS:
            await until_healthy(home, name)
        await asyncio.sleep(times.stop)


def former_release_beside(tree: Path) -> Fault:
    """Workers of a former release, from a copy of its tree, run beside today's for a while, and handle some events."""
    python = next((path for path in [tree / ".venv" / "bin" / "python"] if path.exists()), Path(sys.executable))
    command = [str(python), *RIFFLE[1:], "worker", *FORMER_STAGES]

    async def act(home: Path, _chance: random.Random, times: Times) -> None:
        # It may not know today's settings, so it has its own defaults.
        async with beside(home, "former-release", command, tree, settings={"PYTHONPATH": str(tree)}) as log:
            await until_logged(log, "worker started")
            await asyncio.sleep(times.outage)
            for _ in range(int(FIND_SECONDS / LOOK_SECONDS)):
                if all(handled := await asyncio.to_thread(_handled, log)):
                    break
                await asyncio.sleep(LOOK_SECONDS)
            print(f"the former release handled {handled} events of {FORMER_STAGES}", flush=True)
            assert all(handled), "a former worker got no event"

    return Fault("workers of a former release beside today's", act, is_early=True)


def _handled(log: Path) -> list[int]:
    """The number of events that a worker has handled, of each of the former release's stages."""
    counts = dict(re.findall(r'^riffle_event_seconds_count\{stage="([a-z]+)"\} ([0-9]+)', _metrics(log), re.MULTILINE))
    return [int(counts.get(name, 0)) for name in FORMER_STAGES]


WORKERS = tuple(dict.fromkeys(worker_of(stage.name) for stage in STAGES))
SERVERS = ("kafka", "qdrant", *(["triton"] if HAS_TRITON else []))
FORMER_TREE = os.environ.get("RIFFLE_TEST_FORMER_TREE", "")
"""A copy of a former release's tree, with its `.venv`."""
IN_SHORT: tuple[Fault, ...] = (
    *map(killed, dict.fromkeys(map(worker_of, ("frontier", "fetch", "dedup", "index")))),
    Fault("a worker killed, and again while it starts", _killed_twice),
    Fault("kafka killed while a worker starts", _kafka_killed_at_a_start),
    Fault("a parsing process killed", _kill_child),
    held(worker_of("fetch"), lambda times: times.tier, "away for longer than a lease"),
    Fault(f"{worker_of('frontier')} stopped until a second one owns its partitions", _frontier_loses_its_partitions),
    held("cassandra", lambda times: times.outage, "away"),
    killed("qdrant"),
    killed("kafka"),
)
"""The faults of a run in short: those that broke the most promises while Riffle was made."""
BY_DAY: tuple[Fault, ...] = (
    killed(worker_of("fetch")),
    Fault("a parsing process killed", _kill_child),
    held("cassandra", lambda times: times.outage, "away"),
    killed("kafka"),
)
"""One of each kind, for a run by day: a worker, a child of one, a store, the brokers."""
FAULTS: tuple[Fault, ...] = (
    *IN_SHORT,
    *(killed(name) for name in WORKERS if killed(name).name not in {fault.name for fault in IN_SHORT}),
    held(worker_of("dedup"), lambda times: times.stop, "stopped"),
    slowed(worker_of("index")),
    *(held(server, lambda times: times.outage, "away") for server in SERVERS),
    *map(killed, ("cassandra", *(["triton"] if HAS_TRITON else []))),
    disk_is_full("kafka"),
    disk_is_full("cassandra", killed_too=True),
    disk_is_full("qdrant", killed_too=True),
    Fault("skewed clocks", _skewed_clocks),
    Fault("retention passes the embed stage", _retention_passes_embed, is_early=True),
    Fault("more partitions", _more_partitions),
    *([former_release_beside(Path(FORMER_TREE))] if FORMER_TREE else []),
)
"""Every fault that a run at length does once, in an order of chance."""
