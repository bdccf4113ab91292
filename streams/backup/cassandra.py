"""Cassandra's part of a backup: every row of every table, with the time of each value."""

from pathlib import Path

from streams.backup.kafka import REPLACE_ADVICE
from streams.backup.manifest import ItemWriter, Manifest, Progress, read_items
from streams.errors import UsageError
from streams.settings import CassandraSettings
from streams.stores.cassandra import CassandraSession, connect, migrate
from streams.stores.cassandra.copying import Table, is_empty, read_rows, tables, truncate, write_rows
from streams.stores.cassandra.migrating import packaged_migrations

BATCH_ROWS = 500
BATCH_BYTES = 8 * 1024 * 1024
"""Size of the rows that are written together (bytes)."""
OF_RUNNING_WORKERS = frozenset({"frontier_owners"})
"""Tables in which workers write as soon as they start."""
_APPLIED = "SELECT name, checksum FROM migrations"


async def write_tables(settings: CassandraSettings, folder: Path, manifest: Manifest, progress: Progress) -> None:
    """Write all tables of the keyspace to files."""
    session, total = await connect(settings), 0
    try:
        manifest.keyspace = settings.keyspace
        manifest.migrations = dict(await session.execute(_APPLIED))
        for table in await tables(session, settings.keyspace):
            with ItemWriter(folder, f"cassandra/{table.label}.msgpack.zst") as writer:
                async for rows in read_rows(session, table):
                    for row in rows:
                        writer.write(row)
                    total += len(rows)
                    progress("Rows", total)
            manifest.tables[table.label] = writer.part
    finally:
        await session.close()


def refuse_other_schema(manifest: Manifest) -> None:
    """Raise UsageError for a backup of a release with tables that this release lacks."""
    known = {migration.name: migration.checksum for migration in packaged_migrations()}
    if newer := sorted(name for name, checksum in manifest.migrations.items() if known.get(name) != checksum):
        raise UsageError(
            f"the backup is of a release with other tables ({', '.join(newer)}). "
            "Restore it with that release or a newer one"
        )


async def refuse_rows(settings: CassandraSettings) -> None:
    """Raise UsageError if a table holds rows."""
    await migrate(settings)
    session = await connect(settings)
    try:
        for table in await tables(session, settings.keyspace):
            if table.name not in OF_RUNNING_WORKERS and not await is_empty(session, table):
                raise UsageError(f"Cassandra holds rows in {settings.keyspace}.{table.name}. {REPLACE_ADVICE}")
    finally:
        await session.close()


async def empty_tables(settings: CassandraSettings) -> None:
    """Create the tables and remove all rows."""
    await migrate(settings)
    session = await connect(settings)
    try:
        for table in await tables(session, settings.keyspace):
            if not await is_empty(session, table):
                await truncate(session, table)
    finally:
        await session.close()


async def restore_tables(
    settings: CassandraSettings, folder: Path, manifest: Manifest, at: int, progress: Progress
) -> None:
    """Write all rows of a backup. `at`: the time of the backup (microseconds)."""
    session, total = await connect(settings), 0
    try:
        present = {table.label: table for table in await tables(session, settings.keyspace)}
        if missing := sorted(manifest.tables.keys() - present.keys()):
            raise UsageError(f"this release has no table {', '.join(missing)}: restore with the release of the backup")
        for name in manifest.tables:
            total = await _restore(session, present[name], folder, manifest, at, total, progress)
    finally:
        await session.close()
    await migrate(settings)


async def _restore(
    session: CassandraSession, table: Table, folder: Path, manifest: Manifest, at: int, total: int, progress: Progress
) -> int:
    batch, size = [], 0
    for key, values, times in read_items(folder, manifest.tables[table.label]):
        batch.append((key, values, times))
        size += sum(len(value) for value in values if isinstance(value, bytes | str))
        if len(batch) >= BATCH_ROWS or size >= BATCH_BYTES:
            await write_rows(session, table, batch, at)
            total += len(batch)
            progress("Rows", total)
            batch, size = [], 0
    await write_rows(session, table, batch, at)
    progress("Rows", total + len(batch))
    return total + len(batch)
