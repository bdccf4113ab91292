"""Files of items: MessagePack values in a zstd stream, written and read with bounded memory.

ext 1   UUID, 16 bytes, big endian (RFC 9562)
"""

import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import UUID

import msgpack
import zstandard

from streams.backup.manifest import Part, checksum
from streams.errors import UsageError

_UUID = 1
_LEVEL = 3
_READ_BYTES = 1 << 20
MAX_ITEM_BYTES = 64 * 1024 * 1024
"""Maximum size of one item. A row has at most a chunk of a blob (512 KiB), a record at most some megabytes."""


class ItemWriter:
    """A context manager that writes items to `folder / file`. After its end, `part` describes the file."""

    def __init__(self, folder: Path, file: str) -> None:
        self._folder, self._file = folder, file
        self.items = 0

    def __enter__(self) -> Self:
        self.path = self._folder / self._file
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._raw = self.path.open("wb")
        self._stream = zstandard.ZstdCompressor(level=_LEVEL).stream_writer(self._raw, closefd=False)
        self._packer = msgpack.Packer(default=_extension, use_bin_type=True)
        return self

    def write(self, item: Any) -> None:
        self._stream.write(self._packer.pack(item))
        self.items += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.flush(zstandard.FLUSH_FRAME)
        self._raw.flush()
        os.fsync(self._raw.fileno())
        self._raw.close()

    @property
    def part(self) -> Part:
        return Part(self._file, self.items, self.path.stat().st_size, checksum(self.path))


def read_items(folder: Path, part: Part) -> Iterator[Any]:
    """Yield the items of a file, in order. Raises UsageError for a damaged file."""
    unpacker = msgpack.Unpacker(
        ext_hook=_value, raw=False, use_list=True, strict_map_key=False, max_buffer_size=MAX_ITEM_BYTES
    )
    path = folder / part.file
    try:
        with path.open("rb") as raw, zstandard.ZstdDecompressor().stream_reader(raw) as stream:
            while block := stream.read(_READ_BYTES):
                unpacker.feed(block)
                yield from unpacker
    except (OSError, zstandard.ZstdError, msgpack.UnpackException, ValueError) as error:
        raise UsageError(f"{path} can't be read ({error})") from error


def _extension(value: Any) -> msgpack.ExtType:
    if isinstance(value, UUID):
        return msgpack.ExtType(_UUID, value.bytes)
    raise TypeError(f"a backup can't hold a {type(value).__name__}: {value!r}")


def _value(code: int, data: bytes) -> Any:
    if code == _UUID:
        return UUID(bytes=data)
    raise ValueError(f"unknown extension {code}: the backup was written by a newer release")
