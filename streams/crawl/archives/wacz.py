"""The WARC files in the folder `archive` of a WACZ file (https://specs.webrecorder.net/wacz/1.1.1/), a zip. Pure.

The standard stores them without further compression, so they are read where they are. The zip's directory is read with
limits and by itself: `zipfile` would hold as many entries as a file claims to have. What is encrypted, or compressed
again by the zip, is not read.
"""

import bisect
import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

MAGIC = b"PK\x03\x04"
MAX_DIRECTORY_BYTES = 64 * 1024 * 1024
MAX_WARCS = 10_000
"""Maximum number of WARC files that are read. Writers make one of each gigabyte."""
_END, _END_64, _ENTRY, _LOCAL = b"PK\x05\x06", b"PK\x06\x06", b"PK\x01\x02", b"PK\x03\x04"
_END_BYTES = 22
_TAIL_BYTES = 65_535 + _END_BYTES + 20 + 56
"""Maximum length of the end of a zip: its comment, and the records of the directory's place."""
_HEAD = struct.Struct("<4s2x2xHH2x2x4xIIHHH2x2x4xI")
_FOLDER = "archive/"
_ENCRYPTED, _STORED = 1, 0
_FULL = 0xFFFFFFFF
"""A size or place that stands in the entry's extra field (zip64)."""


class NotWacz(ValueError):
    """The file is no WACZ file that can be read."""


@dataclass(frozen=True, slots=True)
class PackedWarc:
    """A WARC file in a WACZ file. Without a `file` it can't be read where it is, for a reason."""

    name: str
    file: BinaryIO | None
    reason: str = ""


PACKED = "a WARC file packed by the zip: unpack it with `unzip`, and import it by itself"
FALSE_PLACE = "a WARC file that is not at its place in the zip"
SHARED_PLACE = "a WARC file at the place of another one in the zip"
TOO_MANY = f"one of more than {MAX_WARCS:,} WARC files in one zip"


class _Part(io.RawIOBase):
    """A part of a file, as a file."""

    def __init__(self, file: BinaryIO, start: int, size: int) -> None:
        self._file, self._start, self._size, self._at = file, start, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = max(0, offset + (0, self._at, self._size)[whence])
        return self._at

    def read(self, size: int = -1) -> bytes:
        left = max(0, self._size - self._at)
        self._file.seek(self._start + self._at)
        content = self._file.read(left if size < 0 else min(size, left))
        self._at += len(content)
        return content


def warcs_of(file: BinaryIO) -> Iterator[PackedWarc]:
    """Yield the WARC files, in the order of the directory. Raises NotWacz."""
    directory = _read_directory(file)
    at = 0
    parts = _Parts(file)
    found = False
    while (head := directory[at : at + _HEAD.size]).startswith(_ENTRY) and len(head) == _HEAD.size:
        _, flags, method, packed, size, name_bytes, extra_bytes, comment_bytes, place = _HEAD.unpack(head)
        start = at + _HEAD.size
        name = directory[start : start + name_bytes].decode("utf-8", "replace")
        extra = directory[start + name_bytes : start + name_bytes + extra_bytes]
        at = start + name_bytes + extra_bytes + comment_bytes
        if not name.startswith(_FOLDER) or not name.endswith((".warc", ".warc.gz", ".warc.zst")):
            continue
        found = True
        size, packed, place = _wide(extra, size, packed, place)
        is_readable = method == _STORED and not flags & _ENCRYPTED
        part = parts.open(place, packed) if is_readable else PACKED
        yield PackedWarc(name, None, part) if isinstance(part, str) else PackedWarc(name, part)
    if not found:
        raise NotWacz("it is a zip without any WARC file in its folder `archive`")


def _read_directory(file: BinaryIO) -> bytes:
    size = file.seek(0, 2)
    file.seek(max(0, size - _TAIL_BYTES))
    tail = file.read(_TAIL_BYTES)
    end = tail.rfind(_END)
    while end >= 0 and not _is_end(tail[end:]):  # a comment may look like an end
        end = tail.rfind(_END, 0, end)
    if end < 0:
        raise NotWacz("it ends early: it has no directory")
    length, place = struct.unpack_from("<II", tail, end + 12)
    wide = tail.rfind(_END_64, 0, end)
    if (length == _FULL or place == _FULL) and wide >= 0 and len(tail) - wide >= 56:
        length, place = struct.unpack_from("<QQ", tail, wide + 40)
    if length > MAX_DIRECTORY_BYTES:
        raise NotWacz(f"its directory has {length:,} bytes, and {MAX_DIRECTORY_BYTES:,} are read")
    file.seek(min(place, size))
    return file.read(length)


def _is_end(record: bytes) -> bool:
    """Return whether the last record of a zip ends where its comment does."""
    return len(record) >= _END_BYTES and len(record) == _END_BYTES + int.from_bytes(record[20:22], "little")


def _wide(extra: bytes, *values: int) -> list[int]:
    """Return size, packed size and place, those that are too large for 32 bits from the extra field."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        if kind == 1:
            longs = iter(struct.unpack_from(f"<{min(length, len(extra) - at - 4) // 8}Q", extra, at + 4))
            return [next(longs, value) if value == _FULL else value for value in values]
        at += 4 + length
    return list(values)


class _Parts:
    """The parts of a zip that were opened. No two of them share bytes, so that all together are read once."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = file.seek(0, 2)
        self._taken: list[tuple[int, int]] = []
        """Place of each part, and the place behind it, in order."""

    def open(self, place: int, size: int) -> BinaryIO | str:
        """Return the part with its header at a place, or the reason why there is none."""
        if place >= self._size:
            return FALSE_PLACE
        self._file.seek(place)
        head = self._file.read(30)
        if len(head) < 30 or not head.startswith(_LOCAL):
            return FALSE_PLACE
        name_bytes, extra_bytes = struct.unpack_from("<HH", head, 26)
        start = place + 30 + name_bytes + extra_bytes
        if start + size > self._size:
            return FALSE_PLACE
        index = bisect.bisect(self._taken, (place, 0))
        is_behind = index == 0 or self._taken[index - 1][1] <= place
        is_in_front = index == len(self._taken) or start + size <= self._taken[index][0]
        if not is_behind or not is_in_front:
            return SHARED_PLACE
        if len(self._taken) >= MAX_WARCS:
            return TOO_MANY
        self._taken.insert(index, (place, start + size))
        return _Part(self._file, start, size)  # type: ignore[return-value]  # it has what is read
