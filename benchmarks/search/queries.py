"""The time of a search: the gateway on the running stack, one question after the other, as a person would wait.

    python -m benchmarks queries QUESTIONS.tsv --count 200

QUESTIONS.tsv holds a question a line (what follows a tab is left aside). The figures hold for the statements that the
index has at the time, which are counted and printed: fill it first, with `riffle import DIR`. Embedding and
retrieval are the answer's own timings (`explain=true`); the whole is what the client waits. The CPU time of an answer
is counted by process of the local stack. Questions behind the first COUNT are asked by 1, 4 and 16 clients at once.

With `--while-indexing DIR` the same questions are asked twice: first as above, then while the pages of DIR are
indexed, under hosts of this run's own, so that they are new pages. The share of the time that the model for statements
was busy shows whether the pipeline had work until the last question.
"""

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any
from uuid import uuid4

import httpx2
import typer

from benchmarks.machine import Latency, machine, table
from benchmarks.search.side_by_side import CLIENTS, ask_at_once, cpu_seconds, divide, milliseconds_each
from benchmarks.stack.pipeline import model_seconds
from streams.commands.console import AsJson, command, load_settings, out, print_json
from streams.crawl.archives.file_importer import import_html
from streams.crawl.archives.sending import Sender
from streams.errors import StoreUnavailable, UsageError
from streams.lines.jsonl import read_lines
from streams.local.home import running_state
from streams.models.opening import run_in_process
from streams.models.triton_connection import Busy, TritonConnection
from streams.runtime.producer import EventProducer
from streams.settings import Settings
from streams.stores.opener import open_stores

WARM_UP = 20
BUSY_FROM_SECONDS = 2.0
"""Seconds of computing of the bulk model after which the pipeline counts as busy."""
IDLE_SECONDS = 60.0
"""Maximum time in which the bulk model computes nothing before that."""
POLL_SECONDS = 0.5
TARGETS_MS = {"whole answer": (60.0, 150.0), "retrieve": (20.0, None)}


