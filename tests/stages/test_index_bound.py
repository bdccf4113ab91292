"""The bound of the confidence for one's own index: when it is measured, what follows from it, and what fails."""

from typing import Any

import pytest

from streams.search.deadline import Deadline
from streams.search.options import SearchOptions
from streams.search.ranking.confidence import MAX_RAISE, model_bounds
from streams.search.request import parse
from streams.search.retrieval.measuring import FIRST_SECONDS, INTERVAL_SECONDS, IndexBound
from streams.search.retrieval.nonsense import all_nonsense
from streams.search.searcher import Searcher
from streams.seen.stores import SeenStores
from streams.stores.opener import Stores
from streams.stores.protocols import FOR_EVERYBODY
from tests.stages.gateway_fakes import Dead, Hanging, searchable, statement

MODEL, BOUND = "feature-hashing", 0.55
NARROW = [statement(f"https://a.example/{n}", f"The harbour has {n} ferries and ropes.") for n in range(9)]
WORDS = sorted({word for query in all_nonsense() for word in query.split()})
BROAD = [
    statement(f"https://site{n}{m}.example/", " ".join(WORDS[n : n + 12]))
    for n in range(0, len(WORDS), 6)
    for m in "ab"
]
"""An index about everything: it has the words of all made queries, most of them apart, each on two sites."""


class Time:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def known_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model of the memory stores has a bound."""
    monkeypatch.setitem(model_bounds(), MODEL, BOUND)


def bound_over(stores: Stores, time: Time, **options: Any) -> IndexBound:
    async def go_on() -> None:
        pass

    return IndexBound(SeenStores(stores), SearchOptions(**options), on_failure=lambda *_: None, clock=time, pause=go_on)


async def finish(job: IndexBound) -> None:
    """Wait until what runs in the background has ended."""
    if job._running is not None:
        await job._running


async def measured(bound: IndexBound) -> float | None:
    bound.offer()
    await finish(bound)
    return bound.of(MODEL)


@pytest.mark.usefixtures("known_model")
async def test_an_index_about_everything_has_a_higher_bound() -> None:
    bounds = []
    for statements in (NARROW, BROAD):
        time = Time()
        bound = bound_over(await searchable(statements), time)
        assert await measured(bound) is None, "the first searches have the machine for themselves"
        time.now = FIRST_SECONDS
        bounds.append(await measured(bound))
    assert bounds[0] == BOUND
    assert BOUND < (bounds[1] or 0) <= BOUND + MAX_RAISE


@pytest.mark.usefixtures("known_model")
async def test_one_site_with_all_made_queries_raises_nothing() -> None:
    hostile = [
        statement(f"https://{name}.hostile.example/{n}", query)
        for n, query in enumerate(all_nonsense())
        for name in ("one", "two")
    ]
    time = Time()
    bound = bound_over(await searchable([*NARROW, *hostile]), time)
    time.now = FIRST_SECONDS
    assert await measured(bound) == BOUND


@pytest.mark.usefixtures("known_model")
async def test_it_is_measured_again_after_an_hour() -> None:
    stores, time = await searchable(NARROW), Time()
    bound = bound_over(stores, time)
    time.now = FIRST_SECONDS
    assert await measured(bound) == BOUND
    stores.vectors = (await searchable(BROAD)).vectors
    time.now += INTERVAL_SECONDS - 1
    assert await measured(bound) == BOUND
    time.now += 1
    assert (await measured(bound) or 0) > BOUND


@pytest.mark.usefixtures("known_model")
async def test_a_failure_keeps_the_bound_and_is_tried_again_soon() -> None:
    stores, time = await searchable(BROAD), Time()
    bound = bound_over(stores, time)
    time.now = FIRST_SECONDS
    raised = await measured(bound)
    time.now += INTERVAL_SECONDS
    stores.vectors = Dead()
    assert await measured(bound) == raised
    stores.vectors = (await searchable(NARROW)).vectors
    time.now += FIRST_SECONDS
    assert await measured(bound) == BOUND


@pytest.mark.usefixtures("known_model")
async def test_the_end_of_a_gateway_ends_a_measurement() -> None:
    stores, time = await searchable(NARROW), Time()
    bound = bound_over(stores, time)
    stores.embedder = Hanging()
    time.now = FIRST_SECONDS
    bound.offer()
    await bound.drain()
    assert bound.of(MODEL) is None


@pytest.mark.usefixtures("known_model")
@pytest.mark.parametrize("options", [{"min_confidence": 0.4}, {"min_confidence": 0.0}])
async def test_a_bound_of_the_settings_is_not_measured(options: dict[str, Any]) -> None:
    time = Time()
    bound = bound_over(await searchable(BROAD), time, **options)
    time.now = FIRST_SECONDS
    assert await measured(bound) is None


async def test_a_model_without_a_bound_gets_none() -> None:
    time = Time()
    bound = bound_over(await searchable(BROAD), time)
    time.now = FIRST_SECONDS
    assert await measured(bound) is None


@pytest.mark.usefixtures("known_model")
async def test_searches_are_judged_by_the_bound_of_the_index() -> None:
    stores, time = await searchable(BROAD), Time()
    bound = bound_over(stores, time)
    searcher = Searcher(SeenStores(stores), SearchOptions(), on_failure=lambda *_: None, index_bound=bound)

    async def asked() -> dict[str, Any]:
        request = parse("purple ferries", options=searcher.options, visible=FOR_EVERYBODY)
        found = await searcher.find(request, Deadline(60))
        return {**found.notes.passes["confidence"], "nearest_only": found.notes.nearest_only}

    assert (await asked())["bound"] == BOUND
    time.now = FIRST_SECONDS
    await asked()  # the search offers the measurement
    await finish(bound)
    after = await asked()
    assert after["bound"] == round(bound.of(MODEL) or 0, 4) > BOUND
    assert after["nearest_only"] == (after["closeness"] + after["words"] < after["bound"])
