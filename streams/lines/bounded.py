"""Reads lines of files in bounded memory: the one reader of files that have an entry on each line. Pure.

A file may have one line without an end, and 5 MB of gzip may unpack to gigabytes of it. So a line is held only up to a
number of bytes; of a longer one, only its number and its end are known. A line ends at a line feed.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from streams.errors import UsageError

MAX_LINE_BYTES = 16 << 20
"""Maximum length of a line of an operator's own file (bytes)."""
MAX_FILE_BYTES = 64 << 20
"""Maximum length of a file that is read as a whole (bytes): 2 million seeds."""
BLOCK_BYTES = 1 << 16

Line = tuple[int, bytes | None]
"""The number of a line, from 1 on, and its bytes without the line feed. None: it is too long."""


class LineCutter:
    """Cuts blocks of bytes into lines."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes, self._rest, self._is_too_long = max_bytes, bytearray(), False

    def feed(self, block: bytes) -> Iterator[tuple[bytes | None, int]]:
        """Yield each line that ends in the block, or None for one that is too long, and the place behind it there."""
        begin = 0
        while (end := block.find(b"\n", begin)) >= 0:
            self._keep(block[begin:end])
            begin = end + 1
            yield self._end(), begin
        self._keep(block[begin:])

    def finish(self) -> bytes | None:
        """Return the bytes behind the last line feed, or None if they are too long."""
        return self._end()

    def _keep(self, piece: bytes) -> None:
        if self._is_too_long or len(self._rest) + len(piece) > self._max_bytes:
            self._is_too_long = True
            self._rest.clear()
        else:
            self._rest += piece

    def _end(self) -> bytes | None:
        line = None if self._is_too_long else bytes(self._rest)
        self._is_too_long = False
        self._rest.clear()
        return line


def cut_lines(blocks: Iterable[bytes], max_bytes: int) -> Iterator[Line]:
    """Yield the lines of consecutive blocks."""
    cutter, number = LineCutter(max_bytes), 0
    for block in blocks:
        for line, _ in cutter.feed(block):
            number += 1
            yield number, line
    if (last := cutter.finish()) != b"":
        yield number + 1, last


def lines_of(file: BinaryIO, max_bytes: int = MAX_LINE_BYTES) -> Iterator[Line]:
    """Yield the lines of an open file."""
    return cut_lines(iter(lambda: file.read(BLOCK_BYTES), b""), max_bytes)


def read_whole(path: Path, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """Return the content of a file that an operator named: a pipe, too. Raises UsageError if it is too long."""
    try:
        with path.open("rb") as file:
            content = file.read(max_bytes + 1)
    except OSError as error:
        raise UsageError(f"{path} can't be read ({error.strerror})") from error
    if len(content) > max_bytes:
        raise UsageError(f"{path} has more than {max_bytes:,} bytes. Split it")
    return content
