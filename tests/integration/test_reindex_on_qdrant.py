"""A Qdrant gives payloads back as they were written: otherwise each reindexing would write every page again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas.ids import page_id
from streams.maintenance.reindexing import Reindexer
from streams.models.memory import MemoryEmbedder
from streams.settings import QdrantSettings
from streams.stores.opener import memory_stores
from streams.stores.page_record import Normalized
from streams.stores.qdrant.index import QdrantIndex
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
