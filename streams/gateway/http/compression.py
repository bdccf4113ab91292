"""The compression of answers: Zstandard, Brotli or gzip, as the client accepts. starlette-compress does it.

A page leaves in parts, so the compressor is flushed behind each of them: a browser shows the head and the search box
while the results are still looked for. No answer has a secret beside text that a stranger chose, so the length of an
answer tells nothing (the attack BREACH).
"""

from fastapi import FastAPI
from starlette_compress import CompressMiddleware, add_compress_type

BROTLI_QUALITY = 5
ZSTD_LEVEL = 6
GZIP_LEVEL = 6
"""The levels: a page of ten results takes less than a millisecond with each of them."""


def install(app: FastAPI) -> None:
    """Make the app compress its answers."""
    add_compress_type("text/html", streaming=True)
    add_compress_type("application/problem+json")
    app.add_middleware(CompressMiddleware, brotli_quality=BROTLI_QUALITY, zstd_level=ZSTD_LEVEL, gzip_level=GZIP_LEVEL)
