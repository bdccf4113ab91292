"""One connection to Cassandra, for asyncio: `await session.execute(cql, params, at=...)`.

How a store uses it:

    rows = await session.execute("SELECT name, value FROM pages WHERE page_id = :page_id", {"page_id": page_id})
    await session.execute(
        "INSERT INTO pages (page_id, kind, name, value) VALUES (:page_id, 0, :part, :value) USING TIMESTAMP :at",
        {"page_id": page_id, "part": part, "value": value}, at=at,
    )
    await session.execute_many(cql, [params, params, ...], at=at)

Parameters are named (`:name`), `at` is the `:at` of the statement, and rows are tuples in the order of the SELECT. Each
text is prepared once, so never build a text from values. All statements are taken to be idempotent and are tried once
more at another server: no counters and no list appends may pass through here, and a condition (IF) only where a second
try has the same effect (`pace_holds`).

The driver answers in its own thread, and answers are handed to the event loop that asked, all that came since its last
turn together: waking the loop for each of them cost a tenth of a fetcher's CPU time. At most `IN_FLIGHT` requests
are on their way at once. The others wait here, and the time of waiting counts against their deadline.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache, partial
from typing import Any, TypeVar

from cassandra import (
    AuthenticationFailed,
    InvalidRequest,
    OperationTimedOut,
    RequestExecutionException,
    RequestValidationException,
    Timeout,
    Unauthorized,
    UnresolvableContactPoints,
)
from cassandra.connection import ConnectionBusy, ConnectionException
from cassandra.pool import NoConnectionsAvailable
from cassandra.protocol import ErrorMessage
from cassandra.protocol import RequestValidationException as InvalidMessage
from cassandra.query import BatchStatement, BatchType

from streams.errors import DeadlineExceeded, PoisonError, RiffleError, StoreUnavailable, UsageError
from streams.grouped_calls import read_failure
from streams.settings import CassandraSettings
from streams.stores.cassandra.driver import NoHostAvailable, causes_of, describe_error, new_cluster
from streams.stores.cassandra.grouped_writes import MAX_WRITES, GroupedWrites
from streams.tracing import cassandra_span

IN_FLIGHT = 256
"""Maximum number of requests of a session at once. Measured: beyond 128, a single server answers later, not faster."""
MAX_BATCH = 500
"""Maximum number of statements of one batch."""
MIN_LIST = 4
"""Minimum number of writes of a list for requests of its own. Fewer go with the writes of other tasks."""

FULL_FIRST_SECONDS, FULL_LAST_SECONDS = 0.005, 0.1
"""Seconds between two tries to send a statement while the connection is full: the first pause and the longest."""

Row = tuple[Any, ...]
Answer = TypeVar("Answer")
Params = Mapping[str, Any]
SERVER_CLOCK_STEP = 0.001
"""Resolution of the server's clock (seconds)."""


