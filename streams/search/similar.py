"""The duplicates of the pages of an answer: "3 similar pages", with their addresses.

They are an extra: read for all results at once, within a short time, and left out when their store doesn't answer.
"""

from collections.abc import Sequence
from uuid import UUID

from streams.errors import RiffleError
from streams.search.deadline import Deadline
from streams.search.failures import OnFailure, Rest
from streams.stores.opener import Stores
from streams.stores.protocols import Fingerprint

MAX_SIMILAR = 10
"""Maximum similar pages shown of one result. The page's own view has more."""
REST_SECONDS = 2.0
"""Seconds after a failure in which they are not asked for."""

Groups = dict[UUID, list[Fingerprint]]


class SimilarPages:
    """Reads the fingerprints. There is one in each process: it remembers when they failed."""

    def __init__(self, stores: Stores, on_failure: OnFailure) -> None:
        self._stores = stores
        self._on_failure = on_failure
        self._rest = Rest(REST_SECONDS)

    async def of(self, pages: Sequence[UUID], deadline: Deadline) -> Groups | None:
        """The duplicates of each page that has some, the shortest address first; None when they are not known now."""
        if not pages:
            return {}
        if self._rest.lasts:
            return None
        try:
            async with deadline.for_similar():
                found = await self._stores.fingerprints.groups(pages, MAX_SIMILAR)
        except (RiffleError, TimeoutError) as error:
            self._on_failure("records", error)
            self._rest.failed()
            return None
        return {page: sorted(others, key=lambda other: (len(other.url), other.url)) for page, others in found.items()}
