"""A small pool of processes that may die: it refuses the payload that used up a process, and starts another process.

Requests go to a process in small batches, so that it never waits for the next request. When a process dies, its current
payload decides what follows:

- The kernel ended it for its CPU time: the payload is refused.
- It crashed: the payload is tried once more, alone in a fresh process, and refused if that process crashes, too.
- The task got no more memory in a process that had run other tasks before: it is tried once more in the same way.
- Killed from outside (as by the OOM killer), or silent: no verdict. The payload is tried once more in the same way, and
  then the run raises TransientError.

The payloads behind it in the batch go to the next process. If no process can be started, or a start is slow, the runs
that wait raise SandboxAway: the machine's fault, as if a store were away.
"""

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import Protocol, Self

import structlog

from streams.errors import PoisonError, Refused, SandboxAway, TransientError
from streams.sandbox.confinement import missing, refuse_dumps
from streams.sandbox.limits import Limits, memory_refusal
from streams.sandbox.messages import Answer, pack_frame
from streams.sandbox.process import ProcessEnded, SandboxProcess

BATCH = 8
"""Maximum number of requests that a process gets at once."""
STALL_SECONDS = 60.0
"""Time without an answer after which a process is looked at, and is killed if it did nothing since the last look
(seconds)."""
SLOW_START_SECONDS = 120.0
"""Duration of a start after which the runs that wait for the process raise SandboxAway (seconds). The start goes on."""
RESTART_SECONDS = 1.0
"""Time before the next try to start a process (seconds)."""
RUNS_PER_PROCESS = 20_000
"""Maximum number of tasks of one process, so that leaks of libraries stay small."""
MAX_DEATHS = 2
"""Number of processes that may crash, or be killed, at the same payload."""

log = structlog.get_logger(__name__)


class Sandbox(Protocol):
    """Runs tasks over strangers' text."""

    def start(self) -> None:
        """Start; returns at once."""

    async def close(self) -> None:
        """End. Runs that wait raise SandboxAway."""

    async def run(self, task: str, payload: bytes) -> bytes:
        """Run a task. Raises Refused, PoisonError, SandboxAway and TransientError."""


@dataclass(slots=True)
class _Run:
    """One call of a task."""

    task: str
    request: bytes
    answer: "asyncio.Future[Answer]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    crashes: int = 0
    """Number of processes that crashed at this run."""
    kills: int = 0
    """Number of processes that were killed from outside, or were silent, at this run."""

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
        self._ready = 0
        """Number of processes that take runs."""
        self.confinement: list[str] | None = None
        """The confinements in force (`confinement.confine`); None until the first process is ready."""

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def start(self) -> None:
        """Start the processes; returns at once. Runs wait until one is ready."""
        refuse_dumps()  # this process has the secrets
        if not self._slots:
            self._slots = [
                asyncio.create_task(self._keep_running(), name=f"{self._name}-{n}") for n in range(self._processes)
            ]

    async def close(self) -> None:
        """End the processes. Runs that wait raise SandboxAway."""
        self._closing = True
        for slot in self._slots:
            slot.cancel()
        await asyncio.gather(*self._slots, return_exceptions=True)
        self._slots = []
        _fail(self._retries, error := SandboxAway("the sandbox processes are ending"))
        _fail(self._waiting, error)

    async def run(self, task: str, payload: bytes) -> bytes:
        """Run a task in a process.

        Raises Refused (by the task, or rule `time`, `memory`, `nesting` or `crash`), PoisonError (the task failed),
        SandboxAway (no process can be started, or the pool is closing), TransientError (each process was killed).
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
            except Exception as error:  # whatever it is: a slot that ended would leave its runs waiting for ever
                away = error if isinstance(error, SandboxAway) else SandboxAway(f"a sandbox process failed: {error!r}")
                log.warning("no sandbox process", pool=self._name, error=str(away))
                self._away(away)
                await asyncio.sleep(RESTART_SECONDS)

    async def _run_process(self) -> None:
        process = await SandboxProcess.start(self._tasks, self._limits, self._stall_seconds)
        try:
            self._note_confinement(await process.ready(SLOW_START_SECONDS, self._start_is_slow))
            self._ready += 1
            try:
                await self._use(process)
            finally:
                self._ready -= 1
        finally:
            await process.kill()

    async def _use(self, process: SandboxProcess) -> None:
        """Run batches in a process until it can't be used again."""
        batch = [self._retries.popleft()] if self._retries else await self._next_batch()
        done = 0
        while await self._run_batch(batch, process, is_fresh=done == 0):
            done += len(batch)
            if done >= RUNS_PER_PROCESS:
                return
            batch = await self._next_batch()

    def _note_confinement(self, in_force: list[str]) -> None:
        if self.confinement is None:
            log.info("sandbox processes are ready", pool=self._name, confinement=in_force)
            if lacks := missing(in_force):
                log.warning("sandbox processes are not fully confined on this system", pool=self._name, without=lacks)
        self.confinement = in_force

    def _start_is_slow(self) -> None:
        self._away(SandboxAway(f"a sandbox process takes longer than {SLOW_START_SECONDS:g} s to start"))

    def _away(self, error: SandboxAway) -> None:
        """Fail the runs that no process will take soon."""
        _fail(self._retries, error)
        if not self._ready:
            _fail(self._waiting, error)

    async def _next_batch(self) -> list[_Run]:
        async with self._wake:
            await self._wake.wait_for(lambda: bool(self._waiting))
            share = max(1, min(BATCH, len(self._waiting) // self._processes))
            taken = [self._waiting.popleft() for _ in range(share)]
            return [run for run in taken if not run.answer.done()]  # nobody waits for the others any more

    async def _run_batch(self, batch: list[_Run], process: SandboxProcess, *, is_fresh: bool) -> bool:
        """Run a batch. Returns whether the process can be used again. `is_fresh`: it has run nothing yet."""
        unanswered = deque(batch)
        try:
            process.send([run.request for run in batch])
            while unanswered:
                answer = await process.answer()
                run = unanswered.popleft()
                if answer.short_of_memory and not is_fresh:
                    self._retries.append(run)
                else:
                    run.settle(answer)
                if answer.ends:
                    return False
                is_fresh = False
        except ProcessEnded as end:
            self._handle_end(unanswered.popleft(), end, is_fresh=is_fresh)
            return False
        finally:
            self._waiting.extendleft(reversed(unanswered))  # this slot's next process takes them
        return True

    def _handle_end(self, run: _Run, end: ProcessEnded, *, is_fresh: bool) -> None:
        """Refuse or fail the run that a process ended at, or have it tried again."""
        if end.cause == "time":
            run.settle(_refusal("time", f"it took more than {self._limits.cpu_seconds:g} seconds of CPU time"))
            return
        if end.cause == "memory":
            if is_fresh:
                run.settle(_refusal(*memory_refusal(self._limits)))
            else:
                self._retries.append(run)
            return
        if end.cause == "crash":
            run.crashes += 1
        else:
            run.kills += 1
        log.warning("a sandbox process died", pool=self._name, task=run.task, how=str(end), cause=end.cause)
        if run.crashes >= MAX_DEATHS:
            run.settle(_refusal("crash", f"the process died {run.crashes} times: {end}"))
        elif run.kills >= MAX_DEATHS:
            run.fail(TransientError(f"the sandbox process was ended {run.kills} times: {end}"))
        else:
            self._retries.append(run)


def _refusal(rule: str, detail: str) -> Answer:
    return Answer(True, False, "refused", [rule, detail])


def _fail(runs: deque[_Run], error: Exception) -> None:
    while runs:
        runs.popleft().fail(error)
