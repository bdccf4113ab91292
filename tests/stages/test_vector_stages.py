"""Statements, embed and index over memory stores: one page's way into the index, twice, late, removed and changed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest

from schemas import (
    Envelope,
    Event,
    PageChunked,
    PageDeduplicated,
    PageEmbedded,
    PageFetched,
    PageIndexed,
    PageRemoved,
)
from schemas.ids import page_id
from streams.errors import MissingBlob
from streams.models.memory import MemoryEmbedder
from streams.models.protocols import TextRole, Vectors
from streams.pages.document.codec import encode_document
from streams.pages.document.model import Block, Document
from streams.runtime.agent import Agent, Delivery
from streams.search.ranking.fusion import merge_lists
from streams.statements.agent import StatementsAgent
from streams.statements.sandbox_tasks import DRAFT
from streams.statements.statement import PageStatements, Statement, decode_statements
from streams.stores.opener import Stores, memory_stores
from streams.stores.page_record import Fetched, Indexed, PageRecord
from streams.stores.protocols import EVERYTHING, Hit
from streams.vectors.bm25 import query_vector
from streams.vectors.embed_agent import EmbedAgent
from streams.vectors.index_agent import IndexAgent
from streams.vectors.page_records import PageFacts
from streams.vectors.points import decode_vectors, points_of
from tests.inline_sandbox import InlineSandbox

URL = "https://site.example/wal"
PAGE = page_id(URL)
START = datetime(2026, 1, 1, tzinfo=UTC)
BODY = (
    Block("h2", "Checkpoints"),
    Block("p", "The log is copied back into the database. It starts over then."),
    Block("p", "A reader is never blocked by a writer."),
)


@dataclass
class Journey:
    """The three stages behind each other, over the same stores."""

    stores: Stores
    minutes: int = 0

    def __post_init__(self) -> None:
        self.stages: list[Agent] = [
            StatementsAgent(self.stores, InlineSandbox((DRAFT,))),
            EmbedAgent(self.stores),
            IndexAgent(self.stores),
        ]

    def delivery(self, event: Event) -> Delivery:
        """Later than the one before."""
        self.minutes += 1
        envelope = Envelope(
            id=uuid4(), type=event.event_type(), source="test", time=START + timedelta(minutes=self.minutes), subject=""
        )
        return Delivery(event, envelope, event.topic, 0, 0)

    async def deduplicated(self, *blocks: Block, generation: int = 1, canonical: UUID = PAGE) -> PageDeduplicated:
        document = Document(url=URL, title="Write-ahead log", language="en", blocks=blocks or BODY)
        return PageDeduplicated(
            page_id=PAGE,
            url=URL,
            generation=generation,
            crawl_id="c",
            document_ref=await self.stores.blobs.put(encode_document(document)),
            verdict="unique" if canonical == PAGE else "near",
            canonical_page_id=canonical,
        )

    async def through(self, event: Event) -> list[Event]:
        """All events that this one leads to, in order."""
        events = [event]
        for stage in self.stages:
            outputs = await stage.handle(self.delivery(events[-1]))
            if not outputs:
                break
            events += outputs
        return events[1:]

    async def remove(self, generation: int) -> None:
        event = PageRemoved(page_id=PAGE, url=URL, generation=generation, reason="gone")
        assert await self.stages[-1].handle(self.delivery(event)) == []

    async def points(self) -> list[Hit]:
        return [
            hit
            for name in await self.stores.vectors.collections()
            for hit in await self.stores.vectors.scroll(name, PAGE)
        ]

    async def texts(self) -> list[str]:
        return [hit.payload.text for hit in await self.points()]


@pytest.fixture
def journey() -> Journey:
    return Journey(memory_stores())


async def test_a_page_becomes_searchable(journey: Journey) -> None:
    chunked, embedded, indexed = await journey.through(await journey.deduplicated())
    assert isinstance(chunked, PageChunked)
    assert isinstance(embedded, PageEmbedded)
    assert isinstance(indexed, PageIndexed)
    assert (chunked.statements, embedded.statements, indexed.statements, indexed.crawl_id) == (3, 3, 3, "c")
    asked = "is a reader blocked by a writer"
    dense = (await journey.stores.embedder.embed([asked], "passage"))[0].tolist()
    found = merge_lists(
        await journey.stores.vectors.candidates(dense=dense, sparse=query_vector(asked), visible=EVERYTHING)
    )
    assert [page.page_id for page in found] == [PAGE]
    row = dict(found[0].hits[0].payload.row())
    assert 1 <= row.pop("alone") <= 255, "how surely it stands by itself"
    assert row == {
        "page_id": str(PAGE),
        "url": URL,
        "host": "site.example",
        "title": "Write-ahead log",
        "text": "A reader is never blocked by a writer.",
        "context": ["Write-ahead log", "Checkpoints"],
        "ordinal": 2,
        "kind": "sentence",
        "language": "en",
        "generation": 1,
        "day": 0,
        "extension": "html",
    }


@pytest.mark.parametrize(
    ("source", "minutes", "age_seconds"),
    [("crawl", 0, 1_000.0), ("crawl", 6, 0.0), ("html", 0, 0.0), ("warc", 0, 0.0)],
    ids=["a crawled page", "some minutes later", "a file with its own date", "an archive with its dates"],
)
async def test_the_age_of_new_pages_is_measured_from_their_fetch(
    journey: Journey, source: Any, minutes: int, age_seconds: float
) -> None:
    generation, clock = 7_000_000, 1_007.0
    index = IndexAgent(journey.stores, lambda: clock)
    journey.stages[-1] = index
    fetched = PageFetched(
        page_id=PAGE, url=URL, host="site.example", outcome="ok", generation=generation, source=source
    )
    await journey.stores.pages.put(PAGE, Fetched.of_event(fetched), 1)
    await journey.through(await journey.deduplicated(generation=generation))
    clock += 60 * minutes
    assert index.measurements() == {"index_page_age_seconds": age_seconds}
    clock += 86_400
    await journey.through(await journey.deduplicated(generation=generation))  # a replay: it was searchable before
    assert index.measurements() == {"index_page_age_seconds": 0.0}


async def test_statements_have_their_antecedents_and_vectors_are_of_statements_in_context(journey: Journey) -> None:
    chunked, embedded, _ = await journey.through(await journey.deduplicated())
    assert isinstance(chunked, PageChunked)
    assert isinstance(embedded, PageEmbedded)
    page: PageStatements = decode_statements(await journey.stores.blobs.get(chunked.statements_ref))
    assert page.statements[1].context[-1] == "The log is copied back into the database."
    stored = decode_vectors(await journey.stores.blobs.get(embedded.vectors_ref), chunked.statements_ref)
    expected = await MemoryEmbedder().embed([statement.in_context for statement in page.statements], "passage")
    assert np.allclose(stored, expected, atol=1e-3)


async def test_every_stage_gives_and_stores_the_same_when_an_event_comes_twice(journey: Journey) -> None:
    first = await journey.through(await journey.deduplicated())
    parts, points = await journey.stores.pages.get(PAGE), await journey.points()
    assert await journey.through(await journey.deduplicated()) == first
    assert _untimed(await journey.stores.pages.get(PAGE)) == _untimed(parts)
    assert await journey.points() == points


def _untimed(page: PageRecord) -> dict[str, dict[str, Any]]:
    """Without the times of writing: here a second delivery is a minute later than the first."""
    return {part: {name: value for name, value in record.items() if name != "at"} for part, record in page.rows.items()}


async def test_generations_decide_whatever_the_senders_clocks_are(journey: Journey) -> None:
    index = journey.stages[-1]
    stamped = [
        journey.delivery(PageRemoved(page_id=PAGE, url=URL, generation=generation, crawl_id="c", reason="gone"))
        for generation in (7, 5)
    ]
    for removal in reversed(stamped):
        await index.handle(removal)
    await journey.through(await journey.deduplicated(generation=6))
    assert not await journey.points()


async def test_a_crash_before_the_record_loses_and_doubles_nothing(journey: Journey) -> None:
    """Points are written, the process ends before the record and the offset: the event is handled again."""
    expected = Journey(memory_stores())
    events = await expected.through(await expected.deduplicated())
    _, embedded, indexed = await journey.through(await journey.deduplicated())
    assert (await journey.points()) == await expected.points()
    restarted = Journey(Stores(**{name: getattr(journey.stores, name) for name in Stores.__slots__}))
    restarted.stores.pages = memory_stores().pages
    assert await restarted.stages[-1].handle(restarted.delivery(embedded)) == [indexed] == [events[-1]]
    assert await restarted.points() == await expected.points()


async def test_a_duplicate_leads_to_nothing(journey: Journey) -> None:
    assert await journey.through(await journey.deduplicated(canonical=page_id("https://other.example/"))) == []
    assert not (await journey.stores.pages.get(PAGE)).rows


async def test_a_changed_page_replaces_its_former_statements(journey: Journey) -> None:
    await journey.through(await journey.deduplicated())
    await journey.through(await journey.deduplicated(Block("p", "All of it is new text here."), generation=2))
    assert await journey.texts() == ["All of it is new text here."]


async def test_the_same_fetch_with_other_statements_replaces_them_too(journey: Journey) -> None:
    await journey.through(await journey.deduplicated())
    await journey.through(await journey.deduplicated(Block("p", "Cut by another release of the code.")))
    assert await journey.texts() == ["Cut by another release of the code."]


class CountingEmbedder(MemoryEmbedder):
    """An embedder that counts its texts."""

    texts = 0

    async def embed(self, texts: Sequence[str], role: TextRole, *, deadline_seconds: float | None = None) -> Vectors:
        self.texts += len(texts)
        return await super().embed(texts, role, deadline_seconds=deadline_seconds)


async def test_unchanged_statements_are_the_same_blob_and_not_embedded_again(journey: Journey) -> None:
    embedder = journey.stores.embedder = CountingEmbedder()
    first = await journey.through(await journey.deduplicated(generation=1))
    second = await journey.through(await journey.deduplicated(generation=2))
    assert embedder.texts == 3
    assert isinstance(first[1], PageEmbedded)
    assert isinstance(second[1], PageEmbedded)
    assert (first[1].statements_ref, first[1].vectors_ref) == (second[1].statements_ref, second[1].vectors_ref)
    assert {hit.payload.generation for hit in await journey.points()} == {2}


async def test_of_a_changed_page_only_the_changed_statements_are_embedded(journey: Journey) -> None:
    await journey.through(await journey.deduplicated(generation=1))
    restarted = Journey(Stores(**{name: getattr(journey.stores, name) for name in Stores.__slots__}))
    embedder = restarted.stores.embedder = CountingEmbedder()
    changed = (*BODY[:2], Block("p", "A writer is never blocked by a reader."))
    _, embedded, _ = await restarted.through(await restarted.deduplicated(*changed, generation=2))
    assert embedder.texts == 1
    assert isinstance(embedded, PageEmbedded)
    page = decode_statements(await restarted.stores.blobs.get(embedded.statements_ref))
    stored = decode_vectors(await restarted.stores.blobs.get(embedded.vectors_ref), embedded.statements_ref)
    expected = await MemoryEmbedder().embed([statement.in_context for statement in page.statements], "passage")
    assert np.allclose(stored, expected, atol=1e-3)


async def test_former_vectors_that_are_missing_are_made_again(journey: Journey) -> None:
    await journey.through(await journey.deduplicated(generation=1))
    record = dict((await journey.stores.pages.get(PAGE)).rows["indexed"], vectors_ref="00" * 32)
    await journey.stores.pages.put(PAGE, Indexed.of_row(record), record["at"])
    events = await journey.through(await journey.deduplicated(Block("p", "All of it is new text here."), generation=2))
    assert isinstance(events[-1], PageIndexed)


class Interrupted(BaseException):
    """The process is killed."""


@pytest.mark.parametrize("moment", ["blobs.get", "embedder.embed", "blobs.put"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_the_embed_stage_may_be_killed_at_every_call(journey: Journey, moment: str, after: bool) -> None:
    """The event is delivered again to another worker, which stores and returns what an undisturbed one does."""
    undisturbed = Journey(memory_stores())
    expected = (await undisturbed.through(await undisturbed.deduplicated()))[:2]
    chunked = (await journey.stages[0].handle(journey.delivery(await journey.deduplicated())))[0]
    store_name, method_name = moment.split(".")
    store = getattr(journey.stores, store_name)
    method = getattr(store, method_name)

    async def killed(*args: Any, **keywords: Any) -> Any:
        if after:
            await method(*args, **keywords)
        raise Interrupted

    setattr(store, method_name, killed)
    with pytest.raises(Interrupted):
        await journey.stages[1].handle(journey.delivery(chunked))
    setattr(store, method_name, method)
    restarted = Journey(journey.stores)
    assert [chunked, *await restarted.stages[1].handle(restarted.delivery(chunked))] == expected


async def test_the_former_statements_go_after_the_new_ones_are_searchable(journey: Journey) -> None:
    """A re-crawl, and the same fetch cut by another release: at every call of the index some of the page is found."""
    await journey.through(await journey.deduplicated(generation=1))
    index, found = journey.stores.vectors, []
    remove_page = index.remove_page

    async def remove(*args: Any, **keywords: Any) -> None:
        found.append(await journey.texts())
        await remove_page(*args, **keywords)
        found.append(await journey.texts())

    index.remove_page = remove  # type: ignore[method-assign]  # of this object only
    await journey.through(await journey.deduplicated(Block("p", "All of it is new text here."), generation=2))
    await journey.through(await journey.deduplicated(Block("p", "Cut by another release of the code."), generation=2))
    assert len(found) >= 6
    assert all(found), "the page was not found between two calls"
    assert await journey.texts() == ["Cut by another release of the code."]


async def test_another_model_embeds_unchanged_statements_again(journey: Journey) -> None:
    await journey.through(await journey.deduplicated(generation=1))
    embedder = journey.stores.embedder = CountingEmbedder(version="2")
    await journey.through(await journey.deduplicated(generation=2))
    assert embedder.texts == 3


async def test_an_older_generation_never_replaces_a_newer_one(journey: Journey) -> None:
    await journey.through(await journey.deduplicated(Block("p", "This is the newer text of it."), generation=5))
    late = await journey.through(await journey.deduplicated(generation=4))
    assert [type(event) for event in late] == [PageChunked, PageEmbedded]
    assert await journey.texts() == ["This is the newer text of it."]


@pytest.mark.parametrize(
    ("removed", "stays", "why"),
    [
        (6, False, "a newer removal"),
        (5, False, "a removal of this very fetch"),
        (4, True, "a removal that came late: the page was fetched again meanwhile"),
    ],
)
async def test_removals(journey: Journey, removed: int, stays: bool, why: str) -> None:
    await journey.through(await journey.deduplicated(generation=5))
    await journey.remove(removed)
    await journey.remove(removed)
    assert bool(await journey.points()) is stays, why


@pytest.mark.parametrize(
    ("generation", "returns", "why"),
    [
        (4, False, "an older fetch that was on its way"),
        (5, False, "the removed fetch itself"),
        (6, True, "a newer fetch"),
    ],
)
async def test_a_removed_page_comes_back_only_by_a_newer_fetch(
    journey: Journey, generation: int, returns: bool, why: str
) -> None:
    await journey.remove(5)
    events = await journey.through(await journey.deduplicated(generation=generation))
    assert isinstance(events[-1], PageIndexed) is returns, why
    assert bool(await journey.points()) is returns, why


async def test_a_removed_page_leaves_the_collections_of_all_models(journey: Journey) -> None:
    await journey.through(await journey.deduplicated())
    journey.stores.embedder = MemoryEmbedder(32, name="other")
    await journey.through(await journey.deduplicated())
    assert len(await journey.points()) == 6
    await journey.remove(1)
    assert await journey.points() == []


async def test_a_page_without_text_is_indexed_with_no_statements(journey: Journey) -> None:
    await journey.through(await journey.deduplicated())
    events = await journey.through(await journey.deduplicated(Block("p", ""), generation=2))
    assert [getattr(event, "statements", None) for event in events] == [0, 0, 0]
    assert await journey.points() == []


async def test_a_blob_that_is_not_there_is_poison(journey: Journey) -> None:
    event = (await journey.deduplicated()).model_copy(update={"document_ref": "00" * 32})
    with pytest.raises(MissingBlob):
        await journey.through(event)


async def test_a_point_has_the_domains_above_its_host_and_the_date_of_its_page() -> None:
    page = PageStatements(PAGE, "https://docs.db.example.org/x", "X", "en", (Statement(PAGE, 0, "A log."),))
    (point,) = points_of(page, np.zeros((1, 4), np.float32), PageFacts(1, "2024-05-01"))
    assert (point.payload.sites, point.payload.published) == (("db.example.org", "example.org"), "2024-05-01")


@pytest.mark.parametrize(
    ("is_new", "topic", "is_read"),
    [
        (False, "", True),
        (True, "", False),
        (True, "embed.replay", True),  # it may have been handled before
        (True, "embed.retry", True),
    ],
)
async def test_only_a_page_that_was_in_the_index_may_have_vectors(is_new: bool, topic: str, is_read: bool) -> None:
    journey = Journey(memory_stores())
    reads, get = list[UUID](), journey.stores.pages.get

    async def counted(page: UUID) -> PageRecord:
        reads.append(page)
        return await get(page)

    event = (await journey.deduplicated()).model_copy(update={"is_new": is_new})
    (chunked,) = await journey.stages[0].handle(journey.delivery(event))
    journey.stores.pages.get = counted  # type: ignore[method-assign,assignment] # counted
    arrived = journey.delivery(chunked)
    (embedded,) = await journey.stages[1].handle(replace(arrived, topic=topic or arrived.topic))
    assert isinstance(embedded, PageEmbedded)
    assert (embedded.statements, bool(reads)) == (3, is_read)


async def test_what_the_statements_are_like_is_recorded_with_the_page_in_the_index() -> None:
    journey = Journey(memory_stores())
    chunked, embedded, _ = await journey.through(await journey.deduplicated())
    assert isinstance(chunked, PageChunked)
    assert isinstance(embedded, PageEmbedded)
    record = await journey.stores.pages.get(PAGE)
    assert record.indexed.readable == embedded.readable == chunked.readable
    assert sorted(record.rows) == ["indexed"], "statements that were not refused have no part of their own"
