"""The reader of fingerprints for the pass `filters`: they show which near-duplicates are copies.

The fingerprints are an extra: they are read only for near-duplicates, within a short time. Without them all these pages
are shown, and the answer says so.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from uuid import UUID

from streams.search.deadline import Deadline
from streams.search.optional import IN_WORDS, OnFailure, OptionalPart, Reason, Rest
from streams.search.ranking.context import RankingContext
from streams.search.ranking.copies import pages_to_compare
from streams.search.trace import Trace
from streams.stores.opener import Stores
from streams.stores.protocols import Fingerprint, PageHits

MAX_PAGES = 100
"""Maximum pages whose fingerprints are read for one search."""
REST_SECONDS = 2.0
"""Pause after a failure before fingerprints are read again (seconds)."""


class Copies:
    """The reader of the fingerprints. Each process has one reader, which remembers its failures."""

    def __init__(self, stores: Stores, on_failure: OnFailure) -> None:
        self._stores = stores
        self._part = OptionalPart("copies", partial(on_failure, "records"), Rest(REST_SECONDS))

    async def read(
        self, context: RankingContext, pages: Sequence[PageHits], deadline: Deadline, trace: Trace
    ) -> Mapping[UUID, Fingerprint]:
        """Read the fingerprints of the near-duplicates, for the pass `filters`."""
        if not (wanted := pages_to_compare(pages, context.notes.near)[:MAX_PAGES]):
            return {}
        read = partial(self._stores.fingerprints.get_all, wanted)
        with trace.timed("copies_ms"):
            found = await self._part.read(read, deadline.for_copies(), lambda why: trace.fail("copies", _sentence(why)))
        return found or {}


def _sentence(why: Reason) -> str:
    return f"The store of fingerprints {IN_WORDS[why]}; copies of pages are shown one by one."
