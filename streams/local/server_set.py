"""The set of real servers, and a `with` block that runs them, for integration tests and benchmarks.

    with running_servers(home) as settings:
        ...

`riffle up` starts the same servers, and the workers, in a separate process: see supervisor.py.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from streams.local.cassandra import Cassandra
from streams.local.child_process import stop
from streams.local.kafka import Kafka
from streams.local.qdrant import Qdrant
from streams.local.server import Report, Server, start_all
from streams.local.tls.access import apply_grants
from streams.local.tls.identities import OPERATOR, Identities
from streams.local.triton import IN_PROCESS, Triton, why_not
from streams.settings import Settings
from streams.topology import grants

Warn = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Servers:
    """The servers to start for one home. None of them runs yet."""

    kafka: Kafka | None = None
    cassandra: Cassandra | None = None
    triton: Triton | None = None
    qdrant: Qdrant | None = None
    tls: Identities | None = None
    """The certificates of the servers and their clients, if they require any."""
    in_process: bool = False
    """The models run inside each process instead of in Triton."""

    @property
    def all(self) -> list[Server]:
        servers: tuple[Server | None, ...] = (self.cassandra, self.triton, self.kafka, self.qdrant)
        return [server for server in servers if server is not None]

    @property
    def addresses(self) -> dict[str, dict[str, Any]]:
        """The settings that point to them."""
        addresses: dict[str, dict[str, Any]] = {}
        if self.kafka:
            addresses["kafka"] = {"bootstrap": self.kafka.bootstrap}
        if self.cassandra:
            addresses["cassandra"] = {"hosts": ["127.0.0.1"], "port": self.cassandra.port}
        if self.qdrant:
            addresses["qdrant"] = {"url": self.qdrant.url}
        if self.triton:
            addresses["triton"] = {"url": self.triton.url}
        elif self.in_process:
            addresses["triton"] = {"url": IN_PROCESS}
        if self.tls:
            for tier, files in self.tls[OPERATOR].settings(self.encrypted).items():
                addresses[tier].update(files)
        return addresses

    @property
    def encrypted(self) -> list[str]:
        """The servers that require certificates."""
        return [server.name for server in self.all] if self.tls else []


def external_servers(settings: Settings) -> dict[str, str]:
    """The servers whose addresses are set by environment variables, with these addresses: they are not started."""
    found: dict[str, str] = {}
    if "bootstrap" in settings.kafka.model_fields_set:
        found["kafka"] = settings.kafka.bootstrap
    if {"hosts", "port"} & settings.cassandra.model_fields_set:
        found["cassandra"] = f"{', '.join(settings.cassandra.hosts)}, port {settings.cassandra.port}"
    if "url" in settings.qdrant.model_fields_set:
        found["qdrant"] = settings.qdrant.url
    if "url" in settings.triton.model_fields_set and not settings.triton.url.startswith(IN_PROCESS):
        found["triton"] = settings.triton.url
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
    """Choose the servers to start, on free ports, with their data in `home`. `warn` is called if Triton can't run."""
    data = home.resolve() / "data"
    asked_in_process = base.triton.url.startswith(IN_PROCESS)
    reason = why_not() if triton and not asked_in_process else ""
    if reason:
        warn(f"Triton can't run here: {reason}.\nIts models run inside each process instead, which is slower.")
    in_process = asked_in_process or bool(reason)
    models = (base.models_path / "local").resolve()
    tls = Identities(home) if base.local_tls else None
    if tls:
        tls.prepare(datetime.now(UTC))
    query_model = base.triton.query_model
    required = (base.triton.model, *([query_model] if query_model and (models / query_model).is_dir() else []))
    return Servers(
        kafka=Kafka(data / "kafka", tls) if kafka else None,
        cassandra=Cassandra(data / "cassandra", tls) if cassandra else None,
        triton=Triton(data / "triton", models, required, home.resolve(), tls) if triton and not in_process else None,
        qdrant=Qdrant(data / "qdrant", tls) if qdrant else None,
        tls=tls,
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
    """Start the servers, create topics and tables, and yield settings with their addresses.

    Call it in the main thread, since the servers end with the thread that started them. At the end they are killed,
    because their data isn't used again. Raises StartError.
    """
    base = base or Settings.load(home=home)
    servers = plan(base, warn, home=home, kafka=kafka, cassandra=cassandra, triton=triton, qdrant=qdrant)
    children = start_all(servers.all, home.resolve() / "logs", report, threading.Event())
    try:
        settings = with_addresses(base, home, servers.addresses)
        create_topics_and_tables(settings, kafka=kafka, cassandra=cassandra)
        yield settings
    finally:
        stop(children, grace_seconds=0)
        if servers.triton:
            servers.triton.clean_shared_memory()


def with_addresses(base: Settings, home: Path, addresses: dict[str, dict[str, Any]]) -> Settings:
    """Copy settings with other addresses."""
    groups = {name: getattr(base, name).model_copy(update=_typed(values)) for name, values in addresses.items()}
    return base.model_copy(update={"home": home.resolve(), **groups})


def _typed(values: dict[str, Any]) -> dict[str, Any]:
    """The values of a state file as the settings have them."""
    return {name: Path(value) if name.endswith("_file") else _tuple(value) for name, value in values.items()}


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def create_topics_and_tables(settings: Settings, *, kafka: bool = True, cassandra: bool = True) -> None:
    """Create the topics and bring the tables up to date, concurrently."""
    # In threads, since the calling thread may have a running event loop.
    with ThreadPoolExecutor() as pool:
        futures = []
        if kafka:
            futures.append(pool.submit(_create_topics, settings))
        if cassandra:
            futures.append(pool.submit(_migrate, settings))
        for future in futures:
            future.result()


def ensure_collection(settings: Settings) -> None:
    """Create the collection of the present embedding model if it doesn't exist."""
    from streams.stores.opener import open_stores

    async def ensure() -> None:
        async with open_stores(settings, ("models", "vectors")) as stores:
            await stores.vectors.ensure(await stores.embedder.info())

    asyncio.run(ensure())


# The imports are local because each loads a client library.
def _create_topics(settings: Settings) -> None:
    from streams.runtime.topics import create_topics

    create_topics(settings)
    if settings.local_tls and settings.kafka.security_protocol == "SSL":
        apply_grants(settings, grants())


def _migrate(settings: Settings) -> None:
    from streams.stores.cassandra import migrate

    asyncio.run(migrate(settings.cassandra))
