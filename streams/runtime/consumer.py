"""The consumer of a stage: it loses no record at a rebalance, no busy machine ends it, it reads any header name, and
it does nothing while nothing happens.

It goes back on every partition, not only on some, and asks for all committed offsets in one request. Around a rebalance
Faust drops records that it has fetched, and then goes back to the committed offsets. The client below it (aiokafka
0.14) goes back only where an offset above 0 is committed. On a partition without one, the dropped records would be
skipped, and the first commit behind them would lose them for good. The client also asks for one partition after the
other: a thousand requests at the start of a worker with all stages.

Faust also looks for partitions without progress, and logs advice. If it looks before a partition has its first
position, as on a busy machine, an assertion of the client ends the worker. The health of Riffle has the same purpose
(`health`), so this consumer does not look.

A worker of all stages has a consumer for each. So each has few timers: it commits only behind acknowledged events, and
waits for records as long as the broker does. Where Faust wakes threads lest a call be left lying, uvloop wakes them for
each call.

Kafka stores header names that are not UTF-8, and aiokafka raises an error for the whole batch before any code of a
stage sees the record, so that the stage would stop at it for ever. Here a batch that can not be read is read once more,
slower, with the invalid bytes escaped (`\\xff`): the record gets as far as its stage, which handles it or makes a dead
letter of it.

A request for records names each partition of each topic of the stage, 72 of the frontier, and aiokafka writes and reads
them one by one, in Python. Answered at once, it brings one or two records of a busy topic. So after an answer with
records the next request waits for a moment (`GatheringFetcher`), and brings all that came meanwhile. The first record
after a silence waits for nothing.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import structlog
from aiokafka.consumer import consumer as client_of_kafka
from aiokafka.consumer import fetcher
from aiokafka.record import default_records, memory_records
from faust.transport.drivers.aiokafka import AIOKafkaConsumerThread, Consumer
from faust.types import TP
from mode import Service
from mode.utils.locks import Event

log = structlog.get_logger()

PAUSE_SECONDS = 0.025
"""Minimum time between an answer of a broker with records and the next request for records (seconds)."""
SILENCE_SECONDS = 4.0
"""Time for which a broker keeps a request for records that it doesn't have, and after which the client looks at its
partitions though nothing happened (seconds). Records are sent at once; another request to the same broker waits behind
it. Faust's own 1.5 seconds and the client's 0.2 were most of the work of a stage without events."""


class QuietThread(AIOKafkaConsumerThread):
    """The thread of a consumer's client, with a loop that only calls, answers and the client's own timers wake."""

    async def _keepalive2(self) -> None:
        """Do nothing: see the module."""

    @Service.task
    async def _thread_keepalive(self) -> None:
        """Do nothing: see the module."""

    def end_wait(self) -> None:
        """Let a call that waits for records return without any: it asked for the partitions of that time."""
        if self._consumer is not None:
            with suppress(RuntimeError):  # the loop is closed: the worker stops
                self.thread_loop.call_soon_threadsafe(self._consumer._fetcher.end_waits)


class CompleteConsumer(Consumer):
    """See the module."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._has_acknowledged = Event()

    def _new_consumer_thread(self) -> QuietThread:
        return QuietThread(self, loop=self.loop, beacon=self.beacon)

    async def _getmany(self, active_partitions: set[TP] | None, *_: Any, **__: Any) -> Any:
        return await self._thread.getmany(active_partitions, SILENCE_SECONDS)

    def resume_flow(self) -> None:
        """Go on after an assignment. What still waits for the partitions of before asks for the new ones."""
        super().resume_flow()
        thread: Any = self._thread
        thread.end_wait()

    def ack(self, message: Any) -> bool:
        """Acknowledge a record. Returns False if it was acknowledged before."""
        is_new: bool = super().ack(message)
        if is_new:
            self._has_acknowledged.set()
        return is_new

    @Service.task
    async def _commit_handler(self) -> None:
        """Commit some time after an acknowledgement, and again while there are more."""
        while not self.should_stop:
            await self.wait(self._has_acknowledged)  # or for the stop
            self._has_acknowledged.clear()
            await self.sleep(self.commit_interval)
            if not self.should_stop:
                await self.commit()

    async def seek_to_committed(self) -> Mapping[TP, int]:
        """Seek every partition to its committed offset, or to its beginning. Return the committed offsets."""
        thread: Any = self._thread
        committed = await thread.call_thread(_seek_to_committed, thread._ensure_consumer())
        if without := [partition for partition, offset in committed.items() if not offset]:
            await thread.seek_to_beginning(*without)
        return committed  # type: ignore[no-any-return]  # the client has no types

    @Service.task
    async def _commit_livelock_detector(self) -> None:
        """Do nothing: see the module. Faust's own method also reads statistics that the app doesn't have
        (`faust_app._NoStatistics`)."""


