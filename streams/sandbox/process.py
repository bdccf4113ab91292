"""One sandbox process, as its pool sees it: its start, its answers, its end.

A busy machine makes a process slow, and a slow process is waited for: only a process that uses no CPU time and is not
waiting for a processor is silent. Its task can't take forever, since its CPU time is limited.
"""

import asyncio
import contextlib
import json
import os
import signal
import struct
import sys
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import asdict
from typing import Any, Literal, TypeVar

import msgpack
import psutil

from streams.errors import SandboxAway
from streams.sandbox.confinement import minimal_environment
from streams.sandbox.limits import OUT_OF_MEMORY, Limits
from streams.sandbox.messages import Answer, receive_answer, receive_frame

WORKER = ("-m", "streams.sandbox.worker")
END_SECONDS = 10.0
"""Seconds for a process to end after it closed its pipe."""
READ_SECONDS = 1.0
"""Seconds in which the answer of a process that seems silent may still be read from its pipe."""
WAITING_STATES = (psutil.STATUS_SLEEPING, psutil.STATUS_IDLE, psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)
"""States of a process that waits for neither a processor nor a disk."""
TIME_SIGNALS = (signal.SIGPROF, signal.SIGXCPU)
"""The kernel's signals at the limit of CPU time."""
CRASH_SIGNALS = (signal.SIGSEGV, signal.SIGABRT, signal.SIGILL, signal.SIGFPE, signal.SIGSYS)
"""Signals that a process brings on itself."""

T = TypeVar("T")
Cause = Literal["time", "memory", "crash", "killed", "silent"]


class ProcessEnded(Exception):
    """The process ended before its answer. `cause` separates what it brought on itself from what was done to it."""

    def __init__(self, cause: Cause, words: str) -> None:
        super().__init__(words)
        self.cause = cause


def cause_of(status: int) -> ProcessEnded:
    """Return what the status of an ended process says. Any other exit by itself counts as a crash."""
    if status == OUT_OF_MEMORY:
        return ProcessEnded("memory", "it ran out of memory")
    if status >= 0:
        return ProcessEnded("crash", f"it ended with {status}")
    number = signal.Signals(-status)
    words = f"killed by {number.name}"
    if number in TIME_SIGNALS:
        return ProcessEnded("time", words)
    return ProcessEnded("crash" if number in CRASH_SIGNALS else "killed", words)


class SandboxProcess:
    """A running sandbox process."""

    def __init__(self, process: asyncio.subprocess.Process, stall_seconds: float) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._stall_seconds = process, stall_seconds
        self._stdin, self._stdout = process.stdin, process.stdout
        self._cpu_seconds = -1.0
        """CPU time of the process when it was last looked at."""

    @classmethod
    async def start(cls, tasks: Sequence[str], limits: Limits, stall_seconds: float) -> "SandboxProcess":
        """Start a process. Raises SandboxAway if the machine has no process, memory or thread for it."""
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *WORKER,
                str(os.getpid()),
                json.dumps(asdict(limits)),
                *tasks,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env=minimal_environment(os.environ, sys.path),
            )
        except (OSError, MemoryError, RuntimeError) as error:  # RuntimeError: no thread that would wait for its end
            raise SandboxAway(f"no sandbox process can be started: {error}") from error
        return cls(process, stall_seconds)

    async def ready(self, slow_seconds: float, slow: Callable[[], None]) -> list[str]:
        """Wait until the process is ready. Returns its confinements. Raises SandboxAway.

        `slow` is called every `slow_seconds` until then.
        """
        try:
            (in_force,) = await self._await_frame(receive_frame(self._stdout), slow_seconds, slow)
        except ProcessEnded as end:
            raise SandboxAway(f"a sandbox process ended at its start: {end}") from end
        confinements: list[str] = in_force
        return confinements

    def send(self, requests: Sequence[bytes]) -> None:
        self._stdin.writelines(requests)

    async def answer(self) -> Answer:
        """Return the next answer. Raises ProcessEnded."""
        return await self._await_frame(receive_answer(self._stdout), self._stall_seconds)

    async def kill(self) -> None:
        """Kill the process and wait for its end, also in a task that is cancelled meanwhile."""
        if self._process.returncode is None:
            self._process.kill()
        waiting = asyncio.ensure_future(self._process.wait())
        try:
            await asyncio.shield(waiting)
        except asyncio.CancelledError:
            await waiting
            raise

    async def _await_frame(
        self, frame: Coroutine[Any, Any, T], seconds: float, slow: Callable[[], None] = lambda: None
    ) -> T:
        """Return the frame. Raises ProcessEnded at the end of the process, or after a silence, which ends it."""
        reading = asyncio.ensure_future(frame)
        try:
            while not (await asyncio.wait({reading}, timeout=seconds))[0]:
                if self._is_silent():
                    # It waits as well when it has answered, and this process may be the one that got no processor.
                    if (await asyncio.wait({reading}, timeout=READ_SECONDS))[0]:
                        break
                    await self.kill()
                    raise ProcessEnded("silent", f"it did nothing for {seconds:g} s")
                slow()
            return reading.result()
        except (asyncio.IncompleteReadError, ConnectionError):
            raise await self._wait_for_end() from None
        except (ValueError, TypeError, struct.error, msgpack.UnpackException) as error:
            raise ProcessEnded("crash", f"its answer can't be read: {error!r}") from error
        finally:
            reading.cancel()

    async def _wait_for_end(self) -> ProcessEnded:
        """Wait for the end of a process that closed its pipe, and return its cause.

        The process is ending by itself. asyncio loses the status of a process that is killed when it is dead already.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                return cause_of(await self._process.wait())
        await self.kill()
        return cause_of(await self._process.wait())

    def _is_silent(self) -> bool:
        """Return whether the process used no CPU time since the last look, and waits for neither processor nor disk."""
        try:
            process = psutil.Process(self._process.pid)
            with process.oneshot():
                times, state = process.cpu_times(), process.status()
        except psutil.Error:
            return False  # its pipe says how it ended
        before, self._cpu_seconds = self._cpu_seconds, times.user + times.system
        return self._cpu_seconds == before and state in WAITING_STATES
