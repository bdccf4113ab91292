"""Parsed files of hosts by their blob: robots rules, and reservations of rights. The last used ones are in memory.

Their number is bounded, and so are their bytes: a hostile file of 500 KiB takes six times as much when it is parsed.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar

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
        self._files: OrderedDict[str, tuple[Parsed, int]] = OrderedDict()
        """Each file with its size (bytes)."""
        self._bytes = 0

    async def get(self, ref: str) -> Parsed:
        """Return the parsed file of this blob. Raises MissingBlob."""
        if ref not in self._files:
            content = await self._blobs.get(ref)
            off_loop = len(content) > OFF_LOOP_BYTES
            file = await asyncio.to_thread(self._parse, content) if off_loop else self._parse(content)
            self._keep(ref, file, len(content))
            return file
        self._files.move_to_end(ref)
        return self._files[ref][0]

    def _keep(self, ref: str, file: Parsed, size_bytes: int) -> None:
        if ref in self._files:  # another task has read it meanwhile
            return
        self._files[ref] = file, size_bytes
        self._bytes += size_bytes
        while len(self._files) > MAX_FILES or self._bytes > MAX_BYTES:
            _, (_, forgotten_bytes) = self._files.popitem(last=False)
            self._bytes -= forgotten_bytes


class RobotsCache(ParsedFiles[Rules]):
    """Robots rules of many hosts, for the crawler with this product token."""

    def __init__(self, blobs: Blobs, agent: str) -> None:
        super().__init__(blobs, partial(parse, agent=agent))


class RightsCache(ParsedFiles[Rights]):
    """Reservations of rights of many hosts."""

    def __init__(self, blobs: Blobs) -> None:
        super().__init__(blobs, parse_rights)
