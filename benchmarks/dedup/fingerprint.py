"""Measures the time to make the fingerprint of a text.

python -m benchmarks fingerprint
"""

import time
from typing import Any

import numpy as np

from benchmarks.machine import machine
from streams.commands.console import AsJson, command, print_figures
from streams.dedup.fingerprinting import fingerprint

PAGE_WORDS = 1_000
SEED = 1


@command
def run(as_json: AsJson = False) -> None:
    """Measure the time to make the fingerprint of a text of a thousand words.

    Example:  python -m benchmarks fingerprint
    """
    print_figures("Fingerprints", measure(), as_json)


def measure(repeats: int = 50) -> dict[str, Any]:
    """Return the milliseconds for a text of a thousand words, the best of several runs, in CPU time."""
    chance = np.random.default_rng(SEED)
    text = " ".join(f"word{number}" for number in chance.zipf(1.3, PAGE_WORDS) % 20_000)
    fingerprint(text)
    return {
        "machine": machine(),
        "fingerprint_ms_per_1000_words": round(min(_seconds(text) for _ in range(repeats)) * 1_000, 3),
    }


def _seconds(text: str) -> float:
    """Return the CPU time of a fingerprint: what else the machine does is no part of it."""
    start = time.process_time()
    fingerprint(text)
    return time.process_time() - start
