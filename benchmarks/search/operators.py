"""The time of a search with operators beside the same search without them, and of late pages beside the first one.

    python -m benchmarks operators --statements 30000 --qdrant PATH

The gateway runs in this process, over a real Qdrant that is started for the run, the model in this process, and empty
records in memory. The statements are made by `search`; pages have dates and types besides. A question is
the first words of a statement, and each operator has a value that this statement's page meets. All forms of a question
are asked one after the other, in another order for each question, so that other work of the machine meets all of them.
The vector of the question is in the cache: its time, which all forms share, would hide the differences.
"""

import random
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import httpx2
import typer

from benchmarks.evaluation.vector_cache import CachedEmbedder
from benchmarks.machine import Latency, describe, machine, table
from benchmarks.models.embed import statements_of
from benchmarks.search.search import ALL_PAGES, QUESTION_WORDS, copies, progress
from benchmarks.search.vector_index import server, wait_until_optimized
from streams.commands.console import AsJson, command, err, load_settings, out, print_json
from streams.gateway.app import create_app
from streams.local.demo import unpack
from streams.models.opening import open_models
from streams.settings import Settings
from streams.settings.servers import IN_PROCESS
from streams.statements.statement import PageStatements
from streams.stores.opener import Stores, memory_stores
from streams.stores.qdrant.index import QdrantIndex
from streams.vectors.page_records import PageFacts
from streams.vectors.points import points_of, texts_of

MAX_RATIO = 2.0
"""The target: maximum time of a query with operators, and of page 10, in times of a first page without operators."""
LATE_PAGE = 10
PAGE_TYPES = ("Article", "Recipe", "Question")
MIN_WORDS = 5
MIN_WORD_CHARS = 4


@dataclass(frozen=True, slots=True)
class Form:
    """One form of a question."""

    name: str
    query: str


@command
async def run(
    statements: Annotated[int, typer.Option(min=1_000, help="Number of statements.")] = 30_000,
    qdrant: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Qdrant's program. Default: the server that runs.")
    ] = None,
    questions: Annotated[int, typer.Option(min=5, help="Number of questions to ask, each with all operators.")] = 40,
    as_json: AsJson = False,
) -> int:
    """Measure a search with each operator beside one without, and page 10 beside page 1. Exit status 1: above twice.

    Example:  python -m benchmarks operators --statements 30000 --qdrant /usr/bin/qdrant
    """
    settings = load_settings()
    conditions = machine()
    with server(settings, qdrant) as url, tempfile.TemporaryDirectory() as scratch:
        local = settings.model_copy(
            update={
                "qdrant": settings.qdrant.model_copy(update={"url": url, "timeout_seconds": 60.0}),
                "triton": settings.triton.model_copy(update={"url": IN_PROCESS}),
            }
        )
        models = await open_models(local)
        index = QdrantIndex(local.qdrant, production=False, alias="statements")
        stores = replace(memory_stores(), vectors=index, embedder=models.embedder)
        try:
            pages = await fill(local, stores, Path(scratch), statements)
            await wait_until_optimized(url, await index.ensure(await stores.embedder.info()))
            measured = await measure(local, stores, pages, questions)
        finally:
            await index.close()
    result = {"machine": conditions, "statements": statements, **measured}
    if as_json:
        print_json(result)
    else:
        show(result)
    return int(any(row["ratio"] > MAX_RATIO for row in measured["rows"]))


async def fill(settings: Settings, stores: Stores, scratch: Path, count: int) -> list[PageStatements]:
    """Index this number of statements. Returns the pages of the bundled web."""
    with err.status("Cutting the bundled web into statements ..."):
        pages = statements_of(unpack(scratch / "web" / "demo"), ALL_PAGES)
    embedder = CachedEmbedder([stores.embedder], settings.home / "eval", progress("Embedding"))
    vectors = await embedder.embed([text for page in pages for text in texts_of(page)], "passage")
    collection = await stores.vectors.ensure(await stores.embedder.info())
    number = 0
    with err.status("Filling"):
        for copy, own in copies(pages, vectors):
            published, page_type = facts_of(copy)
            await stores.vectors.upsert(collection, points_of(copy, own, PageFacts(1, published, page_type)))
            number += len(copy.statements)
            if number >= count:
                return pages
    return pages


def facts_of(page: PageStatements) -> tuple[str, str]:
    """Return a date and a type that follow from the page's id: three pages in four have a date."""
    number = page.page_id.int
    date = f"20{10 + number % 15}-{1 + number % 12:02}-{1 + number % 28:02}"
    return date if number % 4 else "", PAGE_TYPES[number % len(PAGE_TYPES)]


