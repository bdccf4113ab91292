"""The real servers for as long as a `with` block lasts: what the integration tests and the benchmarks run on.

    with running_servers(home) as settings:
        ...

`riffle up` starts the same servers, with the workers on top, in a process of its own: see supervisor.py.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streams.local import child_process as children
from streams.local.cassandra import Cassandra
from streams.local.kafka import Kafka
from streams.local.qdrant import Qdrant
from streams.local.server import Report, Server, start_all
from streams.local.triton import IN_PROCESS, Triton, why_not
from streams.settings import Settings

Warn = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Servers:
    """The servers of one home, those that are wanted. None of them runs yet."""

    kafka: Kafka | None = None
    cassandra: Cassandra | None = None
    triton: Triton | None = None
    qdrant: Qdrant | None = None
    in_process: bool = False
    """Triton was wanted and can't run here."""

    @property
    def all(self) -> list[Server]:
        servers: tuple[Server | None, ...] = (self.cassandra, self.triton, self.kafka, self.qdrant)
        return [server for server in servers if server is not None]

    @property
    def addresses(self) -> dict[str, dict[str, Any]]:
        """The settings that point to them."""
        found: dict[str, dict[str, Any]] = {}
        if self.kafka:
            found["kafka"] = {"bootstrap": self.kafka.bootstrap}
        if self.cassandra:
            found["cassandra"] = {"hosts": ["127.0.0.1"], "port": self.cassandra.port}
        if self.qdrant:
            found["qdrant"] = {"url": self.qdrant.url}
        if self.triton:
            found["triton"] = {"url": self.triton.url}
        elif self.in_process:
            found["triton"] = {"url": IN_PROCESS}
        return found


def plan(
    base: Settings,
    warn: Warn,
    *,
    home: Path,
    kafka: bool = True,
    cassandra: bool = True,
    triton: bool = True,
    qdrant: bool = True,
) -> Servers:
    """Which servers to start, on free ports, with their data below `home`. Says loudly when Triton can't run."""
    data = home.resolve() / "data"
    asked_in_process = base.triton.url.startswith(IN_PROCESS)
    reason = why_not() if triton and not asked_in_process else ""
    if reason:
        warn(f"Triton can't run here: {reason}.\nIts models run inside each process instead, which is slower.")
    in_process = asked_in_process or bool(reason)
    models = (base.models_path / "local").resolve()
    required = (base.triton.model,)
    return Servers(
        kafka=Kafka(data / "kafka") if kafka else None,
        cassandra=Cassandra(data / "cassandra") if cassandra else None,
        triton=Triton(data / "triton", models, required, home.resolve()) if triton and not in_process else None,
        qdrant=Qdrant(data / "qdrant") if qdrant else None,
        in_process=triton and in_process,
    )


@contextmanager
def running_servers(
    home: Path,
    *,
    kafka: bool = True,
    cassandra: bool = True,
    triton: bool = True,
    qdrant: bool = True,
    base: Settings | None = None,
    report: Report = lambda _what, _details: None,
    warn: Warn = print,
) -> Iterator[Settings]:
    """Start the servers, make topics and tables, and yield settings that point to them.

    Call it in the main thread (the servers end with the thread that started them). At the end they are killed: the
    data of such a block isn't meant to be used again. Raises StartError.
    """
    base = base or Settings.load(home=home)
    servers = plan(base, warn, home=home, kafka=kafka, cassandra=cassandra, triton=triton, qdrant=qdrant)
    running = start_all(servers.all, home.resolve() / "logs", report, threading.Event())
    try:
        settings = pointed_at(base, home, servers.addresses)
        lay_out(settings, servers)
        yield settings
    finally:
        children.stop(running, grace_seconds=0)
        if servers.triton:
            servers.triton.clean_shared_memory()


def pointed_at(base: Settings, home: Path, addresses: dict[str, dict[str, Any]]) -> Settings:
    """The same settings with these addresses."""
    groups = {name: getattr(base, name).model_copy(update=_typed(values)) for name, values in addresses.items()}
    return base.model_copy(update={"home": home.resolve(), **groups})


def _typed(values: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


def lay_out(settings: Settings, servers: Servers) -> None:
    """Create the topics and bring the tables up to date, side by side."""
    # In threads, where a loop of our own disturbs nobody's.
    with ThreadPoolExecutor() as pool:
        begun = []
        if servers.kafka:
            begun.append(pool.submit(_create_topics, settings))
        if servers.cassandra:
            begun.append(pool.submit(_migrate, settings))
        for future in begun:
            future.result()


def ensure_collection(settings: Settings) -> None:
    """Make the collection of the embedding model that runs now, if need be."""
    from streams.stores.opener import open_stores

    async def ensure() -> None:
        async with open_stores(settings, ("triton", "qdrant")) as stores:
            await stores.vectors.ensure(await stores.embedder.info())

    asyncio.run(ensure())


# Imported only where they are needed: each brings its client library.
def _create_topics(settings: Settings) -> None:
    from streams.runtime.topics import create_topics

    create_topics(settings)


def _migrate(settings: Settings) -> None:
    from streams.stores.cassandra import migrate

    asyncio.run(migrate(settings.cassandra))
