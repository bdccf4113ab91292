"""Answers of a gateway with their cost: CPU time by process, and the answers a second of several clients at once."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benchmarks.machine import Latency, percentile
from streams.commands.stack.status import usage

CLIENTS = (1, 4, 16)
"""Numbers of clients that ask at once."""

Ask = Callable[[str], tuple[str, float]]
"""A function that asks a question. It returns `ok`, `partial` or `refused`, and the seconds that it took."""


def cpu_seconds(processes: Mapping[str, int]) -> dict[str, float]:
    """Return the CPU seconds of processes until now, by the names given. A process has the seconds of its children,
    but for this process: its children are other servers."""
    return {name: time.process_time() if pid == os.getpid() else usage(pid)[1] for name, pid in processes.items()}


def milliseconds_each(before: Mapping[str, float], after: Mapping[str, float], answers: int) -> dict[str, float]:
    """Return the CPU milliseconds for one answer."""
    return {name: round(1000 * (after[name] - seconds) / answers, 1) for name, seconds in before.items()}


def ask_at_once(ask: Ask, questions: Sequence[str], clients: int) -> dict[str, Any]:
    """Ask all questions with this number of clients. Each waits for its answer, and asks the next question."""
    started = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        answers = list(pool.map(ask, questions))
    seconds = time.perf_counter() - started
    served = [took for how, took in answers if how != "refused"]
    return {
        "clients": clients,
        "answers_a_second": round(len(served) / seconds, 1),
        "partial": sum(how == "partial" for how, _ in answers),
        "refused": sum(how == "refused" for how, _ in answers),
        "p50_ms": Latency.of(served).p50 if served else None,
        "p95_ms": round(percentile(served, 0.95) * 1000, 1) if served else None,
    }


def divide(questions: Sequence[str], parts: int) -> list[Sequence[str]]:
    """Return that many parts of the questions, of one size: no question is asked twice."""
    size = len(questions) // parts
    return [questions[number * size : (number + 1) * size] for number in range(parts)]
