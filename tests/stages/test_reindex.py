"""`riffle reindex` over memory stores: another model, after a loss, interrupted, and while pages change."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any
from uuid import UUID, uuid4, uuid5

import pytest

from schemas import Envelope, Event, PageChunked, PageEmbedded, PageRemoved
from schemas.ids import page_id
from streams.commands.stages.reindex import _fill_and_switch, _switched
from streams.errors import UsageError
from streams.runtime.agent import Delivery
from streams.statements.codec import PageStatements, encode_statements
from streams.statements.statement import Statement
from streams.stores.fusion import combine
from streams.stores.memory import MemoryEmbedder, MemoryIndex
from streams.stores.opener import Stores, memory_stores
from streams.stores.protocols import Vectors
from streams.vectors.embed_agent import EmbedAgent
from streams.vectors.index_agent import IndexAgent
from streams.vectors.reindexing import FIRST_TOKEN, LAST_TOKEN, PARTS, Pace, Reindexer, part_tokens

PAGES = 40
AT = 1_700_000_000_000_000


class Counting(MemoryEmbedder):
    """An embedder that counts its texts, and may be killed."""

    texts = 0
    dies_after: int | None = None

    async def embed(
        self, texts: Sequence[str], *, deadline_seconds: float | None = None, urgent: bool = False
    ) -> Vectors:
        self.texts += len(texts)
        if self.dies_after is not None and self.texts > self.dies_after:
            raise Killed
        return await super().embed(texts)


class Killed(Exception):
    """The process ends."""


def delivery(event: Event) -> Delivery:
    envelope = Envelope(id=uuid4(), type=event.event_type(), source="t", time=datetime.now(UTC), subject="")
    return Delivery(event, envelope, event.topic, 0, 0)


def url(number: int) -> str:
    return f"https://{'even' if number % 2 == 0 else 'odd'}.example/{number}"


async def index_page(stores: Stores, number: int, generation: int = 1, words: str = "first") -> None:
    """Take a page through the embed and the index stage."""
    page = page_id(url(number))
    texts = [f"{words} statement {n} of page {number}" for n in range(3)]
    statements = tuple(Statement(uuid5(page, text), ordinal, text, ("Title",)) for ordinal, text in enumerate(texts))
    content = encode_statements(PageStatements(page, url(number), "Title", "en", statements))
    event = PageChunked(
        page_id=page,
        url=url(number),
        generation=generation,
        crawl_id="c",
        statements_ref=await stores.blobs.put(content),
        statements=len(statements),
        language="en",
    )
    (embedded,) = await EmbedAgent(stores).handle(delivery(event))
    assert isinstance(embedded, PageEmbedded)
    await IndexAgent(stores).handle(delivery(embedded))


@pytest.fixture
async def stores() -> Stores:
    made = memory_stores()
    for number in range(PAGES):
        await index_page(made, number)
    return made


async def fill(stores: Stores, embedder: Any, host: str = "") -> Reindexer:
    reindexer = Reindexer(stores, embedder, host=host)
    async for _ in reindexer.run():
        pass
    return reindexer


async def found(stores: Stores, text: str, embedder: Any) -> list[UUID]:
    (vector,) = await embedder.embed([text])
    return [page.page_id for page in combine(await stores.vectors.candidates(dense=vector.tolist(), sparse=None))][:10]


async def test_another_model_is_filled_beside_the_present_one_switched_and_switched_back(stores: Stores) -> None:
    other = Counting(32, name="other")
    former = await stores.vectors.active()
    reindexer = Reindexer(stores, other)
    collection = await stores.vectors.ensure(await other.info())
    assert await _fill_and_switch(stores, reindexer, collection, switch=True, as_json=True) == 0
    assert other.texts >= 3 * PAGES
    assert await stores.vectors.active() == collection != former
    assert await stores.vectors.count(collection) == await stores.vectors.count(str(former)) == 3 * PAGES
    assert (await found(stores, "Title first statement 1 of page 7", other))[0] == page_id(url(7))
    assert (await _switched(stores, ""))["searched"] == former
    assert (await found(stores, "Title first statement 1 of page 7", stores.embedder))[0] == page_id(url(7))


async def test_searches_read_the_former_collection_until_all_is_verified(stores: Stores) -> None:
    other = MemoryEmbedder(32, name="other")
    former = await stores.vectors.active()
    reindexer = Reindexer(stores, other)
    async for _ in reindexer.run():
        assert await stores.vectors.active() == former
    assert (await reindexer.verify()).passed
    assert await stores.vectors.active() == former


async def test_after_a_complete_loss_the_kept_vectors_are_used(stores: Stores) -> None:
    before = {number: await stores.vectors.scroll(str(await stores.vectors.active()), page_id(url(number)))
              for number in range(PAGES)}  # fmt: skip
    stores.vectors = MemoryIndex()
    embedder = Counting()
    reindexer = await fill(stores, embedder)
    assert (reindexer.outcome.written, embedder.texts) == (PAGES, 0)
    collection = await stores.vectors.active()
    assert collection, "searches read the collection again"
    for number, hits in before.items():
        assert await stores.vectors.scroll(collection, page_id(url(number))) == hits


async def test_a_run_that_was_killed_goes_on_where_it_was(stores: Stores) -> None:
    killed = Counting(32, name="other")
    killed.dies_after = 60
    with pytest.raises(ExceptionGroup):
        await fill(stores, killed)
    collection = await stores.vectors.ensure(await killed.info())
    assert 0 < await stores.vectors.count(collection) < 3 * PAGES
    done = await stores.reindexing.progress(collection, "")
    assert done
    second = Counting(32, name="other")
    reindexer = await fill(stores, second)
    assert second.texts < 3 * PAGES
    assert reindexer.outcome.pages < PAGES, "the parts that were done were visited again"
    assert await stores.vectors.count(collection) == 3 * PAGES
    assert (await reindexer.verify()).passed
    assert await stores.reindexing.progress(collection, "") == {}, "the next run is a new one"


async def test_only_what_is_missing_is_written(stores: Stores) -> None:
    other = Counting(32, name="other")
    await fill(stores, other)
    await index_page(stores, 3, generation=2, words="second")
    again = Counting(32, name="other")
    reindexer = await fill(stores, again)
    assert (again.texts, reindexer.outcome.written, reindexer.outcome.pages) == (3, 1, PAGES)
    collection = await stores.vectors.ensure(await other.info())
    texts = [hit.payload["text"] for hit in await stores.vectors.scroll(collection, page_id(url(3)))]
    assert texts == [f"second statement {n} of page 3" for n in range(3)]


async def test_removed_pages_are_left_out(stores: Stores) -> None:
    event = PageRemoved(page_id=page_id(url(5)), url=url(5), generation=1, reason="gone")
    await IndexAgent(stores).handle(delivery(event))
    other = MemoryEmbedder(32, name="other")
    await fill(stores, other)
    assert await stores.vectors.scroll(await stores.vectors.ensure(await other.info()), page_id(url(5))) == []


@pytest.mark.parametrize("what", ["removed", "fetched again"])
async def test_a_page_that_changes_while_it_is_written_is_as_its_last_event_says(stores: Stores, what: str) -> None:
    """The event is handled between the read of the records and the write of the points."""
    other = MemoryEmbedder(32, name="other")
    collection = await stores.vectors.ensure(await other.info())
    upsert, changed = stores.vectors.upsert, False

    async def interleaved(name: str, points: Any) -> None:
        nonlocal changed
        if not changed and name == collection and points[0].payload["page_id"] == str(page_id(url(5))):
            changed = True
            if what == "removed":
                event = PageRemoved(page_id=page_id(url(5)), url=url(5), generation=1, reason="gone")
                await IndexAgent(stores).handle(delivery(event))
            else:
                await index_page(stores, 5, generation=2, words="second")
        await upsert(name, points)

    stores.vectors.upsert = interleaved  # type: ignore[method-assign]
    await fill(stores, other)
    await fill(stores, other)
    texts = [hit.payload["text"] for hit in await stores.vectors.scroll(collection, page_id(url(5)))]
    assert changed
    assert texts == ([] if what == "removed" else [f"second statement {n} of page 5" for n in range(3)])


async def test_one_host_alone(stores: Stores) -> None:
    other = Counting(32, name="other")
    reindexer = await fill(stores, other, host="even.example")
    assert reindexer.outcome.pages == PAGES // 2
    assert await stores.vectors.count(await stores.vectors.ensure(await other.info())) == 3 * PAGES // 2
    assert (await reindexer.verify()).passed


async def test_a_collection_with_missing_statements_is_not_verified(stores: Stores) -> None:
    other = MemoryEmbedder(32, name="other")
    reindexer = await fill(stores, other)
    collection = await stores.vectors.ensure(await other.info())
    for number in range(0, PAGES, 2):
        await stores.vectors.remove_page(collection, page_id(url(number)))
    verification = await reindexer.verify()
    assert not verification.passed
    assert url(0) in verification.wrong or url(2) in verification.wrong


async def test_a_page_without_its_statements_is_named_and_does_not_end_the_run(stores: Stores) -> None:
    record = dict((await stores.pages.get(page_id(url(4))))["indexed"], statements_ref="00" * 32)
    await stores.pages.put(page_id(url(4)), "indexed", record, record["at"] + 1)
    reindexer = await fill(stores, MemoryEmbedder(32, name="other"))
    assert reindexer.outcome.written == PAGES - 1
    assert [line.partition(": ")[0] for line in reindexer.outcome.failed] == [url(4)]


async def test_back_needs_a_name_if_there_are_several_others(stores: Stores) -> None:
    with pytest.raises(UsageError, match="no other collection"):
        await _switched(stores, "")
    for name in ("a", "b"):
        await stores.vectors.ensure(await MemoryEmbedder(32, name=name).info())
    with pytest.raises(UsageError, match=r"statements-a-1, statements-b-1.*--activate"):
        await _switched(stores, "")
    assert (await _switched(stores, "statements-b-1"))["searched"] == "statements-b-1"


def test_the_parts_of_the_ring_follow_each_other_and_hold_every_token() -> None:
    parts = [part_tokens(part) for part in range(PARTS)]
    assert (parts[0][0], parts[-1][1]) == (FIRST_TOKEN, LAST_TOKEN)
    assert all(before[1] == after[0] for before, after in pairwise(parts))


async def test_the_rate_is_limited() -> None:
    now, slept = 0.0, []

    async def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds
        slept.append(seconds)

    pace = Pace(10, lambda: now, sleep)
    for _ in range(3):
        await pace.wait(20)
    assert slept == [2.0, 2.0]
    await Pace(0, lambda: now, sleep).wait(1_000)
    assert len(slept) == 2
