"""`python -m benchmarks steps DIR`: 60 questions of several parts, in steps and as one plain search.

The pages are three sets of documentation of the second web (Scrapy, Postfix, Varnish), which nothing was tuned to. The
questions and the texts that answer their parts were written from the pages, before a search was made. The whole gateway
answers, in this process and without servers.

A part is answered if one statement that is shown has, with the headings around it, all texts of one of its keys. Of a
plain search, the statements of the first three results are shown, as many as a person looks at; of a question in steps,
all of its statements. A part without keys is answered by no page: there it counts whether it is named as open.
**The keys are strings: they say that a statement is there, and not that a person is content with it.**
"""

import json
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean, median
from typing import Annotated, Any

import httpx2
import typer
from fastapi import FastAPI

from benchmarks.evaluation.commands.in_process import search_in_process
from benchmarks.evaluation.search import open_run
from benchmarks.search.open_sets import read_web
from benchmarks.second_web.command import make_web
from schemas.ids import page_id
from streams.client.plain_http import plain_async_client
from streams.client.streaming import EventReader
from streams.commands.console import AsJson, command, err, out, print_json
from streams.gateway.app import create_app
from streams.lines.jsonl import read_objects, read_rows
from streams.pages.document.codec import encode_document
from streams.pages.document.model import Document
from streams.settings import AnswersSettings, Settings
from streams.stores.opener import Stores, memory_stores
from streams.stores.page_record import Indexed, Normalized

HOSTS = ("scrapy.test", "postfix.test", "varnish.test")
FIRST = 3
"""Number of results of a plain search whose statements are shown."""
FEW = 5
"""Number of first statements of a plain search, which are about as many as a question in steps shows (`few`)."""
DEADLINE_SECONDS = 60.0
_QUESTIONS = Path(__file__).with_name("steps_questions.jsonl")

