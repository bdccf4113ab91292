"""Reads of records share requests, and each of them gets its own record or its own failure."""

import asyncio
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest

from streams.errors import DeadlineExceeded, PoisonError
from streams.stores.cassandra.records import MAX_READS, CassandraPages
from streams.stores.packing import pack
from streams.stores.page_record import PageRecord

PAGES = [UUID(int=number) for number in range(2 * MAX_READS + 3)]


class Session:
    """A server with a record for each page of an even number, of two parts. It notes how many pages a request names."""

    def __init__(self) -> None:
        self.requests: list[int] = []
        self.failure: Exception | None = None
        self.damaged: UUID | None = None

    async def execute(self, _cql: str, params: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        wanted = params.get("page_ids") or [params["page_id"]]
        self.requests.append(len(wanted))
        await asyncio.sleep(0)
        if self.failure:
            raise self.failure
        rows = [(page, part, self._value(page, part)) for page in wanted if page.int % 2 == 0 for part in ("a", "b")]
        return rows if "page_ids" in params else [row[1:] for row in rows]

    def _value(self, page: UUID, part: str) -> bytes:
        return b"\xc1" if page == self.damaged else pack({"url": f"{page.int} {part}"})


def record(page: UUID) -> dict[str, dict[str, str]]:
    return {} if page.int % 2 else {part: {"url": f"{page.int} {part}"} for part in ("a", "b")}


async def read(session: Session, *pages: UUID) -> list[PageRecord | BaseException]:
    store = CassandraPages(session)  # type: ignore[arg-type]  # what is used of a session
    return await asyncio.gather(*map(store.get, pages), return_exceptions=True)


async def test_reads_of_one_turn_share_requests_and_each_gets_its_record() -> None:
    session = Session()
    found = await read(session, *PAGES)
    assert [answer.rows for answer in found if isinstance(answer, PageRecord)] == [record(page) for page in PAGES]
    assert session.requests == [MAX_READS, MAX_READS, 3]


async def test_a_read_by_itself_names_one_page_and_two_of_one_page_are_one() -> None:
    session = Session()
    first, second = await read(session, PAGES[2], PAGES[2])
    assert isinstance(first, PageRecord)
    assert isinstance(second, PageRecord)
    assert first.rows == second.rows == record(PAGES[2])
    assert first.rows is not second.rows
    assert session.requests == [1]


async def test_a_damaged_record_fails_alone() -> None:
    session = Session()
    session.damaged = PAGES[4]
    found = await read(session, *PAGES[:MAX_READS])
    assert [number for number, answer in enumerate(found) if not isinstance(answer, PageRecord)] == [4]


@pytest.mark.parametrize(
    ("failure", "requests"),
    [
        pytest.param(DeadlineExceeded("late"), [MAX_READS], id="late: no more requests"),
        pytest.param(PoisonError("refused"), [MAX_READS, *[1] * MAX_READS], id="refused: each alone"),
    ],
)
async def test_a_failure_reaches_each_reader(failure: Exception, requests: list[int]) -> None:
    session = Session()
    session.failure = failure
    assert await read(session, *PAGES[:MAX_READS]) == [failure] * MAX_READS
    assert session.requests == requests
