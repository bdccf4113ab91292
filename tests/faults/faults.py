"""The faults that the stack survives: each is done to the processes of a running stack, by process id, and ends.

A process that is stopped (SIGSTOP) holds its connections open and answers nothing: this is how an overloaded machine, a
long garbage collection or a cut network looks from outside. A process that is killed loses all that it held in memory.
"""

import asyncio
import os
import random
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from streams.local.probing import answers, listens
from streams.local.state import ProcessState, running_state
from streams.topology import STAGES

LOOK_SECONDS = 0.1
FIND_SECONDS = 90.0
"""Maximum time to wait until the process that a fault needs is there (seconds): it may just be starting again."""
SLOW_SHARE = 0.8
"""The share of time for which a slowed process is stopped."""
SLOW_PERIOD_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Times:
    """The lengths of the faults (seconds)."""

    stop: float = 12.0
    """Longer than the Kafka session's timeout, so that a stopped worker loses its partitions."""
    outage: float = 15.0
    """Longer than one request's deadline and all tries in place."""
    tier: float = 20.0
    """Longer than a lease."""


Act = Callable[[Path, random.Random, Times], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: its name, and the function that does it and returns when it is over."""

    name: str
    act: Act


async def process(home: Path, name: str) -> ProcessState:
    """The running process of that name. Waits while it is being started again."""
    for _ in range(int(FIND_SECONDS / LOOK_SECONDS)):
        state = running_state(home)
        assert state, "the supervisor is gone"
        for found in state.processes:
            if found.name == name and found.alive:
                return found
        await asyncio.sleep(LOOK_SECONDS)
    raise AssertionError(f"{name} was not started again within {FIND_SECONDS:.0f} s")


async def until_healthy(home: Path, name: str) -> None:
    """Wait until the process of that name answers."""
    for _ in range(int(FIND_SECONDS / LOOK_SECONDS)):
        found = await process(home, name)
        if answers(found.health) if found.health else listens(found.port):
            return
        await asyncio.sleep(LOOK_SECONDS)
    raise AssertionError(f"{name} does not answer after {FIND_SECONDS:.0f} s")


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


@asynccontextmanager
async def stopped(pid: int) -> AsyncIterator[None]:
    """Hold the process for the time of the block. It may be killed meanwhile: its supervisor does so."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        if psutil.pid_exists(pid):
            os.kill(pid, signal.SIGCONT)


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


async def _kill_child(home: Path, chance: random.Random, _times: Times) -> None:
    """Kill a parsing process, as the kernel does when memory ends."""
    for _ in range(int(FIND_SECONDS / LOOK_SECONDS)):
        worker = await process(home, "worker-normalize")
        children = psutil.Process(worker.pid).children() if psutil.pid_exists(worker.pid) else []
        if children:
            kill(chance.choice(children).pid)
            return
        await asyncio.sleep(LOOK_SECONDS)
    raise AssertionError("the normalize worker has no parsing process")


WORKERS = tuple(f"worker-{stage.name}" for stage in STAGES)
FAULTS: tuple[Fault, ...] = (
    *map(killed, WORKERS),
    Fault("a parsing process killed", _kill_child),
    held("worker-fetch", lambda times: times.tier, "away for longer than a lease"),
    held("worker-frontier", lambda times: times.stop, "stopped until its partitions have another owner"),
    held("worker-dedup", lambda times: times.stop, "stopped"),
    slowed("worker-index"),
    held("cassandra", lambda times: times.outage, "away"),
    held("qdrant", lambda times: times.outage, "away"),
    held("triton", lambda times: times.outage, "away"),
    killed("qdrant"),
    killed("triton"),
    killed("cassandra"),
    killed("kafka"),
)
"""Every fault that a run does once, in an order of chance."""
