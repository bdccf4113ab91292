"""The reports of long jobs: commands that run anywhere, as operators see them in one place."""

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from streams.stores.protocols import Notes
from streams.stores.rows import pack_row, unpack_row

KEPT_SECONDS = 30 * 86_400
"""Time for which a report is kept after its last change (seconds)."""
_SHELF = "jobs"

JobState = Literal["running", "done", "failed", "stopped"]


@dataclass(frozen=True, slots=True)
class JobReport:
    """The state and the progress of a job."""

    job_id: UUID
    command: str
    """The command, such as `reindex`."""
    place: str
    """The machine and the process: `HOST:PID`."""
    started: int
    """Microseconds since 1970 UTC, as `updated`."""
    updated: int
    """The time of the last report. A job that runs reports every few seconds, also without progress."""
    state: JobState = "running"
    share: float | None = None
    """The part that is done, 0 to 1. None: unknown."""
    sentence: str = ""
    """The present step, or why the job failed, for people."""


async def put_report(notes: Notes, report: JobReport) -> None:
    """Store a report in place of the job's former one."""
    await notes.put(_SHELF, str(report.job_id), pack_row(report), seconds=KEPT_SECONDS, at=report.updated)


async def recent_reports(notes: Notes) -> list[JobReport]:
    """Return the last report of each job, the last started first."""
    found = [unpack_row(JobReport, value) for value in (await notes.of_shelf(_SHELF)).values()]
    return sorted(found, key=lambda report: report.started, reverse=True)
