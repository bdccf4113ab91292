"""The worker with a shifted clock, for the fault suite and the test of politeness, finds every clock that it shifts."""

import subprocess
import sys

PROGRAM = """
import time
before = time.time()
from tests.faults.skewed_worker import skew
skew(1_000.0)
from streams.clock import now_micros
from streams.runtime.processing import datetime
print(round((now_micros() / 1e6 - before) / 100), round((datetime.now().timestamp() - before) / 100))
"""


def test_all_clocks_of_a_worker_are_shifted() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.split() == ["10", "10"], done.stderr