Keys = Sequence[Sequence[str]]
"""The texts of which a statement that answers a part has all of one row. None: no page answers it."""


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    parts: Sequence[Keys]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question by one form of search."""

    question: str
    form: str
    answered: Sequence[bool]
    """For each part that a page answers."""
    absent: int
    """Parts that no page answers."""
    named: bool
    """True: it was said that something stayed open."""
    statements: int
    seconds: float
    searches: int
    calls: int


@command
async def run(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Gets packages and pages.")],
    url: Annotated[str, typer.Option(metavar="URL", help="A model's server, up to /v1; without it no model.")] = "",
    key_file: Annotated[Path | None, typer.Option(metavar="FILE", help="File with the key of the model.")] = None,
    questions: Annotated[int, typer.Option(help="Number of questions of each set; 20 are there.")] = 20,
    save: Annotated[Path | None, typer.Option(metavar="FILE", help="File of outcomes: what it has stays.")] = None,
    as_json: AsJson = False,
) -> None:
    """Ask 60 questions of several parts in steps, beside one plain search: parts answered, seconds, calls.

    Example:  python -m benchmarks steps /tmp/second
    """
    answers = AnswersSettings(url=url, key_file=key_file, deadline_seconds=600, per_person=0, per_hour=0)
    asked = await measure(make_web(folder, HOSTS), answers if url else AnswersSettings(), questions, save)
    found = figures(asked)
    if as_json:
        print_json(found)
    else:
        out.print("\n".join(rows(found)), highlight=False, markup=False, soft_wrap=True)


def read_questions(most: int) -> list[Question]:
    """Return the first questions of each set."""
    found: dict[str, list[Question]] = {}
    for _, row in read_rows(_QUESTIONS):
        found.setdefault(row["web"], []).append(Question(row["question"], row["parts"]))
    return [question for of_web in found.values() for question in of_web[:most]]


async def measure(web: Path, answers: AnswersSettings, most: int, save: Path | None) -> list[Asked]:
    """Return the outcome of each question by each form of search."""
    done = {(each.form, each.question): each for each in _read(save)}
    forms = ("search", "few", "steps", *(["model"] if answers.url else []))
    async with AsyncExitStack() as stack:
        app = await open_gateway(stack, web, answers)
        transport = httpx2.ASGITransport(app)
        async with plain_async_client(transport=transport, base_url="http://localhost", timeout=900) as client:
            for question in read_questions(most):
                for form in forms:
                    if (form, question.text) not in done:
                        done[form, question.text] = made = await _ask(client, question, form)
                        _append(save, made)
                sys.stderr.write(f"{question.text}\n")
        await app.state.gateway.close()
    wanted = {question.text for question in read_questions(most)}
    return [each for (_, text), each in done.items() if text in wanted]


def _read(save: Path | None) -> list[Asked]:
    return [Asked(**row) for _, row in read_objects(save)] if save and save.exists() else []


def _append(save: Path | None, made: Asked) -> None:
    if save:
        with save.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(made)) + "\n")


async def open_gateway(stack: AsyncExitStack, web: Path, answers: AnswersSettings) -> FastAPI:
    """Return the gateway over the pages of the web."""
    settings, options = search_in_process()
    run = await open_run(stack, settings, options, _report)
    pages = [page.document for page in read_web(web)]
    _, index = await run.index("three sets", pages)
    stores = memory_stores()
    stores.vectors, stores.embedder, stores.reranker = index, run.models.embedder, run.models.reranker
    await _store(stores, pages)
    gateway = settings.gateway.model_copy(update={"deadline_seconds": DEADLINE_SECONDS, "allowed_hosts": ("*",)})
    own = Settings(**{**dict(settings), "gateway": gateway, "answers": answers})
    return create_app(own, stores, publish=None, clock=lambda: datetime.now(UTC))


async def _store(stores: Stores, pages: Sequence[Document]) -> None:
    """Store the documents of the pages, and their records."""
    collection = await stores.vectors.active()
    for document in pages:
        page, ref = page_id(document.url), await stores.blobs.put(encode_document(document))
        row = {"url": document.url, "generation": 1}
        await stores.pages.put(page, Normalized.of_row({**row, "title": document.title, "document_ref": ref}), 1)
        await stores.pages.put(page, Indexed.of_row({**row, "collection": collection}), 1)


async def _ask(client: httpx2.AsyncClient, question: Question, form: str) -> Asked:
    begun = time.perf_counter()
    if form in ("search", "few"):
        answer = await client.get("/api/v1/search", params={"q": question.text})
        shown, spent, is_named = _of_search(answer.raise_for_status().json())
        shown = shown[:FEW] if form == "few" else shown
    else:
        bounds = {"seconds": 120, "calls": 0 if form == "steps" else 16}
        answer = await client.get("/api/v1/ask", params={"q": question.text, **bounds})
        shown, spent, is_named = _of_steps(answer.raise_for_status().content)
    wanted = [keys for keys in question.parts if keys]
    return Asked(
        question=question.text,
        form=form,
        answered=[_answers(keys, shown) for keys in wanted],
        absent=len(question.parts) - len(wanted),
        named=is_named,
        statements=len(shown),
        seconds=round(time.perf_counter() - begun, 3),
        searches=spent["searches"],
        calls=spent["calls"],
    )


def _of_search(answer: Any) -> tuple[list[str], Mapping[str, int], bool]:
    shown = [
        " ".join((result["title"], *each.get("context", ()), each["text"]))
        for result in answer["results"][:FIRST]
        for each in result["statements"]
    ]
    is_named = bool(answer.get("missing")) or answer.get("nearest_only", False)
    return shown, {"searches": 1, "calls": 0}, is_named


def _of_steps(stream: bytes) -> tuple[list[str], Mapping[str, int], bool]:
    events = list(EventReader().read(stream))
    shown = [
        " ".join((each["statement"]["title"], *each["context"], each["statement"]["text"]))
        for event in events
        if event.name == "part"
        for each in event.data["statements"]
    ]
    end = events[-1].data
    return shown, end["spent"], bool(end["open"])


def _answers(keys: Keys, shown: Sequence[str]) -> bool:
    texts = [text.casefold() for text in shown]
    return any(all(key.casefold() in text for key in row) for row in keys for text in texts)


def figures(asked: Sequence[Asked]) -> dict[str, Any]:
    """Return the figures of each form of search."""
    return {
        form: _figures([each for each in asked if each.form == form])
        for form in dict.fromkeys(each.form for each in asked)
    }


def _figures(asked: Sequence[Asked]) -> dict[str, Any]:
    whole, lacking = [each for each in asked if not each.absent], [each for each in asked if each.absent]
    parts = [answered for each in asked for answered in each.answered]
    return {
        "questions": len(asked),
        "parts": len(parts),
        "parts answered": sum(parts),
        "all parts answered": sum(all(each.answered) for each in asked),
        "open named": sum(each.named for each in lacking),
        "with an absent part": len(lacking),
        "open named wrongly": sum(each.named and all(each.answered) for each in whole),
        "statements": round(mean(each.statements for each in asked), 1),
        "median seconds": round(median(each.seconds for each in asked), 2),
        "searches": round(mean(each.searches for each in asked), 1),
        "calls": round(mean(each.calls for each in asked), 1),
    }


def rows(found: Mapping[str, Any]) -> list[str]:
    """Return a table in Markdown."""
    names = list(next(iter(found.values())))
    lines = [f"| form | {' | '.join(names)} |", f"|---|{'---:|' * len(names)}"]
    return [*lines, *(f"| {form} | {' | '.join(str(each[name]) for name in names)} |" for form, each in found.items())]


def _report(step: str, done: int, of: int) -> None:
    if done == of or not done % 2_560:
        err.print(f"{step}: {done} of {of}", highlight=False)
