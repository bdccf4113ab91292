"""Brings the frontier's host rows of earlier versions to the form of this one.

They were keyed by Kafka partition, and are moved to their buckets. A host of which only imported pages are known had no
row, and gets one: today a host without a row has no URL.
"""

from typing import Any

from streams.settings import CassandraSettings
from streams.stores.cassandra.row_scans import scan_once
from streams.stores.cassandra.session import CassandraSession, connect
from streams.stores.host_buckets import bucket_of
from streams.stores.packing import pack, unpack

_PARTITIONS = "SELECT DISTINCT partition FROM frontier_hosts"
_ROWS = "SELECT host, due, state, at FROM frontier_hosts WHERE partition = :partition"
_PUT = (
    "INSERT INTO frontier_hosts_by_bucket (bucket, host, due, state, at) "
    "VALUES (:bucket, :host, :due, :state, :written) USING TIMESTAMP :at"
)
_DELETE = "DELETE FROM frontier_hosts WHERE partition = :partition"
_URLS = (
    "SELECT token(page_id), value FROM frontier_urls "
    "WHERE token(page_id) >= :start AND token(page_id) <= :end LIMIT :count"
)
_NAME = "rows: hosts of imported URLs"
"""Name in the table `migrations` after each host with a URL has a row."""
_EARLIEST = 1
"""Write time of such a row. Any other row of the host wins over it."""
_IDLE = -1
"""The due time of an idle host."""
EMPTY_STATE: dict[str, Any] = {
    "cursor": None,
    "next_at": 0,
    "failures": 0,
    "trimmed": 0,
    "leases": [],
    "crawls": {},
    "robots": {},
}
"""The state of a host that was never asked for anything."""
MAX_NAMES = 100_000
"""Maximum host names in memory: a host with many URLs is not written for each of them."""


async def move_host_rows(settings: CassandraSettings) -> int:
    """Move all rows and return their number. It may be repeated, and must not run beside a frontier of an earlier
    version. Each row keeps its write time, so a newer row in its bucket stays."""
    session = await connect(settings)
    try:
        partitions = [partition for (partition,) in await session.execute(_PARTITIONS)]
        return sum([await _move(session, partition) for partition in partitions])
    finally:
        await session.close()


async def _move(session: CassandraSession, partition: int) -> int:
    rows = await session.execute(_ROWS, {"partition": partition})
    for host, due, state, at in rows:
        values = {"bucket": bucket_of(host), "host": host, "due": due, "state": state, "written": at}
        await session.execute(_PUT, values, at=at)
    await session.execute(_DELETE, {"partition": partition})
    return len(rows)


async def add_hosts_of_urls(settings: CassandraSettings) -> int:
    """Write a row for each host that has a URL, unless it has one, and return their number. Once it has ended, it does
    nothing more."""
    written: set[str] = set()

    async def add(session: CassandraSession, row: Any) -> int:
        host = unpack(row[1])["host"]
        if host in written:
            return 0
        if len(written) >= MAX_NAMES:
            written.clear()
        written.add(host)
        values = {"bucket": bucket_of(host), "host": host, "due": _IDLE, "state": pack(EMPTY_STATE), "written": 0}
        await session.execute(_PUT, values, at=_EARLIEST)
        return 1

    return await scan_once(settings, _NAME, (_URLS, add))
