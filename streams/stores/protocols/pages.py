"""The records of pages."""

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from streams.stores.page_record import Normalized, PageRecord
from streams.stores.stored_part import StoredPart


class Pages(Protocol):
    """Records: each stage's latest facts about a page. Values are of types that MessagePack has."""

    async def put(self, page_id: UUID, part: StoredPart, at: int) -> None: ...

    async def get(self, page_id: UUID) -> PageRecord:
        """Return the record of the page. It is empty if nothing is known."""

    async def write_times(self, page_id: UUID) -> dict[str, int]:
        """Return when each stored part of the page was written (`at`), by the name of the part."""

    async def get_normalized(self, page_ids: Sequence[UUID]) -> dict[UUID, Normalized]:
        """Return the part `normalized` of each page that has one."""

    async def scan(self, after: int, upto: int, limit: int) -> list[tuple[int, UUID]]:
        """Return the next pages with a token above `after` and at most `upto`, by token: for jobs over all pages.

        Tokens are hashes of page ids, from -2^63 to 2^63 - 1.
        """

    async def erase(self, page_id: UUID, before: int) -> None:
        """Erase all parts that were written before this time. A later write with such a time is lost, too."""
