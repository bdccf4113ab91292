"""The processes of a running stack, by their names in its state: found, stopped, killed, limited, and others beside."""

import asyncio
import os
import resource
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

from streams.local.home import ProcessState, running_state
from streams.local.probing import answers, listens
from tests.short_lives import NO_SPELLING
from tests.sizes import FULL

LOOK_SECONDS = 0.1
FIND_SECONDS = 120.0
"""Maximum time to wait until the process that a fault needs is there (seconds): it may just be starting again."""
SPIN = [sys.executable, "-c", "while True: pass"]
RIFFLE = [sys.executable, "-c", "from streams.cli import main; main()"]
STOP_SECONDS = 60.0
TIME_SCALE = float(os.environ.get("RIFFLE_TEST_TIME_SCALE", "1"))
"""The factor by which the times of the runtime are shortened. With 20, an outage of 15 s is one of 5 minutes."""
PER_STAGE = os.environ.get("RIFFLE_LOCAL_WORKER_PER_STAGE") == "true"
"""True if each stage has a worker process of its own. Else one worker has all stages."""
HAS_TRITON = os.environ.get("RIFFLE_LOCAL_TRITON") == "true"
LEASE_SECONDS = 12.0
STACK_SETTINGS = {
    **NO_SPELLING,
    "RIFFLE_CRAWL__LEASE_SECONDS": str(LEASE_SECONDS),
    # Not less than the tries in place of one request to a store.
    "RIFFLE_RUNTIME__EVENT_DEADLINE_SECONDS": str(max(900 / TIME_SCALE, 120)),
    "RIFFLE_RUNTIME__RETRY_TOPIC_DELAY_SECONDS": str(5 / TIME_SCALE),
    # Not less than a busy machine may need for one page.
    "RIFFLE_RUNTIME__STALL_SECONDS": str(max(120 / TIME_SCALE, 30)),
    # By day a third of the pages come at a third of the pace, so that each fault still meets events of every stage.
    "RIFFLE_CRAWL__DELAY_SECONDS": os.environ.get(
        "RIFFLE_TEST_CRAWL_DELAY", "1" if FULL or "RIFFLE_TEST_FAULTS" in os.environ else "3"
    ),
}
"""The settings of the stack and of all processes beside it, as environment variables."""


def worker_of(stage: str) -> str:
    """The name of the process that runs a stage."""
    return f"worker-{stage}" if PER_STAGE else "worker"


async def process(home: Path, name: str) -> ProcessState:
    """The running process of that name. Waits while it is being started again."""
    for _ in range(int(FIND_SECONDS / LOOK_SECONDS)):
        if found := running(home, name):
            return found
        await asyncio.sleep(LOOK_SECONDS)
    raise AssertionError(f"{name} was not started again within {FIND_SECONDS:.0f} s")


def running(home: Path, name: str) -> ProcessState | None:
    """The process of that name if it runs."""
    state = running_state(home)
    assert state, "the supervisor is gone"
    return next((found for found in state.processes if found.name == name and found.alive), None)


def healthy(found: ProcessState) -> bool:
    """Ask a process once if it answers."""
    return answers(found.health) if found.health else listens(found.port)


async def until_healthy(home: Path, name: str) -> None:
    """Wait until the process of that name answers."""
    for _ in range(int(FIND_SECONDS / LOOK_SECONDS)):
        if healthy(await process(home, name)):
            return
        await asyncio.sleep(LOOK_SECONDS)
    raise AssertionError(f"{name} does not answer after {FIND_SECONDS:.0f} s")


def kill(pid: int) -> None:
    """Kill a process. It may have ended by itself."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


@asynccontextmanager
async def stopped(pid: int) -> AsyncIterator[None]:
    """Hold the process for the time of the block. It may be killed meanwhile: its supervisor does so."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


async def full_disk(home: Path, name: str, seconds: float) -> None:
    """Let no file of a process grow for a time, as on a full disk, nor the files of its successors.

    A limit of the file size (setrlimit(2), RLIMIT_FSIZE) fails a write with EFBIG, a full disk with ENOSPC. The limit
    needs no disk of its own, and ends with the fault. Raises AssertionError if the process did not end because of it.
    """
    limited: set[int] = set()
    try:
        for _ in range(int(seconds / LOOK_SECONDS)):
            if (found := running(home, name)) and found.pid not in limited:
                _limit_files(found.pid, 0)
                limited.add(found.pid)
            await asyncio.sleep(LOOK_SECONDS)
        last = running(home, name)
        assert len(limited) > 1 or last is None, f"{name} did not end, so it wrote nothing"
        assert last is None or not healthy(last), f"{name} started on a full disk"
    finally:
        for pid in limited:
            _limit_files(pid, resource.RLIM_INFINITY)


def _limit_files(pid: int, size_bytes: int) -> None:
    with suppress(ProcessLookupError):
        _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size_bytes, hard))


@asynccontextmanager
async def beside(
    home: Path, name: str, command: list[str], folder: Path | None = None, settings: Mapping[str, str] = STACK_SETTINGS
) -> AsyncIterator[Path]:
    """Run another process beside the stack's processes, for the time of the block. Yield its log.

    At the end it gets SIGTERM, and time to hand back its partitions.
    """
    log = home / "logs" / f"{name}.log"
    child = _spawn(command, log, folder, {**settings, "RIFFLE_HOME": str(home), "PYTHONUNBUFFERED": "1"})
    try:
        yield log
    finally:
        child.terminate()
        try:
            await asyncio.to_thread(child.wait, STOP_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _spawn(command: list[str], log: Path, folder: Path | None, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        return subprocess.Popen(command, stdout=output, stderr=output, cwd=folder, env={**os.environ, **environment})


async def until_logged(log: Path, text: str) -> None:
    """Wait until a log, or the log of the start before it, contains a text."""
    for _ in range(int(FIND_SECONDS / LOOK_SECONDS)):
        if text in read_log(log):
            return
        await asyncio.sleep(LOOK_SECONDS)
    raise AssertionError(f"no {text!r} in {log} within {FIND_SECONDS:.0f} s:\n{read_log(log)[-1500:]}")


def read_log(log: Path) -> str:
    logs = (*sorted(log.parent.glob(f"{log.name}.*")), log)
    return "".join(path.read_text(errors="replace") for path in logs if path.exists())


async def riffle(home: Path, *arguments: str) -> str:
    """Run a command to its end. Returns its output."""
    done = await asyncio.to_thread(
        subprocess.run,
        [*RIFFLE, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "RIFFLE_HOME": str(home)},
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout + done.stderr


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Busy processes of normal niceness, for the time of the block.

    Each has a session of its own: a kernel that groups by session gives each as much as a process of the stack.
    """
    running = [subprocess.Popen(SPIN, start_new_session=True) for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()
