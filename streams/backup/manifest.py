"""The manifest of a backup: what it holds, with the size and checksum of each file. It is written last.

A folder without `manifest.json` is no backup: the command was interrupted. The other files are

    cassandra/TABLE.msgpack.zst       rows in the order of their tokens, with the time of each write
    kafka/TOPIC.msgpack.zst           records in the order of their offsets, partition by partition
    qdrant/COLLECTION.msgpack.zst     points with vectors and payload, in the order of their ids
"""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

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
