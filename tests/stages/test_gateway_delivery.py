"""The delivery of the gateway's pages: compressed, light, and in parts that leave as soon as they are ready."""

import asyncio
import base64
import hashlib
import re
import zlib
from typing import Any

import brotli
import httpx2
import pytest
import zstandard

from streams.gateway.search.html import FIRST_PAINT_SECONDS
from streams.models.memory import MemoryEmbedder
from tests.e2e.demo import demo_stores, served
from tests.stages.gateway_fakes import client, gateway, searchable, statement

MAX_PAGE_BYTES = 15_000
"""Maximum weight of a page of ten results, as it is sent."""
HTML = {"accept": "text/html"}
WAL = statement("https://sqlite.org/wal.html", "The write-ahead log.", title="Write-Ahead Logging")
CODINGS = ["zstd", "br", "gzip"]


class Waiting(MemoryEmbedder):
    """An embedder that waits until the test has seen the head of the page."""

    def __init__(self) -> None:
        super().__init__()
        self.head_seen = asyncio.Event()

    async def embed(self, texts: Any, role: Any, **options: Any) -> Any:
        await self.head_seen.wait()
        return await super().embed(texts, role)


def decoder(coding: str) -> Any:
    """Return a function that decodes what has arrived so far."""
    if coding == "br":
        return brotli.Decompressor().process
    if coding == "zstd":
        return zstandard.ZstdDecompressor().decompressobj().decompress
    return zlib.decompressobj(31).decompress


@pytest.mark.parametrize("coding", CODINGS)
async def test_the_head_and_the_search_box_leave_before_the_results_are_found(coding: str) -> None:
    stores = await searchable([WAL])
    stores.embedder = embedder = Waiting()
    app = gateway(stores, deadline_seconds=30, allowed_hosts=())
    async with served(app) as address, httpx2.AsyncClient(timeout=30) as web:
        headers = {**HTML, "accept-encoding": coding}
        async with web.stream("GET", f"{address}/search?q=log", headers=headers) as response:
            assert response.headers["content-encoding"] == coding
            assert response.headers["x-accel-buffering"] == "no"
            decode, html = decoder(coding), ""
            async for part in response.aiter_raw():
                html += decode(part).decode()
                if 'id="q"' in html and not embedder.head_seen.is_set():
                    assert "Write-Ahead Logging" not in html
                    assert 'value="log"' in html
                    embedder.head_seen.set()
    await app.state.gateway.close()
    assert "Write-Ahead Logging" in html
    assert html.rstrip().endswith("</html>")


@pytest.mark.parametrize("coding", CODINGS)
async def test_a_page_of_ten_results_is_light(coding: str) -> None:
    async with client(gateway(await demo_stores(), deadline_seconds=30)) as web:
        headers = {**HTML, "accept-encoding": coding}
        async with web.stream("GET", "/search?q=sqlite+database+file", headers=headers) as response:
            body = b"".join([part async for part in response.aiter_raw()])
    html = decoder(coding)(body).decode()
    assert html.count('<li class="result">') == 10
    assert len(body) < MAX_PAGE_BYTES


async def test_a_client_without_a_known_coding_gets_plain_text() -> None:
    async with client(gateway(await searchable([WAL]))) as web:
        response = await web.get("/search?q=log", headers={**HTML, "accept-encoding": "compress"})
    assert "content-encoding" not in response.headers
    assert "Write-Ahead Logging" in response.text


async def test_answers_of_the_api_and_problems_are_compressed_too() -> None:
    async with client(gateway(await searchable([WAL]))) as web:
        answer = await web.get("/api/v1/search?q=log&explain=true", headers={"accept-encoding": "gzip"})
        again = await web.get("/api/v1/search?q=log&explain=true", headers={"accept-encoding": "identity"})
    assert answer.headers["content-encoding"] == "gzip"
    assert "Accept-Encoding" in answer.headers["vary"]
    assert "content-encoding" not in again.headers
    assert answer.json()["results"] == again.json()["results"]


async def test_the_stylesheet_is_in_the_page_and_allowed_by_its_hash() -> None:
    async with client(gateway(await searchable([WAL]))) as web:
        pages = [await web.get(path, headers=HTML) for path in ("/", "/search?q=log", "/labs/statements", "/nowhere")]
    for page in pages:
        styles = re.findall("<style>(.*?)</style>", page.text, re.DOTALL)
        assert styles
        for style in styles:
            digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in page.headers["content-security-policy"]
        assert 'rel="stylesheet"' not in page.text
        assert "unsafe-inline" not in page.headers["content-security-policy"]


def test_the_first_paint_leaves_time_for_rendering() -> None:
    assert FIRST_PAINT_SECONDS <= 0.001, "the search takes the first turns of the loop, too: 4 ms at p50"
