"""The patterns of crawls, which rows of URLs name by an id: each long list of patterns is stored once.

A crawl has up to 16 KB of patterns, and the same ones for each of its URLs. The id is a hash of the patterns: they
never change, and a worker that writes them again writes the same row. A process remembers those that it used. Short
lists stay in the rows of URLs.
"""

from dataclasses import replace
from hashlib import blake2b
from typing import Protocol
from uuid import UUID

from streams.caches import RecentCache
from streams.stores.packing import pack, unpack
from streams.stores.protocols import FrontierUrl, UnreadLimits
from streams.stores.rows import pack_row, read_row, row_of

ID_BYTES = 16
MAX_IN_ROW = 256
"""Maximum number of characters of the patterns in the row of a URL, all together."""
MAX_KNOWN = 1_024
"""Maximum number of lists in memory. Only the patterns of crawls that run are used often."""
UNKNOWN_DEPTH = 0
"""The maximum depth of a URL whose patterns are not stored: it is fetched, and no link of it is followed."""

Patterns = tuple[str, ...]


class PatternRows(Protocol):
    """The rows of patterns in a store."""

    async def put_patterns(self, patterns_id: bytes, packed: bytes) -> None:
        """Write patterns. They are never written with another value."""

    async def get_patterns(self, patterns_id: bytes) -> bytes | None:
        """Return patterns, or None if they are not stored."""


class CrawlPatterns:
    """Packs and unpacks the rows of URLs, with the patterns that this process has used in memory."""

    def __init__(self, rows: PatternRows) -> None:
        self._rows = rows
        self._ids: RecentCache[Patterns, bytes] = RecentCache(MAX_KNOWN)
        self._known: RecentCache[bytes, Patterns] = RecentCache(MAX_KNOWN)

    async def pack(self, url: FrontierUrl) -> bytes:
        """Return the row of a URL. Its patterns are stored before, if they are not in the row."""
        if lost := url.unread_limits:
            return pack({**row_of(replace(url, max_depth=lost.max_depth)), "patterns_id": lost.patterns_id})
        if sum(map(len, url.patterns)) <= MAX_IN_ROW:
            return pack_row(url)
        return pack({**row_of(replace(url, patterns=())), "patterns_id": await self._id_of(url.patterns)})

    async def unpack(self, page_id: UUID, at: int, packed: bytes) -> FrontierUrl:
        """Return the URL of a row with its patterns. Raises InvalidRow."""
        row = unpack(packed)
        if patterns_id := row.pop("patterns_id", None):
            patterns = await self._patterns_of(patterns_id)
            lost = UnreadLimits(patterns_id, row.get("max_depth")) if patterns is None else None
            row |= {"max_depth": UNKNOWN_DEPTH, "unread_limits": lost} if lost else {"patterns": patterns}
        return read_row(FrontierUrl, {**row, "page_id": page_id, "at": at})

    async def _id_of(self, patterns: Patterns) -> bytes:
        if (known := self._ids.get(patterns)) is not None:
            return known
        packed = pack({"patterns": list(patterns)})
        patterns_id = blake2b(packed, digest_size=ID_BYTES).digest()
        await self._rows.put_patterns(patterns_id, packed)  # before any row names them
        self._ids.put(patterns, patterns_id)
        return patterns_id

    async def _patterns_of(self, patterns_id: bytes) -> Patterns | None:
        if (known := self._known.get(patterns_id)) is not None:
            return known
        packed = await self._rows.get_patterns(patterns_id)
        if packed is None:
            return None  # not remembered: a restore may still write them
        found = tuple(unpack(packed)["patterns"])  # one tuple for all URLs
        self._known.put(patterns_id, found)
        return found
