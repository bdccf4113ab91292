"""A reader of ZIM files (https://wiki.openzim.org/wiki/ZIM_file_format), which Kiwix offers of many sites. Pure.

    header, list of media types, pointers to entries (by path) and to clusters, entries, clusters, MD5

An entry is a redirect, or it names its place: a blob of a cluster. A cluster is packed as a whole (zstd, xz or not at
all). So the pages are read in the order of their clusters, and one cluster is unpacked at a time. Any number in the
file may be false: each is compared with the size of the file, and a cluster with its limit. Why not `libzim`: see
docs/decisions/0119-zim-files.md.

A file in parts (`.zimaa`) is not read, and neither are clusters of before 2016 (zip, bzip2).
"""

import lzma
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

from backports import zstd

from streams.crawl.archives.unpacking import WINDOW_LOG

MAGIC = b"ZIM\x04"
MAX_TYPES = 10_000
MAX_TEXT_BYTES = 4_096
"""Maximum length of a path, a title or a media type (bytes)."""
MAX_CLUSTER_BYTES = 64 * 1024 * 1024
"""Maximum size of an unpacked cluster. Writers make clusters of 2 MB; a larger one holds one large file."""
MAX_RATIO = 200
"""Maximum size of all clusters that are read and unpacked, as a multiple of the size of the file.

Text has a ratio of 5 to 20. Clusters that are damaged or too large count too.
"""
_PIECE_BYTES = 1 << 20
_FREE_BYTES = 1 << 30
"""Size of unpacked clusters that each file may have, beside MAX_RATIO."""
_HEADER = struct.Struct("<4sHH16sIIQQQQIIQ")
_REDIRECT, _LINK_TARGET, _DELETED = 0xFFFF, 0xFFFE, 0xFFFD
_PLAIN, _XZ, _ZSTD = (0, 1), 4, 5
_EXTENDED = 0x10


class NotZim(ValueError):
    """The file is no ZIM file that can be read."""


class Entry(NamedTuple):
    """An entry of the directory. `cluster` is None for a redirect, and for an entry of a deleted page."""

    namespace: str
    path: str
    title: str
    kind: str
    """Media type; empty for a redirect."""
    cluster: int | None = None
    blob: int = 0


@dataclass(frozen=True, slots=True)
class Damaged:
    """Why an entry has no content."""

    reason: str


