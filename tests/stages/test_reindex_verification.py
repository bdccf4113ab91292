"""The verification of a collection that `riffle reindex` filled: what is wrong, and what only changes meanwhile."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest

from schemas.ids import page_id
from streams.commands.operate import reindex as reindex_module
from streams.commands.operate.reindex import _fill_and_switch
from streams.maintenance import page_writer
from streams.maintenance.reindexing import Reindexer, Verification
from streams.models.memory import MemoryEmbedder
from streams.stores.opener import Stores
from streams.stores.page_record import Normalized
from tests.stages.reindexing import AT, PAGES, alter, fill, filled_stores, index_page, lose_statements, payloads, url


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits until the workers see a switch."""
    monkeypatch.setattr(reindex_module, "SEEN_SECONDS", 0.0)


@pytest.fixture
async def stores() -> Stores:
    return await filled_stores()


async def test_searches_read_the_former_collection_until_all_is_verified(stores: Stores) -> None:
    other = MemoryEmbedder(32, name="other")
    former = await stores.vectors.active()
    reindexer = Reindexer(stores, other)
    async for _ in reindexer.run():
        assert await stores.vectors.active() == former
    assert (await reindexer.verify()).passed
    assert await stores.vectors.active() == former


async def test_a_collection_with_missing_statements_is_not_verified(stores: Stores) -> None:
    other = MemoryEmbedder(32, name="other")
    reindexer = await fill(stores, other)
    collection = await stores.vectors.ensure(await other.info())
    for number in range(0, PAGES, 2):
        await stores.vectors.remove_page(collection, page_id(url(number)))
    verification = await reindexer.verify()
    assert not verification.passed
    assert url(0) in verification.wrong or url(2) in verification.wrong


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"published": None}, id="filled by a release that left out the dates"),
        pytest.param({"context": ["Former title"]}, id="another context"),
        pytest.param({"text": "Former text"}, id="another text"),
        pytest.param({"title": "Former title"}, id="another title"),
        pytest.param({"generation": 0}, id="an older generation"),
    ],
)
async def test_other_payloads_of_as_many_statements_are_noticed_and_written_again(
    stores: Stores, changes: dict[str, object]
) -> None:
    for number in range(PAGES):
        await stores.pages.put(page_id(url(number)), Normalized.of_row({"published": "2024-05-01"}), AT)
    other = MemoryEmbedder(32, name="other")
    collection = await stores.vectors.ensure(await other.info())
    reindexer = await fill(stores, other)
    right = await payloads(stores, collection, 3)
    assert (await reindexer.verify()).passed
    alter(stores, collection, 3, **changes)
    assert (await reindexer.verify()).wrong == (url(3),)
    second = await fill(stores, other)
    assert second.outcome.written == 1
    assert await payloads(stores, collection, 3) == right


async def test_points_of_a_page_that_a_worker_is_about_to_record_are_no_fault(stores: Stores) -> None:
    """A worker writes the points first. If it never writes the record, each pass would write the page again."""
    collection = str(await stores.vectors.active())
    indexed = (await stores.pages.get(page_id(url(3)))).indexed
    await index_page(stores, 3, generation=2, words="second")
    await stores.pages.put(page_id(url(3)), indexed, indexed.at + 1_000_000_000)
    reindexer = await fill(stores, stores.embedder)
    assert len(await payloads(stores, collection, 3)) == 6
    assert (await reindexer.verify()).passed
    assert (await fill(stores, stores.embedder)).outcome.written == 0


@pytest.mark.parametrize("known_pages", [page_writer.KNOWN_PAGES, 10])
async def test_a_collection_is_searched_although_pages_keep_changing(
    stores: Stores, monkeypatch: pytest.MonkeyPatch, known_pages: int
) -> None:
    """Workers with the former model index 5 % of the pages during each pass and before the verification."""
    monkeypatch.setattr(page_writer, "KNOWN_PAGES", known_pages)
    other = MemoryEmbedder(32, name="other")
    former = str(await stores.vectors.active())
    collection = await stores.vectors.ensure(await other.info())
    generation = 1

    async def change() -> None:
        nonlocal generation
        for _ in range(PAGES // 20):
            generation += 1
            await index_page(stores, generation * 7 % PAGES, generation, f"generation {generation}")

    class Busy(Reindexer):
        async def run(self, *, again: bool = False) -> AsyncIterator[Any]:
            async for so_far in super().run(again=again):
                yield so_far
            await change()

        async def verify(self, *, seed: int = 0) -> Verification:
            await change()
            return await super().verify(seed=seed)

    assert await _fill_and_switch(stores, Busy(stores, other), collection, switch=True, as_json=True) == 0
    assert await stores.vectors.active() == collection != former


async def test_a_page_that_changes_during_its_verification_is_not_wrong(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = MemoryEmbedder(32, name="other")
    reindexer = await fill(stores, other)
    scroll, changed = stores.vectors.scroll, False

    async def interleaved(collection: str, page: UUID) -> Any:
        nonlocal changed
        if not changed and page == page_id(url(5)):
            changed = True
            await index_page(stores, 5, generation=2, words="second")
            await stores.vectors.remove_page(collection, page)  # its points of now are not the ones that were compared
        return await scroll(collection, page)

    monkeypatch.setattr(stores.vectors, "scroll", interleaved)
    assert (await reindexer.verify()).passed
    assert changed


async def test_lost_statements_do_not_end_the_verification(stores: Stores) -> None:
    reindexer = await fill(stores, MemoryEmbedder(32, name="other"))
    await lose_statements(stores, 7)
    verification = await reindexer.verify()
    assert (verification.pages, verification.wrong) == (PAGES - 1, ())
    assert [line.partition(": ")[0] for line in verification.failed] == [url(7)]
