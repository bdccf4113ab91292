"""The time of a search: the gateway on the running stack, one question after the other, as a person would wait.

    riffle bench queries QUESTIONS.tsv --count 200

QUESTIONS.tsv holds a question a line (what follows a tab is left aside). The figures hold for the statements that the
index has at the time, which are counted and printed: fill it first, with `riffle import html DIR`. Embedding and
retrieval are the answer's own timings (`explain=true`); the whole is what the client waits.
"""

import asyncio
import time
from pathlib import Path
from typing import Any

import httpx

from benchmarks.machine import Latency, machine, table
from streams.commands.console import out, print_json
from streams.errors import UsageError
from streams.settings import Settings
from streams.stores.opener import open_stores

WARM_UP = 20
TARGETS_MS = {"whole answer": (60.0, 150.0), "retrieve": (20.0, None)}


async def run(settings: Settings, questions: Path, count: int, *, as_json: bool) -> int:
    """Measure, and print. Returns the exit status."""
    asked = read_questions(questions)[: count + WARM_UP]
    if len(asked) < WARM_UP + 10:
        raise UsageError(f"{questions} holds {len(asked)} questions; at least {WARM_UP + 10} are needed, one a line")
    conditions = machine()
    async with open_stores(settings, ["qdrant", "triton"]) as stores:
        collection = await stores.vectors.ensure(await stores.embedder.info())
        points = await stores.vectors.count(collection)
    measured = await asyncio.to_thread(ask_all, settings, asked)
    result = {"machine": conditions, "statements": points, **measured}
    if as_json:
        print_json(result)
    else:
        show(result)
    return 0


def read_questions(file: Path) -> list[str]:
    lines = (line.split("\t")[0].strip() for line in file.read_text(errors="replace").splitlines())
    return [line for line in lines if line]


def ask_all(settings: Settings, questions: list[str]) -> dict[str, Any]:
    times: dict[str, list[float]] = {"whole answer": []}
    partial = 0
    with httpx.Client(base_url=f"http://{settings.gateway.host}:{settings.gateway.port}", trust_env=False) as client:
        for number, question in enumerate(questions):
            started = time.perf_counter()
            response = client.get("/api/v1/search", params={"q": question, "explain": "true"}, timeout=30)
            elapsed = time.perf_counter() - started
            answer = response.raise_for_status().json()
            if number < WARM_UP:
                continue
            times["whole answer"].append(elapsed)
            partial += bool(answer["partial"])
            for name, milliseconds in answer["explain"]["timings_ms"].items():
                times.setdefault(name.removesuffix("_ms"), []).append(milliseconds / 1000)
    return {"partial": partial, "latency_ms": {name: Latency.of(values) for name, values in times.items()}}


def show(result: dict[str, Any]) -> None:
    conditions = result["machine"]
    out.print(f"{conditions['cores']} cores, {conditions['processor']}, load before {conditions['load_before']}")
    rows = table(f"{result['statements']} statements in the index", "", "p50 ms", "p95 ms", "target p50/p95")
    for name, latency in result["latency_ms"].items():
        p50, p95 = TARGETS_MS.get(name, (None, None))
        target = f"{p50 or '-'} / {p95 or '-'}" if p50 else ""
        rows.add_row(name, str(latency.p50), str(latency.p95), target)
    out.print(rows)
    if result["partial"]:
        out.print(f"{result['partial']} answers were partial.")
