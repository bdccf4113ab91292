"""Migrations on a real Cassandra: once each, in order, by however many processes at once."""

import asyncio
import sys
from dataclasses import replace

import pytest

from streams.backup.cassandra import empty_tables
from streams.errors import RestoreUnfinished, UsageError
from streams.settings import CassandraSettings, Settings
from streams.stores import cassandra
from streams.stores.cassandra.migrating import Migration, packaged_migrations
from streams.stores.cassandra.opening import open_records
from streams.stores.cassandra.restoring import check_restored, mark_restore, unmark_restore
from tests.conftest import fresh_name

pytestmark = pytest.mark.integration("cassandra")


@pytest.fixture
def fresh(cassandra_settings: CassandraSettings) -> CassandraSettings:
    """Settings of a keyspace that isn't there yet."""
    return cassandra_settings.model_copy(update={"keyspace": fresh_name("migrations")})


FIRST = Migration("0001_first.cql", "CREATE TABLE IF NOT EXISTS first (a int PRIMARY KEY); -- the first")
SECOND = Migration(
    "0002_second.cql", "ALTER TABLE first ADD IF NOT EXISTS b int;\nALTER TABLE first ADD IF NOT EXISTS c int;"
)


async def test_each_migration_is_applied_once_and_in_order(fresh: CassandraSettings) -> None:
    assert await cassandra.migrate(fresh, [FIRST]) == ["0001_first.cql"]
    assert await cassandra.migrate(fresh, [FIRST, SECOND]) == ["0002_second.cql"]
    assert await cassandra.migrate(fresh, [FIRST, SECOND]) == []
    session = await cassandra.connect(fresh)
    assert await session.execute("SELECT a, b, c FROM first") == []
    await session.close()


async def test_a_changed_migration_is_refused_with_its_name(fresh: CassandraSettings) -> None:
    await cassandra.migrate(fresh, [FIRST])
    changed = replace(FIRST, text=FIRST.text.replace("int", "text"))
    with pytest.raises(UsageError, match=r"0001_first\.cql was applied .*write the change into a new one"):
        await cassandra.migrate(fresh, [changed])


async def test_a_comment_may_be_put_right(fresh: CassandraSettings) -> None:
    await cassandra.migrate(fresh, [FIRST])
    assert await cassandra.migrate(fresh, [replace(FIRST, text="// better\n" + FIRST.text)]) == []


async def test_one_that_was_cut_off_is_applied_again(fresh: CassandraSettings) -> None:
    broken = replace(SECOND, text=SECOND.text + "CREATE TABLE nonsense;")
    with pytest.raises(Exception, match="refuses a statement"):
        await cassandra.migrate(fresh, [FIRST, broken])
    assert await cassandra.migrate(fresh, [FIRST, SECOND]) == ["0002_second.cql"]


async def test_a_restore_that_is_not_finished_keeps_the_records_closed(fresh: CassandraSettings) -> None:
    settings = Settings(cassandra=fresh)
    await cassandra.migrate(fresh)
    await mark_restore(fresh, "restore of /backups/monday")
    for _ in range(2):  # also after another start, which migrates
        with pytest.raises(RestoreUnfinished, match="restore of /backups/monday"):
            await open_records(settings)
        with pytest.raises(RestoreUnfinished):
            await check_restored(fresh)
        await cassandra.migrate(fresh)
    await empty_tables(fresh)
    with pytest.raises(RestoreUnfinished):
        await check_restored(fresh)
    await unmark_restore(fresh)
    records = await open_records(settings)
    assert await records.unfinished_restore() == ""
    await records.close()


async def test_what_is_shipped_may_be_applied_by_several_processes_at_once(fresh: CassandraSettings) -> None:
    code = (
        "import asyncio, sys\nfrom streams.settings import CassandraSettings\nfrom streams.stores import cassandra\n"
        "asyncio.run(cassandra.migrate(CassandraSettings.model_validate_json(sys.argv[1])))"
    )
    argument = fresh.model_dump_json()
    started = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", code, argument, stderr=asyncio.subprocess.PIPE)
        for _ in range(3)
    ]
    ended = await asyncio.gather(*(process.communicate() for process in started))
    failures = [stderr.decode() for process, (_, stderr) in zip(started, ended, strict=True) if process.returncode]
    assert not failures, failures[0]
    assert await cassandra.migrate(fresh) == []


@pytest.mark.parametrize("name", ["", "1st", "a-b", "a; DROP KEYSPACE riffle", "a" * 49])
async def test_a_keyspace_name_that_is_none_is_refused(fresh: CassandraSettings, name: str) -> None:
    with pytest.raises(UsageError, match="can't be a keyspace"):
        await cassandra.migrate(fresh.model_copy(update={"keyspace": name}))


def test_the_shipped_migrations_are_numbered_without_gap_and_idempotent() -> None:
    shipped = packaged_migrations()
    assert [int(migration.name[:4]) for migration in shipped] == list(range(1, len(shipped) + 1))
    statements = [statement for migration in shipped for statement in migration.statements]
    assert [statement for statement in statements if " IF NOT EXISTS " not in f"{statement} "] == []
