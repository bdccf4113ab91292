"""Ranks of hosts by the links between them, as the frontier uses them: read once in some hours for each host."""

from collections import OrderedDict
from collections.abc import Callable

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
        self._now = now
        self._ranks: OrderedDict[str, tuple[int, float]] = OrderedDict()

    async def of(self, host: str) -> float:
        """Return the rank of a host. Where it is not computed yet, each linking host counts as one without links."""
        until, rank = self._ranks.get(host, (0, 1.0))
        if self._now() >= until:
            known = (await self._links.ranks([host])).get(host, HostRank())
            rank = 1.0 + known.in_links if known.rank is None else known.rank
            self._ranks[host] = (self._now() + TTL_MICROS, rank)
            if len(self._ranks) > MAX_HOSTS:
                self._ranks.popitem(last=False)
        self._ranks.move_to_end(host)
        return rank
