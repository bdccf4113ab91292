"""The log of a collection: the points that were written and the ids that were removed, in order.

It is the truth about everything that is in no run yet: the shard for new points is made from it at each start. A record
is written before the request is answered, so it survives the death of the process; `sync` lets it survive a fault
of the machine. A record is `length (4 bytes), CRC-32 of the rest (4), kind (1), content`.
"""

import os
import struct
import threading
import zlib
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Any

import orjson

from streams.local.qdrant_server.layout import sync

WRITTEN, REMOVED = b"W", b"R"
"""Kinds of records: the body of a request that writes points; a list of ids."""
_HEADER = struct.Struct("<II")


class WriteAheadLog:
    """The log's files in a folder: one for each shard of new points, with rising numbers. The last one is written."""

    def __init__(self, folder: Path, first: int) -> None:
        """Open the log. Files before `first` belong to runs, and are removed."""
        self._folder = folder
        folder.mkdir(exist_ok=True)
        self.drop_before(first)
        self.last = max((int(path.name) for path in folder.iterdir()), default=first)
        _cut_torn_record(self.path(self.last))
        self._syncing = threading.Lock()
        self._file = self._open()

    def append(self, kind: bytes, content: bytes) -> None:
        record = kind + content
        data = _HEADER.pack(len(record), zlib.crc32(record)) + record
        start = self._file.tell()
        try:
            written = self._file.write(data)
            if written != len(data):
                raise OSError(f"only {written} of {len(data)} bytes were written")
        except OSError:
            self._file.truncate(start)  # or what follows would stand behind half a record
            self._file.seek(start)
            raise

    def rotate(self) -> int:
        """Begin the next file. Return the number of the file that ends here."""
        ended = self.last
        self.sync()
        self.last += 1
        with self._syncing:
            self._file.close()
            self._file = self._open()
        return ended

    def sync(self) -> None:
        """Write what was appended to the disk. Appending and reading go on meanwhile."""
        with self._syncing:
            if not self._file.closed:
                os.fsync(self._file.fileno())

    def close(self) -> None:
        with self._syncing:
            self._file.close()

    def drop_before(self, first: int) -> None:
        """Remove files whose points are in runs."""
        for path in self._folder.iterdir():
            if int(path.name) < first:
                path.unlink()

    def files(self) -> list[Path]:
        return [self._folder / f"{number:08}" for number in sorted(int(path.name) for path in self._folder.iterdir())]

    def path(self, number: int) -> Path:
        return self._folder / f"{number:08}"

    def _open(self) -> FileIO:
        file = FileIO(self.path(self.last), "a")
        sync(self._folder)
        return file


def read_records(path: Path) -> Iterator[tuple[bytes, bytes]]:
    """Yield the kind and the content of each whole record."""
    for kind, content, _ in _records(path):
        yield kind, content


def written_points(content: bytes) -> list[dict[str, Any]]:
    points: list[dict[str, Any]] = orjson.loads(content)["points"]
    return points


def _records(path: Path) -> Iterator[tuple[bytes, bytes, int]]:
    if not path.exists():
        return
    with path.open("rb") as file:
        while len(header := file.read(_HEADER.size)) == _HEADER.size:
            length, checksum = _HEADER.unpack(header)
            record = file.read(length)
            if len(record) != length or zlib.crc32(record) != checksum:
                return
            yield record[:1], record[1:], file.tell()


def _cut_torn_record(path: Path) -> None:
    """Remove what a killed process wrote of a record that it did not acknowledge."""
    end = max((end for _, _, end in _records(path)), default=0)
    if path.exists() and path.stat().st_size > end:
        os.truncate(path, end)
