"""Parsed robots rules by their blob. The most recently used rules are in memory."""

import asyncio
from collections import OrderedDict

from streams.crawl.rights import Rights, parse_rights
from streams.crawl.robots import Rules, parse
from streams.stores.protocols import Blobs

MAX_RULES = 512
"""Maximum number of robots.txt files in memory."""
OFF_LOOP_BYTES = 16 * 1024
"""Minimum size (bytes) of a file that is parsed in a thread: 500 KiB take a good part of a second."""


class RobotsCache:
    """Robots rules of many hosts. Each blob is read at most once while its rules are used."""

    def __init__(self, blobs: Blobs, agent: str) -> None:
        self._blobs = blobs
        self._agent = agent
        self._rules: OrderedDict[str, Rules] = OrderedDict()

    async def get(self, ref: str) -> Rules:
        """Return the rules of the file in this blob. Raises MissingBlob."""
        rules = self._rules.get(ref)
        if rules is None:
            content = await self._blobs.get(ref)
            if len(content) > OFF_LOOP_BYTES:
                rules = await asyncio.to_thread(parse, content, self._agent)
            else:
                rules = parse(content, self._agent)
            self._rules[ref] = rules
        self._rules.move_to_end(ref)
        if len(self._rules) > MAX_RULES:
            self._rules.popitem(last=False)
        return rules


class RightsCache:
    """Reservations of rights of many hosts, by their blob."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._rights: OrderedDict[str, Rights] = OrderedDict()

    async def get(self, ref: str) -> Rights:
        """Return the reservations of the file in this blob. Raises MissingBlob."""
        if ref not in self._rights:
            self._rights[ref] = parse_rights(await self._blobs.get(ref))
        self._rights.move_to_end(ref)
        if len(self._rights) > MAX_RULES:
            self._rights.popitem(last=False)
        return self._rights[ref]
