"""The facts of the pages shown, from their records: the site's name, the author, the rating and the like.

They are an ornament: they are read for all results at once, beside the similar pages, and an answer is whole without
them.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from uuid import UUID

from streams.search.deadline import Deadline
from streams.search.optional import OnFailure, OptionalPart, Rest
from streams.stores.opener import Stores
from streams.stores.page_record import Normalized

REST_SECONDS = 2.0
"""Pause after a failure before facts are read again (seconds)."""


class PageFacts:
    """The reader of the records. Each process has one reader, which remembers its failures."""

    def __init__(self, stores: Stores, on_failure: OnFailure) -> None:
        self._stores = stores
        self._part = OptionalPart("facts of pages", partial(on_failure, "records"), Rest(REST_SECONDS))

    async def of(self, pages: Sequence[UUID], deadline: Deadline) -> Mapping[UUID, Normalized]:
        """Return what is known of each page; nothing if the store doesn't answer in time."""
        if not pages:
            return {}
        read = partial(self._stores.pages.get_normalized, pages)
        return await self._part.read(read, deadline.for_similar(), lambda _: None) or {}
