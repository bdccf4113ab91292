"""A server with the API of OpenAI's embeddings: right, or with one of the faults of the protocol, as told.

Its vectors are those of `MemoryEmbedder`. `other` is another model, whose vectors it gives in place of them.
"""

import asyncio
import base64
import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from streams.models.memory import MemoryEmbedder

Way = Literal[
    "right", "shuffled", "swapped", "missing", "twice", "short", "nan", "infinite", "long", "zero", "text", "nonsense",
    "busy", "down", "denied", "redirect", "huge", "silent", "cut", "other",
]  # fmt: skip
"""shuffled: the rows in another order, each with its index. swapped: two vectors have changed places. twice: a row
twice. long: vectors of length 2."""
FAULTS: dict[Way, str] = {
    "swapped": "the probe has another vector",
    "missing": "rows for",
    "twice": "a row has the index",
    "short": "a vector of 63 dimensions in place of 64",
    "nan": "numbers that are not finite",
    "infinite": "numbers that are not finite",
    "long": "not of unit length",
    "zero": "not of unit length",
    "text": "a vector is no list of numbers",
    "nonsense": "no JSON",
    "huge": "more than",
    "other": "the probe has another vector",
}
"""The ways that give an answer which is not the request's, and what is said of it."""
KEY = "sk-the-key-of-this-server"


@dataclass
class EmbeddingServer:
    """The server, and the requests that it got."""

    ways: list[Way] = field(default_factory=list)
    """The ways of the next answers. Behind them, each answer is right."""
    always: Way = "right"
    max_rows: int = 1_000
    """Maximum texts of a request: more are refused with status 413."""
    max_chars: int = 1_000_000
    """Maximum characters of a text: a longer one is refused with status 400."""
    base64: bool = True
    """False: a request for base64 is refused."""
    retry_after: str = "0"
    needs_key: bool = False
    model: MemoryEmbedder = field(default_factory=MemoryEmbedder)
    other: MemoryEmbedder = field(default_factory=lambda: MemoryEmbedder(64, name="other"))
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = int(re.search(r"content-length: (\d+)", head, re.I)[1])  # type: ignore[index]  # always sent
            request = json.loads(await reader.readexactly(length))
            assert head.startswith("POST /v1/embeddings ")
            self.requests.append(request)
            self.keys.append((re.findall(r"^authorization: Bearer (\S+)", head, re.I | re.M) or [""])[0])
            await self._write(request, writer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _write(self, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        way = self.ways.pop(0) if self.ways else self.always
        if self.needs_key and self.keys[-1] != KEY:
            way = "denied"
        status = {"busy": 429, "down": 503, "denied": 401, "redirect": 307}.get(way)
        texts = request["input"]
        if status is None and len(texts) > self.max_rows:
            status = 413
        if status is None and (max(map(len, texts)) > self.max_chars or (self._asked(request) and not self.base64)):
            status = 400
        if way == "silent":
            await asyncio.sleep(3_600)
        if status:
            more = f"retry-after: {self.retry_after}\r\nlocation: http://127.0.0.1:{self.port}/v1/embeddings\r\n"
            writer.write(f"HTTP/1.1 {status} X\r\n{more}content-length: 0\r\nconnection: close\r\n\r\n".encode())
            return
        content = await self._content(way, texts, in_base64=self._asked(request))
        length = len(content) if way != "huge" else 1 << 40
        writer.write(f"HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n".encode())
        if way == "cut":
            content = content[: len(content) // 2]
        writer.write(content)
        while way == "huge":
            writer.write(b" " * 65_536)
            await writer.drain()

    @staticmethod
    def _asked(request: dict[str, Any]) -> bool:
        return request.get("encoding_format") == "base64"

    async def _content(self, way: Way, texts: Sequence[str], *, in_base64: bool) -> bytes:
        vectors = await (self.other if way == "other" else self.model).embed(texts, "passage")
        if way == "other":
            vectors = vectors[:, ::-1]
        if way == "swapped":
            vectors = vectors[[*range(1, len(texts)), 0]]
        if way in ("nan", "infinite"):
            vectors[0, 0] = float("nan" if way == "nan" else "inf")
        vectors *= {"long": 2, "zero": 0}.get(way, 1)
        if way == "short":
            vectors = vectors[:, 1:]
        rows: list[dict[str, Any]] = [
            {
                "object": "embedding",
                "index": index,
                "embedding": base64.b64encode(vector.astype("<f4").tobytes()).decode()
                if in_base64
                else vector.tolist(),
            }
            for index, vector in enumerate(vectors)
        ]
        if way == "infinite" and not in_base64:
            rows[0]["embedding"][0] = 1e300
        if way == "text":
            rows[0]["embedding"] = [None] * 64
        rows = {"shuffled": rows[::-1], "missing": rows[1:], "twice": [rows[0], *rows[:-1]]}.get(way, rows)
        if way == "nonsense":
            return b"<html>not json"
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return json.dumps({"object": "list", "data": rows, "model": "any", "usage": usage}).encode()


@asynccontextmanager
async def embedding_server(**given: Any) -> AsyncIterator[EmbeddingServer]:
    """A running server on a free port."""
    made = EmbeddingServer(**given)
    server = await asyncio.start_server(made.answer, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
