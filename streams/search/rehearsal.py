"""The reads of a search's optional parts, made once before the first search of a person.

Each optional part has at most a quarter of a second. The first read of a process asks the server to prepare the
statement, and the first read of a server opens its tables: beside other processes that start, both take longer than
that. A rehearsed search over an empty index, as in a new stack, has no results, and so makes none of these reads.
"""

import asyncio
from uuid import UUID

import structlog

from streams.stores.opener import Stores

SECONDS = 5.0
"""Maximum duration of the reads together (seconds): a process must become ready without them."""
_NO_PAGE = UUID(int=0)
_NO_HOST = "rehearsal.invalid"

log = structlog.get_logger(__name__)


async def read_optional_parts(stores: Stores) -> None:
    """Read similar pages, copies, facts, first sentences and ranks for a page that does not exist. Raises nothing."""
    reads = (
        stores.fingerprints.groups([_NO_PAGE], 1),
        stores.fingerprints.get_all([_NO_PAGE]),
        stores.pages.get_normalized([_NO_PAGE]),
        stores.vectors.first_statements([_NO_PAGE], 1),
        stores.host_links.ranks([_NO_HOST]),
    )
    try:
        async with asyncio.timeout(SECONDS):
            found = await asyncio.gather(*reads, return_exceptions=True)
    except TimeoutError:
        log.info("the reads before the first search of a person took too long", seconds=SECONDS)
        return
    for error in found:
        if isinstance(error, BaseException):
            log.info("a read before the first search of a person failed", error=str(error) or type(error).__name__)
