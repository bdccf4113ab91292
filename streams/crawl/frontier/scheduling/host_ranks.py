"""Ranks of hosts by the links between them, as the frontier uses them: read once in some hours for each host."""

from collections.abc import Callable

from streams.caches import TimedCache
from streams.crawl.frontier.policy import SECOND
from streams.stores.protocols import HostLinks, HostRank

TTL_MICROS = 6 * 3_600 * SECOND
"""Time until a rank is read again (microseconds). `riffle links rank` runs each hour or each day."""
MAX_HOSTS = 20_000
"""Maximum number of ranks in memory, about 4 MB."""


class RankCache:
    """The reader of ranks. A host that nobody links to has the rank 1."""

    def __init__(self, links: HostLinks, now: Callable[[], int]) -> None:
        self._links = links
        self._ranks: TimedCache[str, float] = TimedCache(TTL_MICROS, MAX_HOSTS, now)

    async def of(self, host: str) -> float:
        """Return the rank of a host. Where it is not computed yet, each linking host counts as one without links."""
        rank = self._ranks.fresh(host)
        if rank is None:
            known = (await self._links.ranks([host])).get(host, HostRank())
            rank = 1.0 + known.in_links if known.rank is None else known.rank
            self._ranks.keep(host, rank)
        return rank
