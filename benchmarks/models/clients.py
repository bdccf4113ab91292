"""Starts clients of a Triton server (`client`), all at the same time, and counts their answers."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.models.client import LEAD_SECONDS, READY, Answered, Kind, Request
from streams.errors import StoreUnavailable

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "benchmarks.models.client"]


@dataclass(frozen=True, slots=True)
class Counted:
    """The answers of one kind of client in the time in which all clients asked."""

    texts: int
    per_second: float
    seconds: list[float]
    """The time that each answer took (seconds)."""
    client_cpu_ms: float
    """CPU time of the clients for a text (ms)."""
    failures: list[str]


def run_clients(requests: Sequence[Request]) -> list[Answered]:
    """Run each client in a process of its own. Raises StoreUnavailable if one ends without an answer."""
    clients = [
        subprocess.Popen(COMMAND, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in requests
    ]
    try:
        for client, request in zip(clients, requests, strict=True):
            _write(client, json.dumps(asdict(request)))
        for client in clients:
            _read(client, READY)
        for client in clients:
            _write(client, "")
        return [Answered(**json.loads(_read(client))) for client in clients]
    finally:
        for client in clients:
            client.kill()
            client.communicate()


def _write(client: "subprocess.Popen[str]", line: str) -> None:
    assert client.stdin is not None
    try:
        client.stdin.write(f"{line}\n")
        client.stdin.flush()
    except BrokenPipeError:
        pass  # it has ended, which the next reading says


def _read(client: "subprocess.Popen[str]", expected: str = "") -> str:
    assert client.stdout is not None
    line = client.stdout.readline().strip()
    if not line or (expected and line != expected):
        raise StoreUnavailable("a client of the models ended without an answer: its last lines say why")
    return line


def common_time(found: Sequence[Answered]) -> tuple[float, float]:
    """Return begin and end of the time that counts."""
    return max(each.start for each in found) + LEAD_SECONDS, min(each.end for each in found)


def count_answers(found: Sequence[Answered], kind: Kind, start: float, end: float) -> Counted:
    """Count the answers of the clients of this kind that came between these times."""
    own = [each for each in found if each.kind == kind]
    answers = [answer for each in own for answer in each.answers if start < answer[0] <= end]
    texts = sum(number for _, number, _ in answers)
    every = sum(number for each in own for _, number, _ in each.answers)
    return Counted(
        texts,
        round(texts / max(end - start, 1e-9), 1),
        [seconds for _, _, seconds in answers],
        round(sum(each.cpu_seconds for each in own) * 1_000 / max(every, 1), 3),
        [failure for each in own for failure in each.failures],
    )
