"""The time of a whole search by the number of statements in the index: the gateway over HTTP, on servers of its own.

    python -m benchmarks search --statements 10000 --statements 100000 --qdrant PATH

Triton, Cassandra and Qdrant are started for the run, and the product's own client makes the collection. PATH is the
program of a real Qdrant; without it the local stack's server is used. The statements come from the bundled web with
their vectors. There are more of them by copies: in each copy three words in ten are replaced by other words of the web,
as frequent as they are there, and its vector is moved in a random direction, so that nothing is found twice. A
question is the first words of a statement, and no question is asked twice. They are asked one after the other.
"""

import asyncio
import os
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID, uuid5

import numpy as np
import psutil
import typer
from numpy.typing import NDArray

from benchmarks.evaluation.vector_cache import CachedEmbedder
from benchmarks.machine import Latency, machine, table
from benchmarks.models.embed import statements_of
from benchmarks.search.page import load_pages
from benchmarks.search.queries import WARM_UP, ask_all, ask_of_many, show_cost
from benchmarks.search.side_by_side import CLIENTS
from benchmarks.search.vector_index import server, wait_until_optimized
from schemas.ids import page_id
from streams.commands.console import AsJson, command, err, load_settings, out, print_json
from streams.gateway.serve import serve
from streams.local.demo import unpack
from streams.local.ports import free_ports
from streams.local.server_set import running_servers
from streams.settings import Settings
from streams.statements.statement import PageStatements, Statement
from streams.stores.opener import Stores, open_stores
from streams.vectors.page_records import PageFacts
from streams.vectors.points import points_of, texts_of

ALL_PAGES = 1_000
"""More pages than the bundled web has."""
REPLACED = 0.3
"""Share of a copy's words that are replaced."""
MOVED = 0.35
"""Length of the random vector that is added to the vector of a copy, whose own length is 1."""
QUESTION_WORDS = 7
LEAST_WORDS = 5
"""Minimum words of a statement that becomes a question."""
TARGET_P95_MS = {100_000: 100.0}

Floats = NDArray[np.float32]


@command
async def run(
    statements: Annotated[
        list[int] | None, typer.Option(min=1_000, help="Number of statements. May be repeated.")
    ] = None,
    qdrant: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Qdrant's program. Default: the local server.")
    ] = None,
    questions: Annotated[int, typer.Option(min=10, help="Number of questions to ask at each size.")] = 200,
    as_json: AsJson = False,
) -> int:
    """Measure how long a whole search takes with that many statements in the index, on servers of its own.

    Example:  python -m benchmarks search --statements 10000 --statements 100000 --qdrant /usr/bin/qdrant
    """
    settings = load_settings()
    conditions = machine()
    rows = []
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        home = Path(scratch)
        with err.status("Cutting the bundled web into statements ..."):
            pages = statements_of(unpack(home / "web" / "demo"), ALL_PAGES)
        base = settings.model_copy(update={"home": home})
        names = ["cassandra", "triton", *([] if qdrant else ["qdrant"])]
        running = stack.enter_context(running_servers(home, names, base=base))
        if qdrant:
            url = stack.enter_context(server(running, qdrant))
            running = running.model_copy(update={"qdrant": running.qdrant.model_copy(update={"url": url})})
        (port,) = free_ports(1)
        running = running.model_copy(update={"gateway": running.gateway.model_copy(update={"port": port})})
        async with open_stores(running, ["vectors", "models"]) as stores:
            embedder = CachedEmbedder([stores.embedder], settings.home / "eval", progress("Embedding"))
            vectors = await embedder.embed([text for page in pages for text in texts_of(page)], "passage")
            filled = 0
            for count in sorted(statements or [10_000]):
                filled = await fill(stores, pages, vectors, filled, count)
                with err.status("Waiting until the graph is built ..."):
                    collection = await stores.vectors.ensure(await stores.embedder.info())
                    await wait_until_optimized(running.qdrant.url, collection)
                rows.append(await measure(running, stores, pages, filled, questions))
    result = {"machine": conditions, "qdrant": str(qdrant or "the local stack's"), "rows": rows}
    if as_json:
        print_json(result)
    else:
        show(result)
    return 0


def progress(what: str) -> Any:
    def report(done: int, of: int) -> None:
        err.print(f"{what}: {done} of {of}", highlight=False)

    return report


async def fill(stores: Stores, pages: Sequence[PageStatements], vectors: Floats, filled: int, count: int) -> int:
    """Add copies until the index has `count` statements. Returns the number that it has."""
    collection = await stores.vectors.ensure(await stores.embedder.info())
    with err.status("Filling") as status:
        number = 0
        for copied, own in copies(pages, vectors):
            number += len(copied.statements)
            if number > filled:
                await stores.vectors.upsert(collection, points_of(copied, own, PageFacts(1)))
                status.update(f"Filling: {number} of {count}")
            if number >= count:
                break
    return number


