"""The session on a real Cassandra: what it says when the server is away, and what it does when it is back."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import pytest
import pytest_asyncio

from streams.errors import DeadlineExceeded, PoisonError, StoreUnavailable, TransientError, UsageError
from streams.local.ports import free_ports
from streams.settings import CassandraSettings
from streams.stores import cassandra
from streams.stores.cassandra import CassandraPages, CassandraSession
from streams.stores.cassandra.notes import CassandraNotes
from streams.stores.page_record import Fetched, PageRecord
from tests.integration.contracts.proxy import Proxy

pytestmark = pytest.mark.integration("cassandra")
PATIENCE_SECONDS = 60.0
"""Seconds after which a test fails for something that didn't happen."""


@pytest_asyncio.fixture
async def session(proxy: Proxy, cassandra_settings: CassandraSettings) -> AsyncIterator[CassandraSession]:
    """A session through the proxy, with a short deadline."""
    here = cassandra_settings.model_copy(update={"port": proxy.port})
    opened = await cassandra.connect(here)
    opened._settings = here.model_copy(update={"request_timeout_seconds": 2.0})
    yield opened
    await opened.close()


async def test_the_clock_of_one_machine_does_not_differ_from_itself(session: CassandraSession) -> None:
    assert abs(await session.clock_ahead_seconds()) < 0.1


async def test_a_session_that_only_reads_refuses_each_write(session: CassandraSession) -> None:
    pages, notes, page = CassandraPages(session), CassandraNotes(session), uuid4()
    await pages.put(page, Fetched.of_row({"status": 200}), 1)
    session.refuse_writes()
    assert (await pages.get(page)).fetched.row()["status"] == 200
    for write in (
        lambda: pages.put(page, Fetched.of_row({"status": 404}), 2),
        lambda: notes.put("shelf", "name", b"value", seconds=60),
        lambda: session.execute("TRUNCATE notes"),
    ):
        with pytest.raises(RuntimeError, match="opened to read"):
            await write()
    assert (await pages.get(page)).fetched.row()["status"] == 200


async def test_a_server_that_is_not_there_is_named_with_its_address(cassandra_settings: CassandraSettings) -> None:
    nowhere = cassandra_settings.model_copy(update={"port": free_ports(1)[0]})
    with pytest.raises(
        StoreUnavailable, match=rf"127\.0\.0\.1:{nowhere.port} can't be reached.*RIFFLE_CASSANDRA__HOSTS"
    ):
        await cassandra.connect(nowhere)
    with pytest.raises(StoreUnavailable, match=f":{nowhere.port}"):
        await cassandra.migrate(nowhere)


async def test_a_keyspace_that_is_not_there_says_what_to_do(cassandra_settings: CassandraSettings) -> None:
    with pytest.raises(UsageError, match=r"'never_migrated'.*riffle migrate"):
        await cassandra.connect(cassandra_settings.model_copy(update={"keyspace": "never_migrated"}))


async def test_a_server_that_goes_away_is_unavailable_and_found_again_when_it_is_back(
    proxy: Proxy, session: CassandraSession
) -> None:
    pages, page = CassandraPages(session), uuid4()
    await pages.put(page, Fetched.of_row({"status": 200}), 1)
    await proxy.cut()
    async with asyncio.timeout(PATIENCE_SECONDS):
        with pytest.raises(StoreUnavailable, match=f"127.0.0.1:{proxy.port}"):
            await until_refused(pages, page)
        await proxy.restore()
        assert (await until_answered(pages, page)).rows == {"fetched": {"status": 200}}


async def until_refused(pages: CassandraPages, page: UUID) -> None:
    """A request that was sent before the connection broke may still be answered."""
    while True:
        await pages.get(page)


async def until_answered(pages: CassandraPages, page: UUID) -> PageRecord:
    while True:
        try:
            return await pages.get(page)
        except TransientError:
            await asyncio.sleep(0.1)


async def test_a_server_that_falls_silent_exceeds_the_deadline(proxy: Proxy, session: CassandraSession) -> None:
    pages, page = CassandraPages(session), uuid4()
    await pages.get(page)
    proxy.hush()
    async with asyncio.timeout(PATIENCE_SECONDS):
        with pytest.raises(DeadlineExceeded, match="did not answer in 2 s"):
            await pages.get(page)


