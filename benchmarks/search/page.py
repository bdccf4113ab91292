"""The result page as a browser gets it: time to the first and to the last byte, and its weight, by coding.

    python -m benchmarks page QUESTIONS.tsv --count 200

The gateway of the running stack is asked, one question after the other, on one connection. The first byte of the page
comes with its head and its search box; the last byte comes with the end of the results. Each coding gets questions of
its own, since the vector of a question is kept once it was asked. Without a file, the questions of the demo are asked.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import httpx2
import typer

from benchmarks.machine import Latency, describe, machine, table
from benchmarks.search.queries import read_questions
from streams.commands.console import AsJson, command, load_settings, out, print_json
from streams.errors import StoreUnavailable, UsageError
from streams.local import demo
from streams.settings import Settings

CODINGS = ("zstd", "br", "gzip", "identity")
TARGETS = {"first byte ms": 10.0, "weight KB": 30.0}


@dataclass(frozen=True, slots=True)
class Page:
    """One page as it came."""

    first_byte_seconds: float
    last_byte_seconds: float
    size: int


@command
def run(
    questions: Annotated[
        Path | None,
        typer.Argument(exists=True, dir_okay=False, metavar="[QUESTIONS]", help="Default: the demo's questions."),
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="Number of questions to ask with each coding.")] = 100,
    as_json: AsJson = False,
) -> int:
    """Measure the result page of the running stack as a browser gets it: first byte, last byte, weight, by coding.

    Example:  riffle up && python -m benchmarks page questions.tsv --count 200
    """
    settings = load_settings()
    asked = read_questions(questions) if questions else demo_questions()
    share = min(count, len(asked) // len(CODINGS))
    if share < 1:
        raise UsageError(f"{len(asked)} questions are too few: {len(CODINGS)} or more are needed")
    conditions = machine()
    rows = {
        coding: summary(load_pages(settings, asked[number * share : (number + 1) * share], coding))
        for number, coding in enumerate(CODINGS)
    }
    if as_json:
        print_json({"machine": conditions, "pages": rows})
    else:
        show(conditions, rows)
    return 0


def demo_questions() -> list[str]:
    """Return the questions that the demo asks."""
    found = json.loads((Path(demo.__file__).parent / "questions.json").read_text())
    return [each["question"] for each in found]


def load_pages(settings: Settings, questions: Sequence[str], coding: str) -> list[Page]:
    """Return a page for each question. Raises StoreUnavailable if the gateway doesn't answer."""
    place = f"http://{settings.gateway.host}:{settings.gateway.port}"
    headers = {"Accept": "text/html", "Accept-Encoding": coding}
    with httpx2.Client(base_url=place, headers=headers, timeout=30, trust_env=False) as client:
        try:
            client.get("/")
            return [load_page(client, question) for question in questions]
        except httpx2.HTTPError as error:
            raise StoreUnavailable(
                f"the gateway at {place} doesn't answer ({error}). Start it with `riffle up`"
            ) from error


def load_page(client: httpx2.Client, question: str) -> Page:
    """Return one page. Raises UsageError for a question that the gateway refuses."""
    first, size = 0.0, 0
    started = time.perf_counter()
    with client.stream("GET", "/search", params={"q": question}) as response:
        for part in response.iter_raw():
            first = first or time.perf_counter() - started
            size += len(part)
    if response.status_code != 200:
        raise UsageError(f"the gateway answers {question[:80]!r} with status {response.status_code}")
    return Page(first, time.perf_counter() - started, size)


def summary(pages: Sequence[Page]) -> dict[str, Any]:
    """Return the latencies and weights of the pages of one coding."""
    return {
        "pages": len(pages),
        "first_byte_ms": Latency.of([page.first_byte_seconds for page in pages]),
        "last_byte_ms": Latency.of([page.last_byte_seconds for page in pages]),
        "weight_kb": round(sum(page.size for page in pages) / len(pages) / 1000, 1),
        "heaviest_kb": round(max(page.size for page in pages) / 1000, 1),
    }


def show(conditions: dict[str, Any], rows: dict[str, dict[str, Any]]) -> None:
    out.print(describe(conditions), highlight=False)
    columns = ("first byte p50 ms", "p95 ms", "last byte p50 ms", "p95 ms", "weight KB", "heaviest KB")
    printed = table("The result page", "coding", "pages", *columns)
    for coding, row in rows.items():
        first, last = row["first_byte_ms"], row["last_byte_ms"]
        times = (first.p50, first.p95, last.p50, last.p95)
        printed.add_row(coding, str(row["pages"]), *map(str, (*times, row["weight_kb"], row["heaviest_kb"])))
    out.print(printed)
    limits = ", ".join(f"{name} {limit:g}" for name, limit in TARGETS.items())
    out.print(f"Targets: {limits}.", highlight=False)
