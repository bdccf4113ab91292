"""Small writes of several tasks in one request to a real Cassandra: refused, late, repeated, and cut off by a kill."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest
import pytest_asyncio

from streams.errors import DeadlineExceeded, PoisonError
from streams.settings import CassandraSettings
from streams.stores import cassandra
from streams.stores.cassandra import CassandraFrontier, CassandraSession
from tests.conftest import fresh_name
from tests.integration.contracts.killed_writer import AT_ONCE, PAGES, STATES
from tests.integration.contracts.proxy import Proxy

pytestmark = pytest.mark.integration("cassandra")

PUT = "INSERT INTO pages (page_id, kind, name, value) VALUES (:page_id, 0, :part, :value) USING TIMESTAMP :at"
GET = "SELECT value FROM pages WHERE page_id = :page_id AND kind = 0 AND name = :part"
PATIENCE_SECONDS = 60.0
"""Seconds after which a test fails for something that didn't happen."""
WRITTEN_BEFORE_KILL = 100

Rows = list[dict[str, Any]]


@pytest_asyncio.fixture
async def session(proxy: Proxy, cassandra_settings: CassandraSettings) -> AsyncIterator[CassandraSession]:
    """A session through the proxy."""
    opened = await cassandra.connect(cassandra_settings.model_copy(update={"port": proxy.port}))
    yield opened
    await opened.close()


def rows_of(value: bytes, at: int, pages: Sequence[UUID]) -> Rows:
    return [{"page_id": page, "part": "fetched", "value": value, "at": at} for page in pages]


async def put(session: CassandraSession, rows: Rows) -> list[BaseException | None]:
    return await asyncio.gather(*(session.execute_grouped((PUT, row)) for row in rows), return_exceptions=True)


async def values(session: CassandraSession, pages: Sequence[UUID]) -> list[bytes | None]:
    found = await session.execute_many(GET, [{"page_id": page, "part": "fetched"} for page in pages])
    return [rows[0][0] if rows else None for rows in found]


async def test_a_write_that_the_server_refuses_fails_alone(cassandra_session: CassandraSession) -> None:
    pages = [uuid4() for _ in range(9)]
    rows = rows_of(b"good", 1, pages)
    rows.insert(4, {**rows[0], "page_id": None})
    answers = await put(cassandra_session, rows)
    assert [type(answer) for answer in answers] == [type(None)] * 4 + [PoisonError] + [type(None)] * 5
    assert "refuses a statement" in str(answers[4])
    assert await values(cassandra_session, pages) == [b"good"] * 9


async def test_a_write_with_a_wrong_parameter_is_in_no_request(cassandra_session: CassandraSession) -> None:
    page = uuid4()
    wrong = {"page_id": uuid4(), "part": "fetched", "value": "text, where bytes belong", "at": 1}
    refused, written = await put(cassandra_session, [wrong, *rows_of(b"good", 1, [page])])
    assert (type(refused), written) == (TypeError, None)
    assert await values(cassandra_session, [page]) == [b"good"]


async def test_a_group_whose_answer_is_lost_is_repeated_and_a_newer_write_stays(
    proxy: Proxy, session: CassandraSession, cassandra_session: CassandraSession
) -> None:
    pages = [uuid4() for _ in range(6)]
    await session.execute(PUT, rows_of(b"prepared", 1, pages[:1])[0])
    session._settings = session._settings.model_copy(update={"request_timeout_seconds": 0.5})
    proxy.keep_answers()
    async with asyncio.timeout(PATIENCE_SECONDS):
        answers = await put(session, rows_of(b"once", 5, pages))
        assert {type(answer) for answer in answers} == {DeadlineExceeded}
        while await values(cassandra_session, pages) != [b"once"] * 6:
            await asyncio.sleep(0.05)
    await put(cassandra_session, rows_of(b"newer", 6, pages[3:]))
    assert await put(cassandra_session, rows_of(b"once", 5, pages)) == [None] * 6
    assert await values(cassandra_session, pages) == [b"once"] * 3 + [b"newer"] * 3


async def test_a_group_of_which_a_part_was_done_is_done_as_a_whole(cassandra_session: CassandraSession) -> None:
    pages = [uuid4() for _ in range(8)]
    rows = rows_of(b"whole", 5, pages)
    for row in rows[::2]:
        await cassandra_session.execute(PUT, row)
    assert await put(cassandra_session, rows) == [None] * 8
    assert await values(cassandra_session, pages) == [b"whole"] * 8


async def test_writes_that_were_answered_outlive_a_kill_and_a_partition_is_written_whole_or_not(
    cassandra_session: CassandraSession, cassandra_settings: CassandraSettings
) -> None:
    prefix = fresh_name("killed")
    arguments = [str(cassandra_settings.port), cassandra_settings.keyspace, prefix]
    writer = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.integration.contracts.killed_writer", *arguments, stdout=subprocess.PIPE
    )
    assert writer.stdout
    answered = {int(await writer.stdout.readline()) for _ in range(WRITTEN_BEFORE_KILL)}
    writer.kill()
    answered |= {int(line) for line in (await writer.stdout.read()).split()}
    await writer.wait()
    frontier = CassandraFrontier(cassandra_session)
    for number in range(max(answered) + AT_ONCE + 1):
        async with asyncio.timeout(PATIENCE_SECONDS):
            # The server may still do what came to it before the kill.
            while not await is_whole(frontier, f"{prefix}{number}", may_be_missing=number not in answered):
                await asyncio.sleep(0.05)


async def is_whole(frontier: CassandraFrontier, crawl: str, *, may_be_missing: bool) -> bool:
    states, counts = await frontier.states(crawl, 0, PAGES), await frontier.owner_counts(crawl, 0, "0/1")
    return len(states) == counts.urls.get("queued", 0) and (len(states) == STATES or (may_be_missing and not states))
