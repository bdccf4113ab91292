"""The files of a backup: its manifest, and files of items, which are written and read with bounded memory.

Items are MessagePack values in a zstd stream. ext 1: UUID, 16 bytes, big endian (RFC 9562).
"""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import UUID

import msgpack
import zstandard

from streams.errors import UsageError

FORMAT = 1
_READ_BYTES = 1 << 20
Progress = Callable[[str, int], None]
"""A function that gets the name of a part and the number of its items that are done."""


@dataclass(frozen=True, slots=True)
class Part:
    """One file of a backup."""

    file: str
    items: int
    bytes: int
    checksum: str


@dataclass(slots=True)
class Manifest:
    """The content of a backup."""

    started: str
    """Time (ISO 8601, UTC) before anything was read."""
    release: str
    format: int = FORMAT
    keyspace: str = ""
    migrations: dict[str, str] = field(default_factory=dict)
    """The migrations that were applied, with their checksums."""
    tables: dict[str, Part] = field(default_factory=dict)
    topics: dict[str, Part] = field(default_factory=dict)
    partitions: dict[str, int] = field(default_factory=dict)
    """The number of partitions of each topic."""
    committed: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    """Stage -> topic -> partition -> number of this backup's records of that partition that the stage has handled."""
    collections: dict[str, Part] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    descriptions: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Collection -> the request that creates it, and its payload indexes."""

    def parts(self) -> Iterator[tuple[str, Part]]:
        """Yield all files, each with a name for people."""
        for kind, parts in (("table", self.tables), ("topic", self.topics), ("collection", self.collections)):
            for name, part in parts.items():
                yield f"{kind} {name}", part

    def write(self, folder: Path) -> None:
        """Write the manifest so that a crash leaves no manifest or a whole one."""
        draft = folder / "manifest.json.new"
        with draft.open("w") as file:
            json.dump(asdict(self), file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(folder / "manifest.json")


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a folder. Raises UsageError."""
    try:
        content = json.loads((folder / "manifest.json").read_text())
        if content["format"] != FORMAT:
            raise UsageError(f"{folder} is a backup of format {content['format']}, and this release reads {FORMAT}")
        kinds = ("tables", "topics", "collections")
        parts: dict[str, Any] = {
            kind: {name: Part(**part) for name, part in content.pop(kind).items()} for kind in kinds
        }
        return Manifest(**content, **parts)
    except FileNotFoundError:
        raise UsageError(f"{folder} holds no backup: there is no manifest.json, which is written last") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{folder / 'manifest.json'} can't be read ({error})") from error


def verify(folder: Path, manifest: Manifest, progress: Progress = lambda _name, _done: None) -> None:
    """Compare each file with its size and checksum. Raises UsageError, naming what is wrong."""
    for number, (name, part) in enumerate(manifest.parts(), start=1):
        path = folder / part.file
        if not path.is_file():
            raise UsageError(f"the backup lacks {path} ({name})")
        if path.stat().st_size != part.bytes or checksum(path) != part.checksum:
            raise UsageError(f"{path} ({name}) is damaged: its content differs from what was written")
        progress("Verified", number)


def checksum(path: Path) -> str:
    """Return the blake2b-256 of a file."""
    digest = blake2b(digest_size=32)
    with path.open("rb") as file:
        while block := file.read(_READ_BYTES):
            digest.update(block)
    return digest.hexdigest()


_UUID = 1
_LEVEL = 3
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
