"""The ranks of the hosts of results, from Cassandra, in a bounded cache.

The ranks are an extra: they are read for the first results at once, within a short time, and left out when Cassandra
doesn't answer. Hosts without a rank are cached, too.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from time import monotonic

from streams.search.deadline import Deadline
from streams.search.optional import IN_WORDS, OnFailure, OptionalPart, Reason, Rest
from streams.search.ranking.context import RankingContext
from streams.search.ranking.priors import PAGES, hosts_of
from streams.search.trace import Trace
from streams.stores.opener import Stores
from streams.stores.protocols import HostRank, PageHits

MAX_CACHED = 100_000
"""Maximum hosts in the cache: about 30 MB."""
TTL_SECONDS = 600.0
"""Maximum age of a rank in the cache (seconds)."""
REST_SECONDS = 2.0
"""Pause after a failure before ranks are read again (seconds)."""


class HostRanks:
    """The reader of the ranks. Each process has one reader, which holds the cache."""

    def __init__(
        self,
        stores: Stores,
        on_failure: OnFailure,
        *,
        max_cached: int = MAX_CACHED,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._stores = stores
        self._max_cached, self._clock = max_cached, clock
        self._cached: OrderedDict[str, tuple[float, HostRank]] = OrderedDict()
        """Each host with its rank, and the time when the rank expires, oldest first."""
        self._part = OptionalPart("ranks of hosts", partial(on_failure, "records"), Rest(REST_SECONDS, clock=clock))

    async def of(
        self, hosts: Collection[str], deadline: Deadline, on_missing: Callable[[Reason], None] = lambda _: None
    ) -> Mapping[str, HostRank]:
        """Return the in-links and ranks of the hosts, as far as they can be read in time. Raises nothing."""
        if missing := [host for host in hosts if self._is_missing(host)]:
            read = partial(self._stores.host_links.ranks, missing)
            found = await self._part.read(read, deadline.for_ranks(), on_missing)
            if found is not None:
                self._keep({host: found.get(host, HostRank()) for host in missing})
        return {host: self._cached[host][1] for host in hosts if host in self._cached}

    async def read(
        self, _context: RankingContext, pages: Sequence[PageHits], deadline: Deadline, trace: Trace
    ) -> Mapping[str, HostRank]:
        """Read the ranks of the hosts of the first pages, for the pass `priors`."""
        if trace.leave_out("authority"):
            return {}
        return await self.of(hosts_of(pages[:PAGES]), deadline, lambda why: trace.fail("authority", _sentence(why)))

    def _is_missing(self, host: str) -> bool:
        cached = self._cached.get(host)
        return cached is None or cached[0] <= self._clock()

    def _keep(self, found: Mapping[str, HostRank]) -> None:
        until = self._clock() + TTL_SECONDS
        for host, rank in found.items():
            self._cached.pop(host, None)
            self._cached[host] = (until, rank)
        while len(self._cached) > self._max_cached:
            self._cached.popitem(last=False)


def _sentence(why: Reason) -> str:
    return f"The store of hosts' ranks {IN_WORDS[why]}; results are in an order without authority."
