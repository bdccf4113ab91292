"""The contract of small values that end by themselves, and of what is stored as such, in memory and in Cassandra."""

import asyncio
from dataclasses import replace
from uuid import uuid4

import pytest

from streams.gateway.access.bucket import Spending, put_spending, spending_of_day
from streams.maintenance.reindexing import PartProgress, clear_progress, put_progress, read_progress
from streams.stores.cassandra import CassandraNotes
from streams.stores.index_maps import PART_BYTES, newest_map, purge_map, put_map, read_map
from streams.stores.job_reports import JobReport, put_report, recent_reports
from streams.stores.memory import MemoryNotes
from streams.stores.protocols import Notes
from tests.conftest import fresh_name
from tests.integration.contracts.conftest import BOTH

DAY = 20_000


@pytest.fixture(params=BOTH)
def notes(request: pytest.FixtureRequest) -> Notes:
    if request.param == "memory":
        return MemoryNotes()
    return CassandraNotes(request.getfixturevalue("cassandra_session"))


async def test_the_newest_value_of_each_name_stays(notes: Notes) -> None:
    shelf, other = fresh_name("shelf"), fresh_name("shelf")
    assert await notes.of_shelf(shelf) == {}
    await notes.put(shelf, "one", b"later", seconds=600, at=2)
    await notes.put(shelf, "one", b"late write", seconds=600, at=1)
    await notes.put(shelf, "two", b"\x00\xff", seconds=600)
    await notes.put(other, "one", b"other", seconds=600, at=1)
    assert await notes.of_shelf(shelf) == {"one": b"later", "two": b"\x00\xff"}
    await notes.clear(shelf)
    await notes.clear(fresh_name("shelf"))
    assert (await notes.of_shelf(shelf), await notes.of_shelf(other)) == ({}, {"one": b"other"})
    await notes.put(shelf, "two", b"again", seconds=600)
    assert await notes.of_shelf(shelf) == {"two": b"again"}


async def test_a_value_ends_by_itself(notes: Notes) -> None:
    shelf = fresh_name("shelf")
    await notes.put(shelf, "short", b"1", seconds=1)
    await notes.put(shelf, "long", b"2", seconds=600)
    async with asyncio.timeout(60):
        while "short" in await notes.of_shelf(shelf):
            await asyncio.sleep(0.1)
    assert await notes.of_shelf(shelf) == {"long": b"2"}


async def test_the_last_report_of_each_job_is_found_the_newest_job_first(notes: Notes) -> None:
    first = JobReport(uuid4(), "reindex", "a:1", 1_000, 1_000)
    second = JobReport(uuid4(), "blobs sweep", "b:2", 2_000, 2_000, "running", 0.25, "mark: 25%")
    for report in (first, second):
        await put_report(notes, report)
    ended = replace(first, updated=9_000, state="failed", sentence="Qdrant does not answer")
    await put_report(notes, ended)
    own = {first.job_id, second.job_id}
    assert [report for report in await recent_reports(notes) if report.job_id in own] == [second, ended]


async def test_progress_is_kept_by_collection_host_and_part_until_it_is_cleared(notes: Notes) -> None:
    name = fresh_name("collection")
    assert await read_progress(notes, name, "") == {}
    await put_progress(notes, name, "", 0, PartProgress(-5, 1, 2))
    await put_progress(notes, name, "", 0, PartProgress(2**63 - 1, 3, 4))
    await put_progress(notes, name, "", 63, PartProgress(-(2**63)))
    await put_progress(notes, name, "a.example", 0, PartProgress(7))
    assert await read_progress(notes, name, "") == {0: PartProgress(2**63 - 1, 3, 4), 63: PartProgress(-(2**63))}
    await clear_progress(notes, name, "")
    assert await read_progress(notes, name, "") == {}
    assert await read_progress(notes, name, "a.example") == {0: PartProgress(7)}


async def test_each_gateway_has_a_row_of_its_own(notes: Notes) -> None:
    client = fresh_name("client")
    first, later = Spending(3, 57.5, 1_000), Spending(9, 51.5, 2_000)
    assert await spending_of_day(notes, client, DAY) == {}
    await put_spending(notes, client, DAY, "one", later)
    await put_spending(notes, client, DAY, "one", first)  # a late write
    await put_spending(notes, client, DAY, "two", first)
    await put_spending(notes, client, DAY + 1, "two", first)
    assert await spending_of_day(notes, client, DAY) == {"one": later, "two": first}


async def test_the_last_map_takes_the_place_of_the_one_before(notes: Notes) -> None:
    await purge_map(notes)
    assert await newest_map(notes) == 0
    large = bytes(range(256)) * (PART_BYTES // 256) * 2 + b"end"
    await put_map(notes, 1_000, large)
    assert (await newest_map(notes), await read_map(notes, 1_000)) == (1_000, large)
    await put_map(notes, 2_000, b"small")
    await put_map(notes, 1_500, b"late")
    assert (await newest_map(notes), await read_map(notes, 2_000)) == (2_000, b"small")
    assert await read_map(notes, 1_000) is None
    await purge_map(notes)
    assert (await newest_map(notes), await read_map(notes, 2_000)) == (0, None)


async def test_a_map_that_is_not_whole_is_not_shown(notes: Notes) -> None:
    await purge_map(notes)
    await put_map(notes, 3_000, b"whole")
    await notes.put("index map 4000", "000000", b"the first part of two", seconds=600)  # its writer was killed
    assert (await newest_map(notes), await read_map(notes, 4_000)) == (3_000, None)
    assert await read_map(notes, 3_000) == b"whole"
