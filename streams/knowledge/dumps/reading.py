"""Reads a dump of any size in bounded memory: plain, gzip or bzip2, cut into lines or `<page>` elements.

A dump may be a row of compressed members, as the multistream dumps of Wikipedia are. The place of an item names the
member that it ends in, so that reading goes on from there. The bytes of that member before the place are unpacked
again, but not parsed.
"""

import bz2
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol

from streams.crawl.archives.regular_files import open_regular
from streams.errors import UsageError
from streams.lines.bounded import LineCutter

BLOCK_BYTES = 1 << 20
MAX_ITEM_BYTES = 32 << 20
"""Maximum size of an item. The largest items of Wikidata have 5 MB, a page of MediaWiki at most 2 MiB of text."""
_PAGE, _PAGE_END = b"<page>", b"</page>"
Cut = Literal["lines", "pages"]


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a dump: where its member begins in the file, and the bytes of the member, unpacked, before it."""

    member: int = 0
    skip: int = 0


@dataclass(frozen=True, slots=True)
class Item:
    """A line or page, and the place behind it. `content` is empty if the item was too large to read."""

    content: bytes
    place: Place


class _Decompressor(Protocol):
    """A decompressor of one member, of bzip2 or of gzip."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...


def _unpack(inner: Any, data: bytes) -> Iterator[bytes]:
    """Yield what these bytes of a member unpack to, at most BLOCK_BYTES at a time."""
    yield inner.decompress(data, BLOCK_BYTES)
    if isinstance(inner, bz2.BZ2Decompressor):
        while not inner.eof and not inner.needs_input:
            yield inner.decompress(b"", BLOCK_BYTES)
    else:
        while not inner.eof and (rest := inner.unconsumed_tail):
            yield inner.decompress(rest, BLOCK_BYTES)


class Dump:
    """A dump that is read from a place on. `read_bytes` is the place in the file, for the progress."""

    def __init__(self, path: Path, cut: Cut, start: Place = Place(), *, in_array: bool = False) -> None:
        self.path, self._cut, self._start = path, cut, start
        self.size_bytes = path.stat().st_size
        self.read_bytes = 0
        self.is_whole = False
        """True once the end was read that a finished dump has: `]` or `</mediawiki>`."""
        self._has_brackets: bool | None = None if start == Place() else in_array
        self.too_large = 0
        """Number of items that were left out for their size."""

    @property
    def in_array(self) -> bool:
        """True if the lines are an array, which ends with a bracket. A reading that goes on must know it."""
        return bool(self._has_brackets)

    def items(self) -> Iterator[Item]:
        """Yield the items in order. Raises UsageError for a file that can't be read or is damaged."""
        try:
            with open_regular(self.path) as file:
                yield from self._lines(file) if self._cut == "lines" else self._pages(file)
        except (OSError, EOFError, zlib.error, ValueError) as error:
            raise UsageError(f"{self.path} can't be read at byte {self.read_bytes:,} ({error})") from error

    def _blocks(self, file: BinaryIO) -> Iterator[tuple[bytes, Place]]:
        """Yield unpacked blocks from the start on, each with the place at which it begins."""
        magic = file.read(3)
        is_bzip2 = magic == b"BZh"
        file.seek(self._start.member)
        if not is_bzip2 and magic[:2] != b"\x1f\x8b":
            yield from self._plain_blocks(file)
            return
        member, rest, skip = self._start.member, b"", self._start.skip
        while True:
            unpacker: _Decompressor = bz2.BZ2Decompressor() if is_bzip2 else zlib.decompressobj(wbits=31)
            place, is_fed = 0, False
            while not unpacker.eof:
                data = rest or file.read(BLOCK_BYTES)
                rest = b""
                self.read_bytes = file.tell()
                if not data:
                    if not is_fed:
                        return
                    raise EOFError("the file ends in the middle of a compressed part")
                is_fed = True
                for block in _unpack(unpacker, data):
                    if place + len(block) > skip:
                        begin = max(0, skip - place)
                        yield block[begin:], Place(member, place + begin)
                    place += len(block)
            skip = 0
            rest = unpacker.unused_data.lstrip(b"\0")
            member = file.tell() - len(rest)
            if not rest and not (rest := file.read(BLOCK_BYTES)):
                return

    def _plain_blocks(self, file: BinaryIO) -> Iterator[tuple[bytes, Place]]:
        place = self._start.member + self._start.skip
        file.seek(place)
        while block := file.read(BLOCK_BYTES):
            yield block, Place(0, place)
            place += len(block)
            self.read_bytes = place

    def _lines(self, file: BinaryIO) -> Iterator[Item]:
        cutter, place = LineCutter(MAX_ITEM_BYTES), self._start
        for block, begin in self._blocks(file):
            for line, behind in cutter.feed(block):
                if item := self._item_of(line):
                    yield Item(item, Place(begin.member, begin.skip + behind))
            place = Place(begin.member, begin.skip + len(block))
        if item := self._item_of(cutter.finish()):
            yield Item(item, place)

    def _item_of(self, line: bytes | None) -> bytes:
        """Return the line without the brackets and commas of an array around it. A file without brackets has no end
        mark: its end is the end. A line that is too long is only counted."""
        if line is None:
            self.too_large += 1
            return b""
        line = line.strip(b" \t\r")
        if self._has_brackets is None and line:
            self._has_brackets = line.startswith(b"[")
        self.is_whole = not self._has_brackets or line.endswith(b"]") or (self.is_whole and not line)
        return line.rstrip(b",") if line not in (b"[", b"]") else b""

    def _pages(self, file: BinaryIO) -> Iterator[Item]:
        """`<page>` in a text is written `&lt;page&gt;`: so the marks are found as they are."""
        rest, tail = bytearray(), b""
        for block, begin in self._blocks(file):
            rest += block
            done = 0
            while (first := rest.find(_PAGE, done)) >= 0 and (end := rest.find(_PAGE_END, first)) >= 0:
                done = end + len(_PAGE_END)
                yield Item(bytes(rest[first:done]), _back(begin, len(block), len(rest) - done))
            # What is left begins at an unfinished page, or may end with the beginning of its mark.
            del rest[: first if first >= 0 else max(done, len(rest) - len(_PAGE))]
            if len(rest) > MAX_ITEM_BYTES:
                self.too_large += 1
                rest.clear()
            tail = (tail + block)[-200:]
        self.is_whole = b"</mediawiki>" in tail


def _back(begin: Place, length: int, behind: int) -> Place:
    """Return the place that is `behind` bytes before the end of a block. An item never ends before its last block."""
    return Place(begin.member, begin.skip + length - behind)