class CassandraSession:
    """A session with prepared, bounded, awaitable statements. `connect` makes it."""

    def __init__(self, settings: CassandraSettings, cluster: Any, driver: Any) -> None:
        self._settings = settings
        self._cluster = cluster
        self._driver = driver
        self._prepared: dict[str, asyncio.Future[Any]] = {}
        self._free = asyncio.Semaphore(IN_FLIGHT)
        self._answers = _Answers()
        self._grouped = GroupedWrites(self._send_in_time)
        self._reads_only = False
        self._address = f"{settings.hosts[0]}:{settings.port}" if len(settings.hosts) == 1 else ""

    def refuse_writes(self) -> None:
        """Let each later write raise RuntimeError: the caller said that it only reads."""
        self._reads_only = True

    async def execute(
        self, cql: str, params: Params | None = None, *, at: int | None = None, page_rows: int = 1_000
    ) -> list[Row]:
        """Run a statement and return all its rows, fetched `page_rows` at a time.

        Raises DeadlineExceeded, StoreUnavailable, and PoisonError for a statement that the server refuses.
        """
        bound_params = dict(params or {}) if at is None else {**(params or {}), "at": at}
        try:
            with self._span([cql]):
                async with asyncio.timeout(self._settings.request_timeout_seconds), self._free:
                    statement = self._bind_params(await self._prepare(cql), bound_params)
                    statement.fetch_size = page_rows
                    return await self._ask_when_free(statement)
        except Exception as error:
            raise translate_error(error, self._settings, cql) from error

    async def execute_batch(self, statements: Sequence[tuple[str, Params]]) -> None:
        """Run writes of one partition together: all or none of them, as one write of the server.

        Each has its own parameters, also `at`. More than MAX_BATCH statements are several batches, one after the other.
        Raises as `execute` does.
        """
        for start in range(0, len(statements), MAX_BATCH):
            batch = statements[start : start + MAX_BATCH]
            try:
                async with asyncio.timeout(self._settings.request_timeout_seconds):
                    await self._send(await self._bind(batch))
            except Exception as error:
                raise translate_error(error, self._settings, batch[0][0]) from error

    async def execute_grouped(self, *statements: tuple[str, Params]) -> None:
        """Run small writes of one partition: all or none of them, and in one request with small writes of other tasks.

        Each has its own parameters, also `at`. Raises as `execute` does, for a failure of these writes only
        (`grouped_writes`). More than MAX_BATCH are no small writes, and go as in `execute_batch`.
        """
        if len(statements) > MAX_BATCH:
            await self.execute_batch(statements)
            return
        try:
            async with asyncio.timeout(self._settings.request_timeout_seconds):
                await self._grouped.execute(await self._bind(statements))
        except Exception as error:
            raise translate_error(error, self._settings, statements[0][0]) from error

    async def _bind(self, statements: Sequence[tuple[str, Params]]) -> list[Any]:
        """Return bound writes. Texts that are new to the server are prepared by requests of their own."""
        return [self._bind_params(await self._prepare(cql), params) for cql, params in statements]

    def _bind_params(self, prepared: Any, params: Params) -> Any:
        """Bind the parameters. Raises KeyError for a missing one: the driver would silently leave its column as it was.

        Raises RuntimeError for a write of a session that only reads.
        """
        names = _names_of(prepared)
        if names != params.keys():
            wrong = ", ".join(sorted(names ^ params.keys()))
            raise KeyError(f"parameters missing or unknown: {wrong}, in {prepared.query_string}")
        if self._reads_only and not prepared.query_string.lstrip().startswith("SELECT"):
            raise RuntimeError(f"the stores were opened to read, and this writes: {prepared.query_string}")
        return prepared.bind(params)

    async def _send_in_time(self, writes: Sequence[Any]) -> None:
        """Run bound writes of several callers in one request. Raises as `_send` does."""
        async with asyncio.timeout(self._settings.request_timeout_seconds):
            await self._send(writes)

    async def _send(self, writes: Sequence[Any]) -> None:
        """Run bound writes in one request. Raises TimeoutError if the server says so, or the driver's error."""
        with self._span([write.prepared_statement.query_string for write in writes]):
            try:
                async with self._free:
                    await self._ask_when_free(writes[0] if len(writes) == 1 else _batch_of(writes))
            except (OperationTimedOut, Timeout) as error:
                raise TimeoutError(str(error)) from error

    def _span(self, texts: Sequence[str]) -> AbstractContextManager[object]:
        return cassandra_span(texts, self._settings.keyspace, self._address)

    async def clock_ahead_seconds(self) -> float:
        """Return how far this machine's clock is ahead of a server's clock (seconds).

        The duration of the request is allowed for, so 0 means that no difference is visible.
        """
        before = time.time()
        rows = await self.execute("SELECT toUnixTimestamp(now()) FROM system.local")
        server: float = rows[0][0] / 1_000
        return max(before - server - SERVER_CLOCK_STEP, 0.0) or min(time.time() - server, 0.0)

    async def execute_many(
        self, cql: str, many: Iterable[Params], *, at: int | None = None, page_rows: int = 1_000
    ) -> list[list[Row]]:
        """Run a statement once for each of `many`, concurrently. Returns the answers in their order.

        Rows are fetched `page_rows` at a time. Each statement has the whole deadline: its time begins when it is sent.
        Raises the first failure.
        """
        return await _run_all([partial(self.execute, cql, params, at=at, page_rows=page_rows) for params in many])

    async def execute_together(self, cql: str, many: Iterable[Params], *, at: int | None = None) -> None:
        """Run a small write once for each of `many`, of any partitions, several to a request, concurrently.

        Each has the time `at`, or its own among its parameters. Raises as `execute` does, the first failure: then some
        writes may be done and others not.
        """
        writes = [(cql, params if at is None else {**params, "at": at}) for params in many]
        if len(writes) < MIN_LIST:
            await asyncio.gather(*(self.execute_grouped(write) for write in writes))
            return
        parts = [writes[start : start + MAX_WRITES] for start in range(0, len(writes), MAX_WRITES)]
        await _run_all([partial(self._execute_part, part) for part in parts])

    async def _execute_part(self, writes: Sequence[tuple[str, Params]]) -> None:
        try:
            async with asyncio.timeout(self._settings.request_timeout_seconds):
                bound = await self._bind(writes)
            await self._grouped.execute_each(bound)  # each of its requests has the whole deadline
        except Exception as error:
            raise translate_error(error, self._settings, writes[0][0]) from error

    async def page(
        self, cql: str, params: Params, *, page_rows: int, after: bytes | None = None
    ) -> tuple[list[Row], bytes | None]:
        """Return one page of a statement's rows, and the place after which the next page begins, or None at the end.

        Raises as `execute` does.
        """
        try:
            with self._span([cql]):
                async with asyncio.timeout(self._settings.request_timeout_seconds), self._free:
                    statement = self._bind_params(await self._prepare(cql), params)
                    statement.fetch_size = page_rows
                    return await self._ask_for_page(statement, after)
        except Exception as error:
            raise translate_error(error, self._settings, cql) from error

    async def close(self) -> None:
        """Close all connections. Requests on their way fail."""
        await asyncio.to_thread(self._cluster.shutdown)

    async def _prepare(self, cql: str) -> Any:
        """Return the prepared statement of this text. The server is asked only once, however many callers wait."""
        waiting = self._prepared.get(cql)
        if waiting is not None and waiting.done() and not waiting.cancelled() and not waiting.exception():
            return waiting.result()
        if waiting is None or waiting.done():
            waiting = asyncio.ensure_future(asyncio.to_thread(self._prepare_now, cql))
            waiting.add_done_callback(read_failure)
            self._prepared[cql] = waiting
        return await asyncio.shield(waiting)

    def _prepare_now(self, cql: str) -> Any:
        prepared = self._driver.prepare(cql)
        prepared.is_idempotent = True
        return prepared

    async def _ask_when_free(self, statement: Any) -> list[Row]:
        """Ask, and wait while all connections are full.

        The driver refuses a statement at once when a socket's buffer is full of large values, and has sent nothing
        then. The deadline of the statement ends the waiting.
        """
        pause_seconds = FULL_FIRST_SECONDS
        while True:
            try:
                return await self._ask(statement)
            except NoHostAvailable as error:
                if not _is_full(error):
                    raise
            await asyncio.sleep(pause_seconds)
            pause_seconds = min(2 * pause_seconds, FULL_LAST_SECONDS)

    async def _ask(self, statement: Any) -> list[Row]:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[Row]] = loop.create_future()
        # The caller's deadline ends the waiting: a timer of the driver costs a twentieth of a fetcher's CPU time.
        request = self._driver.execute_async(statement, timeout=None)
        rows: list[Row] = []

        def more(page: Sequence[Row] | None) -> None:
            rows.extend(page or ())
            if request.has_more_pages:
                request.start_fetching_next_page()
            else:
                self._answers.put(loop, partial(_resolve, answer, rows))

        request.add_callbacks(more, lambda error: self._answers.put(loop, partial(_fail, answer, error)))
        return await answer

    async def _ask_for_page(self, statement: Any, after: bytes | None) -> tuple[list[Row], bytes | None]:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[Row]] = loop.create_future()
        timeout_seconds = self._settings.request_timeout_seconds
        request = self._driver.execute_async(statement, timeout=timeout_seconds, paging_state=after)
        request.add_callbacks(
            lambda rows: self._answers.put(loop, partial(_resolve, answer, list(rows or ()))),
            lambda error: self._answers.put(loop, partial(_fail, answer, error)),
        )
        rows = await answer
        # The driver makes the paging state public only for its blocking results.
        return rows, request._paging_state