async def test_requests_that_wait_for_their_turn_keep_to_the_deadline_too(
    proxy: Proxy, session: CassandraSession
) -> None:
    pages = CassandraPages(session)
    await pages.get(uuid4())
    proxy.hush()
    async with asyncio.timeout(PATIENCE_SECONDS):
        answers = await asyncio.gather(*(pages.get(uuid4()) for _ in range(600)), return_exceptions=True)
    assert {type(answer) for answer in answers} == {DeadlineExceeded}


async def test_a_statement_that_is_no_cql_is_poison_and_is_quoted(cassandra_session: CassandraSession) -> None:
    with pytest.raises(PoisonError, match=r"refuses a statement .*: SELECT nonsense FROM pages"):
        await cassandra_session.execute("SELECT nonsense FROM pages")


async def test_a_table_that_is_not_there_says_what_to_do(cassandra_session: CassandraSession) -> None:
    with pytest.raises(UsageError, match="riffle migrate"):
        await cassandra_session.execute("SELECT a FROM no_such_table")


async def test_a_failed_preparation_is_tried_again(cassandra_session: CassandraSession) -> None:
    table, select = f"late_{uuid4().hex[:8]}", "SELECT a FROM {table} WHERE a = :a"
    with pytest.raises(UsageError):
        await cassandra_session.execute(select.format(table=table), {"a": 1})
    await cassandra_session.execute(f"CREATE TABLE {table} (a int PRIMARY KEY)")
    assert await cassandra_session.execute(select.format(table=table), {"a": 1}) == []


@pytest.mark.parametrize(
    ("params", "at", "named"),
    [
        ({}, None, "page_id"),
        ({"page_id": uuid4(), "part": "fetched"}, None, "part"),
        ({"page_id": uuid4()}, 5, "at"),
    ],
)
async def test_a_parameter_too_few_or_too_many_is_named(
    cassandra_session: CassandraSession, params: dict[str, Any], at: int | None, named: str
) -> None:
    with pytest.raises(KeyError, match=f"missing or unknown: {named}, in SELECT"):
        await cassandra_session.execute("SELECT value FROM pages WHERE page_id = :page_id", params, at=at)


async def test_more_rows_than_a_page_come_whole_and_in_order(cassandra_session: CassandraSession) -> None:
    ref, content = uuid4().bytes * 2, b"x"
    rows = [{"ref": ref, "chunk": number, "content": content} for number in range(25)]
    await cassandra_session.execute_many(
        "INSERT INTO blobs (ref, chunk, content) VALUES (:ref, :chunk, :content) USING TIMESTAMP :at", rows, at=5
    )
    found = await cassandra_session.execute(
        "SELECT chunk, WRITETIME(content) FROM blobs WHERE ref = :ref", {"ref": ref}, page_rows=4
    )
    assert found == [(number, 5) for number in range(25)]


async def test_one_that_is_cancelled_leaves_the_others_alone(cassandra_session: CassandraSession) -> None:
    pages, page = CassandraPages(cassandra_session), uuid4()
    tasks = [asyncio.create_task(pages.put(page, Fetched.of_row({"status": at}), at)) for at in range(50)]
    await asyncio.sleep(0)
    for task in tasks[:49]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert (await pages.get(page)).rows == {"fetched": {"status": 49}}


async def test_the_first_failure_of_many_is_raised(cassandra_session: CassandraSession) -> None:
    rows: list[dict[str, Any]] = [{"page_id": uuid4(), "part": "fetched", "value": b"x"} for _ in range(400)]
    rows[300]["value"] = "text, where bytes belong"
    with pytest.raises(TypeError, match="value"):
        await cassandra_session.execute_many(
            "INSERT INTO pages (page_id, kind, name, value) VALUES (:page_id, 0, :part, :value) USING TIMESTAMP :at",
            rows,
            at=1,
        )


async def test_more_than_fit_in_flight_are_all_written_and_in_order(cassandra_session: CassandraSession) -> None:
    ids = [uuid4() for _ in range(1_500)]
    await cassandra_session.execute_many(
        "INSERT INTO pages (page_id, kind, name, value) VALUES (:page_id, 0, :part, :value) USING TIMESTAMP :at",
        ({"page_id": page, "part": "fetched", "value": page.bytes} for page in ids),
        at=1,
    )
    select = "SELECT value FROM pages WHERE page_id = :page_id AND kind = 0 AND name = :part"
    answers = await cassandra_session.execute_many(select, ({"page_id": page, "part": "fetched"} for page in ids))
    assert answers == [[(page.bytes,)] for page in ids]
