"""The reports of jobs in memory."""

from uuid import UUID

from streams.stores.protocols import JobReport


class MemoryJobReports:
    """See `JobReports`."""

    def __init__(self) -> None:
        self._reports: dict[UUID, JobReport] = {}

    async def put(self, report: JobReport) -> None:
        self._reports[report.job_id] = report

    async def recent(self) -> list[JobReport]:
        return sorted(self._reports.values(), key=lambda report: report.started, reverse=True)
