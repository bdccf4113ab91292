"""`riffle reindex` over memory stores: another model, after a loss, interrupted, and while pages change."""

from itertools import pairwise
from typing import Any

import pytest

from schemas import PageRemoved
from schemas.ids import page_id
from streams.commands.operate import reindex as reindex_module
from streams.commands.operate.reindex import _fill_and_switch, _switch_collection
from streams.errors import MissingBlob
from streams.maintenance.page_writer import Pace
from streams.maintenance.reindexing import PARTS, Reindexer, part_tokens, read_progress
from streams.maintenance.sampling import FIRST_TOKEN, LAST_TOKEN
from streams.models.memory import MemoryEmbedder
from streams.stores.memory import MemoryIndex
from streams.stores.opener import Stores
from streams.stores.page_record import Indexed, Normalized
from streams.vectors.index_agent import IndexAgent
from tests.stages.reindexing import AT, PAGES, Counting, delivery, fill, filled_stores, found, index_page, payloads, url


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits until the workers see a switch."""
    monkeypatch.setattr(reindex_module, "SEEN_SECONDS", 0.0)


@pytest.fixture
async def stores() -> Stores:
    return await filled_stores()


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
    assert (await _switch_collection(stores.vectors, ""))["searched"] == former
    assert (await found(stores, "Title first statement 1 of page 7", stores.embedder))[0] == page_id(url(7))


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
    done = await read_progress(stores.notes, collection, "")
    assert done
    second = Counting(32, name="other")
    reindexer = await fill(stores, second)
    assert second.texts < 3 * PAGES
    assert reindexer.outcome.pages < PAGES, "the parts that were done were visited again"
    assert await stores.vectors.count(collection) == 3 * PAGES
    assert (await reindexer.verify()).passed
    assert await read_progress(stores.notes, collection, "") == {}, "the next run is a new one"


async def test_only_what_is_missing_is_written(stores: Stores) -> None:
    other = Counting(32, name="other")
    await fill(stores, other)
    await index_page(stores, 3, generation=2, words="second")
    again = Counting(32, name="other")
    reindexer = await fill(stores, again)
    assert (again.texts, reindexer.outcome.written, reindexer.outcome.pages) == (3, 1, PAGES)
    collection = await stores.vectors.ensure(await other.info())
    texts = [hit.payload.text for hit in await stores.vectors.scroll(collection, page_id(url(3)))]
    assert texts == [f"second statement {n} of page 3" for n in range(3)]


async def test_removed_pages_are_left_out(stores: Stores) -> None:
    event = PageRemoved(page_id=page_id(url(5)), url=url(5), generation=1, reason="gone")
    await IndexAgent(stores).handle(delivery(event))
    other = MemoryEmbedder(32, name="other")
    await fill(stores, other)
    assert await stores.vectors.scroll(await stores.vectors.ensure(await other.info()), page_id(url(5))) == []


@pytest.mark.parametrize("what", ["removed", "fetched again"])
async def test_a_page_that_changes_while_it_is_written_is_as_its_last_event_says(
    stores: Stores, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """The event is handled between the read of the records and the write of the points."""
    other = MemoryEmbedder(32, name="other")
    collection = await stores.vectors.ensure(await other.info())
    upsert, changed = stores.vectors.upsert, False

    async def interleaved(name: str, points: Any) -> None:
        nonlocal changed
        if not changed and name == collection and points[0].payload.page_id == page_id(url(5)):
            changed = True
            if what == "removed":
                event = PageRemoved(page_id=page_id(url(5)), url=url(5), generation=1, reason="gone")
                await IndexAgent(stores).handle(delivery(event))
            else:
                await index_page(stores, 5, generation=2, words="second")
        await upsert(name, points)

    monkeypatch.setattr(stores.vectors, "upsert", interleaved)
    await fill(stores, other)
    await fill(stores, other)
    texts = [hit.payload.text for hit in await stores.vectors.scroll(collection, page_id(url(5)))]
    assert changed
    assert texts == ([] if what == "removed" else [f"second statement {n} of page 5" for n in range(3)])


async def test_one_host_alone(stores: Stores) -> None:
    other = Counting(32, name="other")
    reindexer = await fill(stores, other, host="even.example")
    assert reindexer.outcome.pages == PAGES // 2
    assert await stores.vectors.count(await stores.vectors.ensure(await other.info())) == 3 * PAGES // 2
    assert (await reindexer.verify()).passed


async def test_the_date_of_publication_is_written(stores: Stores) -> None:
    await stores.pages.put(page_id(url(3)), Normalized.of_row({"published": "2024-05-01T00:00:00Z"}), AT)
    other = MemoryEmbedder(32, name="other")
    collection = await stores.vectors.ensure(await other.info())
    await fill(stores, other)
    assert [payload.published for payload in await payloads(stores, collection, 3)] == 3 * ["2024-05-01"]
    assert all("published" not in payload.row() for payload in await payloads(stores, collection, 4))


async def test_statements_that_another_release_made_of_the_same_fetch_are_written(stores: Stores) -> None:
    other = MemoryEmbedder(32, name="other")
    collection = await stores.vectors.ensure(await other.info())
    await fill(stores, other)
    await index_page(stores, 3, heading="A heading")
    assert await _fill_and_switch(stores, Reindexer(stores, other), collection, switch=True, as_json=True) == 0
    assert [payload.context for payload in await payloads(stores, collection, 3)] == 3 * [("A heading",)]


async def test_further_passes_of_a_run_read_only_the_statements_that_changed(stores: Stores) -> None:
    reindexer = await fill(stores, MemoryEmbedder(32, name="other"))
    await index_page(stores, 3, generation=2, words="second")
    get, read = stores.blobs.get, []

    async def counted(ref: str) -> bytes:
        read.append(ref)
        return await get(ref)

    stores.blobs.get = counted  # type: ignore[method-assign]  # of this object only
    async for _ in reindexer.run(again=True):
        pass
    assert read == [(await stores.pages.get(page_id(url(3)))).rows["indexed"]["statements_ref"]]


async def test_a_page_that_is_removed_on_request_meanwhile_has_not_failed(stores: Stores) -> None:
    reindexer = Reindexer(stores, MemoryEmbedder(32, name="other"))
    reference = (await stores.pages.get(page_id(url(7)))).rows["indexed"]["statements_ref"]
    get = stores.blobs.get

    async def erased(ref: str) -> bytes:
        if ref == reference:
            event = PageRemoved(page_id=page_id(url(7)), url=url(7), generation=1, reason="request")
            await IndexAgent(stores).handle(delivery(event))
            raise MissingBlob(f"no blob {ref}")
        return await get(ref)

    stores.blobs.get = erased  # type: ignore[method-assign]  # of this object only
    async for _ in reindexer.run():
        pass
    assert reindexer.outcome.failed == []


async def test_a_page_without_its_statements_is_named_and_does_not_end_the_run(stores: Stores) -> None:
    record = dict((await stores.pages.get(page_id(url(4)))).rows["indexed"], statements_ref="00" * 32)
    await stores.pages.put(page_id(url(4)), Indexed.of_row(record), record["at"] + 1)
    reindexer = await fill(stores, MemoryEmbedder(32, name="other"))
    assert reindexer.outcome.written == PAGES - 1
    assert [line.partition(": ")[0] for line in reindexer.outcome.failed] == [url(4)]


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
