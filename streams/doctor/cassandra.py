"""Cassandra: nodes, keyspace, migrations, clocks, and its use of the disk."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

from streams.credentials import TlsFiles, client_context
from streams.doctor.findings import Finding, failure, ok, warning
from streams.doctor.servers import Endpoint, judge_version, refused
from streams.errors import RestoreUnfinished, RiffleError, UsageError
from streams.local.probing import cassandra_answers
from streams.settings import CassandraSettings, Settings
from streams.stores.cassandra import CassandraSession, connect
from streams.stores.cassandra.migrating import Migration, packaged_migrations
from streams.stores.cassandra.restoring import MARK, check_restored, unfinished_restore

RESTORE_ADVICE = "Workers and searches wait. Repeat it, or restore another backup: riffle restore DIR --replace"
_VERSION = "SELECT release_version FROM system.local"
_PEERS = "SELECT peer FROM system.peers"
_KEYSPACE = "SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = :name"
_APPLIED = "SELECT name, checksum FROM migrations"
_DISK = "SELECT table_name, mebibytes FROM system_views.disk_usage WHERE keyspace_name = :name"


def check_cassandra(settings: Settings) -> Iterator[Finding]:
    """Check the nodes, the keyspace, the migrations and the clocks, over one connection."""
    addresses = ",".join(f"{host}:{settings.cassandra.port}" for host in settings.cassandra.hosts)
    if problem := refused(addresses):
        yield failure(
            "cassandra",
            f"{addresses} can't be reached ({problem})",
            "Start it (`riffle up`), or set RIFFLE_CASSANDRA__HOSTS and RIFFLE_CASSANDRA__PORT to nodes that run.",
        )
        return
    found: list[Finding] = []
    try:
        asyncio.run(_collect(settings, addresses, found))
    except UsageError as error:
        found.append(failure("schema", str(error), "Create the keyspace and its tables: riffle migrate"))
    yield from found


def is_restoring(settings: Settings) -> bool:
    """Return whether a restore is not finished. False if Cassandra can't say: its own check finds why."""
    if refused(",".join(f"{host}:{settings.cassandra.port}" for host in settings.cassandra.hosts)):
        return False
    try:
        asyncio.run(check_restored(settings.cassandra))
    except RestoreUnfinished:
        return True
    except RiffleError:
        return False
    return False


def check_answer(settings: Settings) -> Iterator[Finding]:
    """Check that a node answers CQL, without a session: the driver would try for its whole timeout."""
    own = settings.cassandra
    context = client_context(TlsFiles.of(own), check_hostname=own.check_hostname) if own.ca_file else None
    if not any(cassandra_answers(own.port, context, host) for host in own.hosts):
        addresses = ",".join(f"{host}:{own.port}" for host in own.hosts)
        yield failure("cassandra", f"Cassandra at {addresses} doesn't answer", "riffle doctor --only cassandra")


def endpoint(settings: Settings) -> Endpoint | None:
    """Return the first of the nodes, if the connections are encrypted."""
    own = settings.cassandra
    if not own.ca_file:
        return None
    return Endpoint("Cassandra", own.hosts[0], own.port, TlsFiles.of(own), own.check_hostname)


async def _collect(settings: Settings, addresses: str, found: list[Finding]) -> None:
    session = await connect(settings.cassandra)
    try:
        async for finding in _ask(session, settings, addresses):
            found.append(finding)
    finally:
        await session.close()


async def _ask(session: CassandraSession, settings: Settings, addresses: str) -> AsyncIterator[Finding]:
    keyspace = settings.cassandra.keyspace
    version = (await session.execute(_VERSION))[0][0]
    nodes = 1 + len(await session.execute(_PEERS))
    yield judge_version("cassandra", f"{addresses} ({nodes} node{'' if nodes == 1 else 's'})", version)
    (replication,) = (await session.execute(_KEYSPACE, {"name": keyspace}))[0]
    for finding in judge_replication(dict(replication), nodes, settings.cassandra):
        yield finding
    if problem := await unfinished_restore(session):
        yield failure("restore", f"{problem[0].upper()}{problem[1:].partition('. ')[0]}", RESTORE_ADVICE)
    applied: dict[str, str] = dict(await session.execute(_APPLIED))
    yield judge_migrations(applied, packaged_migrations())
    yield judge_clock(await session.clock_ahead_seconds(), settings.crawl.clock_bound_seconds)
    mebibytes: dict[str, int] = dict(await session.execute(_DISK, {"name": keyspace}))
    yield ok("disk", f"Cassandra: {sum(mebibytes.values()):,} MiB in keyspace {keyspace} on the node that was asked")


def judge_replication(replication: Mapping[str, str], nodes: int, settings: CassandraSettings) -> Iterator[Finding]:
    """Check that the keyspace has the wanted replicas in the data centre of the queries."""
    held = int(replication.get(settings.datacenter, replication.get("replication_factor", 0)))
    if not held:
        yield failure(
            "schema",
            f"Keyspace {settings.keyspace} has no replicas in data centre {settings.datacenter}",
            "Set RIFFLE_CASSANDRA__DATACENTER to the name that `nodetool status` shows, or alter the keyspace.",
        )
    elif held < settings.replication:
        yield warning(
            "schema",
            f"Keyspace {settings.keyspace} has {held} replicas instead of {settings.replication}",
            "ALTER KEYSPACE ... WITH replication, then `nodetool repair --full`.",
        )
    elif held > nodes:
        yield failure(
            "cassandra", f"{nodes} nodes can't hold {held} replicas", "Start the missing nodes: `nodetool status`."
        )


def judge_migrations(applied: Mapping[str, str], packaged: Sequence[Migration]) -> Finding:
    """Check that the tables are the tables of this version."""
    missing = [migration.name for migration in packaged if migration.name not in applied]
    if missing:
        return failure("schema", f"{len(missing)} migrations were not applied", "Apply them: riffle migrate", *missing)
    changed = [each.name for each in packaged if applied[each.name] != each.checksum]
    if changed:
        return failure(
            "schema",
            "Migrations were applied with other statements than this version has",
            "Install the release that wrote this keyspace. An applied migration never changes.",
            *changed,
        )
    known = {migration.name for migration in packaged}
    unknown = sorted(applied.keys() - known - {MARK})
    if unknown:
        return warning(
            "schema",
            "The keyspace was migrated by a newer release than this one",
            "Upgrade this installation. Migrations only add, so that it works meanwhile.",
            *unknown,
        )
    return ok("schema", f"All {len(packaged)} migrations are applied")


def judge_clock(ahead_seconds: float, bound_seconds: float) -> Finding:
    """Check the difference between the clocks of this machine and of a Cassandra node."""
    says = f"This machine's clock differs from Cassandra's by {abs(ahead_seconds):.2f} s"
    advice = "Synchronize the clocks of all machines (NTP, chrony)."
    if abs(ahead_seconds) > bound_seconds:
        return failure("clocks", f"{says}; at most {bound_seconds:g} s are allowed", f"{advice} Workers do not start.")
    if abs(ahead_seconds) > bound_seconds / 2:
        return warning("clocks", f"{says}; at most {bound_seconds:g} s are allowed", advice)
    return ok("clocks", says)
