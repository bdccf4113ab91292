"""The reports of long jobs beside the jobs of this process: what was started by a command line or a schedule. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from schemas.envelope import utc_from_micros
from streams.admin.jobs import Job
from streams.stores.job_reports import JobReport

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