async def _run_all(calls: Sequence[Callable[[], Awaitable[Answer]]]) -> list[Answer]:
    """Return the answers of all calls in their order, IN_FLIGHT calls at once. The first failure ends the others."""
    answers: dict[int, Answer] = {}
    numbered = iter(enumerate(calls))

    async def work() -> None:
        for number, call in numbered:
            answers[number] = await call()

    workers = [asyncio.ensure_future(work()) for _ in range(min(len(calls), IN_FLIGHT))]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
    return [answers[number] for number in range(len(calls))]


def _batch_of(writes: Sequence[Any]) -> Any:
    """Return a batch of bound writes. Unlogged: one of a single partition is atomic without the log, and one of several
    need not be."""
    batch = BatchStatement(batch_type=BatchType.UNLOGGED)
    batch.is_idempotent = True
    for write in writes:
        batch.add(write)
    return batch


@lru_cache(maxsize=1_024)
def _names_of(prepared: Any) -> frozenset[str]:
    """Return the parameters of a prepared statement."""
    return frozenset(column.name for column in prepared.column_metadata)


async def connect(settings: CassandraSettings) -> CassandraSession:
    """Connect to the keyspace. Raises StoreUnavailable, or UsageError if the keyspace is missing."""
    cluster = new_cluster(settings)
    try:
        driver = await asyncio.to_thread(cluster.connect)
        await asyncio.to_thread(driver.set_keyspace, settings.keyspace)
    except Exception as error:
        await asyncio.to_thread(cluster.shutdown)
        raise translate_error(error, settings) from error
    return CassandraSession(settings, cluster, driver)


