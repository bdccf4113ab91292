"""The contract of the reports of jobs, in memory and in Cassandra."""

from dataclasses import replace
from uuid import uuid4

import pytest

from streams.stores.cassandra import CassandraJobReports
from streams.stores.memory import MemoryJobReports
from streams.stores.protocols import JobReport, JobReports
from tests.integration.contracts.conftest import BOTH


@pytest.fixture(params=BOTH)
def job_reports(request: pytest.FixtureRequest) -> JobReports:
    if request.param == "memory":
        return MemoryJobReports()
    return CassandraJobReports(request.getfixturevalue("cassandra_session"))


async def test_the_last_report_of_each_job_is_found_the_newest_job_first(job_reports: JobReports) -> None:
    first = JobReport(uuid4(), "reindex", "a:1", 1_000, 1_000)
    second = JobReport(uuid4(), "blobs sweep", "b:2", 2_000, 2_000, "running", 0.25, "mark: 25%")
    for report in (first, second):
        await job_reports.put(report)
    ended = replace(first, updated=9_000, state="failed", sentence="Qdrant does not answer")
    await job_reports.put(ended)
    own = {first.job_id, second.job_id}
    assert [report for report in await job_reports.recent() if report.job_id in own] == [second, ended]
