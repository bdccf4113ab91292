"""A worker whose only stage records what it handled: run as a process of its own, to be killed by the tests.

python -m tests.integration.runtime_worker BOOTSTRAP RUN [--raise-every N] [--pause SECONDS] [--file PATH]
"""

import argparse
import asyncio
import hashlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from schemas import Event
from schemas.unknown_values import Waits
from streams.errors import PoisonError, StoreUnavailable, TransientError, UsageError
from streams.logs import configure_logging
from streams.runtime.agent import Agent, Delivery
from streams.runtime.topics import create_topics
from streams.runtime.worker import run_worker, use_fast_loop
from streams.settings import KafkaSettings, RuntimeSettings, Settings
from streams.stores.opener import Stores
from streams.topology import Stage, topics_of

STEPS = ("walk", "run") if os.environ.get("NEWER_RELEASE") else ("walk",)
"""The values that this release of the worker knows."""


SLOW_SECONDS = 30.0
"""Longer than a rebalance waits for events in progress."""


class Asked(Event):
    key_field: ClassVar[str] = "name"
    name: str
    number: int
    wish: str = "work"
    """work, raise (an unforeseen error, once), flaky (transient, twice), poison, or slow (if the process pauses)."""
    step: Annotated[Literal[STEPS], Waits()] = "walk"  # type: ignore[valid-type]  # the names of the steps are a variable


class Answered(Event):
    key_field: ClassVar[str] = "name"
    name: str
    number: int


def stage_of(run: str) -> Stage:
    """The stage of one test run: topics, group and all names are its own."""
    Asked.topic, Answered.topic = f"{run}.asked", f"{run}.answered"
    return Stage(
        name=run,
        says="answers what it is asked",
        inputs=(Asked,),
        outputs=(Answered,),
        agent="tests.integration.runtime_worker:build",
        concurrency=8,
    )


class FileBlobs:
    """Blobs as files of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def put(self, content: bytes) -> str:
        ref = hashlib.blake2b(content, digest_size=32).hexdigest()
        (self._folder / ref).write_bytes(content)
        return ref

    async def get(self, ref: str) -> bytes:
        return (self._folder / ref).read_bytes()

    def hand_on(self, ref: str, content: bytes) -> None: ...


class Answering(Agent):
    """Appends each handled number to a file (O_APPEND: lines of several workers don't mix), then answers.

    While the file `outage` exists, its store is away.
    """

    def __init__(self, file: Path, pause_seconds: float) -> None:
        self._outage = file.with_name("outage")
        self._file = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._pause_seconds = pause_seconds
        self._tries: dict[int, int] = {}

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        asked = delivery.event
        assert isinstance(asked, Asked)
        tries = self._tries[asked.number] = self._tries.get(asked.number, 0) + 1
        if asked.wish == "poison":
            raise PoisonError("this can't be digested")
        if asked.wish == "raise" and tries == 1:
            raise KeyError("an unexpected error")
        if asked.wish == "flaky" and tries <= 2:
            raise TransientError("not yet")
        if asked.wish == "always-flaky":
            raise TransientError("never")
        if asked.wish == "unauthorized":
            raise UsageError("Unauthorized: no MODIFY permission on the table")
        if self._outage.exists():
            raise StoreUnavailable("the store is away")
        if asked.wish == "slow" and self._pause_seconds:
            await asyncio.sleep(SLOW_SECONDS)
        await asyncio.sleep(self._pause_seconds)
        os.write(self._file, f"{asked.number}\n".encode())
        return [Answered(name=asked.name, number=asked.number)]


async def build(settings: Settings, stores: Stores) -> Agent:
    return Answering(settings.home / "handled", float(os.environ.get("PAUSE_SECONDS", "0")))


def settings_of(bootstrap: str, home: Path, **runtime: object) -> Settings:
    return Settings(
        home=home,
        kafka=KafkaSettings(bootstrap=bootstrap, partitions=4),
        runtime=RuntimeSettings(retry_topic_delay_seconds=0.1, **runtime),
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("bootstrap")
    parser.add_argument("run")
    parser.add_argument("home", type=Path)
    parser.add_argument("--instance", default="")
    parser.add_argument("--session-seconds", type=float)
    parser.add_argument("--accept-loss", action="store_true")
    parser.add_argument("--health-port", type=int, default=0)
    arguments = parser.parse_args()
    stage = stage_of(arguments.run)
    settings = settings_of(
        arguments.bootstrap,
        arguments.home,
        instance=arguments.instance,
        health_port=arguments.health_port,
        session_timeout_seconds=arguments.session_seconds,
    )
    configure_logging(settings)
    create_topics(settings, topics_of((Asked, Answered), (stage,)))
    stores = Stores(blobs=FileBlobs(arguments.home))
    use_fast_loop()  # as `riffle worker` does
    try:
        sys.exit(asyncio.run(run_worker([stage], settings, accept_loss=arguments.accept_loss, stores=stores)))
    except UsageError as error:
        sys.exit(f"UsageError: {error}")


if __name__ == "__main__":
    # Under its full name: the classes of `__main__` would be others than those that `build` finds.
    from tests.integration import runtime_worker

    runtime_worker.main()
