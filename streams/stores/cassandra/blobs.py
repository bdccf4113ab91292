"""Blobs in Cassandra: compressed, cut into chunks, found by the hash of their content, and verified when read.

If a blob of one chunk is there already, it is written again: a look-up costs as much as a write (measured: 3,700 of
either a second), and compaction merges the copies. A blob of several chunks is looked up first. That saves megabytes,
and chunks of two versions of the compressor are never mixed. After a day the stored chunks are written again as they
are, so that their write time shows a sweep that the blob is in use (`streams.maintenance`).
"""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import zstandard

from streams.errors import MissingBlob, PoisonError
from streams.stores.blobs import MAX_STORED_BYTES, BlobPlace, admitted, blob_ref
from streams.stores.cassandra.session import CassandraSession

CHUNK_BYTES = 512 * 1024
"""Size of a cell (bytes). Cassandra needs cells below 1 MB, and a write below half of a commit log segment (16 MB)."""
_LEVEL = 3
"""zstd's default level. On 1,500 pages of manuals: 18.0 % of the size at 411 MB/s; level 9 has 16.1 % at 84 MB/s."""
_THREAD_FROM_BYTES = 64 * 1024
"""Minimum size of a content that a thread hashes and compresses (bytes). At this size it takes about 0.5 ms."""
_PAGE_ROWS = 4
"""Number of chunks in one answer: 2 MiB, well below the protocol's frame limit of 16 MiB."""

REFRESH_SECONDS = 86_400
"""Seconds after which a blob of several chunks is written again if it is put again."""

_PUT = (
    "INSERT INTO blobs (ref, chunk, chunks, content) VALUES (:ref, :chunk, :chunks, :content) "
    "USING TIMESTAMP :at AND TTL :ttl"
)
_HEAD = "SELECT WRITETIME(chunks) FROM blobs WHERE ref = :ref AND chunk = 0"
_GET = "SELECT chunk, chunks, content FROM blobs WHERE ref = :ref"
_GET_OF_PAGE = "SELECT content FROM pages WHERE page_id = :page_id AND kind = 3 AND name = :name"


class CassandraBlobs:
    """Content-addressed bytes. They expire `ttl_days` after they were stored last. 0: never.

    `clock` returns the time in seconds since 1970 UTC.
    """

    def __init__(self, session: CassandraSession, ttl_days: int = 0, clock: Callable[[], float] = time.time) -> None:
        self._session = session
        self._ttl_seconds = ttl_days * 86_400
        self._clock = clock

    async def put(self, content: bytes) -> str:
        """Store the content and return its reference. Raises Refused for more than MAX_STORED_BYTES."""
        ref: str
        chunks: list[bytes]
        ref, chunks = await off_loop(len(content), _compress_content, admitted(content))
        key, now = bytes.fromhex(ref), self._clock()
        if len(chunks) > 1 and (head := await self._session.execute(_HEAD, {"ref": key})):
            if head[0][0] > (now - REFRESH_SECONDS) * 1e6:
                return ref
            chunks = await self._stored_chunks(key) or chunks
        shared = {"ref": key, "chunks": len(chunks), "ttl": self._ttl_seconds}
        rows = [{**shared, "chunk": number, "content": chunk} for number, chunk in enumerate(chunks)]
        # Contents never differ. The time shows a sweep that the blob is in use. Chunk 0 is written last: without it,
        # the other chunks are no blob.
        if rows[1:]:
            await self._session.execute_many(_PUT, rows[1:], at=int(now * 1e6))
        await self._session.execute_grouped((_PUT, {**rows[0], "at": int(now * 1e6)}))
        return ref

    async def _stored_chunks(self, key: bytes) -> list[bytes]:
        """Return the chunks of a blob as they are stored. The list is empty if a chunk is missing."""
        rows = await self._session.execute(_GET, {"ref": key}, page_rows=_PAGE_ROWS)
        whole = rows[0][1] if rows and rows[0][0] == 0 else 0
        return [content for _, _, content in rows[:whole]] if len(rows) >= whole else []

    async def get(self, ref: str) -> bytes:
        """Return the content. Raises MissingBlob, and PoisonError if the stored content has another hash."""
        place = BlobPlace.of(ref)
        frame = await self._frame_of_page(place) if place.page_id else await self._whole_frame(place)
        if frame is None:
            raise MissingBlob(f"no blob {ref} in Cassandra: it was never stored, or only in part, or is deleted")
        content: bytes = await off_loop(len(frame), _decompress_frame, ref, frame)
        return content

    async def _whole_frame(self, place: BlobPlace) -> bytes | None:
        rows = await self._session.execute(_GET, {"ref": place.hash}, page_rows=_PAGE_ROWS)
        # Behind the last chunk there may be chunks of a put that was cut off.
        is_whole = bool(rows) and rows[0][0] == 0
        return b"".join(content for chunk, _, content in rows if chunk < rows[0][1]) if is_whole else None

    async def _frame_of_page(self, place: BlobPlace) -> bytes | None:
        rows = await self._session.execute(_GET_OF_PAGE, {"page_id": place.page_id, "name": place.hash.hex()})
        return rows[0][0] if rows else None

    def hand_on(self, ref: str, content: bytes) -> None:
        """Keep nothing: the content is stored."""


class _Codecs(threading.local):
    """The compressor and decompressor of a thread: they must not be shared, and cost more to make than to use."""

    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(level=_LEVEL)
        self.decompressor = zstandard.ZstdDecompressor()


_codecs = _Codecs()


async def off_loop(size_bytes: int, work: Any, *args: Any) -> Any:
    """Run a function, in a thread if it has much to do."""
    return work(*args) if size_bytes < _THREAD_FROM_BYTES else await asyncio.to_thread(work, *args)


def compress(content: bytes) -> bytes:
    """Return the frame of a content."""
    frame: bytes = _codecs.compressor.compress(content)
    return frame


def _compress_content(content: bytes) -> tuple[str, list[bytes]]:
    """Return the reference, and the compressed content in chunks (at least one)."""
    frame = compress(content)
    return blob_ref(content), [frame[start : start + CHUNK_BYTES] for start in range(0, len(frame), CHUNK_BYTES)]


def _decompress_frame(ref: str, frame: bytes) -> bytes:
    try:
        size_bytes = zstandard.frame_content_size(frame)
        content = _codecs.decompressor.decompress(frame) if 0 <= size_bytes <= MAX_STORED_BYTES else b""
    except zstandard.ZstdError as error:
        raise PoisonError(f"blob {ref} in Cassandra is damaged ({error})") from error
    if blob_ref(content) != BlobPlace.of(ref).hash.hex():
        raise PoisonError(f"blob {ref} in Cassandra is damaged: its content has another hash")
    return content
