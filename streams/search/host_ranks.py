"""The ranks of the hosts of results, from Cassandra, in a bounded cache.

The ranks are an extra: they are read for the first results at once, within a short time, and left out when Cassandra
doesn't answer. Hosts without a rank are cached, too.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from time import monotonic

from streams.caches import TimedCache
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
        self._cached: TimedCache[str, HostRank] = TimedCache(TTL_SECONDS, max_cached, clock)
        self._part = OptionalPart("ranks of hosts", partial(on_failure, "records"), Rest(REST_SECONDS, clock=clock))

    async def of(
        self, hosts: Collection[str], deadline: Deadline, on_missing: Callable[[Reason], None] = lambda _: None
    ) -> Mapping[str, HostRank]:
        """Return the in-links and ranks of the hosts, as far as they can be read in time. Raises nothing."""
        if missing := [host for host in hosts if self._cached.fresh(host) is None]:
            read = partial(self._stores.host_links.ranks, missing)
            found = await self._part.read(read, deadline.for_ranks(), on_missing)
            if found is not None:
                for host in missing:
                    self._cached.keep(host, found.get(host, HostRank()))
        return {host: kept.value for host in hosts if (kept := self._cached.find(host))}

    async def read(
        self, _context: RankingContext, pages: Sequence[PageHits], deadline: Deadline, trace: Trace
    ) -> Mapping[str, HostRank]:
        """Read the ranks of the hosts of the first pages, for the pass `priors`."""
        if trace.leave_out("authority"):
            return {}
        return await self.of(hosts_of(pages[:PAGES]), deadline, lambda why: trace.fail("authority", _sentence(why)))


def _sentence(why: Reason) -> str:
    return f"The store of hosts' ranks {IN_WORDS[why]}; results are in an order without authority."
