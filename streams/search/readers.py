"""The readers of data for the passes of the ranking: ranks of hosts, clicks, fingerprints, a cross-encoder's scores.

A pass names its readers (`streams.search.ranker`). What one reads is an extra: a search waits for it a short
time, and is answered without it. The answer says so. Each process has one reader of each kind, which remembers the
failures of its store: after a failure the store is not asked for some seconds.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from time import monotonic
from uuid import UUID

from streams.caches import TimedCache
from streams.search.deadline import Deadline, OnFailure, OptionalPart, Reason, Rest
from streams.search.query_language.query import normalize_query
from streams.search.ranking.clicks import QueryClicks
from streams.search.ranking.context import RankingContext
from streams.search.ranking.near_duplicates import pages_to_compare
from streams.search.ranking.priors import PAGES, hosts_of
from streams.search.ranking.reranking import text_of
from streams.search.trace import Trace
from streams.seen.stores import SeenStores
from streams.stores.protocols import Fingerprint, HostRank, PageClicks, PageHits, PlaceCounts

REST_SECONDS = 2.0
"""Pause after a failure of a store before it is read again (seconds)."""
MODEL_REST_SECONDS = 5.0
"""Pause after a failure of the cross-encoder before it is asked again (seconds)."""
TTL_SECONDS = 600.0
"""Maximum age of a rank, and of the probabilities of places, in memory (seconds)."""
MAX_CACHED = 100_000
"""Maximum hosts in the cache: about 30 MB."""
MAX_COMPARED_PAGES = 100
"""Maximum pages whose fingerprints are read for one search."""
MAX_MODEL_PAGES = 50
"""Maximum pages that the cross-encoder reads."""


class HostRanks:
    """The ranks of hosts, in a bounded cache. Hosts without a rank are cached, too."""

    def __init__(
        self,
        stores: SeenStores,
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
            read = partial(self._stores.host_ranks, missing)
            found = await self._part.read(read, deadline.for_ranks(), on_missing)
            if found is not None:
                for host in missing:
                    self._cached.keep(host, found.get(host, HostRank()))
        return {host: kept.value for host in hosts if (kept := self._cached.find(host))}

    async def read(
        self, _context: RankingContext, pages: Sequence[PageHits], deadline: Deadline, trace: Trace
    ) -> Mapping[str, HostRank]:
        """Read the ranks of the hosts of the first pages, for the signal `authority`."""
        if trace.leave_out("authority"):
            return {}
        on_missing = trace.missing(
            "authority", "The store of hosts' ranks %(why)s; results are in an order without authority."
        )
        return await self.of(hosts_of(pages[:PAGES]), deadline, on_missing)


class ClickReader:
    """The clicks of a counted query, with the probabilities of places."""

    def __init__(self, stores: SeenStores, on_failure: OnFailure, *, clock: Callable[[], float] = monotonic) -> None:
        self._stores, self._clock = stores, clock
        self._examination: tuple[float, ...] = ()
        self._read_again = float("-inf")
        self._part = OptionalPart("clicks", partial(on_failure, "records"), Rest(REST_SECONDS, clock=clock))

    async def read(
        self, context: RankingContext, _pages: Sequence[PageHits], deadline: Deadline, trace: Trace
    ) -> QueryClicks | None:
        """Read the clicks of the query, for the signal `clicks`. None: there are none, or they can't be read."""
        query = normalize_query(context.asked)
        if not query or trace.leave_out("clicks"):
            return None
        on_missing = trace.missing("clicks", "The store of clicks %(why)s; results are in an order without.")
        return await self._part.read(partial(self._find, context.language, query), deadline.for_ranks(), on_missing)

    async def _find(self, language: str, query: str) -> QueryClicks | None:
        if self._clock() >= self._read_again:
            self._examination = await self._stores.examination()
            self._read_again = self._clock() + TTL_SECONDS
        if not self._examination:  # nothing was learned yet
            return None
        found = await self._stores.clicks_of(language, query)
        return QueryClicks(sum_clicks(found), self._examination) if found else None


def sum_clicks(parts: Iterable[PageClicks]) -> dict[UUID, PlaceCounts]:
    shown: dict[UUID, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    clicked: dict[UUID, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for part in parts:
        for page, counts in part.pages.items():
            for place, number in counts.shown.items():
                shown[page][place] += number
            for place, number in counts.clicked.items():
                clicked[page][place] += number
    return {page: PlaceCounts(dict(shown[page]), dict(clicked[page])) for page in shown.keys() | clicked.keys()}


class Copies:
    """The fingerprints of near-duplicates, which show whether they are copies."""

    def __init__(self, stores: SeenStores, on_failure: OnFailure) -> None:
        self._stores = stores
        self._part = OptionalPart("copies", partial(on_failure, "records"), Rest(REST_SECONDS))

    async def read(
        self, context: RankingContext, pages: Sequence[PageHits], deadline: Deadline, trace: Trace
    ) -> Mapping[UUID, Fingerprint]:
        """Read the fingerprints of the near-duplicates, for the pass `filters`."""
        if not (wanted := pages_to_compare(pages, context.notes.near)[:MAX_COMPARED_PAGES]):
            return {}
        on_missing = trace.missing("copies", "The store of fingerprints %(why)s; copies of pages are shown one by one.")
        read = partial(self._stores.fingerprints, wanted, visible=context.visible)
        with trace.timed("copies_ms"):
            return await self._part.read(read, deadline.for_copies(), on_missing) or {}


class Reranking:
    """The scores of a cross-encoder, if the operator has set up its model."""

    def __init__(self, stores: SeenStores, on_failure: OnFailure) -> None:
        self._stores = stores
        self._part = OptionalPart("cross-encoder", partial(on_failure, "models"), Rest(MODEL_REST_SECONDS))

    async def read(
        self, context: RankingContext, pages: Sequence[PageHits], deadline: Deadline, trace: Trace
    ) -> Sequence[float] | None:
        """Read the model's scores of the first pages, for the signal `rerank`. None: there is nothing to order by."""
        if len(pages) < 2 or trace.leave_out("rerank"):
            return None
        texts = [text_of(page) for page in pages[:MAX_MODEL_PAGES]]
        with trace.timed("rerank_ms"):
            scores = await self._part.read(
                lambda: self._stores.reranker.scores(context.text, texts, deadline_seconds=deadline.reranking_seconds),
                deadline.for_reranking(),
                trace.missing("rerank", "The cross-encoder %(why)s; results are in the order of their scores."),
            )
        if scores is not None:
            trace.states["rerank"] = "ok"
        return scores
