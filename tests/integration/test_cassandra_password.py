"""Cassandra with passwords: a real node, whose password for Riffle is changed while a session is open."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from streams.errors import TransientError, UsageError
from streams.local.child_process import Launch, stop
from streams.local.servers.cassandra import Cassandra
from streams.local.servers.server import spawn
from streams.settings import CassandraSettings
from streams.stores import cassandra
from streams.stores.cassandra import CassandraSession
from streams.stores.cassandra.driver import new_cluster
from tests.integration.contracts.proxy import Proxy

pytestmark = pytest.mark.integration("cassandra")

USER, FIRST, SECOND = "riffle", "the first password", "the second password"
KEYSPACE = "passwords"
READY_SECONDS = 180.0
PATIENCE_SECONDS = 60.0
READ = "SELECT release_version FROM system.local"


class PasswordCassandra(Cassandra):
    """The local node, which asks for a password at each sign-in and keeps none in a cache."""

    def prepare(self) -> Launch:
        launch = super().prepare()
        with (self.data / "cassandra.yaml").open("a") as config:
            config.write("authenticator: PasswordAuthenticator\ncredentials_validity: 0ms\nroles_validity: 0ms\n")
        launch.command.insert(1, "-Dcassandra.superuser_setup_delay_ms=0")
        return launch


def operate(port: int, folder: Path, *statements: str) -> None:
    """Run statements as Cassandra's own first user, whom a node makes a moment after its start."""
    file = folder / "first-user"
    file.write_text("cassandra")
    signs_in = CassandraSettings(port=port, username="cassandra", password_file=file)
    end = time.monotonic() + READY_SECONDS
    while True:
        cluster = new_cluster(signs_in)
        try:
            session = cluster.connect()
            for statement in statements:
                session.execute(statement)
        except Exception:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)
        else:
            return
        finally:
            cluster.shutdown()


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    folder = tmp_path_factory.mktemp("cassandra")
    server = PasswordCassandra(folder / "data")
    child = spawn(server, server.prepare(), folder)
    try:
        end = time.monotonic() + READY_SECONDS
        while not server.is_ready() and time.monotonic() < end:
            time.sleep(0.2)
        operate(
            server.port,
            folder,
            f"CREATE ROLE IF NOT EXISTS {USER} WITH PASSWORD = '{FIRST}' AND LOGIN = true",
            f"CREATE KEYSPACE IF NOT EXISTS {KEYSPACE} "
            "WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        )
        yield server.port
    finally:
        stop([child], 20.0)


async def until_answered(session: CassandraSession) -> list[Any]:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            with suppress(TransientError, UsageError):
                return await session.execute(READ)
            await asyncio.sleep(0.1)


async def test_a_rotated_password_needs_no_restart(port: int, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text(FIRST + "\n")
    async with Proxy(port) as proxy:
        settings = CassandraSettings(
            port=proxy.port, username=USER, password_file=file, keyspace=KEYSPACE, request_timeout_seconds=10
        )
        session = await cassandra.connect(settings)
        try:
            before = await session.execute(READ)
            await asyncio.to_thread(operate, port, tmp_path, f"ALTER ROLE {USER} WITH PASSWORD = '{SECOND}'")
            assert await session.execute(READ) == before, "a connection that is signed in stays"
            with pytest.raises(UsageError, match=f"127.0.0.1:{proxy.port} refuses {USER}.*RIFFLE_CASSANDRA__PASSWORD"):
                await cassandra.connect(settings)

            file.write_text(SECOND + "\n")
            await (await cassandra.connect(settings)).close()
            await proxy.cut()
            await proxy.restore()
            assert await until_answered(session) == before, "its new connections sign in with the new password"
        finally:
            await session.close()
