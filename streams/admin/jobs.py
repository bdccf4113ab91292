"""Long jobs that operators start from the pages: commands of the command line, each in a process of its own.

A job is one of a fixed list of commands. The values of a form become single arguments, and none may begin with a dash.
So a form starts nothing else. The jobs and their last lines are kept in memory. A restart of the process ends them.
Each of these commands continues, or changes nothing twice, when it is started again.
"""

import asyncio
import re
import socket
import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from schemas.envelope import utc_from_micros
from streams.errors import UsageError
from streams.plain_text import clean_line
from streams.stores.job_reports import JobReport

MAX_JOBS = 50
"""Maximum number of jobs that are remembered."""
MAX_RUNNING = 4
KEPT_LINES = 20
READ_BYTES = 8_192
MAX_LINE_CHARS = 500
GRACE_SECONDS = 20.0
_LINE_END = re.compile(r"[\r\n]+")  # a progress bar ends its lines with a return
RIFFLE = (sys.executable, "-c", "from streams.cli import main; main()")

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "crawl": ("crawl", "--no-wait", "--depth"),
    "replay": ("replay", "--from", "normalize", "--host"),
    "remove": ("remove", "--yes", "--"),
    "reindex": ("reindex",),
    "sweep": ("blobs", "sweep"),
    "rank": ("links", "rank"),
    "map": ("map",),
    "block": ("frontier", "set", "--block"),
    "unblock": ("frontier", "set", "--unblock"),
    "purge": ("frontier", "set", "--drop-queue", "--yes"),
    "delay": ("frontier", "set", "--delay"),
    "budget": ("frontier", "set", "--budget"),
}
"""Arguments of each job, before the values of its form."""


@dataclass(slots=True)
class Job:
    """A job that was started."""

    number: int
    name: str
    arguments: tuple[str, ...]
    actor: str
    started_at: datetime
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=KEPT_LINES))
    status: int | None = None
    """Exit status. None: it runs."""
    pid: int = 0
    """The process, by which the reports of the job are found."""

    @property
    def command(self) -> str:
        """The command as a person would type it."""
        return " ".join(("riffle", *self.arguments))


class TooManyJobs(UsageError):
    """No further job can run now. `running` are those that do."""

    def __init__(self, running: Sequence[Job]) -> None:
        super().__init__(f"{len(running)} jobs run. Wait until one has ended, or stop it")
        self.running = tuple(running)


def _shown(line: str) -> str:
    return clean_line(line)[:MAX_LINE_CHARS]


class Jobs:
    """The jobs of this process."""

    def __init__(self, now: Callable[[], datetime], program: Sequence[str] = RIFFLE) -> None:
        self._now, self._program = now, tuple(program)
        self.machine = socket.gethostname()
        self.all: deque[Job] = deque(maxlen=MAX_JOBS)
        self._running: dict[int, tuple[asyncio.subprocess.Process, asyncio.Task[None]]] = {}
        self._number = 0

    def require_room(self) -> None:
        """Raise TooManyJobs if no further job can run now."""
        if len(self._running) >= MAX_RUNNING:
            raise TooManyJobs([job for job in self.all if job.number in self._running])

    async def start(self, name: str, values: Sequence[str], actor: str) -> Job:
        """Start a job. Raises UsageError for an unknown one, and TooManyJobs."""
        if name not in COMMANDS or any(value.startswith("-") for value in values):
            raise UsageError(f"there is no such job: {name}")
        self.require_room()
        self._number += 1
        job = Job(self._number, name, (*COMMANDS[name], *values), actor, self._now())
        process = await asyncio.create_subprocess_exec(
            *self._program,
            *job.arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        job.pid = process.pid
        self.all.append(job)
        self._running[job.number] = (process, asyncio.create_task(self._follow(job, process)))
        return job

    async def wait(self, job: Job, seconds: float) -> None:
        """Wait until a job has ended, or until the time is over."""
        if running := self._running.get(job.number):
            await asyncio.wait([running[1]], timeout=seconds)

    async def stop(self, number: int) -> Job | None:
        """Ask a job to end. Return it, or None if it does not run."""
        if number not in self._running:
            return None
        self._running[number][0].terminate()
        return next((job for job in self.all if job.number == number), None)

    async def close(self) -> None:
        """End all jobs: those that don't end in time are killed."""
        running = list(self._running.values())
        for process, _ in running:
            process.terminate()
        if running:
            _, late = await asyncio.wait([task for _, task in running], timeout=GRACE_SECONDS)
            for process, task in running:
                if task in late:
                    process.kill()
            await asyncio.gather(*(task for _, task in running), return_exceptions=True)

    async def _follow(self, job: Job, process: asyncio.subprocess.Process) -> None:
        assert process.stdout
        rest = ""
        while piece := await process.stdout.read(READ_BYTES):
            *lines, rest = _LINE_END.split((rest + piece.decode("utf-8", "replace"))[-2 * READ_BYTES :])
            job.lines.extend(filter(None, map(_shown, lines)))
        job.lines.extend(filter(None, [_shown(rest)]))
        job.status = await process.wait()
        del self._running[job.number]


SILENT_SECONDS = 60.0
"""Age of the last report of a running job from which the job counts as dead (seconds). Jobs report every 5 s."""
SHOWN_REPORTS = 20


@dataclass(frozen=True, slots=True)
class ShownJob:
    """A job of this process, with its report if it writes one."""

    job: Job
    report: JobReport | None


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A job that was started elsewhere."""

    report: JobReport
    started: datetime
    updated: datetime
    is_silent: bool
    """It runs by its last report, and that is old: its process was killed, or its machine is away."""


def match_reports(jobs: Sequence[Job], reports: Iterable[JobReport], machine: str) -> list[ShownJob]:
    """Return the jobs of this process, newest first, with their reports. `machine`: the name of this machine."""
    own = {report.place: report for report in sorted(reports, key=lambda report: report.started)}
    return [ShownJob(job, own.get(f"{machine}:{job.pid}")) for job in reversed(jobs)]


def reports_elsewhere(
    jobs: Sequence[Job], reports: Iterable[JobReport], machine: str, now: datetime
) -> list[Elsewhere]:
    """Return the last jobs that this process did not start."""
    own = {f"{machine}:{job.pid}" for job in jobs}
    found = [_elsewhere(report, now) for report in reports if report.place not in own]
    return found[:SHOWN_REPORTS]


def _elsewhere(report: JobReport, now: datetime) -> Elsewhere:
    updated = utc_from_micros(report.updated)
    is_silent = report.state == "running" and (now - updated).total_seconds() > SILENT_SECONDS
    return Elsewhere(report, utc_from_micros(report.started), updated, is_silent)
