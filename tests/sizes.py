"""The sizes of tests that are made large: a part of them by day, all of it at night (`make test FULL=1`).

A test of linear time needs an input on which quadratic work can't end, and a law of `hypothesis` gets better with each
example. Both find nearly all faults at a tenth of the size. A test with the mark `night` runs only at night:
`RIFFLE_TEST_FULL=1 .venv/bin/pytest --collect-only -q -m night` lists them.
"""

import os

FULL = bool(os.environ.get("RIFFLE_TEST_FULL"))
LEAST_EXAMPLES = 10


def size(full: int) -> int:
    """Return a number of repetitions or characters, or a tenth of it by day."""
    return full if FULL else full // 10


def examples(full: int) -> int:
    """Return the number of examples of a property, or a fifth of it by day."""
    return full if FULL else max(LEAST_EXAMPLES, full // 5)


def guard_seconds(full: float) -> float:
    """Return the CPU seconds after which a test fails whose inputs have a `size`: by day, quadratic work is smaller."""
    return full if FULL else full / 2
