"""The end of a worker whose orderly stop hangs, as of a client whose Kafka is away, and of one whose start fails."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def run(program: str, *arguments: str) -> tuple[int, str]:
    """Run a program to its end and return its status and output. A process that it has forked never stays behind."""
    command, pipe = [sys.executable, "-c", program, *arguments], subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=subprocess.STDOUT, text=True, start_new_session=True) as process:
        try:
            output, _ = process.communicate(timeout=120)
            return process.returncode, output
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


HANGS = """
import time
from streams.runtime import worker
worker.END_SECONDS = 0.2
worker.end_in_time(0.3, worker.Brake(None))
print("stops", flush=True)
time.sleep(600)
"""


def test_a_worker_ends_after_its_grace_whatever_its_stop_waits_for() -> None:
    begun = time.monotonic()
    status, output = run(HANGS)
    assert (status, output.splitlines()[0]) == (0, "stops")
    assert "delivered again" in output
    assert time.monotonic() - begun < 60


START_FAILS = """
import asyncio, os, sys, threading, time
from pathlib import Path
from streams.runtime import worker
from streams.runtime.preparation import Prepared
from streams.settings import Settings
from streams.stores.opener import Stores
from streams.topology import stage

async def close(): ...

async def prepared(*_): return Prepared(Stores(), {}, {}, close)

async def start(stage, *_):
    if stage.name == "ledger":  # as a client of Kafka, which has no daemon threads
        threading.Thread(target=time.sleep, args=(600,)).start()
        await asyncio.sleep(600)
    await asyncio.sleep(0.2)
    raise failure

worker.prepare_with_retries, worker._start = prepared, start
for number, failure in enumerate((ConnectionError("the broker hung up"), asyncio.CancelledError("the broker hung up"))):
    if not (child := os.fork()):
        home = Path(sys.argv[1]) / str(number)
        home.mkdir()
        asyncio.run(worker.run_worker([stage("ledger"), stage("suggest")], Settings(home=home)))
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(f"the worker ended with {status}", file=sys.stderr, flush=True)
"""


def test_a_worker_ends_if_one_of_its_stages_does_not_start(tmp_path: Path) -> None:
    """The threads of the stages that have started would keep the process for ever, without a page for its health.

    Both workers are forks of one process: its imports take longer than they do.
    """
    _, output = run(START_FAILS, str(tmp_path))
    *workers, behind = output.split("the worker ended with 70\n")
    assert len(workers) == 2, output
    assert behind == "", output
    assert all("the broker hung up" in worker for worker in workers), output
