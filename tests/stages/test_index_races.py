"""The index stage beside itself: two events of one page at the same moment, a lost collection, a page never indexed."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas import Event, PageEmbedded, PageRemoved
from streams.pages.document.model import Block
from streams.stores.memory import MemoryIndex
from streams.stores.opener import Stores, memory_stores
from streams.stores.page_record import Normalized, PageRecord, Part
from streams.vectors.index_agent import IndexAgent
from tests.sizes import examples
from tests.stages.interleaving import Interleaving
from tests.stages.test_vector_stages import PAGE, URL, Journey

ORDERS = st.lists(st.integers(0, 1), max_size=24)
SLOWLY = settings(max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow])


async def embedded(journey: Journey, generation: int, *shared: str) -> PageEmbedded:
    """The page as the embed stage leaves it: a text that differs with each generation, and texts that all have."""
    blocks = [Block("p", text) for text in (f"This is the text of generation {generation}.", *shared)]
    document = Normalized.of_row({"url": URL, "generation": generation})
    await journey.stores.pages.put(PAGE, document, generation)
    event: Event = await journey.deduplicated(*blocks, generation=generation)
    for stage in journey.stages[:2]:
        (event,) = await stage.handle(journey.delivery(event))
    assert isinstance(event, PageEmbedded)
    return event


def removed(generation: int) -> PageRemoved:
    return PageRemoved(page_id=PAGE, url=URL, generation=generation, reason="gone")


async def at_once(journey: Journey, order: list[int], *events: Event) -> None:
    """Two workers of the stage, each with one of the events; deliveries in the order of the events."""
    interleaving = Interleaving(order)
    stores = Stores(**{name: getattr(journey.stores, name) for name in Stores.__slots__})
    stores.pages = interleaving.watched(stores.pages)
    stores.vectors = interleaving.watched(stores.vectors)
    await interleaving.run(*(IndexAgent(stores).handle(journey.delivery(event)) for event in events))


@pytest.mark.parametrize("before", [None, 4], ids=["new page", "indexed before"])
@pytest.mark.parametrize("later_first", [True, False])
@given(order=ORDERS)
@SLOWLY
async def test_a_removal_beside_a_retried_page_leaves_nothing(
    before: int | None, later_first: bool, order: list[int]
) -> None:
    journey = Journey(memory_stores())
    if before:
        await journey.stages[-1].handle(journey.delivery(await embedded(journey, before)))
    events: list[Event] = [await embedded(journey, 5), removed(6)]
    await at_once(journey, order, *(reversed(events) if later_first else events))
    assert await journey.texts() == []


@pytest.mark.parametrize("later_first", [True, False])
@given(order=ORDERS)
@SLOWLY
async def test_a_newer_page_beside_a_retried_one_is_the_one_that_stays(later_first: bool, order: list[int]) -> None:
    journey = Journey(memory_stores())
    events = [await embedded(journey, 5), await embedded(journey, 6)]
    await at_once(journey, order, *(reversed(events) if later_first else events))
    assert await journey.texts() == ["This is the text of generation 6."]


@pytest.mark.parametrize("later_first", [True, False])
@given(order=ORDERS)
@SLOWLY
async def test_statements_of_both_generations_stay_with_the_newer_one(later_first: bool, order: list[int]) -> None:
    """The older page overwrites points of the newer one, as a statement has the same id in both."""
    journey, shared = Journey(memory_stores()), "This text is in both of them."
    events = [await embedded(journey, 5, shared), await embedded(journey, 6, shared)]
    await at_once(journey, order, *(reversed(events) if later_first else events))
    assert sorted(await journey.texts()) == ["This is the text of generation 6.", shared]


async def test_an_older_page_whose_worker_was_killed_leaves_the_newer_one_whole() -> None:
    """It had overwritten a point of the newer page, and its event comes again."""
    journey, shared = Journey(memory_stores()), "This text is in both of them."
    older, newer = await embedded(journey, 5, shared), await embedded(journey, 6, shared)
    index = journey.stages[-1]
    assert isinstance(index, IndexAgent)
    await index.handle(journey.delivery(newer))
    points = await index._read_points(older, older.statements_ref, older.vectors_ref, 5, PageRecord())
    (collection,) = await journey.stores.vectors.collections()
    await journey.stores.vectors.upsert(collection, points.part(0))
    for _ in range(2):
        assert await index.handle(journey.delivery(older)) == []
        assert sorted(await journey.texts()) == ["This is the text of generation 6.", shared]
        assert {hit.payload.generation for hit in await journey.points()} == {6}


@given(order=ORDERS)
@SLOWLY
async def test_an_older_removal_beside_a_newer_page_takes_nothing(order: list[int]) -> None:
    journey = Journey(memory_stores())
    await at_once(journey, order, await embedded(journey, 6), removed(5))
    assert await journey.texts() == ["This is the text of generation 6."]


class CountingIndex(MemoryIndex):
    """An index in memory that counts its removals."""

    def __init__(self) -> None:
        super().__init__()
        self.removals = 0

    async def remove_page(self, *args: Any, **kwargs: Any) -> None:
        self.removals += 1
        await super().remove_page(*args, **kwargs)


async def test_the_removal_of_a_page_that_was_never_embedded_writes_a_record_alone() -> None:
    journey = Journey(memory_stores())
    index = journey.stores.vectors = CountingIndex()
    await index.ensure(await journey.stores.embedder.info())
    await journey.remove(5)
    assert index.removals == 0
    assert (await journey.stores.pages.get(PAGE)).rows["removed"]["generation"] == 5


async def test_points_of_a_worker_that_died_before_its_record_are_removed() -> None:
    """The points are there, the record is not: the removal goes by the document, which was stored long before."""
    journey = Journey(memory_stores())
    event = await embedded(journey, 5)
    await journey.stages[-1].handle(journey.delivery(event))
    journey.stores.pages = await without(journey.stores.pages, "indexed")
    await journey.remove(6)
    assert await journey.texts() == []


async def without(pages: Any, part: Part) -> Any:
    """The records of the page but for one part."""
    copy = memory_stores().pages
    for one in (await pages.get(PAGE)).parts():
        if part != one.PART:
            await copy.put(PAGE, one, 0)
    return copy


async def test_a_dropped_collection_is_made_again() -> None:
    journey = Journey(memory_stores())
    index = journey.stages[-1]
    await index.handle(journey.delivery(await embedded(journey, 5)))
    journey.stores.vectors = MemoryIndex()
    assert await index.handle(journey.delivery(await embedded(journey, 6)))
    assert await journey.texts() == ["This is the text of generation 6."]


async def test_a_removal_meets_no_dropped_collection() -> None:
    """The collection is dropped between the listing and the removal: there is nothing left to remove."""

    class Dropping(MemoryIndex):
        async def collections(self) -> list[str]:
            names = await super().collections()
            self._collections.clear()
            return names

    journey = Journey(memory_stores())
    journey.stores.vectors = Dropping()
    await journey.stages[-1].handle(journey.delivery(await embedded(journey, 5)))
    await journey.remove(6)
    assert (await journey.stores.pages.get(PAGE)).rows["removed"]["generation"] == 6
