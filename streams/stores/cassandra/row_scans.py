"""Reads whole tables by ranges of tokens, for migrations that copy rows."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from streams.settings import CassandraSettings
from streams.stores.cassandra.session import CassandraSession, connect

Copy = Callable[[CassandraSession, Any], Awaitable[int]]
"""Handles one row, and returns the number of rows that it wrote."""
RANGES = 16
"""Number of ranges of tokens that are read at once."""
BATCH = 500

_IS_DONE = "SELECT name FROM migrations WHERE name = :name"
_DONE = "INSERT INTO migrations (name, checksum) VALUES (:name, '')"


async def scan_once(settings: CassandraSettings, name: str, *scans: tuple[str, Copy]) -> int:
    """Scan with each pair of a statement and a copy, and return the sum of the results.

    Once it has ended, it does nothing more: the table `migrations` has its name. It is repeated after a crash, so each
    copy must write the same again.
    """
    session = await connect(settings)
    try:
        if await session.execute(_IS_DONE, {"name": name}):
            return 0
        copied = sum([await scan(session, statement, copy) for statement, copy in scans])
        await session.execute(_DONE, {"name": name})
        return copied
    finally:
        await session.close()


async def scan(session: CassandraSession, statement: str, copy: Copy) -> int:
    """Call `copy` with each row of the statement, and return the sum of its results.

    The statement selects the token of the partition key first, and has the parameters `start`, `end` and `count`. Each
    partition must have one row.
    """
    step = (1 << 64) // RANGES
    starts = [number * step - (1 << 63) for number in range(RANGES)]
    return sum(await asyncio.gather(*(_scan_range(session, statement, copy, at, at + step - 1) for at in starts)))


async def _scan_range(session: CassandraSession, statement: str, copy: Copy, start: int, end: int) -> int:
    copied = 0
    while start <= end:
        rows = await session.execute(statement, {"start": start, "end": end, "count": BATCH})
        for row in rows:
            copied += await copy(session, row)
        if len(rows) < BATCH:
            break
        start = rows[-1][0] + 1
    return copied
