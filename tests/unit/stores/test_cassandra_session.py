"""Requests of a session: what is sent to an overloaded server, which deadline holds, and how many pages rows have."""

import asyncio
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from uuid import uuid4

import pytest
from cassandra import ConsistencyLevel, OperationTimedOut, Unavailable, WriteTimeout
from cassandra.protocol import ColumnMetadata
from cassandra.query import BatchStatement, PreparedStatement

from streams.errors import DeadlineExceeded, StoreUnavailable
from streams.settings import CassandraSettings
from streams.stores.cassandra import CassandraFrontier, CassandraSession

PUT = "INSERT INTO pages (page_id, part) VALUES (:page_id, :part) USING TIMESTAMP :at"
PATIENCE_SECONDS = 60.0
"""Seconds after which a test fails for something that didn't happen."""
HOSTS = 20_000
"""Hosts of each statement that reads them."""


class AnyType:
    """The type of all columns here."""

    @staticmethod
    def serialize(value: object, _protocol_version: int) -> bytes:
        return repr(value).encode()


class Request:
    """A request of the driver, answered at once: with a failure, or with pages of rows."""

    def __init__(self, rows: int, page_rows: int, failure: Exception | None) -> None:
        self._rest, self._page_rows, self._failure = rows, page_rows, failure
        self.pages = 0

    @property
    def has_more_pages(self) -> bool:
        return self._rest > 0

    def add_callbacks(self, more: Callable[[Sequence[Any]], None], failed: Callable[[Exception], None]) -> None:
        self._more = more
        if self._failure:
            failed(self._failure)
        else:
            self.start_fetching_next_page()

    def start_fetching_next_page(self) -> None:
        page = min(self._rest, self._page_rows)
        self._rest -= page
        self.pages += 1
        self._more([("host.example", 5)] * page)


class Driver:
    """The driver of a server that fails each request, if it is told to, and has `rows` rows for each statement."""

    def __init__(self, failure: Exception | None = None, rows: int = 0) -> None:
        self._failure, self._rows = failure, rows
        self.answers_preparation = threading.Event()
        self.answers_preparation.set()
        self.requests: list[Request] = []
        self.writes: list[int] = []
        """Number of writes of each request."""

    def prepare(self, cql: str) -> PreparedStatement:
        assert self.answers_preparation.wait(PATIENCE_SECONDS), "nobody ended the test"
        columns = [ColumnMetadata("riffle", "pages", name, AnyType) for name in re.findall(r":(\w+)", cql)]
        return PreparedStatement(columns, b"id", None, cql, "riffle", 4, None, None)

    def execute_async(self, statement: Any, timeout: float | None) -> Request:
        is_batch = isinstance(statement, BatchStatement)
        self.writes.append(len(statement._statements_and_parameters) if is_batch else 1)
        self.requests.append(Request(self._rows, 0 if is_batch else statement.fetch_size, self._failure))
        return self.requests[-1]


def session_of(driver: Driver, timeout_seconds: float = PATIENCE_SECONDS) -> CassandraSession:
    return CassandraSession(CassandraSettings(request_timeout_seconds=timeout_seconds), None, driver)


WRITES = [
    pytest.param(lambda session, row: session.execute_grouped((PUT, row)), id="grouped"),
    pytest.param(lambda session, row: session.execute_batch([(PUT, row)]), id="batch"),
    pytest.param(lambda session, row: session.execute(PUT, row), id="single"),
]


def rows(count: int) -> Iterator[dict[str, Any]]:
    return ({"page_id": uuid4(), "part": "fetched", "at": 1} for _ in range(count))


@pytest.mark.parametrize(
    ("failure", "raised", "requests"),
    [
        pytest.param(WriteTimeout("late", write_type=0), DeadlineExceeded, [9], id="replicas are late"),
        pytest.param(OperationTimedOut({"cass-1": "timeout"}), DeadlineExceeded, [9], id="the server is late"),
        pytest.param(
            Unavailable("too few", ConsistencyLevel.ONE, 1, 0), StoreUnavailable, [9, *[1] * 9], id="a replica is away"
        ),
    ],
)
async def test_a_late_server_gets_no_write_of_a_group_again(
    failure: Exception, raised: type[Exception], requests: list[int]
) -> None:
    driver = Driver(failure)
    session = session_of(driver)
    await session._prepare(PUT)  # all writes come in one turn then
    writes = (session.execute_grouped((PUT, row)) for row in rows(9))
    answers = await asyncio.gather(*writes, return_exceptions=True)
    assert {type(answer) for answer in answers} == {raised}
    assert driver.writes == requests


@pytest.mark.parametrize("write", WRITES)
async def test_the_deadline_holds_also_while_a_statement_is_prepared(write: Callable[..., Any]) -> None:
    driver = Driver()
    driver.answers_preparation.clear()
    try:
        with pytest.raises(DeadlineExceeded):
            await write(session_of(driver, timeout_seconds=0.01), next(rows(1)))
    finally:
        driver.answers_preparation.set()


class SlowRequest(Request):
    """A request whose answer takes a moment."""

    def add_callbacks(self, more: Callable[[Sequence[Any]], None], failed: Callable[[Exception], None]) -> None:
        asyncio.get_running_loop().call_later(0.01, super().add_callbacks, more, failed)


class SlowDriver(Driver):
    """The driver of a server for which each preparation and each request takes most of the deadline, by the clock."""

    def __init__(self) -> None:
        super().__init__()
        self.passed_seconds = 0.0

    def prepare(self, cql: str) -> PreparedStatement:
        self.passed_seconds += 0.7 * PATIENCE_SECONDS
        return super().prepare(cql)

    def execute_async(self, statement: Any, timeout: float | None) -> Request:
        self.passed_seconds += 0.7 * PATIENCE_SECONDS
        super().execute_async(statement, timeout)
        return SlowRequest(0, 0, None)


@pytest.mark.parametrize("write", WRITES)
async def test_preparation_and_request_have_one_deadline(
    write: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    driver, loop = SlowDriver(), asyncio.get_running_loop()
    clock = loop.time
    monkeypatch.setattr(loop, "time", lambda: clock() + driver.passed_seconds)
    with pytest.raises(DeadlineExceeded):
        await write(session_of(driver), next(rows(1)))
    assert driver.writes == [1]


async def test_all_hosts_of_a_crawl_come_in_few_pages() -> None:
    driver = Driver(rows=HOSTS)
    found = await CassandraFrontier(session_of(driver)).active_hosts(range(128))
    assert (len(found), len(driver.requests)) == (2 * HOSTS, 2)
    assert [request.pages for request in driver.requests] == [2, 2]
