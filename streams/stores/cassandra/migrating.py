"""The keyspace and its tables: numbered migrations, each applied once, in order.

A migration is a file `migrations/NNNN_name.cql` of idempotent DDL (IF NOT EXISTS). The table `migrations` has the
name and checksum of each applied migration. Several processes may migrate at once: each statement may then run twice,
to the same effect. An applied migration never changes; a change is a new file with the next number.
"""

import asyncio
import re
from dataclasses import dataclass
from hashlib import blake2b
from importlib.resources import files
from typing import Any

from cassandra import AlreadyExists, InvalidRequest

from streams.errors import UsageError
from streams.settings import CassandraSettings
from streams.stores.cassandra.driver import new_cluster
from streams.stores.cassandra.session import translate_error

_NAME = re.compile(r"\d{4}_[a-z0-9_]+\.cql")
_KEYSPACE_NAME = re.compile(r"[a-z][a-z0-9_]{0,47}")
_REMEMBERED = "CREATE TABLE IF NOT EXISTS migrations (name text PRIMARY KEY, checksum text)"
_TRIES = 5
"""Maximum number of tries of a statement: another process may change the schema at the same moment."""
_TIMEOUT_SECONDS = 60.0
"""Seconds after which a statement fails. A schema change waits until all servers agree."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One file of DDL."""

    name: str
    text: str

    @property
    def checksum(self) -> str:
        """The checksum of the statements, without comments, so that a comment can be corrected."""
        return blake2b("\n".join(self.statements).encode(), digest_size=16).hexdigest()

    @property
    def statements(self) -> list[str]:
        """The statements, without comments and with spaces collapsed."""
        bare = re.sub(r"(--|//).*", "", self.text)
        return [" ".join(part.split()) for part in bare.split(";") if part.strip()]


def packaged_migrations() -> list[Migration]:
    """Return the migrations that this version ships, in order."""
    folder = files("streams.stores.cassandra") / "migrations"
    found = [Migration(file.name, file.read_text()) for file in folder.iterdir() if _NAME.fullmatch(file.name)]
    return sorted(found, key=lambda migration: migration.name)


async def migrate(settings: CassandraSettings, migrations: list[Migration] | None = None) -> list[str]:
    """Create the keyspace, and apply the migrations that are not yet applied. Returns their names.

    Raises UsageError if an applied migration was changed, and StoreUnavailable.
    """
    wanted = packaged_migrations() if migrations is None else migrations
    try:
        return await asyncio.to_thread(_migrate, settings, wanted)
    except Exception as error:
        raise translate_error(error, settings) from error


def _migrate(settings: CassandraSettings, migrations: list[Migration]) -> list[str]:
    if not _KEYSPACE_NAME.fullmatch(settings.keyspace):
        raise UsageError(f"{settings.keyspace!r} can't be a keyspace: up to 48 of a-z, 0-9 and _, a letter first")
    cluster = new_cluster(settings)
    try:
        driver = cluster.connect()
        _change(driver, _keyspace(settings))
        driver.set_keyspace(settings.keyspace)
        _change(driver, _REMEMBERED)
        applied = dict(driver.execute("SELECT name, checksum FROM migrations", timeout=_TIMEOUT_SECONDS))
        return [migration.name for migration in migrations if _apply(driver, migration, applied)]
    finally:
        cluster.shutdown()


def _keyspace(settings: CassandraSettings) -> str:
    strategy = {"class": "NetworkTopologyStrategy", settings.datacenter: settings.replication}
    return f"CREATE KEYSPACE IF NOT EXISTS {settings.keyspace} WITH replication = {strategy}"


def _apply(driver: Any, migration: Migration, applied: dict[str, str]) -> bool:
    """Apply a migration. Returns False if it was applied before."""
    before = applied.get(migration.name)
    if before == migration.checksum:
        return False
    if before is not None:
        raise UsageError(
            f"migration {migration.name} was applied to this keyspace with other statements than it has now. "
            "An applied migration never changes: put it back, and write the change into a new one with the next number"
        )
    for statement in migration.statements:
        _change(driver, statement)
    remember = "INSERT INTO migrations (name, checksum) VALUES (%s, %s)"
    driver.execute(remember, (migration.name, migration.checksum), timeout=_TIMEOUT_SECONDS)
    return True


def _change(driver: Any, statement: str) -> None:
    """Run DDL. Try again if it fails because another process makes the same change at the same moment."""
    for left in reversed(range(_TRIES)):
        try:
            driver.execute(statement, timeout=_TIMEOUT_SECONDS)
            return
        except AlreadyExists:
            return
        except InvalidRequest:
            if not left:
                raise
