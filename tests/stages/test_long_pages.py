"""A manual on one page is searchable as a whole. A crash in any of its parts loses and doubles nothing."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from schemas import Event, PageChunked, PageIndexed
from streams.pages.document.codec import encode_document
from streams.pages.document.model import Block, Document
from streams.search.ranking.fusion import merge_lists
from streams.statements import drafting
from streams.stores.opener import memory_stores
from streams.stores.protocols import EVERYTHING
from streams.vectors import batching, points
from streams.vectors.bm25 import query_vector
from streams.vectors.embed_agent import PART_TEXTS
from tests.stages.test_vector_stages import Interrupted, Journey

SECTIONS = 700
MANUAL = tuple(
    block
    for number in range(SECTIONS)
    for block in (Block("h2", f"Option {number}"), Block("p", f"Option number{number} says how many logs are kept."))
)


@pytest.fixture
def journey(monkeypatch: pytest.MonkeyPatch) -> Journey:
    """The manual has several parts in each stage."""
    monkeypatch.setattr(points, "PART_POINTS", 256)
    assert SECTIONS > PART_TEXTS
    return Journey(memory_stores())


@pytest.fixture(scope="module")
async def expected() -> tuple[Any, Any]:
    """The events and the points of the manual, if no stage is killed."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(points, "PART_POINTS", 256)
        made = Journey(memory_stores())
        return await made.through(await made.deduplicated(*MANUAL)), await made.points()


async def test_a_section_near_the_end_is_found_by_its_words(journey: Journey) -> None:
    *_, indexed = await journey.through(await journey.deduplicated(*MANUAL))
    assert isinstance(indexed, PageIndexed)
    assert (indexed.statements, indexed.left_out) == (SECTIONS, 0)
    asked = f"option number{SECTIONS - 1}"
    dense = (await journey.stores.embedder.embed([asked], "passage"))[0].tolist()
    (found,) = merge_lists(
        await journey.stores.vectors.candidates(dense=dense, sparse=query_vector(asked), visible=EVERYTHING)
    )
    assert found.hits[0].payload.context[-1] == f"Option {SECTIONS - 1}"


@pytest.mark.parametrize(
    ("store_name", "method_name", "stage", "part", "why"),
    [
        ("chains", "links", 0, 0, "the chains of the first part"),
        ("embedder", "embed", 1, 9, "some batches are embedded"),
        ("vectors", "upsert", 2, 0, "no part is searchable"),
        ("vectors", "upsert", 2, 1, "one part of three is searchable"),
        ("vectors", "upsert", 2, 2, "all parts but the last"),
        ("vectors", "remove_page", 2, 0, "the record is written"),
    ],
)
async def test_a_stage_may_be_killed_in_any_part(
    journey: Journey,
    expected: tuple[Any, Any],
    store_name: str,
    method_name: str,
    stage: int,
    part: int,
    why: str,
) -> None:
    store = getattr(journey.stores, store_name)
    method, calls = getattr(store, method_name), 0

    async def killed(*args: Any, **keywords: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > part:
            raise Interrupted
        return await method(*args, **keywords)

    first = await journey.deduplicated(*MANUAL)
    inputs: list[Event] = [first]
    for agent in journey.stages[:stage]:
        inputs += await agent.handle(journey.delivery(inputs[-1]))
    setattr(store, method_name, killed)
    with pytest.raises(Interrupted):
        await journey.stages[stage].handle(journey.delivery(inputs[stage]))
    setattr(store, method_name, method)
    restarted = Journey(journey.stores)
    assert (await restarted.through(first), await restarted.points()) == expected, why


async def test_the_deadline_counts_from_the_last_part(journey: Journey) -> None:
    parts: list[int] = []
    event = await journey.deduplicated(*MANUAL)
    for number, agent in enumerate(journey.stages[:2]):
        delivery = _with(journey.delivery(event), lambda n=number: parts.append(n))
        (event,) = await agent.handle(delivery)  # type: ignore[assignment]  # each is followed by one event
    assert parts.count(0) >= 1, "the chain model reads a long page in parts"
    assert parts.count(1) == 2, "so does the embedding"


def _with(delivery: Any, note_part: Any) -> Any:
    return replace(delivery, note_part=note_part)


async def test_long_pages_take_turns_and_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """While one is embedded, the next one waits and says so. A page of the usual length passes both."""
    monkeypatch.setattr(batching, "LONG_STATEMENTS", 600)
    monkeypatch.setattr(batching, "LOOK_SECONDS", 0.001)
    journey, gate, noted = Journey(memory_stores()), asyncio.Event(), list[str]()
    events: list[Any] = []
    for name, count in (("first", 700), ("second", 700), ("short", 3)):
        blocks = [Block("p", f"The {name} manual says {number} things about logs.") for number in range(count)]
        events += await journey.stages[0].handle(journey.delivery(await journey.deduplicated(*blocks)))
    get, read = journey.stores.blobs.get, list[str]()

    async def slow(ref: str) -> bytes:
        read.append(ref)
        if ref == events[0].statements_ref:
            await gate.wait()
        return await get(ref)

    journey.stores.blobs.get = slow  # type: ignore[method-assign] # of this object only
    agent = journey.stages[1]
    first = asyncio.create_task(agent.handle(journey.delivery(events[0])))
    while not read:
        await asyncio.sleep(0.001)
    second = asyncio.create_task(agent.handle(_with(journey.delivery(events[1]), lambda: noted.append("waits"))))
    await agent.handle(journey.delivery(events[2]))
    assert not first.done()
    assert not second.done()
    while not noted:
        await asyncio.sleep(0.001)
    assert read == [events[0].statements_ref, events[2].statements_ref]
    gate.set()
    assert [len(each) for each in await asyncio.gather(first, second)] == [1, 1]


async def test_what_a_bound_leaves_out_is_in_all_events_and_in_the_record(
    journey: Journey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drafting, "MAX_STATEMENTS", 200)
    events = await journey.through(await journey.deduplicated(*MANUAL))
    assert [(event.statements, event.left_out) for event in events] == [(200, SECTIONS - 200)] * 3  # type: ignore[attr-defined]  # all three have it
    (page,) = {hit.payload.page_id for hit in await journey.points()}
    record = await journey.stores.pages.get(page)
    assert (record.indexed.statements, record.indexed.left_out) == (200, SECTIONS - 200)


async def test_what_was_not_read_of_a_file_counts_as_much_as_what_was(journey: Journey) -> None:
    body = (Block("p", "The log is copied back. " * 10),)
    document = Document(url="https://site.example/wal", language="en", blocks=body, facts={"unread_chars": 480})
    event = (await journey.deduplicated()).model_copy(
        update={"document_ref": await journey.stores.blobs.put(encode_document(document))}
    )
    (chunked,) = await journey.stages[0].handle(journey.delivery(event))
    assert isinstance(chunked, PageChunked)
    assert (chunked.statements, chunked.left_out) == (10, 20)
