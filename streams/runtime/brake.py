"""The brake on records that end their worker: such a record is set aside unread, so that its stage goes on.

A record may end the process (out of memory, a crash in native code) before any exception is caught. It is delivered
again, and ends the next process. A file beside the stack remembers what ran:

    orderly start        nothing is written for any record; only a mark that the process runs
    after a sudden end   each record is noted before it begins and when it ends, for WATCHED_RECORDS records. After
                         them only suspects are, so that the file stays small although a suspect may never come back
    another sudden end   the records that had begun and not ended are suspects. They run one at a time
    MAX_STRIKES ends     while the same suspect ran: it is set aside as a dead letter, without being read again

Workers of the same stages on one machine have a file each, and read the suspects of all: a record may come to any of
them. A worker takes over a file that nobody holds, as a restarted one does, before it makes another one. Workers start
one after the other: so each one knows what ended all of them, although all ended and start at the same moment. The
notes of each worker count strikes for themselves: nobody adds them up over workers.

So a kill of the whole machine sets no record aside: it would have to hit the same suspect each time. An orderly stop
and an end because of Kafka or the configuration leave no mark. The notes survive the process, not a loss of power.
"""

import asyncio
import fcntl
import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import orjson
import structlog

from streams.errors import RiffleError
from streams.runtime.records import Incoming
from streams.settings import Settings

log = structlog.get_logger()

MAX_STRIKES = 3
"""Number of sudden ends during one suspect after which it is set aside."""
MAX_WORKERS = 64
"""Maximum number of workers of the same stages with notes, on one machine."""
WATCHED_RECORDS = 10_000
"""Number of records that are noted after a sudden end. They include all records that were in progress."""
START_TRIES = 100
"""Maximum number of times that a worker waits for START_PAUSE_SECONDS while another one reads and writes its notes."""
START_PAUSE_SECONDS = 0.05


def notes_path(settings: Settings, stages: str) -> Path:
    """Return the file for the notes of a worker of these stages: the first one, if there are several workers.

    It survives a restart of the worker's container.
    """
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
    for kind, name, *count in _entries(lines):
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


def read_suspects(lines: list[bytes]) -> dict[str, int]:
    """Return the suspects in the lines of another worker, with their strikes. What runs there now is no suspect."""
    strikes: dict[str, int] = {}
    for kind, name, *count in _entries(lines):
        match kind:
            case "suspect":  # an older line may stand behind the present ones for a moment: see `Brake._take`
                strikes[name] = max(count[0], strikes.get(name, 0))
            case "end":
                strikes.pop(name, None)
    return strikes


def _entries(lines: list[bytes]) -> Iterator[list[Any]]:
    for line in lines:
        try:
            kind, name, *count = orjson.loads(line)
        except (orjson.JSONDecodeError, ValueError, TypeError):
            continue
        yield [kind, name, *count]


