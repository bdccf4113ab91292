"""The readers of the ranking's passes: ranks of hosts, a cross-encoder's scores, and fingerprints of near-duplicates.

Each of them is an extra, which is read within a short time and left out when its store or model does not answer: the
results have an order without it, and the answer says so. A reader rests for some seconds after a failure. Each process
has one reader of each kind. Hosts without a rank are cached, too.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from time import monotonic
from uuid import UUID

from streams.caches import TimedCache
from streams.search.deadline import Deadline
from streams.search.optional import IN_WORDS, OnFailure, OptionalPart, Reason, Rest
from streams.search.ranking.context import RankingContext
from streams.search.ranking.copies import pages_to_compare
from streams.search.ranking.priors import PAGES, hosts_of
from streams.search.ranking.reranking import text_of
from streams.search.trace import Part, Trace
from streams.stores.opener import Stores
from streams.stores.protocols import Fingerprint, HostRank, PageHits

MAX_CACHED = 100_000
"""Maximum hosts in the cache: about 30 MB."""
TTL_SECONDS = 600.0
"""Maximum age of a rank in the cache (seconds)."""
REST_SECONDS = 2.0
"""Pause after a failure before a store is read again (seconds)."""
MAX_RERANKED = 50
"""Maximum pages that the cross-encoder reads."""
_MODEL_REST_SECONDS = 5.0
"""Pause after a failure before the cross-encoder is asked again (seconds)."""
MAX_COMPARED = 100
"""Maximum pages whose fingerprints are read for one search."""


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
        on_missing = _on_missing(
            trace, "authority", "store of hosts' ranks", "results are in an order without authority"
        )
        return await self.of(hosts_of(pages[:PAGES]), deadline, on_missing)


class Reranking:
    """The reader of the model's scores. Each process has one reader, which remembers the model's failures."""

    def __init__(self, stores: Stores, on_failure: OnFailure) -> None:
        self._stores = stores
        self._part = OptionalPart("cross-encoder", partial(on_failure, "models"), Rest(_MODEL_REST_SECONDS))

    async def read(
        self, context: RankingContext, pages: Sequence[PageHits], deadline: Deadline, trace: Trace
    ) -> Sequence[float] | None:
        """Read the model's scores of the first pages, for the pass `rerank`. None: there is nothing to order by."""
        if len(pages) < 2 or trace.leave_out("rerank"):
            return None
        texts = [text_of(page) for page in pages[:MAX_RERANKED]]
        with trace.timed("rerank_ms"):
            scores = await self._part.read(
                lambda: self._stores.reranker.scores(context.text, texts, deadline_seconds=deadline.reranking_seconds),
                deadline.for_reranking(),
                _on_missing(trace, "rerank", "cross-encoder", "results are in the order of their scores"),
            )
        if scores is not None:
            trace.states["rerank"] = "ok"
        return scores


class Copies:
    """The reader of the fingerprints. Each process has one reader, which remembers its failures."""

    def __init__(self, stores: Stores, on_failure: OnFailure) -> None:
        self._stores = stores
        self._part = OptionalPart("copies", partial(on_failure, "records"), Rest(REST_SECONDS))

    async def read(
        self, context: RankingContext, pages: Sequence[PageHits], deadline: Deadline, trace: Trace
    ) -> Mapping[UUID, Fingerprint]:
        """Read the fingerprints of the near-duplicates, for the pass `filters`."""
        if not (wanted := pages_to_compare(pages, context.notes.near)[:MAX_COMPARED]):
            return {}
        read = partial(self._stores.fingerprints.get_all, wanted)
        with trace.timed("copies_ms"):
            on_missing = _on_missing(trace, "copies", "store of fingerprints", "copies of pages are shown one by one")
            found = await self._part.read(read, deadline.for_copies(), on_missing)
        return found or {}


def _on_missing(trace: Trace, part: Part, source: str, rest: str) -> Callable[[Reason], None]:
    """Return the function that notes the reason of a missing part. `source` is what did not answer."""
    return lambda why: trace.fail(part, f"The {source} {IN_WORDS[why]}; {rest}.")