class ZimFile:
    """A ZIM file that is open. Raises NotZim."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = file.seek(0, 2)
        head = self._read(0, _HEADER.size)
        if len(head) < _HEADER.size or not head.startswith(MAGIC):
            raise NotZim("it does not begin like a ZIM file")
        _, _, _, _, self.entries, self.clusters, entries, _, clusters, types, _, _, end = _HEADER.unpack(head)
        if entries + 8 * self.entries > self._size or clusters + 8 * self.clusters > self._size:
            raise NotZim("it ends early, or it is one of several parts of a file: join them with `cat`")
        self._unpacked = 0
        """Number of bytes of clusters that were read or unpacked, also in vain."""
        self._entries_at, self._clusters_at, self._end = entries, clusters, min(end or self._size, self._size)
        self._types = self._read_types(types)

    def entry(self, number: int) -> Entry | Damaged:
        """Return an entry by its number, in the order of the paths."""
        place = self._pointer(self._entries_at, number)
        raw = self._read(place, 16 + 2 * MAX_TEXT_BYTES)
        if len(raw) < 12:
            return Damaged("an entry is not in the file")
        kind, _, namespace = struct.unpack_from("<HBc", raw)
        space = namespace.decode("latin-1")
        start = 8 if kind in (_LINK_TARGET, _DELETED) else 12 if kind == _REDIRECT else 16
        path, end = _text(raw, start)
        title, _ = _text(raw, end)
        if kind >= _DELETED:
            return Entry(space, path, title or path, "")
        if kind >= len(self._types):
            return Damaged("an entry has no media type")
        cluster, blob = struct.unpack_from("<II", raw, 8)
        return Entry(space, path, title or path, self._types[kind], cluster, blob)

    def find(self, namespace: str, path: str) -> Entry | None:
        """Return the entry with a path, by bisection: entries are in the order of namespaces and paths."""
        wanted, low, high = (namespace + path).encode(), 0, self.entries
        while low < high:
            middle = (low + high) // 2
            found = self.entry(middle)
            if isinstance(found, Damaged):
                return None
            key = (found.namespace + found.path).encode("utf-8", "surrogateescape")
            if key == wanted:
                return found
            low, high = (middle + 1, high) if key < wanted else (low, middle)
        return None

    def metadata(self, name: str) -> str:
        """Return a text of the metadata, such as `Source`; empty if there is none."""
        entry = self.find("M", name)
        if entry is None or entry.cluster is None:
            return ""
        content = next(iter(self.blobs(entry.cluster, [entry.blob], MAX_TEXT_BYTES)))
        return content.decode("utf-8", "replace").strip() if isinstance(content, bytes) else ""

    def blobs(self, cluster: int, numbers: list[int], max_bytes: int) -> Iterator[bytes | Damaged]:
        """Yield the content of blobs of a cluster. One of more than `max_bytes` has none."""
        try:
            content, width = self._unpack(cluster)
        except (NotZim, lzma.LZMAError, zstd.ZstdError, EOFError) as error:
            yield from (Damaged(f"a cluster is damaged ({error})") for _ in numbers)
            return
        count = int.from_bytes(content[:width], "little") // width - 1
        for number in numbers:
            if number >= count:
                yield Damaged("a page is not in its cluster")
                continue
            start, end = (
                int.from_bytes(content[width * each : width * (each + 1)], "little") for each in (number, number + 1)
            )
            if not start <= end <= len(content):
                yield Damaged("a page is not in its cluster")
            elif end - start > max_bytes:
                yield Damaged("too large")
            else:
                yield content[start:end]

    def _unpack(self, number: int) -> tuple[bytes, int]:
        """Return an unpacked cluster, and the width of its offsets."""
        if number >= self.clusters:
            raise NotZim("it is not in the file")
        if self._unpacked > _FREE_BYTES + MAX_RATIO * self._size:  # clusters may be said to be at the same place
            raise NotZim(f"all clusters unpack to more than {MAX_RATIO} times the size of the file")
        start = self._pointer(self._clusters_at, number)
        last = self._pointer(self._clusters_at, number + 1) if number + 1 < self.clusters else self._end
        if not start < last <= self._size:
            raise NotZim("its place is not in front of the next one's")
        info = self._read(start, 1)
        if not info:
            raise NotZim("it is not in the file")
        packing, width = info[0] & 0x0F, 8 if info[0] & _EXTENDED else 4
        packed = self._read(start + 1, min(last - start - 1, MAX_CLUSTER_BYTES + 1))
        self._unpacked += len(packed)
        if packing in _PLAIN:
            content = packed
        elif packing == _XZ:
            content = self._unpack_with(lzma.LZMADecompressor(memlimit=1 << 28), packed)
        elif packing == _ZSTD:
            unpacker = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: WINDOW_LOG})
            content = self._unpack_with(unpacker, packed)
        else:
            raise NotZim(f"it is packed in a way of before 2016 (number {packing})")
        if len(content) > MAX_CLUSTER_BYTES:
            raise NotZim(f"it has more than {MAX_CLUSTER_BYTES:,} bytes")
        return content, width

    def _unpack_with(self, unpacker: lzma.LZMADecompressor | zstd.ZstdDecompressor, packed: bytes) -> bytes:
        """Return what a cluster unpacks to, up to a piece beyond its limit. Each piece is counted before damage is."""
        content = bytearray()
        while not unpacker.eof and len(content) <= MAX_CLUSTER_BYTES:
            piece = unpacker.decompress(packed, _PIECE_BYTES)
            self._unpacked += len(piece)
            content += piece
            packed = b""
            if unpacker.needs_input and not piece:  # it ends early
                break
        return bytes(content)

    def _read_types(self, place: int) -> list[str]:
        raw = self._read(place, MAX_TYPES * 64)
        types: list[str] = []
        start = 0
        while len(types) < MAX_TYPES and (end := raw.find(b"\0", start)) > start:
            types.append(raw[start:end].decode("utf-8", "replace"))
            start = end + 1
        return types

    def _pointer(self, table: int, number: int) -> int:
        return int.from_bytes(self._read(table + 8 * number, 8), "little")

    def _read(self, place: int, size: int) -> bytes:
        if place >= self._size:
            return b""
        self._file.seek(place)
        return self._file.read(size)


def _text(raw: bytes, start: int) -> tuple[str, int]:
    """Return the text that ends with a zero, and the place behind it."""
    end = raw.find(b"\0", start, start + MAX_TEXT_BYTES)
    end = len(raw) if end < 0 else end
    return raw[start:end].decode("utf-8", "surrogateescape"), end + 1
