"""The records of pages, and the progress of `riffle reindex` over them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol
from uuid import UUID

Part = Literal["fetched", "normalized", "deduplicated", "chunked", "embedded", "indexed", "removed"]
"""The parts of a page's record: each is written by one stage alone, so no stage reads before it writes."""


class Pages(Protocol):
    """Records: each stage's latest facts about a page. Values are of types that MessagePack has."""

    async def put(self, page_id: UUID, part: Part, value: Mapping[str, Any], at: int) -> None: ...

    async def get(self, page_id: UUID) -> dict[Part, dict[str, Any]]:
        """All parts; empty when nothing is known."""

    async def scan(self, after: int, upto: int, limit: int) -> list[tuple[int, UUID]]:
        """The next pages with a token above `after` and at most `upto`, by token: for jobs that visit every page.

        Tokens are hashes of page ids, from -2^63 to 2^63 - 1.
        """

    async def erase(self, page_id: UUID, before: int) -> None:
        """Erase what was written with an earlier time. A write of such a time that comes later is lost, too."""


@dataclass(frozen=True, slots=True)
class PartProgress:
    """The progress of one part of the ring of tokens."""

    token: int
    """The last token that is done."""
    pages: int = 0
    """Number of pages of this part that were written."""
    statements: int = 0


class Reindexing(Protocol):
    """The progress of `riffle reindex`, by collection and host (empty: all hosts), so that it goes on after a stop."""

    async def progress(self, collection: str, host: str) -> dict[int, PartProgress]: ...

    async def put(self, collection: str, host: str, part: int, progress: PartProgress) -> None: ...

    async def clear(self, collection: str, host: str) -> None: ...
