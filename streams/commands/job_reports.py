"""Reports of a long command, which the pages of operators show, wherever it runs.

    async with reported(stores.notes, "reindex") as report:
        report("Filling statements-1: 200 pages", 0.1)

A report is written every few seconds, also without progress: a job whose reports end has died. A report that can't be
written is left out, and never fails the job. While a job reports, SIGTERM ends it as Ctrl-C does, so that a job that
Kubernetes or the pages of operators stop saves how far it is, and its last report says that it was stopped.
"""

import asyncio
import os
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from typing import Protocol, Self
from uuid import uuid4

from streams.clock import now_micros
from streams.errors import RiffleError
from streams.settings import Settings
from streams.stores.job_reports import JobReport, put_report
from streams.stores.opener import open_stores
from streams.stores.protocols import Notes

REPORT_SECONDS = 5.0
"""Time between two reports (seconds)."""
LAST_SECONDS = 5.0
"""Maximum time that a job waits for its last report (seconds)."""
MAX_SENTENCE_CHARS = 500


class Report(Protocol):
    """Notes what a job does now, and the part of it that is done (0 to 1)."""

    def __call__(self, sentence: str, share: float | None = None) -> None: ...


def unreported(sentence: str, share: float | None = None) -> None:
    """Note nothing: of a job that nobody follows."""


class Reporter:
    """Keeps what a job says of itself. Called by the job, in any thread."""

    def __init__(self, command: str) -> None:
        now = now_micros()
        self._said = JobReport(uuid4(), command, own_place(), now, now)

    def __call__(self, sentence: str, share: float | None = None) -> None:
        """Note what the job does now, and the part of it that is done (0 to 1)."""
        self._said = replace(self._said, sentence=sentence[:MAX_SENTENCE_CHARS], share=share)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """Note how the job ended."""
        if error is None:
            self._said = replace(self._said, state="done", share=1.0)
        elif isinstance(error, RiffleError):
            self._said = replace(self._said, state="failed", sentence=str(error)[:MAX_SENTENCE_CHARS])
        else:
            is_stop = isinstance(error, KeyboardInterrupt | asyncio.CancelledError)
            self._said = replace(self._said, state="stopped" if is_stop else "failed")

    async def write(self, notes: Notes) -> None:
        """Write the report, or leave it out if the store does not answer."""
        with suppress(RiffleError):
            await put_report(notes, replace(self._said, updated=now_micros()))


def own_place() -> str:
    """Return the machine and the id of this process, as reports name them."""
    return f"{socket.gethostname()}:{os.getpid()}"


@asynccontextmanager
async def reported(notes: Notes, command: str) -> AsyncIterator[Reporter]:
    """Report a job until the end of the block."""
    reporter, job, loop = Reporter(command), asyncio.current_task(), asyncio.get_running_loop()
    is_terminated = False

    def terminate() -> None:
        nonlocal is_terminated
        if is_terminated or job is None:
            raise KeyboardInterrupt
        is_terminated = True
        job.cancel()
        # Wakes the loop, which may wait for a socket.
        loop.call_soon_threadsafe(lambda: None)

    try:
        with _at_termination(terminate):
            beats = asyncio.create_task(_beat(reporter, notes))
            try:
                with reporter:
                    yield reporter
            finally:
                beats.cancel()
                await asyncio.gather(beats, return_exceptions=True)
                with suppress(TimeoutError):
                    async with asyncio.timeout(LAST_SECONDS):
                        await reporter.write(notes)
    except asyncio.CancelledError:
        if is_terminated:
            raise KeyboardInterrupt from None
        raise


@contextmanager
def reported_beside(settings: Settings, command: str) -> Iterator[Reporter]:
    """Report a job that is not async, from a thread with stores of its own."""
    reporter, end = Reporter(command), threading.Event()

    async def report_on() -> None:
        with suppress(RiffleError):
            async with open_stores(settings, ["records"]) as stores:
                while not await asyncio.to_thread(end.wait, REPORT_SECONDS):
                    await reporter.write(stores.notes)
                await reporter.write(stores.notes)

    def terminate() -> None:
        raise KeyboardInterrupt

    thread = threading.Thread(target=lambda: asyncio.run(report_on()), name="job-reports", daemon=True)
    with _at_termination(terminate):
        thread.start()
        try:
            with reporter:
                yield reporter
        finally:
            end.set()
            thread.join(LAST_SECONDS)


async def _beat(reporter: Reporter, notes: Notes) -> None:
    while True:
        await reporter.write(notes)
        await asyncio.sleep(REPORT_SECONDS)


@contextmanager
def _at_termination(terminate: Callable[[], None]) -> Iterator[None]:
    """Have SIGTERM call `terminate`. Elsewhere than in the main thread nothing changes.

    It sends no SIGINT: shells have that ignored for what runs in the background, and such a job would go on.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    former = signal.signal(signal.SIGTERM, lambda *_: terminate())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)
