"""Orders of operators, ranks by links, and parsed files of hosts, as the frontier read them last.

The number of parsed files is bounded, and so are their bytes: a hostile file of 500 KiB takes six times as much when it
is parsed.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Generic, TypeVar

from streams.caches import SizedCache, TimedCache
from streams.crawl.frontier.policy import SECOND
from streams.crawl.rights import Rights, parse_rights
from streams.crawl.robots import Rules, parse
from streams.robot_name import ProductToken
from streams.stores.protocols import ALL_HOSTS, Blobs, FrontierStore, HostLinks, HostOrder, HostRank

ORDERS_SECONDS = 5
"""Maximum age of the orders that a process follows (seconds). Who depends on an order waits longer."""
BLOCKED_MICROS = 30 * SECOND
"""Time until a blocked or paused host is looked at again (microseconds)."""
RANK_MICROS = 6 * 3_600 * SECOND
"""Time until a rank is read again (microseconds). `riffle links rank` runs each hour or each day."""
MAX_RANKS = 20_000
"""Maximum number of ranks in memory, about 4 MB."""
MAX_FILES = 512
"""Maximum number of files of a kind in memory."""
MAX_BYTES = 4 * 1024 * 1024
"""Maximum size of these files together (bytes). In memory they take 24 MB then, at most."""
OFF_LOOP_BYTES = 16 * 1024
"""Minimum size (bytes) of a file that is parsed in a thread: 500 KiB take a good part of a second."""

Parsed = TypeVar("Parsed")


async def parse_file(parse_content: Callable[[bytes], Parsed], content: bytes) -> Parsed:
    """Parse a file of a host, a large one in a thread."""
    return await asyncio.to_thread(parse_content, content) if len(content) > OFF_LOOP_BYTES else parse_content(content)


class HostOrders:
    """All orders, at most ORDERS_SECONDS old. Operators give few."""

    def __init__(self, store: FrontierStore, now: Callable[[], int]) -> None:
        self._store = store
        self._now = now
        self._orders: dict[str, HostOrder] = {}
        self._read_at = 0

    async def of(self, host: str) -> HostOrder:
        """Return the order for a host, or one that changes nothing."""
        now = self._now()
        if not self._read_at <= now < self._read_at + ORDERS_SECONDS * SECOND:
            self._orders = {order.host: order for order in await self._store.orders()}
            self._read_at = now  # before the read: what was ordered during it may be missing
        order, everywhere = self._orders.get(host) or HostOrder(host), self._orders.get(ALL_HOSTS)
        return replace(order, paused=True) if everywhere and everywhere.paused else order


class RankCache:
    """The reader of ranks. A host that nobody links to has the rank 1."""

    def __init__(self, links: HostLinks, now: Callable[[], int]) -> None:
        self._links = links
        self._ranks: TimedCache[str, float] = TimedCache(RANK_MICROS, MAX_RANKS, now)

    async def of(self, host: str) -> float:
        """Return the rank of a host. Where it is not computed yet, each linking host counts as one without links."""
        rank = self._ranks.fresh(host)
        if rank is None:
            known = (await self._links.ranks([host])).get(host, HostRank())
            rank = 1.0 + known.in_links if known.rank is None else known.rank
            self._ranks.keep(host, rank)
        return rank


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
        file = await parse_file(self._parse, content)
        self._files.put(ref, (file, len(content)))
        return file


class RobotsCache(ParsedFiles[Rules]):
    """Robots rules of many hosts, for the crawler with this product token."""

    def __init__(self, blobs: Blobs, agent: ProductToken) -> None:
        super().__init__(blobs, partial(parse, agent=agent))


class RightsCache(ParsedFiles[Rights]):
    """Reservations of rights of many hosts."""

    def __init__(self, blobs: Blobs) -> None:
        super().__init__(blobs, parse_rights)
