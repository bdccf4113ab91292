"""A reindexing on Qdrant: what is as recorded is not written again, and the model changes while pages are indexed."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas.ids import page_id
from streams.commands.operate import reindex as reindex_module
from streams.commands.operate.reindex import _fill_and_switch
from streams.maintenance.reindexing import Reindexer
from streams.models.memory import MemoryEmbedder, MemoryOtherModels
from streams.seen.stores import SeenStores
from streams.settings import QdrantSettings
from streams.stores import searched_model
from streams.stores.opener import memory_stores
from streams.stores.page_record import Normalized
from streams.stores.protocols import EVERYTHING
from streams.stores.qdrant.index import QdrantIndex
from streams.stores.vector_collection import ANY
from tests.integration.qdrant_process import NO_REAL_QDRANT, QdrantProcess, RealQdrantProcess, real_qdrant
from tests.stages.reindexing import AT, index_page, url

PAGES = 4
WORDS = 'e\u0301 \u00e9 \U0001f600 \u2028 \u200f \t \x00 \x7f "quoted" \\ 1e400 -0.0'
"""Text that a server could write otherwise: composed and not, controls, quotes, and what looks like a number."""


@pytest.fixture(params=["local", "real"])
def qdrant_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "real" and not real_qdrant():
        pytest.skip(NO_REAL_QDRANT)
    server = (QdrantProcess if request.param == "local" else RealQdrantProcess)(tmp_path / "data")
    server.start()
    yield server.url
    server.stop()


async def test_a_page_that_is_as_recorded_is_not_written_again(qdrant_url: str) -> None:
    stores = memory_stores()
    stores.vectors = QdrantIndex(QdrantSettings(url=qdrant_url), production=False)
    for number in range(PAGES):
        await stores.pages.put(page_id(url(number)), Normalized.of_row({"published": "2024-05-01"}), AT)
        # A generation is a time in microseconds, more than a float of 32 bits holds.
        await index_page(stores, number, generation=AT + number, words=WORDS, heading=WORDS)
    other = MemoryEmbedder(32, name="other")
    for embedder, written in ((stores.embedder, 0), (other, PAGES), (other, 0)):
        reindexer = Reindexer(stores, embedder)
        async for _ in reindexer.run():
            pass
        assert (reindexer.outcome.pages, reindexer.outcome.written) == (PAGES, written)
        assert (await reindexer.verify()).passed
        await reindexer.close()
    await stores.vectors.close()


async def test_the_model_changes_while_pages_are_indexed(qdrant_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searched_model, "CHECK_SECONDS", 0.0)
    monkeypatch.setattr(reindex_module, "SEEN_SECONDS", 0.0)
    stores = memory_stores()
    stores.vectors = QdrantIndex(QdrantSettings(url=qdrant_url), production=False)
    other = MemoryEmbedder(512, name="other")
    stores.other_models = MemoryOtherModels(other)
    for number in range(PAGES):
        await index_page(stores, number)
    former = await stores.vectors.active() or ""
    collection = await stores.vectors.ensure(await other.info())
    filling = asyncio.create_task(
        _fill_and_switch(stores, Reindexer(stores, other), collection, switch=True, as_json=True)
    )
    number = PAGES
    while not filling.done():  # by a worker with the former model
        await index_page(stores, number)
        number += 1
    assert await filling == 0
    await index_page(stores, number)
    await index_page(stores, 0, generation=2, words="second")
    seen = SeenStores(stores)
    await seen.embedder.refresh()
    for page in (0, 1, PAGES, number - 1, number):
        text = f"{'first' if page else 'second'} statement 1 of page {page}"
        (vector,) = await seen.embedder.embed([f"Title\n{text}"], "query")
        read = seen.embedder.in_use.collection
        found = await seen.candidates(
            dense=vector.tolist(), sparse=None, visible=EVERYTHING, filters=ANY, limit=10, collection=read
        )
        assert text in [hit.payload.text for hit in found.dense]
    assert read == collection != former
    await stores.vectors.close()
