"""The gateway over a Qdrant server that isn't there, comes, dies and comes back: it never has to be restarted."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from uuid import uuid5

import httpx2
import pytest

from streams.gateway.lazy_stores import open_lazily
from streams.servers import Store
from streams.settings import QdrantSettings, Settings
from streams.stores.opener import Stores, memory_stores, open_stores
from streams.stores.protocols import Point
from streams.vectors.bm25 import document_vector
from tests.integration.qdrant_process import QdrantProcess
from tests.stages.gateway_fakes import client, gateway, payload_of, statement

pytestmark = pytest.mark.integration("qdrant")

WAL = statement("https://sqlite.org/wal.html", "The write-ahead log is fast.", title="Write-Ahead Logging")
PATIENCE_SECONDS = 60


@contextlib.asynccontextmanager
async def _open(settings: Settings, needs: Iterable[Store]) -> AsyncIterator[Stores]:
    """The real Qdrant, and memory for all else."""
    needs = tuple(needs)
    if "vectors" not in needs:
        yield memory_stores()
        return
    async with open_stores(settings, needs) as stores:
        yield stores


async def _status(web: httpx2.AsyncClient, wanted: int) -> httpx2.Response:
    """Ask until the answer has this status."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (response := await web.get("/api/v1/search?q=write-ahead+log")).status_code != wanted:
            assert response.status_code in (200, 503), response.text
            await asyncio.sleep(0.2)
    return response


async def test_qdrant_comes_dies_and_comes_back(tmp_path: Path) -> None:
    server = QdrantProcess(tmp_path / "qdrant")
    settings = Settings(qdrant=QdrantSettings(url=server.url))
    async with open_lazily(settings, open_store=_open, retry_seconds=(0.1,)) as stores, client(gateway(stores)) as web:
        await _status(web, 503)
        assert (await web.get("/readyz")).status_code == 503

        await asyncio.to_thread(server.start)
        try:
            await _status(web, 200)
            collection = await stores.vectors.ensure(await stores.embedder.info())
            (vector,) = await stores.embedder.embed([WAL["text"]], "passage")
            words = document_vector(WAL["text"])
            await stores.vectors.upsert(
                collection, [Point(uuid5(WAL["page_id"], "0"), vector.tolist(), words, payload_of(WAL))]
            )
            found = (await _status(web, 200)).json()
            assert [result["url"] for result in found["results"]] == [WAL["url"]]
            assert found["results"][0]["statements"][0]["text"] == WAL["text"]
            assert found["partial"] is False

            await asyncio.to_thread(server.kill)
            problem = (await _status(web, 503)).json()
            assert problem["type"] == "urn:riffle:problem:search-unavailable"

            await asyncio.to_thread(server.start)
            again = (await _status(web, 200)).json()
            assert [result["url"] for result in again["results"]] == [WAL["url"]]
        finally:
            await asyncio.to_thread(server.stop)
