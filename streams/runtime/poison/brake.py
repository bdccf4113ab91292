"""The brake on records that end their worker: such a record is set aside unread, so that its stage goes on.

A record may end the process (out of memory, a crash in native code) before any exception is caught. It is delivered
again, and ends the next process. A file beside the stack remembers what ran:

    orderly start        nothing is written for any record; only a mark that the process runs
    after a sudden end   each record is noted before it begins and when it ends, for WATCHED_RECORDS records
    another sudden end   the records that had begun and not ended are suspects. They run one at a time
    MAX_STRIKES ends     while the same suspect ran: it is set aside as a dead letter, without being read again

So a kill of the whole machine sets no record aside: it would have to hit the same suspect each time. An orderly stop
and an end because of Kafka or the configuration leave no mark. The notes survive the process, not a loss of power.
"""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import gettempdir

import orjson
import structlog

from streams.errors import RiffleError
from streams.runtime.records import Incoming
from streams.settings import Settings

log = structlog.get_logger()

MAX_STRIKES = 3
"""Number of sudden ends during one suspect after which it is set aside."""
WATCHED_RECORDS = 10_000
"""Number of records that are noted after a sudden end. They include all records that were in progress."""


def notes_path(settings: Settings, stages: str) -> Path:
    """Return the file for the notes of a worker of these stages. It survives a restart of the worker's container."""
    folder = settings.home if settings.profile == "local" else Path(gettempdir()) / "riffle"
    instance = f"-{settings.runtime.instance}" if settings.runtime.instance else ""
    return folder / "sudden-ends" / f"{stages}{instance}.jsonl"


class EndsWorker(RiffleError):
    """The process ended several times while it handled this record."""


@dataclass(slots=True)
class Notes:
    """The notes of earlier processes."""

    strikes: dict[str, int] = field(default_factory=dict)
    """The suspects, each with the number of sudden ends while it ran."""
    was_sudden: bool = False
    """True if the last process ended suddenly."""


def read_notes(lines: list[bytes]) -> Notes:
    """Return the notes in the lines of a file. A line that was cut short is ignored."""
    strikes: dict[str, int] = {}
    begun: dict[str, str] = {}
    for line in lines:
        try:
            kind, name, *count = orjson.loads(line)
        except (orjson.JSONDecodeError, ValueError, TypeError):
            continue
        match kind:
            case "suspect":
                strikes[name] = count[0]
            case "begin" | "suspect begins":
                begun[name] = kind
            case "end":
                begun.pop(name, None)
                strikes.pop(name, None)
    for name, kind in begun.items():
        strikes[name] = strikes.get(name, 0) + (kind == "suspect begins")
    return Notes(strikes, was_sudden=bool(lines))


class Brake:
    """Notes which records run, after a sudden end of the process, and recognises the record that ends it."""

    def __init__(self, path: Path | None) -> None:
        """`path` is the file of the notes. None: nothing is noted, and no record is set aside."""
        self._path = path
        self._notes = Notes()
        self._unnoted = 0
        """Number of records that are still to be noted."""
        self._lane = asyncio.Lock()
        self._descriptor: int | None = None

    def begin(self) -> None:
        """Read the notes of the last process, and mark that this one runs. Does nothing without a place for notes."""
        if self._path is None:
            return
        try:
            self._descriptor = self._open(self._path)
        except OSError as error:
            log.warning("no place for notes about sudden ends of this worker", path=str(self._path), error=str(error))
            return
        self._unnoted = WATCHED_RECORDS if self._notes.was_sudden else 0
        if self._notes.was_sudden:
            log.warning("the last process of this worker ended suddenly", suspects=len(self._notes.strikes))

    def _open(self, path: Path) -> int:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            # A lock of this process only: processes that it forks don't keep it. Another worker has its own notes.
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._notes = read_notes(os.pread(descriptor, os.fstat(descriptor).st_size, 0).splitlines())
            os.ftruncate(descriptor, 0)
            marks = [("runs", str(os.getpid())), *(("suspect", *item) for item in self._notes.strikes.items())]
            os.write(descriptor, b"".join(orjson.dumps(mark) + b"\n" for mark in marks))
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    def end(self) -> None:
        """Note that the process ends in order: what runs at this moment is no suspect because of it."""
        if self._path and self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
            self._path.unlink(missing_ok=True)

    @asynccontextmanager
    async def watch(self, incoming: Incoming) -> AsyncIterator[EndsWorker | None]:
        """Note that the record runs. Yields why it must be set aside, or None if it may be handled."""
        if self._descriptor is None or (self._unnoted <= 0 and not self._notes.strikes):
            yield None
            return
        name = f"{incoming.topic}/{incoming.partition}/{incoming.offset}/{incoming.time}"
        if name in self._notes.strikes:
            async with self._lane:
                strikes = self._notes.strikes[name]
                async with self._noted("suspect begins", name):
                    yield _verdict(strikes)
                self._notes.strikes.pop(name, None)
        else:
            self._unnoted -= 1
            async with self._noted("begin", name):
                yield None

    @asynccontextmanager
    async def _noted(self, kind: str, name: str) -> AsyncIterator[None]:
        self._write(kind, name)
        try:
            yield
        except (Exception, asyncio.CancelledError):
            self._write("end", name)  # the process goes on, or ends in order
            raise
        self._write("end", name)

    def _write(self, *note: str) -> None:
        if self._descriptor is not None:
            os.write(self._descriptor, orjson.dumps(note) + b"\n")


def _verdict(strikes: int) -> EndsWorker | None:
    if strikes < MAX_STRIKES:
        return None
    return EndsWorker(f"the worker's process ended {strikes} times while it handled this record")
