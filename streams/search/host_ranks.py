"""The ranks of the hosts of results, from Cassandra, in a bounded cache.

They are an extra: read for the first results at once, within a short time, and left out when Cassandra doesn't answer.
Hosts without a rank are cached, too.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from time import monotonic

from streams.errors import RiffleError
from streams.search.deadline import Deadline
from streams.search.failures import OnFailure, Rest
from streams.stores.opener import Stores
from streams.stores.protocols import HostRank

MAX_CACHED = 100_000
"""Maximum hosts in the cache: about 30 MB."""
TTL_SECONDS = 600.0
"""Seconds for which the rank of a host is used."""
REST_SECONDS = 2.0
"""Seconds after a failure in which they are not asked for."""


class HostRanks:
    """Reads the ranks. There is one in each process: it holds the cache."""

    def __init__(
        self,
        stores: Stores,
        on_failure: OnFailure,
        *,
        max_cached: int = MAX_CACHED,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._stores, self._on_failure = stores, on_failure
        self._max_cached, self._clock = max_cached, clock
        self._cached: OrderedDict[str, tuple[float, HostRank]] = OrderedDict()
        """Each host with the time until which its rank is used, oldest first."""
        self._rest = Rest(REST_SECONDS, clock=clock)

    async def of(self, hosts: Collection[str], deadline: Deadline) -> Mapping[str, HostRank]:
        """The in-links and ranks of the hosts, as far as they can be read in time. Raises nothing."""
        missing = [host for host in hosts if self._is_missing(host)]
        if missing and not self._rest.lasts:
            try:
                async with deadline.for_ranks():
                    found = await self._stores.host_links.ranks(missing)
            except (RiffleError, TimeoutError) as error:
                self._on_failure("records", error)
                self._rest.failed()
            else:
                self._keep({host: found.get(host, HostRank()) for host in missing})
        return {host: self._cached[host][1] for host in hosts if host in self._cached}

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