def address(settings: CassandraSettings) -> str:
    return ", ".join(f"{host}:{settings.port}" for host in settings.hosts)


def translate_error(error: Exception, settings: CassandraSettings, cql: str = "") -> Exception:
    """Return Riffle's error for an error of the driver: what failed, where, and what to do."""
    where = f"Cassandra at {address(settings)}"
    if isinstance(error, RiffleError):
        return error
    raw, reason = str(error), describe_error(error)
    if isinstance(error, TimeoutError | OperationTimedOut | Timeout):
        return DeadlineExceeded(f"{where} did not answer in {settings.request_timeout_seconds:g} s ({reason})")
    if _is_away(error):
        return StoreUnavailable(
            f"{where} can't be reached ({reason}). Start the local stack with `riffle up`, or set "
            "RIFFLE_CASSANDRA__HOSTS to nodes that run"
        )
    if isinstance(error, AuthenticationFailed | Unauthorized) or "AuthenticationFailed" in raw:
        return UsageError(f"{where} refuses {settings.username or 'a client without a user name'} ({reason}). Check "
                          "RIFFLE_CASSANDRA__USERNAME and RIFFLE_CASSANDRA__PASSWORD_FILE")  # fmt: skip
    if "does not exist" in raw or "unconfigured table" in raw:
        return UsageError(f"{where} lacks the schema of keyspace {settings.keyspace!r} ({reason}). "
                          "Make it with `riffle migrate`")  # fmt: skip
    if isinstance(error, RequestValidationException | InvalidMessage):
        return PoisonError(f"{where} refuses a statement ({reason}): {' '.join(cql.split())}")
    return error


def _is_full(error: NoHostAvailable) -> bool:
    """Return True if all connections are full, although the servers are there."""
    causes = causes_of(error)
    return bool(causes) and all(isinstance(cause, ConnectionBusy | NoConnectionsAvailable) for cause in causes)


def _is_away(error: Exception) -> bool:
    if isinstance(error, NoHostAvailable):
        return not any(isinstance(cause, AuthenticationFailed | InvalidRequest) for cause in causes_of(error))
    if isinstance(
        error, ErrorMessage
    ):  # without an exception of its own in the driver: overloaded, starting, a server error
        return not isinstance(error, RequestValidationException | InvalidMessage)
    return isinstance(error, RequestExecutionException | UnresolvableContactPoints | ConnectionException | OSError)


class _Answers:
    """Hands answers of the driver's thread to the event loops that wait for them."""

    def __init__(self) -> None:
        self._waiting: dict[asyncio.AbstractEventLoop, deque[Callable[[], None]]] = {}
        self._lock = threading.Lock()

    def put(self, loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
        """Call a function in the event loop, from the driver's thread. A closed loop has nothing that waits."""
        with self._lock:
            waiting = self._waiting.get(loop)
            if waiting is not None:  # the loop is awake already, and has not come to them
                waiting.append(callback)
                return
            self._waiting[loop] = deque((callback,))
        try:
            loop.call_soon_threadsafe(self._call, loop)
        except RuntimeError:
            self._take(loop)
            if not loop.is_closed():
                raise

    def _call(self, loop: asyncio.AbstractEventLoop) -> None:
        for callback in self._take(loop):
            callback()

    def _take(self, loop: asyncio.AbstractEventLoop) -> deque[Callable[[], None]]:
        with self._lock:
            return self._waiting.pop(loop, deque())


def _resolve(answer: asyncio.Future[list[Row]], rows: list[Row]) -> None:
    if not answer.done():
        answer.set_result(rows)


def _fail(answer: asyncio.Future[list[Row]], error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)
