"""A small pool of processes that may die: it refuses the payload that used up a process, and starts another process.

Requests go to a process in small batches, so that it never waits for the next request. When a process dies, its current
payload decides what follows:

- The kernel ended it for its CPU time: the payload is refused.
- Anything else is no verdict: killed from outside or by the OOM killer, a crash, no answer for long. The payload is
  tried once more, alone in a fresh process, and refused if that process dies, too.
- The task got no more memory in a process that had run other tasks before: it is tried once more in the same way.

The payloads behind it in the batch go to the next process.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections import deque
from dataclasses import asdict, dataclass, field
from typing import Protocol, Self

import structlog

from streams.errors import PoisonError, Refused, TransientError
from streams.sandbox.confinement import minimal_environment
from streams.sandbox.limits import Limits
from streams.sandbox.messages import Answer, pack_frame, receive_answer, receive_frame

WORKER = ("-m", "streams.sandbox.worker")
BATCH = 8
"""Maximum number of requests that a process gets at once."""
STALL_SECONDS = 60.0
"""Maximum time without an answer; then the process is killed (seconds). The limit of CPU time comes first, unless the
machine stands still or something stopped the process."""
START_SECONDS = 120.0
END_SECONDS = 10.0
"""Seconds for a process to end after it closed its pipe."""
RUNS_PER_PROCESS = 20_000
"""Maximum number of tasks of one process, so that leaks of libraries stay small."""
MAX_DEATHS = 2
"""Number of processes that may die at the same payload until the payload is refused."""

log = structlog.get_logger(__name__)


class Sandbox(Protocol):
    """Runs tasks over strangers' text."""

    def start(self) -> None:
        """Start; returns at once."""

    async def close(self) -> None:
        """End. Runs that wait raise TransientError."""

    async def run(self, task: str, payload: bytes) -> bytes:
        """Run a task. Raises Refused, PoisonError and TransientError."""


@dataclass(slots=True)
class _Run:
    """One call of a task."""

    task: str
    request: bytes
    answer: "asyncio.Future[Answer]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    deaths: int = 0
    """Number of processes that died at this run, other than for their CPU time."""

    def settle(self, answer: Answer) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


