"""One client of a Triton server, in a process of its own: statements, single queries, or chains.

    python -m benchmarks.models.client < REQUEST

A client is what a worker or a gateway is: `TritonEmbedder` with its batches, tokenizing included. It reads a `Request`
(a line of JSON), gets one answer, prints `ready`, waits for a line, and then asks without a pause until its time is
over. It prints `Answered` as JSON: when each answer came, so that only a time counts in which all clients asked.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from benchmarks.models.texts import ModelTexts
from streams.errors import RiffleError
from streams.models.batches import BATCH_SIZE
from streams.models.triton import IN_FLIGHT, TritonChains, TritonEmbedder
from streams.models.triton_connection import TritonConnection
from streams.settings import TritonSettings

Kind = Literal["statements", "queries", "chains"]
Call = Callable[[], Awaitable[int]]
READY = "ready"
LEAD_SECONDS = 2.0
"""Time after the common start that does not count (seconds)."""
QUERY_PAUSE_SECONDS = 0.01
"""Pause between an answer and the next query (seconds)."""
CALLS_AT_ONCE = 2
"""Calls of a client for statements: while one waits for its last batch, the other keeps the server busy."""
PAGES_AT_ONCE = 4
QUERY_WORDS = 8


@dataclass(frozen=True, slots=True)
class Request:
    """The task of a client. `number` is its place among the clients: each begins at another text."""

    kind: Kind
    settings: dict[str, Any]
    texts: str
    seconds: float
    number: int = 0
    batch: int = BATCH_SIZE
    """Statements in one request."""


@dataclass(frozen=True, slots=True)
class Answered:
    """When answers came (seconds of the monotonic clock), each with its number of texts and how long it took (s)."""

    kind: Kind
    start: float
    end: float
    answers: list[tuple[float, int, float]]
    cpu_seconds: float
    failures: list[str]


async def ask(request: Request) -> Answered:
    """Ask until the time is over. Raises the errors of the first answer."""
    texts = ModelTexts.read(Path(request.texts))
    settings = TritonSettings.model_validate(request.settings)
    connection = TritonConnection(settings)
    try:
        calls = make_calls(request.kind, settings, connection, texts, request.number, request.batch)
        await calls[0]()
        print(READY, flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        return await repeat(request.kind, calls, request.seconds)
    finally:
        await connection.close()


async def repeat(kind: Kind, calls: Sequence[Call], seconds: float) -> Answered:
    """Make each call again and again, all at the same time."""
    answers: list[tuple[float, int, float]] = []
    failures: list[str] = []
    start, cpu = time.monotonic(), time.process_time()
    end = start + LEAD_SECONDS + seconds

    async def repeat_one(call: Call) -> None:
        while (began := time.monotonic()) < end:
            try:
                texts = await call()
            except RiffleError as error:
                failures.append(f"{type(error).__name__}: {error}")
                await asyncio.sleep(0.1)
                continue
            answers.append((time.monotonic(), texts, time.monotonic() - began))
            if kind == "queries":
                await asyncio.sleep(QUERY_PAUSE_SECONDS)

    await asyncio.gather(*map(repeat_one, calls))
    return Answered(kind, start, end, answers, time.process_time() - cpu, failures)


def make_calls(
    kind: Kind, settings: TritonSettings, connection: TritonConnection, texts: ModelTexts, number: int, batch: int
) -> list[Call]:
    """Return the calls that a client makes at the same time. Each returns its number of texts."""
    if kind == "chains":
        chains, pages = TritonChains(connection), rotate(texts.pages, number)

        async def link() -> int:
            return len(await chains.links(pages(1)[0]))

        return [link] * PAGES_AT_ONCE
    embedder = TritonEmbedder(connection, settings, batch_size=batch)
    if kind == "queries":
        queries = rotate([query_of(text) for text in texts.statements], number)

        async def search() -> int:
            return len(await embedder.embed(queries(1), "query"))

        return [search]
    statements = rotate(texts.statements, number)

    async def embed() -> int:
        return len(await embedder.embed(statements(batch * IN_FLIGHT), "passage"))

    return [embed] * CALLS_AT_ONCE


def query_of(statement: str) -> str:
    """Return a text as short as a query: the first words of the statement's own line."""
    return " ".join(statement.rsplit("\n", 1)[-1].split()[:QUERY_WORDS]) or "a query"


def rotate(items: Sequence[Any], number: int) -> Callable[[int], list[Any]]:
    """Return a function that gives the next items, from a place that the number decides."""
    place = number * 997 % len(items)

    def take(wanted: int) -> list[Any]:
        nonlocal place
        taken = [items[(place + offset) % len(items)] for offset in range(wanted)]
        place = (place + wanted) % len(items)
        return taken

    return take


if __name__ == "__main__":
    print(json.dumps(asdict(asyncio.run(ask(Request(**json.loads(sys.stdin.readline())))))), flush=True)
