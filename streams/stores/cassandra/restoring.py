"""The mark of a restore that is not finished: one row of the table `migrations`, which no backup copies or empties.

The mark is written before a restore deletes anything, and removed when everything is there. A restore that was killed,
or failed, leaves the mark: workers wait, the gateway answers nothing, and `riffle doctor` says why, until a restore is
finished.
"""

from streams.errors import RestoreUnfinished
from streams.settings import CassandraSettings
from streams.stores.cassandra.session import CassandraSession, connect

MARK = "unfinished restore"
_READ = "SELECT checksum FROM migrations WHERE name = :name"
_WRITE = "INSERT INTO migrations (name, checksum) VALUES (:name, :begun)"
_REMOVE = "DELETE FROM migrations WHERE name = :name"


async def unfinished_restore(session: CassandraSession) -> str:
    """Return a sentence that says which restore is not finished and what to do, or an empty string."""
    rows = await session.execute(_READ, {"name": MARK})
    if not rows:
        return ""
    return (
        f"a restore is not finished, so parts of this installation are missing ({rows[0][0]}). If it does not run any "
        "more, repeat it, or restore another backup: riffle restore DIR --replace"
    )


async def refuse_unfinished_restore(session: CassandraSession) -> None:
    """Raise RestoreUnfinished if a restore of the keyspace runs, or has failed."""
    if problem := await unfinished_restore(session):
        raise RestoreUnfinished(problem)


async def check_restored(settings: CassandraSettings) -> None:
    """Raise RestoreUnfinished if a restore of the keyspace runs, or has failed."""
    session = await connect(settings)
    try:
        await refuse_unfinished_restore(session)
    finally:
        await session.close()


async def mark_restore(settings: CassandraSettings, begun: str) -> None:
    """Note that a restore begins. `begun` tells people which restore, and since when."""
    await _execute(settings, _WRITE, {"name": MARK, "begun": begun})


async def unmark_restore(settings: CassandraSettings) -> None:
    """Note that the restore is finished."""
    await _execute(settings, _REMOVE, {"name": MARK})


async def _execute(settings: CassandraSettings, statement: str, params: dict[str, str]) -> None:
    session = await connect(settings)
    try:
        await session.execute(statement, params)
    finally:
        await session.close()
