"""The duplicates of the pages of an answer: "3 similar pages", with their addresses.

The duplicates are an extra: they are read for all results at once, within a short time, and left out when their store
doesn't answer.
"""

from collections.abc import Sequence
from functools import partial
from uuid import UUID

from streams.search.deadline import Deadline
from streams.search.optional import IN_WORDS, OnFailure, OptionalPart, Reason, Rest
from streams.search.trace import Trace
from streams.stores.opener import Stores
from streams.stores.protocols import Fingerprint

MAX_SIMILAR = 10
"""Maximum similar pages shown of one result. The page's own view has more."""
REST_SECONDS = 2.0
"""Pause after a failure before similar pages are read again (seconds)."""

Groups = dict[UUID, list[Fingerprint]]


class SimilarPages:
    """The reader of the fingerprints. Each process has one reader, which remembers its failures."""

    def __init__(self, stores: Stores, on_failure: OnFailure) -> None:
        self._stores = stores
        self._part = OptionalPart("similar pages", partial(on_failure, "records"), Rest(REST_SECONDS))

    async def of(self, pages: Sequence[UUID], deadline: Deadline, trace: Trace) -> Groups | None:
        """Return the duplicates of each page that has some, the shortest address first; None if none could be read."""
        if not pages:
            return {}
        read = partial(self._stores.fingerprints.groups, pages, MAX_SIMILAR)
        found = await self._part.read(read, deadline.for_similar(), lambda why: trace.fail("similar", _sentence(why)))
        if found is None:
            return None
        return {page: sorted(others, key=lambda other: (len(other.url), other.url)) for page, others in found.items()}


def _sentence(why: Reason) -> str:
    return f"The store of similar pages {IN_WORDS[why]}; similar pages are not listed."