class SandboxPool:
    """`async with SandboxPool((TASK,)) as pool: answer = await pool.run(TASK, payload)`."""

    def __init__(
        self,
        tasks: tuple[str, ...],
        *,
        processes: int = 2,
        limits: Limits | None = None,
        stall_seconds: float = STALL_SECONDS,
        name: str = "sandbox",
    ) -> None:
        """`tasks`: names (`module:function`) of all tasks that may be run."""
        self._tasks = tasks
        self._processes = processes
        self._limits = limits or Limits()
        self._stall_seconds = stall_seconds
        self._name = name
        self._waiting: deque[_Run] = deque()
        self._retries: deque[_Run] = deque()
        """Runs that need a fresh process for themselves. Each slot takes one run when it starts a process."""
        self._wake = asyncio.Condition()
        self._slots: list[asyncio.Task[None]] = []
        self._closing = False
        self.confinement: list[str] | None = None
        """The confinements in force (`confinement.confine`); None until the first process is ready."""

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def start(self) -> None:
        """Start the processes; returns at once. Runs wait until one is ready."""
        if not self._slots:
            self._slots = [
                asyncio.create_task(self._keep_running(), name=f"{self._name}-{n}") for n in range(self._processes)
            ]

    async def close(self) -> None:
        """End the processes. Runs that wait raise TransientError."""
        self._closing = True
        for slot in self._slots:
            slot.cancel()
        await asyncio.gather(*self._slots, return_exceptions=True)
        self._slots = []
        self._fail_waiting(TransientError("the sandbox processes are ending"))

    async def run(self, task: str, payload: bytes) -> bytes:
        """Run a task in a process.

        Raises Refused (by the task, or rule `time`, `memory`, `nesting` or `crash`), PoisonError (the task failed),
        TransientError (no process could be started, or the pool is closing).
        """
        if task not in self._tasks:
            raise ValueError(f"{task} is not among the tasks of this pool: {self._tasks}")
        self.start()
        run = _Run(task, pack_frame([task, payload]))
        async with self._wake:
            self._waiting.append(run)
            self._wake.notify()
        answer = await run.answer
        if answer.kind == "ok":
            result: bytes = answer.values[0]
            return result
        if answer.kind == "refused":
            raise Refused(*answer.values)
        raise PoisonError(f"{task} failed: {answer.values[0]}")

    async def _keep_running(self) -> None:
        """Keep one slot of the pool filled: with a process, and with its successors."""
        while not self._closing:
            try:
                await self._run_process()
            except (OSError, TimeoutError) as error:
                self._fail_waiting(TransientError(f"no sandbox process could be started: {error}"))
                await asyncio.sleep(1.0)

    async def _run_process(self) -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *WORKER,
            str(os.getpid()),
            json.dumps(asdict(self._limits)),
            *self._tasks,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=minimal_environment(os.environ, sys.path),
        )
        try:
            await self._await_start(process)
            batch = [self._retries.popleft()] if self._retries else await self._next_batch()
            done = 0
            while await self._run_batch(batch, process, is_fresh=done == 0):
                done += len(batch)
                if done >= RUNS_PER_PROCESS:
                    return
                batch = await self._next_batch()
        finally:
            await _kill_process(process)

    async def _await_start(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        async with asyncio.timeout(START_SECONDS):
            try:
                (in_force,) = await receive_frame(process.stdout)
            except asyncio.IncompleteReadError:
                raise OSError(f"it ended at its start with {await process.wait()}") from None
        if self.confinement is None:
            level = log.info if "no network, no programs" in in_force else log.warning
            level("sandbox processes are ready", pool=self._name, confinement=in_force)
        self.confinement = in_force

    async def _next_batch(self) -> list[_Run]:
        async with self._wake:
            await self._wake.wait_for(lambda: bool(self._waiting))
            share = max(1, min(BATCH, len(self._waiting) // self._processes))
            taken = [self._waiting.popleft() for _ in range(share)]
            return [run for run in taken if not run.answer.done()]  # nobody waits for the others any more

    async def _run_batch(self, batch: list[_Run], process: asyncio.subprocess.Process, *, is_fresh: bool) -> bool:
        """Run a batch. Returns whether the process can be used again. `is_fresh`: it has run nothing yet."""
        assert process.stdin is not None
        assert process.stdout is not None
        unanswered = deque(batch)
        try:
            process.stdin.writelines([run.request for run in batch])
            while unanswered:
                async with asyncio.timeout(self._stall_seconds):
                    answer = await receive_answer(process.stdout)
                run = unanswered.popleft()
                if answer.short_of_memory and not is_fresh:
                    self._retries.append(run)
                else:
                    run.settle(answer)
                if answer.ends:
                    return False
                is_fresh = False
        except (asyncio.IncompleteReadError, ConnectionError, TimeoutError) as error:
            status = await _end_process(process, at_once=isinstance(error, TimeoutError))
            self._handle_death(unanswered.popleft(), status)
            return False
        finally:
            self._waiting.extendleft(reversed(unanswered))  # this slot's next process takes them
        return True

    def _handle_death(self, run: _Run, status: int) -> None:
        """Refuse the run that a process died at, or have it tried again."""
        if status == -signal.SIGPROF:
            detail = f"it took more than {self._limits.cpu_seconds:g} seconds of CPU time"
            run.settle(Answer(True, False, "refused", ["time", detail]))
            return
        run.deaths += 1
        log.warning("a sandbox process died", pool=self._name, task=run.task, status=status, deaths=run.deaths)
        if run.deaths < MAX_DEATHS:
            self._retries.append(run)
        else:
            run.settle(
                Answer(True, False, "refused", ["crash", f"the process died {run.deaths} times: {_cause(status)}"])
            )

    def _fail_waiting(self, error: Exception) -> None:
        for runs in (self._retries, self._waiting):
            while runs:
                runs.popleft().fail(error)


def _cause(status: int) -> str:
    return f"killed by {signal.Signals(-status).name}" if status < 0 else f"it ended with {status}"


async def _end_process(process: asyncio.subprocess.Process, *, at_once: bool) -> int:
    """Wait for the end of a process, or kill it. Returns its status.

    A process that closed its pipe is ending by itself. asyncio loses the status of a process that is killed when it is
    dead already.
    """
    if not at_once:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                return await process.wait()
    if process.returncode is None:
        process.kill()
    return await process.wait()


async def _kill_process(process: asyncio.subprocess.Process) -> None:
    """Kill a process and wait for its end, also in a task that is cancelled meanwhile."""
    if process.returncode is None:
        process.kill()
    waiting = asyncio.ensure_future(process.wait())
    try:
        await asyncio.shield(waiting)
    except asyncio.CancelledError:
        await waiting
        raise