class Brake:
    """Notes which records run, after a sudden end of the process, and recognises the record that ends it."""

    def __init__(self, path: Path | None) -> None:
        """`path` is the file of the notes. None: nothing is noted, and no record is set aside."""
        self._first = self._path = path
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
            found = self._take_in_turn()
        except OSError as error:
            log.warning("no place for notes about sudden ends of this worker", path=str(self._path), error=str(error))
            return
        if found is None:
            log.warning("too many workers have notes about sudden ends", path=str(self._path), workers=MAX_WORKERS)
            return
        self._path, self._descriptor = found
        self._unnoted = WATCHED_RECORDS if self._notes.was_sudden else 0
        if self._notes.was_sudden:
            log.warning("the last process of this worker ended suddenly", suspects=len(self._notes.strikes))

    def _take_in_turn(self) -> tuple[Path, int] | None:
        """Take a file while no other worker does: else two that start together would miss each other's suspects."""
        assert self._first
        self._first.parent.mkdir(parents=True, exist_ok=True)
        with _turn(self._first.with_suffix(".starts")):
            return self._take()

    def _take(self) -> tuple[Path, int] | None:
        """Open a file that no other worker has, and write the marks of this process. None: there are too many."""
        assert self._first
        names = [
            self._first,
            *(self._first.with_suffix(f".{n}{self._first.suffix}") for n in range(2, MAX_WORKERS + 1)),
        ]
        for path in sorted(names, key=lambda path: not path.exists()):  # the notes of an ended worker first
            if (descriptor := _lock(path)) is None:
                continue
            try:
                self._notes = read_notes(_lines_of(descriptor))
                for other in names:
                    if other != path and other.exists():
                        self._learn(other)
                marks = [("runs", str(os.getpid())), *(("suspect", *item) for item in self._notes.strikes.items())]
                # Over the former notes, whose rest is cut off afterwards: another worker that starts reads this file at
                # any moment, and must find the suspects.
                written = os.write(descriptor, b"".join(orjson.dumps(mark) + b"\n" for mark in marks))
                os.ftruncate(descriptor, written)
            except OSError:
                os.close(descriptor)
                raise
            return path, descriptor
        return None

    def _learn(self, other: Path) -> None:
        """Learn the suspects of another worker. What had begun in one that has ended is a suspect, too."""
        try:
            if (descriptor := _lock(other, os.O_RDWR)) is None:
                suspects = read_suspects(other.read_bytes().splitlines())
            else:
                suspects = read_notes(_lines_of(descriptor)).strikes
                os.close(descriptor)
        except FileNotFoundError:  # it has just ended in order
            return
        for name, count in suspects.items():
            self._notes.strikes[name] = max(count, self._notes.strikes.get(name, 0))

    def end(self) -> None:
        """Note that the process ends in order: what runs at this moment is no suspect because of it."""
        if self._path and self._descriptor is not None:
            self._path.unlink(missing_ok=True)  # before the lock is released: then it is another worker's
            os.close(self._descriptor)
            self._descriptor = None
            self._path = self._first

    def is_suspect(self, incoming: Incoming) -> bool:
        """Return whether an earlier process ended suddenly while it handled the record."""
        return self._descriptor is not None and _name_of(incoming) in self._notes.strikes

    @asynccontextmanager
    async def watch(self, incoming: Incoming) -> AsyncIterator[EndsWorker | None]:
        """Note that the record runs. Yields why it must be set aside, or None if it may be handled."""
        if self._descriptor is None or (self._unnoted <= 0 and not self._notes.strikes):
            yield None
            return
        name = _name_of(incoming)
        if name in self._notes.strikes:
            async with self._lane:
                strikes = self._notes.strikes[name]
                async with self._noted("suspect begins", name):
                    yield _verdict(strikes)
                self._notes.strikes.pop(name, None)
        elif self._unnoted > 0:
            self._unnoted -= 1
            async with self._noted("begin", name):
                yield None
        else:
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


def _name_of(incoming: Incoming) -> str:
    return f"{incoming.topic}/{incoming.partition}/{incoming.offset}/{incoming.time}"


@contextmanager
def _turn(path: Path) -> Iterator[None]:
    """Hold a lock while the block runs. A process that stands still with it delays others for some seconds only."""
    descriptor = None
    for _ in range(START_TRIES):
        if (descriptor := _lock(path)) is not None:
            break
        time.sleep(START_PAUSE_SECONDS)
    try:
        yield
    finally:
        if descriptor is not None:
            path.unlink(missing_ok=True)  # before the lock is released: then it is another worker's
            os.close(descriptor)


def _lock(path: Path, flags: int = os.O_RDWR | os.O_CREAT) -> int | None:
    """Open a file and lock it. None: another process has it, or removed it just now."""
    descriptor = os.open(path, flags, 0o600)
    try:
        # A lock of this process only: processes that it forks don't keep it. It ends if this process opens the file
        # again and closes it, so nobody does.
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), path.stat()):
            return descriptor
    except (BlockingIOError, PermissionError, FileNotFoundError):
        pass
    os.close(descriptor)
    return None


def _lines_of(descriptor: int) -> list[bytes]:
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0).splitlines()


def _verdict(strikes: int) -> EndsWorker | None:
    if strikes < MAX_STRIKES:
        return None
    return EndsWorker(f"the worker's process ended {strikes} times while it handled this record")
