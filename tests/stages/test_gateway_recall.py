"""The recall of searches: a share of them is compared with an exact search, in the background."""

from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from streams.errors import StoreUnavailable
from streams.gateway.http.metrics import Metrics
from streams.search.retrieval.measuring import PROBE_PAUSE_SECONDS, RecallProbe
from streams.seen.stores import SeenStores
from streams.stores.memory.vectors import MemoryIndex
from streams.stores.opener import Stores
from streams.stores.protocols import Hit
from streams.vectors.recall import NEAREST, recall_of
from tests.stages.gateway_fakes import Hanging, client, gateway, searchable, statement

STATEMENTS = [statement(f"https://a.example/{n}", f"{'tides ' * (n + 1)} and currents") for n in range(3 * NEAREST)]
"""Each with another similarity to the query `tides`."""
TWINS = [statement(f"https://b.example/{n}", "The tide comes twice a day.") for n in range(2 * NEAREST)]


class Forgetful:
    """An index whose graph leads to no more than `found` of the nearest vectors."""

    def __init__(self, index: Any, found: int) -> None:
        self._index, self._found = index, found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    async def nearest(self, collection: str, dense: Sequence[float], limit: int, *, exact: bool = False) -> list[Hit]:
        hits: list[Hit] = await self._index.nearest(collection, dense, 3 * limit, exact=exact)
        return hits[:limit] if exact else hits[: self._found] + hits[limit : 2 * limit - self._found]


def values(registry: CollectorRegistry) -> tuple[float, float, float]:
    """Comparisons, the sum of their recalls, and those that failed."""
    names = ("riffle_search_recall_count", "riffle_search_recall_sum", "riffle_search_recall_failures_total")
    count, total, failures = (registry.get_sample_value(name) or 0.0 for name in names)
    return count, total, failures


def probe_of(
    stores: Stores,
    metrics: Metrics,
    share: float = 1.0,
    chance: Callable[[], float] = lambda: 0.0,
    clock: Callable[[], float] = monotonic,
) -> RecallProbe:
    observe, fail = metrics.recall.observe, metrics.recall_failures.inc
    return RecallProbe(SeenStores(stores), share, chance, on_recall=observe, on_failure=fail, clock=clock)


async def vector_of(stores: Stores, text: str) -> list[float]:
    vector: list[float] = (await stores.embedder.embed([text], "query"))[0].tolist()
    return vector


async def finish(job: RecallProbe) -> None:
    """Wait until what runs in the background has ended."""
    if job._running is not None:
        await job._running


@pytest.mark.parametrize("found", [NEAREST, 9, 5, 0])
async def test_the_recall_is_the_share_of_the_nearest_that_the_index_finds(found: int) -> None:
    stores = await searchable(STATEMENTS)
    collection = await stores.vectors.active()
    assert collection
    vector = await vector_of(stores, "tides")
    forgetful: Any = Forgetful(stores.vectors, found)
    assert (await recall_of(forgetful, collection, vector)).share == found / NEAREST


async def test_equal_statements_are_found_whichever_of_them_the_index_returns() -> None:
    """A sentence that twenty pages have: each ten of them are the nearest."""
    stores = await searchable(TWINS)
    collection = await stores.vectors.active()
    assert collection
    forgetful: Any = Forgetful(stores.vectors, 0)
    assert (await recall_of(forgetful, collection, await vector_of(stores, "The tide comes twice a day."))).share == 1


async def test_an_empty_index_has_no_recall() -> None:
    index = MemoryIndex("a")
    metrics = Metrics()
    probe = probe_of(Stores(vectors=index), metrics)
    probe.offer([1.0])
    await finish(probe)
    assert values(metrics.registry) == (0, 0, 0)


async def test_a_share_of_the_searches_is_compared_and_seldom() -> None:
    stores = await searchable(STATEMENTS)
    stores.vectors = Forgetful(stores.vectors, 8)
    metrics, now = Metrics(), 0.0
    chances = iter([0.5, 0.01, 0.005, 0.005, 0.005])
    probe = probe_of(stores, metrics, 0.01, lambda: next(chances), lambda: now)
    counts = []
    for time in (0.0, 1.0, 2.0, PROBE_PAUSE_SECONDS + 1, PROBE_PAUSE_SECONDS + 2.0):
        now = time
        probe.offer(await vector_of(stores, "tides"))
        await finish(probe)
        counts.append(values(metrics.registry)[0])
    assert counts == [0, 0, 1, 1, 2], "two not chosen, one compared, one too early, one compared"
    count, total, failures = values(metrics.registry)
    assert (count, failures) == (2, 0)
    assert total == pytest.approx(1.6)


async def test_at_most_one_comparison_runs_and_its_end_costs_nobody_time() -> None:
    stores = await searchable(STATEMENTS)
    vector = await vector_of(stores, "tides")
    stores.vectors = Hanging()
    metrics = Metrics()
    probe = probe_of(stores, metrics)
    probe.offer(vector)
    probe.offer(vector)
    await probe.drain()
    assert values(metrics.registry) == (0, 0, 0)


async def test_an_index_that_fails_is_counted_and_no_search_fails_with_it() -> None:
    class FailsAlone(Forgetful):
        async def nearest(self, *arguments: Any, **keywords: Any) -> list[Hit]:
            raise StoreUnavailable("Qdrant took too long")

    stores = await searchable(STATEMENTS)
    stores.vectors = FailsAlone(stores.vectors, 0)
    app = gateway(stores, deadline_seconds=30, limits={"recall_share": 1.0}, admin_port=8081)
    async with client(app) as web:
        answer = await web.get("/api/v1/search", params={"q": "tides"})
    assert answer.status_code == 200, answer.text
    await finish(app.state.gateway.search.recall)
    async with client(app.state.admin) as admin:
        exposition = (await admin.get("/metrics")).text
    assert "riffle_search_recall_failures_total 1.0" in exposition
    await app.state.gateway.close()


@pytest.mark.parametrize(("share", "compared"), [(1.0, "1.0"), (0.0, "0.0")])
async def test_searches_of_the_gateway_are_compared_unless_the_share_is_zero(share: float, compared: str) -> None:
    app = gateway(await searchable(STATEMENTS), deadline_seconds=30, limits={"recall_share": share}, admin_port=8081)
    async with client(app) as web:
        await web.get("/api/v1/search", params={"q": "tides"})
    await finish(app.state.gateway.search.recall)
    async with client(app.state.admin) as admin:
        assert f"riffle_search_recall_count {compared}" in (await admin.get("/metrics")).text
    await app.state.gateway.close()
