"""Which pages the pages of an answer stand for: "3 similar pages", with their addresses.

They are an extra: read for all results at once, within a short time, and left out when their store doesn't answer.
"""

import asyncio
from collections.abc import Callable, Sequence
from time import perf_counter
from uuid import UUID

from streams.errors import RiffleError
from streams.stores.opener import Stores
from streams.stores.protocols import Fingerprint

MAX_SIMILAR = 10
"""Of one result; the page's own view has more."""
WAIT_SECONDS = 0.25
REST_SECONDS = 2.0
"""After a failure nobody waits for them for so long."""

Groups = dict[UUID, list[Fingerprint]]


class SimilarPages:
    """Asks the fingerprints. One for the whole process: it remembers that they failed."""

    def __init__(self, stores: Stores, on_failure: Callable[[str, BaseException], None]) -> None:
        self._stores = stores
        self._on_failure = on_failure
        self._rest_until = 0.0

    async def of(self, pages: Sequence[UUID], within_seconds: float) -> Groups | None:
        """The similar pages of each of these that has some, by address; None when that can't be said now."""
        if not pages:
            return {}
        if perf_counter() < self._rest_until:
            return None
        try:
            async with asyncio.timeout(min(WAIT_SECONDS, within_seconds)):
                found = await self._stores.fingerprints.groups(pages, MAX_SIMILAR)
        except (RiffleError, TimeoutError) as error:
            self._on_failure("cassandra", error)
            self._rest_until = perf_counter() + REST_SECONDS
            return None
        return {page: sorted(others, key=lambda other: (len(other.url), other.url)) for page, others in found.items()}
