"""Parsed files of hosts by their blob: robots rules, and reservations of rights. The last used ones are in memory.

Their number is bounded, and so are their bytes: a hostile file of 500 KiB takes six times as much when it is parsed.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar

from streams.caches import SizedCache
from streams.crawl.rights import Rights, parse_rights
from streams.crawl.robots import Rules, parse
from streams.stores.protocols import Blobs

MAX_FILES = 512
"""Maximum number of files of a kind in memory."""
MAX_BYTES = 4 * 1024 * 1024
"""Maximum size of these files together (bytes). In memory they take 24 MB then, at most."""
OFF_LOOP_BYTES = 16 * 1024
"""Minimum size (bytes) of a file that is parsed in a thread: 500 KiB take a good part of a second."""

Parsed = TypeVar("Parsed")


class ParsedFiles(Generic[Parsed]):
    """Parsed files of many hosts. Each blob is read at most once while its file is used."""

    def __init__(self, blobs: Blobs, parse_file: Callable[[bytes], Parsed]) -> None:
        self._blobs = blobs
        self._parse = parse_file
        self._files = SizedCache[str, tuple[Parsed, int]](MAX_BYTES, lambda kept: kept[1], max_values=MAX_FILES)
        """Each file with its size (bytes)."""

    async def get(self, ref: str) -> Parsed:
        """Return the parsed file of this blob. Raises MissingBlob."""
        if (kept := self._files.get(ref)) is not None:
            return kept[0]
        content = await self._blobs.get(ref)
        off_loop = len(content) > OFF_LOOP_BYTES
        file = await asyncio.to_thread(self._parse, content) if off_loop else self._parse(content)
        self._files.put(ref, (file, len(content)))
        return file


class RobotsCache(ParsedFiles[Rules]):
    """Robots rules of many hosts, for the crawler with this product token."""

    def __init__(self, blobs: Blobs, agent: str) -> None:
        super().__init__(blobs, partial(parse, agent=agent))


class RightsCache(ParsedFiles[Rights]):
    """Reservations of rights of many hosts."""

    def __init__(self, blobs: Blobs) -> None:
        super().__init__(blobs, parse_rights)
