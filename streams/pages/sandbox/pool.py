"""Parsing processes that may die: a small pool that refuses the page which killed one, and starts another.

Requests go to a process in small batches, so that it never waits for its next page. When it dies, the page that it was
at is refused with the reason, and those behind it go to the next process. A page whose process died is not tried again:
what ends a process is the page (its CPU time and memory are limited by the kernel, see `worker`). Only a page that got
no more memory is, once more as the first page of a fresh process: what the pages before it left may have been why.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgpack

from streams.errors import PoisonError, Refused, TransientError
from streams.pages.sandbox.explanation import Explanation
from streams.pages.sandbox.worker import CPU_SECONDS, LENGTH, is_short_of_memory
from streams.pages.sandbox.worker_messages import PageOutcome

WORKER = ("-m", "streams.pages.sandbox.worker")
BATCH = 8
STALL_SECONDS = 60.0
"""Without an answer for so long a process is killed. Only a machine that stands still comes here: CPU time ends
before."""
START_SECONDS = 120.0
END_SECONDS = 10.0
"""From a closed pipe to the process's end."""
PAGES_PER_PROCESS = 20_000
"""Then a fresh process replaces it, so that what a parser may leak stays small."""

Answer = list[Any]
_DONE = {"normalize": "normalized", "explain": "explained"}


@dataclass(slots=True)
class _Job:
    request: bytes
    answer: "asyncio.Future[Answer]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class ParsePool:
    """`async with ParsePool(2) as pool: outcome = await pool.parse(body, url=..., headers=...)`."""

    def __init__(self, processes: int = 2, *, stall_seconds: float = STALL_SECONDS) -> None:
        self._processes = processes
        self._stall_seconds = stall_seconds
        self._jobs: deque[_Job] = deque()
        self._wake = asyncio.Condition()
        self._tasks: list[asyncio.Task[None]] = []
        self._closing = False

    async def __aenter__(self) -> "ParsePool":
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def start(self) -> None:
        """Start the processes; returns at once. Pages wait until one is ready."""
        if not self._tasks:
            self._tasks = [asyncio.create_task(self._keep(), name=f"parse-{n}") for n in range(self._processes)]

    async def close(self) -> None:
        """End the processes. Pages that wait get a TransientError."""
        self._closing = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        while self._jobs:
            self._fail(self._jobs.popleft(), TransientError("the parsing processes are ending"))

    async def parse(self, body: bytes, *, url: str, headers: Mapping[str, str]) -> PageOutcome:
        """Understand a page.

        Raises Refused (the page is not let in), PoisonError (a fault of ours), TransientError.
        """
        return PageOutcome.from_fields(await self._fields_of("normalize", body, url, headers))

    async def explain(self, body: bytes, *, url: str, headers: Mapping[str, str]) -> Explanation:
        """What was removed from a page, and why, within the same limits. Raises as `parse` does."""
        return Explanation.from_fields(await self._fields_of("explain", body, url, headers))

    async def _fields_of(
        self,
        task: str,
        body: bytes,
        url: str,
        headers: Mapping[str, str],
    ) -> dict[str, Any]:
        self.start()
        packed = msgpack.packb([task, url, dict(headers), body], use_bin_type=True)
        job = _Job(LENGTH.pack(len(packed)) + packed)
        async with self._wake:
            self._jobs.append(job)
            self._wake.notify()
        kind, *rest = await job.answer
        if kind == "ok":
            fields: dict[str, Any] = rest[0]
            return fields
        if kind == "refused":
            raise Refused(*rest)
        raise PoisonError(f"{url} could not be {_DONE[task]}: {rest[0]}")

    async def _keep(self) -> None:
        """One slot of the pool: a process, and its successors."""
        while not self._closing:
            try:
                await self._run_process()
            except (OSError, TimeoutError) as error:
                while self._jobs:
                    self._fail(self._jobs.popleft(), TransientError(f"no parsing process could be started: {error}"))
                await asyncio.sleep(1.0)

    async def _run_process(self) -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *WORKER,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            async with asyncio.timeout(START_SECONDS):
                try:
                    await _answer(process.stdout)
                except asyncio.IncompleteReadError:
                    raise OSError(f"it ended at its start with {await process.wait()}") from None
            answered = 0
            while answered < PAGES_PER_PROCESS:
                batch = await self._next_batch()
                if not await self._work_off(batch, process, process.stdin, process.stdout, fresh=answered == 0):
                    return
                answered += len(batch)
        finally:
            await _kill(process)

    async def _next_batch(self) -> list[_Job]:
        async with self._wake:
            await self._wake.wait_for(lambda: bool(self._jobs))
            share = max(1, min(BATCH, len(self._jobs) // self._processes))
            taken = [self._jobs.popleft() for _ in range(share)]
            return [job for job in taken if not job.answer.done()]  # nobody waits for the others any more

    async def _work_off(
        self,
        batch: list[_Job],
        process: asyncio.subprocess.Process,
        stdin: asyncio.StreamWriter,
        stdout: asyncio.StreamReader,
        *,
        fresh: bool,
    ) -> bool:
        """Whether the process goes on afterwards. `fresh`: it has answered no page yet."""
        waiting = deque(batch)
        try:
            stdin.writelines([job.request for job in batch])
            while waiting:
                async with asyncio.timeout(self._stall_seconds):
                    ends, *answer = await _answer(stdout)
                if fresh or not is_short_of_memory(answer):
                    job = waiting.popleft()
                    if not job.answer.done():
                        job.answer.set_result(answer)
                if ends:
                    return False
                fresh = False
        except (asyncio.IncompleteReadError, ConnectionError, TimeoutError) as error:
            culprit = waiting.popleft()
            status = await _end(process, at_once=isinstance(error, TimeoutError))
            if not culprit.answer.done():
                culprit.answer.set_result(["refused", *_cause(status)])
            return False
        finally:
            self._jobs.extendleft(reversed(waiting))
        return True

    @staticmethod
    def _fail(job: _Job, error: Exception) -> None:
        if not job.answer.done():
            job.answer.set_exception(error)


async def _end(process: asyncio.subprocess.Process, *, at_once: bool) -> int:
    """How the process ended. One that closed its pipes is ending by itself: asyncio loses the status of a process that
    is killed when it is dead already, and with it the reason why the page is refused."""
    if not at_once:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                return await process.wait()
    if process.returncode is None:
        process.kill()
    return await process.wait()


async def _kill(process: asyncio.subprocess.Process) -> None:
    """Returns when it is gone, also to a task that is cancelled while it waits for that."""
    if process.returncode is None:
        process.kill()
    waiting = asyncio.ensure_future(process.wait())
    try:
        await asyncio.shield(waiting)
    except asyncio.CancelledError:
        await waiting
        raise


def _cause(returncode: int) -> tuple[str, str]:
    if returncode == -signal.SIGPROF:
        return "time", f"parsing took more than {CPU_SECONDS:g} seconds of CPU time"
    if returncode == -signal.SIGKILL:
        return "time", "the parsing process was killed"
    return "crash", f"the parsing process ended with {returncode}"


async def _answer(stdout: asyncio.StreamReader) -> Answer:
    (length,) = LENGTH.unpack(await stdout.readexactly(LENGTH.size))
    answer: Answer = msgpack.unpackb(await stdout.readexactly(length), raw=False, strict_map_key=False)
    return answer
