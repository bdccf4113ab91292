"""Reports of long commands: the last one says how the job ended, and a store that is away never fails the job."""

import asyncio
import subprocess
import sys
from dataclasses import dataclass, field

import pytest

from streams.commands import job_reports
from streams.commands.job_reports import own_place, reported
from streams.errors import StoreUnavailable, UsageError
from streams.stores.job_reports import JobReport, recent_reports
from streams.stores.memory import MemoryNotes
from streams.stores.rows import unpack_row


async def test_a_job_reports_from_its_start_also_without_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_reports, "REPORT_SECONDS", 0.0)
    store = Noting()
    async with reported(store, "reindex") as report:
        await store.until(1)
        report("Filling statements-1", 0.5)
        await store.until(store.count + 2)
    (last,) = await recent_reports(store)
    assert (last.command, last.place, last.state, last.share) == ("reindex", own_place(), "done", 1.0)
    assert {(each.state, each.share, each.sentence) for each in store.seen} >= {
        ("running", None, ""),
        ("running", 0.5, "Filling statements-1"),
    }
    assert last.updated >= last.started


@pytest.mark.parametrize(
    ("error", "state", "sentence"),
    [(UsageError("no model"), "failed", "no model"), (ZeroDivisionError("odd"), "failed", "half"),
     (asyncio.CancelledError(), "stopped", "half")],
)  # fmt: skip
async def test_the_last_report_says_how_the_job_ended(error: BaseException, state: str, sentence: str) -> None:
    store = MemoryNotes()

    async def job() -> None:
        async with reported(store, "reindex") as report:
            report("half", 0.5)
            raise error

    with pytest.raises(type(error)):
        await job()
    (last,) = await recent_reports(store)
    assert (last.state, last.sentence) == (state, sentence)


JOB = """
import asyncio, signal
from streams.commands.job_reports import reported
from streams.stores.job_reports import recent_reports
from streams.stores.memory import MemoryNotes

signal.signal(signal.SIGINT, signal.{interrupts})
notes = MemoryNotes()

async def job():
    async with reported(notes, "blobs sweep"):
        try:
            print("begun", flush=True)
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            print("saved")
            raise

try:
    asyncio.run(job())
except KeyboardInterrupt:
    (last,) = asyncio.run(recent_reports(notes))
    print("interrupted,", last.state)
"""


@pytest.mark.parametrize("interrupts", ["default_int_handler", "SIG_IGN", "SIG_DFL"])
def test_a_job_that_is_terminated_ends_as_by_an_interrupt(interrupts: str) -> None:
    """Kubernetes and the pages of operators stop a job by SIGTERM: it must be able to save how far it is.

    A shell has interrupts ignored for what a script runs in the background.
    """
    command = [sys.executable, "-c", JOB.format(interrupts=interrupts)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == "begun\n"
            process.terminate()
            assert process.stdout.read() == "saved\ninterrupted, stopped\n"
        finally:
            process.kill()


async def test_a_store_that_is_away_fails_no_job() -> None:
    store = Noting(is_away=True)
    async with reported(store, "reindex"):
        await store.until(1)
    assert await recent_reports(store) == []


@dataclass
class Noting(MemoryNotes):
    """A store that remembers all reports, and may be away."""

    is_away: bool = False
    seen: list[JobReport] = field(default_factory=list)
    count: int = 0

    def __post_init__(self) -> None:
        super().__init__()

    async def put(self, shelf: str, name: str, value: bytes, *, seconds: int, at: int | None = None) -> None:
        self.count += 1
        if self.is_away:
            raise StoreUnavailable("Cassandra is away")
        self.seen.append(unpack_row(JobReport, value))
        await super().put(shelf, name, value, seconds=seconds, at=at)

    async def until(self, count: int) -> None:
        while self.count < count:
            await asyncio.sleep(0)
