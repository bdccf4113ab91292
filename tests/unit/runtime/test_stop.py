"""The end of a worker whose orderly stop hangs, as of a client whose Kafka is away."""

import subprocess
import sys
import time

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
    done = subprocess.run([sys.executable, "-c", HANGS], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "stops")
    assert "delivered again" in done.stdout + done.stderr
    assert time.monotonic() - begun < 60
