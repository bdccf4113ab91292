"""The set of real servers, and a `with` block that runs them, for integration tests and benchmarks.

    with running_servers(home) as settings:
        ...

`riffle up` starts the same servers, and the workers, in a separate process: see supervisor.py.
"""

import asyncio
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from streams.local.child_process import stop
from streams.local.servers.server import StoreServer, start_all
from streams.local.servers.triton import Triton, why_not
from streams.local.tls.access import apply_grants
from streams.local.tls.identities import OPERATOR, Identities
from streams.models.opening import run_in_process
from streams.servers import NAMES, SERVERS, find, server_of
from streams.settings import Settings
from streams.settings.servers import IN_PROCESS
from streams.topology import grants

Warn = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Servers:
    """The servers to start for one home. None of them runs yet."""

    all: tuple[StoreServer, ...] = ()
    tls: Identities | None = None
    """The certificates of the servers and their clients, if they require any."""
    in_process: bool = False
    """True if the models run inside each process instead of in Triton."""

    @property
    def addresses(self) -> dict[str, dict[str, Any]]:
        """The settings that point to the servers."""
        addresses = {server.name: server.addresses for server in self.all}
        if self.in_process:
            addresses[Triton.name] = {"url": IN_PROCESS}
        if self.tls:
            for tier, files in self.tls[OPERATOR].settings(self.encrypted).items():
                addresses[tier].update(files)
        return addresses

    @property
    def encrypted(self) -> list[str]:
        """The servers that require certificates."""
        return [server.name for server in self.all] if self.tls else []

    def clean(self) -> None:
        """Remove what the ended servers left outside of their data folders."""
        for server in self.all:
            server.clean()


def external_servers(settings: Settings) -> dict[str, str]:
    """Return the addresses that environment variables set, by server. These servers are not started."""
    found = {server.name: find(server.start).external(settings) for server in SERVERS}
    return {name: address for name, address in found.items() if address}


def plan(base: Settings, warn: Warn, *, home: Path, names: Collection[str] = NAMES) -> Servers:
    """Choose the servers to start, on free ports, with their data in `home`. `warn` is called if Triton can't run."""
    in_process = Triton.name in names and _runs_in_process(base, warn)
    tls = Identities(home) if base.local_tls else None
    if tls:
        tls.prepare(datetime.now(UTC))
    started = (server for server in SERVERS if server.name in names and not (in_process and server.name == Triton.name))
    return Servers(tuple(find(server.start).of(base, home.resolve(), tls) for server in started), tls, in_process)


def _runs_in_process(base: Settings, warn: Warn) -> bool:
    """Return True if the models run inside each process: unless the settings ask for Triton, or if it can't run."""
    if not base.local_triton or run_in_process(base):
        return True
    reason = why_not()
    if reason:
        warn(f"Triton can't run here: {reason}.\nIts models run inside each process instead.")
    return bool(reason)


@contextmanager
def running_servers(
    home: Path,
    names: Collection[str] = NAMES,
    *,
    base: Settings | None = None,
) -> Iterator[Settings]:
    """Start the servers with these names, create topics and tables, and yield settings with their addresses.

    Call it in the main thread, since the servers end with the thread that started them. At the end they are killed,
    because their data isn't used again. Raises StartError.
    """
    base = base or Settings.load(home=home)
    servers = plan(base, print, home=home, names=names)
    children = start_all(servers.all, home.resolve() / "logs", lambda _what, _details: None)
    try:
        settings = with_addresses(base, home, servers.addresses)
        create_topics_and_tables(settings, names)
        yield settings
    finally:
        stop(children, grace_seconds=0)
        servers.clean()


def with_addresses(base: Settings, home: Path, addresses: dict[str, dict[str, Any]]) -> Settings:
    """Copy settings with other addresses."""
    groups = {
        name: getattr(base, name).model_copy(update=_convert_values(values)) for name, values in addresses.items()
    }
    return base.model_copy(update={"home": home.resolve(), **groups})


def _convert_values(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a state file with the types that the settings have."""
    return {name: Path(value) if name.endswith("_file") else _convert_list(value) for name, value in values.items()}


def _convert_list(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def create_topics_and_tables(settings: Settings, names: Collection[str] = NAMES) -> None:
    """Create the topics and bring the tables up to date, concurrently."""
    jobs = {server_of("events").name: _create_topics, server_of("records").name: _migrate}
    # In threads, since the calling thread may have a running event loop.
    with ThreadPoolExecutor() as pool:
        futures = [pool.submit(job, settings) for name, job in jobs.items() if name in names]
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
    from streams.runtime.topics import create_topics, set_record_times

    create_topics(settings)
    set_record_times(settings)
    if settings.local_tls and settings.kafka.security_protocol == "SSL":
        apply_grants(settings, grants())


def _migrate(settings: Settings) -> None:
    from streams.stores.cassandra import migrate

    asyncio.run(migrate(settings.cassandra))