async def _seek_to_committed(client: Any) -> dict[TP, int | None]:
    """Seek the client's partitions to their committed offsets above 0. Return all of these; None where there is none.

    A partition that is taken away meanwhile is left out.
    """
    asked = client.assignment()
    found = await client._coordinator.fetch_committed_offsets([*asked])
    committed = {}
    for partition in asked & client.assignment():
        offset = found[partition].offset if partition in found else None
        committed[partition] = offset
        if offset and offset > 0:
            client.seek(partition, offset)
    return committed


class GatheringFetcher(fetcher.Fetcher):  # type: ignore[misc]  # the client has no types
    """See the module."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._answered_at: dict[int, float] = {}
        """Time of the last answer with records, by broker."""
        own = {"fetcher_timeout": SILENCE_SECONDS, "fetch_max_wait_ms": int(1000 * SILENCE_SECONDS)}
        super().__init__(*args, **{**options, **own})

    async def _proc_fetch_request(self, assignment: Any, node_id: int, request: Any) -> bool:
        """Request records of a broker when its turn has come. Return whether there are new ones, or a failure.

        As the client's own method, it also returns if it is cancelled.
        """
        wait = self._answered_at.get(node_id, 0.0) + PAUSE_SECONDS - time.monotonic()
        try:
            if wait > 0:
                await asyncio.sleep(wait)
        except asyncio.CancelledError:
            return False
        if not assignment.active:
            return False
        has_records: bool = await super()._proc_fetch_request(assignment, node_id, request)
        if has_records:
            self._answered_at[node_id] = time.monotonic()
        return has_records

    async def fetched_records(self, partitions: Any, timeout: float = 0, max_records: int | None = None) -> Any:  # noqa: ASYNC109
        """Return records of these partitions that came, or wait for some. Without any after the timeout, or at
        `end_waits`, the answer is empty."""
        found = await super().fetched_records(partitions, 0, max_records)
        if found or not timeout or self._closed:
            return found
        waiter = self._create_fetch_waiter()
        await asyncio.wait([waiter], timeout=timeout)
        if not waiter.done() or self._closed:
            waiter.cancel()
            return {}
        waiter.result()  # raises an error of the group
        return await super().fetched_records(partitions, 0, max_records)

    def end_waits(self) -> None:
        """Let each call that waits for records look again, and return."""
        for waiter in [*self._fetch_waiters]:
            self._notify(waiter)


class EscapingBuffer(bytearray):
    """The bytes of a batch. A part of them is decoded with its invalid bytes escaped."""

    def __getitem__(self, key: Any) -> Any:
        part = super().__getitem__(key)
        return EscapingBuffer(part) if isinstance(part, bytearray) else part

    def decode(self, encoding: str = "utf-8", errors: str = "backslashreplace") -> str:
        return super().decode(encoding, errors)


class TolerantBatch:
    """A batch of records. If the client's reader fails, a slower reader that escapes names reads it again."""

    def __init__(self, content: memoryview) -> None:
        self._content = bytes(content)
        self._batch: Any = default_records.DefaultRecordBatch(self._content)
        self._read = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    def __iter__(self) -> Iterator[Any]:
        iter(self._batch)  # it decompresses the batch
        return self

    def __next__(self) -> Any:
        try:
            record = next(self._batch)
        except StopIteration:
            raise
        except Exception as error:
            if isinstance(self._batch, default_records._DefaultRecordBatchPy):
                raise
            record = self._read_again(error)
        self._read += 1
        return record

    def _read_again(self, error: Exception) -> Any:
        slow: Any = default_records._DefaultRecordBatchPy(bytes(self._content))
        iter(slow)
        slow._buffer = EscapingBuffer(slow._buffer)
        for _ in range(self._read):
            next(slow)
        record = next(slow)  # raises for a batch that is broken in another way, as before
        log.warning("a record has a header name that is not UTF-8", offset=record.offset, error=str(error))
        self._batch = slow
        return record


class TolerantRecords:
    """The batches of an answer of a broker."""

    def __init__(self, content: bytes) -> None:
        self._records = memory_records._MemoryRecordsPy(content)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._records, name)

    def next_batch(self) -> Any:
        """Return the next batch; a batch of today's format reads names that are not UTF-8."""
        following, records = self._records._next_slice, self._records
        if following is None or len(following) < records.MIN_SLICE or following[records.MAGIC_OFFSET] < 2:
            return records.next_batch()
        records._cache_next()
        return TolerantBatch(following)


def change_client() -> None:
    """Let the client of this process read records with any header names, and gather records: see the module."""
    fetcher.MemoryRecords = TolerantRecords
    client_of_kafka.Fetcher = GatheringFetcher