def copies(pages: Sequence[PageStatements], vectors: Floats) -> Iterator[tuple[PageStatements, Floats]]:
    """The pages with their vectors, then copies of them without end: the same ones each time."""
    generator = np.random.default_rng(1)
    words = [word for page in pages for statement in page.statements for word in statement.text.split()]
    copy = 0
    while True:
        start = 0
        for page in pages:
            end = start + len(page.statements)
            own = vectors[start:end]
            start = end
            yield (page, own) if copy == 0 else (copied(page, copy, words, generator), moved(own, generator))
        copy += 1


def copied(page: PageStatements, copy: int, words: Sequence[str], generator: np.random.Generator) -> PageStatements:
    """A page of another host, with other words."""
    scheme, _, rest = page.url.partition("://")
    url = f"{scheme}://copy{copy}.{rest}"
    identity = page_id(url)
    made = tuple(changed(statement, identity, words, generator) for statement in page.statements)
    return replace(page, page_id=identity, url=url, statements=made)


def changed(one: Statement, page: UUID, words: Sequence[str], generator: np.random.Generator) -> Statement:
    own = one.text.split()
    other = generator.integers(len(words), size=len(own))
    chosen = generator.random(len(own)) < REPLACED
    text = " ".join(words[new] if use else old for old, new, use in zip(own, other, chosen, strict=True))
    return replace(one, id=uuid5(page, str(one.ordinal)), text=text)


def moved(vectors: Floats, generator: np.random.Generator) -> Floats:
    noise = generator.standard_normal(vectors.shape)
    sums = vectors + MOVED * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    found: Floats = (sums / np.linalg.norm(sums, axis=1, keepdims=True)).astype(np.float32)
    return found


async def measure(
    settings: Settings, stores: Stores, pages: Sequence[PageStatements], filled: int, questions: int
) -> dict[str, Any]:
    collection = await stores.vectors.ensure(await stores.embedder.info())
    asked = await asyncio.to_thread(questions_of, pages, filled, questions)
    gateway = asyncio.create_task(serve(settings))
    try:
        await ready(settings)
        measured = await asyncio.to_thread(ask_all, settings, asked, server_processes())
        many = await asyncio.to_thread(questions_of, pages, filled + 2, len(CLIENTS) * questions)
        measured["at_once"] = await asyncio.to_thread(ask_of_many, settings, many)
        others = await asyncio.to_thread(questions_of, pages, filled + 1, questions)
        loaded = await asyncio.to_thread(load_pages, settings, others, "br")
        measured["latency_ms"] |= {
            "first byte of the page": Latency.of([page.first_byte_seconds for page in loaded[WARM_UP:]]),
            "last byte of the page": Latency.of([page.last_byte_seconds for page in loaded[WARM_UP:]]),
        }
        signal.raise_signal(signal.SIGTERM)  # the gateway's own way to stop: it has installed a handler
        await gateway
    finally:
        gateway.cancel()
    return {"statements": await stores.vectors.count(collection), **measured}


def server_processes() -> dict[str, int]:
    """Return this process, which has the gateway, and the servers that it has started, by name."""
    found = {"gateway": os.getpid()}
    for child in psutil.Process().children():
        words = " ".join(child.cmdline())
        name = next((name for name in ("qdrant", "cassandra", "triton") if name in words.lower()), None)
        found |= {name: child.pid} if name else {}
    return found


def questions_of(pages: Sequence[PageStatements], seed: int, count: int) -> list[str]:
    """The first words of statements, chosen at random, with those that warm up."""
    begun = (" ".join(one.text.split()[:QUESTION_WORDS]) for page in pages for one in page.statements)
    possible = sorted({text for text in begun if len(text.split()) >= LEAST_WORDS and text.isprintable()})
    chosen = np.random.default_rng(seed).permutation(len(possible))[: count + WARM_UP]
    return [possible[number] for number in chosen]


async def ready(settings: Settings) -> None:
    """Wait until the gateway accepts connections."""
    end = time.monotonic() + 60
    while True:
        try:
            _, writer = await asyncio.open_connection(settings.gateway.host, settings.gateway.port)
        except OSError:
            if time.monotonic() > end:
                raise
            await asyncio.sleep(0.1)
        else:
            writer.close()
            return


def show(result: dict[str, Any]) -> None:
    conditions = result["machine"]
    out.print(f"{conditions['cores']} cores, {conditions['processor']}, load before {conditions['load_before']}")
    rows = table(f"Whole search, Qdrant: {result['qdrant']}", "statements", "", "p50 ms", "p95 ms", "target p95")
    for one in result["rows"]:
        latencies: dict[str, Latency] = one["latency_ms"]
        target = next((value for count, value in TARGET_P95_MS.items() if count <= one["statements"] < 2 * count), None)
        for name, latency in latencies.items():
            whole = name == "whole answer"
            rows.add_row(
                str(one["statements"]) if whole else "",
                name,
                str(latency.p50),
                str(latency.p95),
                str(target) if whole and target else "",
            )
    out.print(rows)
    for one in result["rows"]:
        out.print(f"{one['statements']} statements:")
        show_cost(one)
        if one["partial"]:
            out.print(f"{one['partial']} answers were partial with {one['statements']} statements.")