def forms_of(page: PageStatements, text: str) -> list[Form]:
    """Return the question that these words of the page are, with each operator."""
    words = text.split()[:QUESTION_WORDS]
    plain = " ".join(words)
    long = [word for word in page.title.split() if word.isalpha() and len(word) >= MIN_WORD_CHARS]
    host = page.url.split("/")[2]
    path = page.url.split("/")[3] if page.url.count("/") > 3 else ""
    _, page_type = facts_of(page)
    operators = {
        "intitle:": f"intitle:{long[0]}",
        "site:": f"site:{host}",
        "site: with a path": f"site:{host}/{path}".rstrip("/"),
        "-word": f"-{words[-1] if words[-1].isalpha() else 'database'}",
        "-word that most have": f"-{most_frequent(long)}",
        "-site:": f"-site:{host}",
        "filetype:": "filetype:html",
        "filetype: that none has": "filetype:pdf",
        "pagetype:": f"pagetype:{page_type}",
        "lang:": f"lang:{page.language or 'en'}",
        "after: before:": "after:2014-03 before:2021",
        "inurl:": f"inurl:{path.partition('.')[0] or host}",
    }
    quoted = f'"{" ".join(words[:3])}" {" ".join(words[3:])}'
    forms = [Form("no operator", plain), Form("“phrase”", quoted)]
    forms += [Form(name, f"{plain} {operator}") for name, operator in operators.items()]
    together = f"{quoted} {operators['intitle:']} {operators['site:']} after:2011 -nothingofthekind"
    return [*forms, Form("combination", together)]


def most_frequent(words: Sequence[str]) -> str:
    return max(words, key=lambda word: (words.count(word), word))


def questions_of(pages: Sequence[PageStatements], count: int) -> Iterator[list[Form]]:
    chance = random.Random(1)
    titled = [page for page in pages if any(w.isalpha() and len(w) >= MIN_WORD_CHARS for w in page.title.split())]
    possible = [
        (page, one.text)
        for page in titled
        for one in page.statements
        if len(one.text.split()) > MIN_WORDS and all(w.isalnum() and w.isascii() for w in one.text.split()[:3])
    ]
    for page, text in chance.sample(possible, count):
        yield forms_of(page, "".join(char if char not in '"-:“”' else " " for char in text))


async def measure(settings: Settings, stores: Stores, pages: Sequence[PageStatements], count: int) -> dict[str, Any]:
    async def publish(event: object, cause: str | None = None) -> None: ...

    app = create_app(
        settings.model_copy(update={"profile": "local"}), stores, publish=publish, clock=lambda: datetime.now(UTC)
    )
    times: dict[str, list[float]] = {}
    late: dict[int, list[float]] = {}
    found: dict[str, list[int]] = {}
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://localhost") as web:
        for number, forms in enumerate(questions_of(pages, count + 1)):
            await ask(web, forms[0].query)
            for form in random.Random(number).sample(forms, len(forms)):
                answer, seconds = await ask(web, form.query)
                if number:  # the first question warms up
                    times.setdefault(form.name, []).append(seconds)
                    found.setdefault(form.name, []).append(len(answer["results"]))
            for place, seconds in enumerate(await go_through(web, forms[0].query), 1):
                late.setdefault(place, []).append(seconds)
    return {"rows": [*rows_of(times, found), *late_rows(late)]}


async def ask(web: httpx2.AsyncClient, query: str, cursor: str = "") -> tuple[dict[str, Any], float]:
    started = time.perf_counter()
    response = await web.get("/api/v1/search", params={"q": query, "cursor": cursor})
    seconds = time.perf_counter() - started
    answer: dict[str, Any] = response.raise_for_status().json()
    return answer, seconds


async def go_through(web: httpx2.AsyncClient, query: str) -> list[float]:
    """Return the time of each page of results, up to the late one."""
    seconds, cursor = [], ""
    for _ in range(LATE_PAGE):
        answer, took = await ask(web, query, cursor)
        seconds.append(took)
        if not (cursor := answer.get("next") or ""):
            break
    return seconds


def rows_of(times: Mapping[str, Sequence[float]], found: Mapping[str, Sequence[int]]) -> list[dict[str, Any]]:
    plain = statistics.median(times["no operator"])
    return [
        {
            "form": name,
            "latency": Latency.of(seconds),
            "ratio": round(statistics.median(seconds) / plain, 2),
            "results": round(statistics.fmean(found[name]), 1),
        }
        for name, seconds in times.items()
    ]


def late_rows(late: Mapping[int, Sequence[float]]) -> list[dict[str, Any]]:
    """Return the pages of results, each beside the first page of the same questions."""
    return [
        {
            "form": f"page {place}",
            "latency": Latency.of(seconds),
            "ratio": round(statistics.median(seconds) / statistics.median(late[1]), 2),
            "results": None,
        }
        for place, seconds in late.items()
    ]


def show(result: Mapping[str, Any]) -> None:
    out.print(describe(result["machine"]))
    target = f"ratio (target {MAX_RATIO:g})"
    rows = table(f"{result['statements']} statements", "", "p50 ms", "p95 ms", target, "results")
    for row in result["rows"]:
        latency = row["latency"]
        results = "" if row["results"] is None else str(row["results"])
        rows.add_row(row["form"], str(latency.p50), str(latency.p95), str(row["ratio"]), results)
    out.print(rows)
