"""Writes states of crawls to Cassandra until it is killed: `python -m tests.integration.contracts.killed_writer`.

Arguments: port, keyspace, and the beginning of the crawls' names. It prints the number of each crawl whose states are
written. Each crawl is one partition with STATES states and their count.
"""

import asyncio
import itertools
import sys
from uuid import UUID

from streams.settings import CassandraSettings
from streams.stores.cassandra import CassandraFrontier, connect
from streams.stores.protocols import CrawlCounts

STATES = 5
AT_ONCE = 20
"""Number of crawls that are written at once."""
PAGES = tuple(UUID(int=number) for number in range(STATES))


async def write(port: int, keyspace: str, prefix: str) -> None:
    frontier = CassandraFrontier(await connect(CassandraSettings(port=port, keyspace=keyspace)))
    numbers = itertools.count()

    async def write_next() -> None:
        for number in numbers:
            counts = CrawlCounts({"queued": STATES}, at=1)
            await frontier.put_states(f"{prefix}{number}", 0, dict.fromkeys(PAGES, "queued"), "0/1", counts)
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()

    await asyncio.gather(*(write_next() for _ in range(AT_ONCE)))


if __name__ == "__main__":
    asyncio.run(write(int(sys.argv[1]), sys.argv[2], sys.argv[3]))
