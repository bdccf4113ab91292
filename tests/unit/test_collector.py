"""The garbage collector in processes that run for long."""

import subprocess
import sys

CODE = """
import gc
from streams.resources import exempt_loaded_objects
loaded = [[] for _ in range(1_000)]
cycle = []
cycle.append(cycle)
del cycle
exempt_loaded_objects(1_234, full_after=2)
print(gc.get_freeze_count() >= 1_000, len(gc.get_objects()) < 1_000, *gc.get_threshold())
class Node: pass
node = Node()
node.itself = node
del node
print(gc.collect() > 0)
"""


def test_what_is_loaded_is_exempt_and_new_cycles_are_collected() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True, timeout=240)
    assert done.stdout.split() == ["True", "True", "1234", "10", "2", "True"]