@command
async def run(
    questions: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A file with one question a line.")],
    count: Annotated[int, typer.Option(min=10, help="Number of questions to ask.")] = 200,
    while_indexing: Annotated[
        Path | None,
        typer.Option(exists=True, file_okay=False, metavar="DIR", help="Ask again while these pages are indexed."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Measure how long a search takes on the running stack, part by part: idle, and while pages are indexed.

    Examples:

        python -m benchmarks queries questions.tsv --count 200
        python -m benchmarks queries questions.tsv --while-indexing mirror/
    """
    settings = load_settings()
    listed = read_questions(questions)
    asked, others = listed[: count + WARM_UP], listed[count + WARM_UP :][: len(CLIENTS) * count]
    if len(asked) < WARM_UP + 10:
        raise UsageError(f"{questions} holds {len(asked)} questions; at least {WARM_UP + 10} are needed, one a line")
    conditions = machine()
    async with open_stores(settings, ["vectors", "models"]) as stores:
        collection = await stores.vectors.ensure(await stores.embedder.info())
        points = await stores.vectors.count(collection)
    state = running_state(settings.home)
    parts = {each.name: each.pid for each in state.processes} if state else {}
    measured = await asyncio.to_thread(ask_all, settings, asked, parts)
    result = {"machine": conditions, "statements": points, **measured}
    result["at_once"] = await asyncio.to_thread(ask_of_many, settings, others)
    if while_indexing:
        result["while_indexing"] = await ask_while_indexing(settings, asked, while_indexing)
    if as_json:
        print_json(result)
    else:
        show(result)
    return 0


async def ask_while_indexing(settings: Settings, asked: list[str], folder: Path) -> dict[str, Any]:
    """Ask while pages are indexed. The cache of query vectors is of no help: each question gets a word of its own."""
    connection = ThreadsOfModels(settings) if run_in_process(settings) else TritonConnection(settings.triton)
    async with open_stores(settings, ["records"]) as stores, EventProducer(settings, "bench") as producer:
        with tempfile.TemporaryDirectory() as scratch:
            run_id = uuid4().hex[:8]
            renamed = rename_hosts(folder, Path(scratch), run_id)
            importing = asyncio.create_task(import_html(renamed, Sender(stores.blobs, producer, crawl_id=run_id)))
            await wait_until_busy(connection, settings.triton.model, importing)
            before, started = await connection.busy(settings.triton.model), time.perf_counter()
            measured = await asyncio.to_thread(ask_all, settings, [f"{question} {run_id}" for question in asked])
            after, seconds = await connection.busy(settings.triton.model), time.perf_counter() - started
            importing.cancel()
            await asyncio.gather(importing, return_exceptions=True)
    await connection.close()
    busy = (after.seconds - before.seconds) / (seconds * after.instances)
    return {**measured, "model_busy_share": round(busy, 3)}


class ThreadsOfModels:
    """The threads of the local stack that run models in process, instead of a Triton."""

    def __init__(self, settings: Settings) -> None:
        """Raises UsageError if no local stack runs."""
        state = running_state(settings.home)
        if state is None:
            raise UsageError("no local stack runs, whose models' threads could be watched: `riffle up`")
        self._state = state

    async def busy(self, model: str) -> Busy:
        """Return the CPU time of all models together (seconds), and the number of cores. `model` is not looked at."""
        return Busy(model_seconds(self._state), os.cpu_count() or 1)

    async def close(self) -> None:
        """Do nothing: no connection is open."""


async def wait_until_busy(
    connection: TritonConnection | ThreadsOfModels, model: str, importing: asyncio.Task[Any]
) -> None:
    """Wait until the model has computed for some seconds. Raises UsageError if it gets nothing to do."""
    first = latest = (await connection.busy(model)).seconds
    since = time.monotonic()
    while latest - first < BUSY_FROM_SECONDS:
        if importing.done():
            importing.result()
        await asyncio.sleep(POLL_SECONDS)
        seconds = (await connection.busy(model)).seconds
        if seconds > latest:
            latest, since = seconds, time.monotonic()
        elif time.monotonic() - since > IDLE_SECONDS:
            raise UsageError(
                f"the pages gave the model {model} nothing to do for {IDLE_SECONDS:g} s. If they were indexed before, "
                "also by this command, they are duplicates now: choose other pages, or an empty index (RIFFLE_HOME)"
            )


def rename_hosts(folder: Path, into: Path, run_id: str) -> Path:
    """Copy the pages to hosts of this run's own: pages that are known already would not be embedded again."""
    for host in sorted(path for path in folder.iterdir() if path.is_dir()):
        shutil.copytree(host, into / f"{run_id}.{host.name}")
    return into


def read_questions(file: Path) -> list[str]:
    """The questions of a file, one a line. Raises UsageError that names a line that is no text."""
    lines = (line.split("\t")[0].strip() for _, line in read_lines(file))
    return [line for line in lines if line]


def ask_all(settings: Settings, questions: list[str], processes: Mapping[str, int] = MappingProxyType({})) -> Any:
    """Ask one question after the other. `processes`: those whose CPU time is counted, by name."""
    times: dict[str, list[float]] = {"whole answer": []}
    partial, before = 0, cpu_seconds(processes)
    with client_of(settings) as client:
        for number, question in enumerate(questions):
            if number == WARM_UP:
                before, own = cpu_seconds(processes), time.thread_time()
            answer, elapsed = ask(client, question)
            if number < WARM_UP:
                continue
            times["whole answer"].append(elapsed)
            partial += bool(answer["partial"])
            for name, milliseconds in answer["explain"]["timings_ms"].items():
                times.setdefault(name.removesuffix("_ms"), []).append(milliseconds / 1000)
    after = cpu_seconds(processes)
    if os.getpid() in processes.values():  # the gateway is in this process, and so is its client
        after["gateway"] -= time.thread_time() - own
    return {
        "partial": partial,
        "cpu_ms": milliseconds_each(before, after, len(questions) - WARM_UP),
        "latency_ms": {name: Latency.of(values) for name, values in times.items()},
    }


def ask_of_many(settings: Settings, questions: Sequence[str]) -> list[dict[str, Any]]:
    """Ask with several clients at once: other questions for each number of clients."""
    with client_of(settings) as client:

        def ask_one(question: str) -> tuple[str, float]:
            started = time.perf_counter()
            response = client.get("/api/v1/search", params={"q": question}, timeout=60)
            took = time.perf_counter() - started
            if response.status_code == httpx2.codes.SERVICE_UNAVAILABLE:
                return "refused", took
            return ("partial" if response.raise_for_status().json()["partial"] else "ok"), took

        parts = divide(questions, len(CLIENTS))
        return [ask_at_once(ask_one, part, clients) for clients, part in zip(CLIENTS, parts, strict=True) if part]


@contextmanager
def client_of(settings: Settings) -> Iterator[httpx2.Client]:
    """Yield a client of the gateway, with as many connections as it needs."""
    address = f"http://{settings.gateway.host}:{settings.gateway.port}"
    with httpx2.Client(base_url=address, trust_env=False, limits=httpx2.Limits(max_connections=None)) as client:
        yield client


def ask(client: httpx2.Client, question: str) -> tuple[dict[str, Any], float]:
    """The answer of the gateway, and the seconds that it took. Raises UsageError for a question that it refuses."""
    started = time.perf_counter()
    try:
        response = client.get("/api/v1/search", params={"q": question, "explain": "true"}, timeout=30)
    except httpx2.HTTPError as error:
        raise StoreUnavailable(
            f"the gateway at {client.base_url} doesn't answer ({error}). Start it with `riffle up`"
        ) from error
    elapsed = time.perf_counter() - started
    if response.is_client_error:
        raise UsageError(f"the gateway refuses the question {question[:80]!r}: {response.text[:500]}")
    answer: dict[str, Any] = response.raise_for_status().json()
    return answer, elapsed


def show_cost(result: Mapping[str, Any]) -> None:
    """Print the CPU time of an answer by process, and what several clients get."""
    cost = [f"{name} {milliseconds:g}" for name, milliseconds in result["cpu_ms"].items() if milliseconds]
    if cost:
        out.print(f"CPU milliseconds of one answer: {', '.join(cost)}.")
    for each in result.get("at_once", ()):
        out.print(
            f"{each['clients']} clients at once: {each['answers_a_second']:g} answers a second, "
            f"p50 {each['p50_ms']} ms, p95 {each['p95_ms']} ms, {each['partial']} partial, {each['refused']} refused."
        )


def show(result: dict[str, Any]) -> None:
    conditions = result["machine"]
    out.print(f"{conditions['cores']} cores, {conditions['processor']}, load before {conditions['load_before']}")
    busy = result.get("while_indexing")
    more = ("p50 ms while indexing", "p95 ms while indexing") if busy else ()
    rows = table(f"{result['statements']} statements in the index", "", "p50 ms", "p95 ms", "target p50/p95", *more)
    for name, latency in result["latency_ms"].items():
        p50, p95 = TARGETS_MS.get(name, (None, None))
        target = f"{p50 or '-'} / {p95 or '-'}" if p50 else ""
        other = busy["latency_ms"].get(name) if busy else None
        rows.add_row(
            name, str(latency.p50), str(latency.p95), target, *([str(other.p50), str(other.p95)] if other else [])
        )
    out.print(rows)
    show_cost(result)
    if busy:
        out.print(
            f"While indexing, the model for statements was busy {busy['model_busy_share']:.0%} of the time. "
            "With models in process: all models, as a share of all cores."
        )
    for part, when in ((result, ""), (busy, " while indexing")):
        if part and part["partial"]:
            out.print(f"{part['partial']} answers were partial{when}.")
