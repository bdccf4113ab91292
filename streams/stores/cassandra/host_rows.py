"""Moves the frontier's host rows of earlier versions, which were keyed by Kafka partition, to their buckets."""

from streams.settings import CassandraSettings
from streams.stores.cassandra.session import CassandraSession, connect
from streams.stores.host_buckets import bucket_of

_PARTITIONS = "SELECT DISTINCT partition FROM frontier_hosts"
_ROWS = "SELECT host, due, state, at FROM frontier_hosts WHERE partition = :partition"
_PUT = (
    "INSERT INTO frontier_hosts_by_bucket (bucket, host, due, state, at) "
    "VALUES (:bucket, :host, :due, :state, :written) USING TIMESTAMP :at"
)
_DELETE = "DELETE FROM frontier_hosts WHERE partition = :partition"


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
