"""The reports of long jobs: commands that run anywhere, as operators see them in one place."""

from dataclasses import dataclass
from typing import Literal, Protocol
from uuid import UUID

REPORT_DAYS = 30
"""Days for which a report is kept after its last change."""

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


class JobReports(Protocol):
    """The last report of each job."""

    async def put(self, report: JobReport) -> None: ...

    async def recent(self) -> list[JobReport]:
        """Return the reports of REPORT_DAYS, the last started first."""
        ...
