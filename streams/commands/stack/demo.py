"""`riffle demo`: from a bundled web of real pages to an answer, on the real stack, with one command."""

import asyncio
import os
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import typer

from streams.commands.console import EXIT_NO, command, err, load_settings, out, styled
from streams.commands.pages.crawl import run_crawl
from streams.commands.pages.search import ask
from streams.commands.stack.up import Tls, Triton, check_stack, choose_stack, start_detached, stop_stack
from streams.crawl.seeds import seed
from streams.errors import UsageError
from streams.local.demo import QUESTIONS, Question, unpack
from streams.local.home import read_state, running_state
from streams.search.paging import FIRST_STATEMENTS
from streams.search.ranking.fusion import merge_lists
from streams.search.searcher import STATEMENTS_PER_PAGE
from streams.settings import Settings
from streams.stores.opener import open_stores
from streams.stores.protocols import FOR_EVERYBODY, VectorIndex
from streams.vectors.bm25 import query_vector

TOP_STATEMENTS = 3
WORDS_PAGES = 5
"""Number of first pages that are searched for the answer, in the search only by words."""
DEPTH = 30
LANGUAGES = {"en": "English", "de": "German"}
SHOWN_QUESTIONS = 2
"""Number of questions in each language that are shown with their statements."""
MAX_ASKED = 60
"""Maximum number of times that a question is asked while its answer is partial."""
PAUSE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Verdict:
    """The statements that a search found for a question."""

    question: Question
    statements: list[tuple[str, str]]
    """Text and page address, best first."""
    by_words: list[tuple[str, str]] = field(default_factory=list)
    """Text and page address on the first pages of the search only by words (BM25), best first."""

    @property
    def rank(self) -> int | None:
        """The place of the right statement, from 1, or None if it is missing."""
        for number, (text, url) in enumerate(self.statements, start=1):
            if self.question.answer in text and url == self.question.url:
                return number
        return None

    @property
    def words_find_it(self) -> bool:
        """True if the search only by words finds the right statement on one of the first WORDS_PAGES pages."""
        return any(self.question.answer in text and url == self.question.url for text, url in self.by_words)

    @property
    def right(self) -> bool:
        """True if the right statement is among the first TOP_STATEMENTS."""
        return self.rank is not None and self.rank <= TOP_STATEMENTS


@command
def demo(
    leave: Annotated[
        bool, typer.Option("--exit", help="Stop at the end: 0 if the answers were right, else 1.")
    ] = False,
    tls: Tls = False,
    triton: Triton = False,
    pages: Annotated[
        int | None,
        typer.Option(min=20, help="Only so many pages, those that answer its questions among them. Default: all."),
    ] = None,
) -> int:
    """Crawl a bundled web of real pages through the whole journey, and open a search page.

    Examples:

        riffle demo
        riffle demo --exit
        riffle demo --tls
        riffle demo --triton
        riffle demo --pages 60
    """
    home = Path(os.environ.get("RIFFLE_HOME", ".riffle"))
    folder = unpack(home / "web" / "demo", pages)
    state = running_state(home)
    if state is None:
        choose_stack(folder, tls=tls, triton=triton)
        start_detached(home)
    else:
        check_stack(state, "demo", tls=tls, triton=triton)
    settings = load_settings(home=home)
    hosts = sorted(path.name for path in folder.iterdir() if path.is_dir())
    if missing := set(hosts) - set(settings.crawl.local_hosts):
        raise UsageError(
            f"a stack runs here without the demo's web ({', '.join(sorted(missing))}). "
            "Stop it with `riffle down`, and run the demo again"
        )
    try:
        out.print(f"\nCrawling {len(hosts)} hosts: {', '.join(hosts)}")
        asyncio.run(_crawl(settings, hosts))
        out.print(
            "Addresses that are forbidden, refused or failed are usual: only these pages of the sites are bundled, and "
            "links lead to others."
        )
        verdicts = asyncio.run(_judge_questions(settings))
        show(verdicts)
    finally:
        if leave and (state := read_state(home)):
            err.print(stop_stack(home, state))
    right = all(verdict.right for verdict in verdicts)
    if not leave:
        out.print(styled("\n[bold]Search page:[/] {}/", settings.gateway.address))
        out.advise("Stop it with `riffle down`.")
    return 0 if right else EXIT_NO


async def _crawl(settings: Settings, hosts: list[str]) -> None:
    # Without all pages, links may not lead to those that answer the questions.
    addresses = dict.fromkeys([*(f"https://{host}/" for host in hosts), *(each.url for each in QUESTIONS)])
    seeds = [seed(address, DEPTH) for address in addresses]
    await run_crawl(settings, seeds, uuid4().hex[:12], wait=True, as_json=False)


async def _judge_questions(settings: Settings) -> list[Verdict]:
    """Ask the gateway each question and rank the statements by their scores. Ask only the word index beside it."""
    async with open_stores(settings, ["vectors"]) as stores:
        verdicts = []
        for question in QUESTIONS:
            answer = await ask_until_whole(settings, question.question)
            by_words = await found_by_words(stores.vectors, question.question)
            verdicts.append(Verdict(question, ranked_statements(answer), by_words))
        return verdicts


async def ask_until_whole(settings: Settings, question: str) -> dict[str, Any]:
    """Return the gateway's answer. A busy machine may leave out a part of the search: that is asked for again."""
    for _ in range(MAX_ASKED):
        answer = await asyncio.to_thread(ask, settings, question, limit=10)
        if not answer["partial"]:
            break
        await asyncio.sleep(PAUSE_SECONDS)
    return answer


async def found_by_words(index: VectorIndex, question: str) -> list[tuple[str, str]]:
    """Return the statements of the first pages of a search only by BM25, with their pages, best page first."""
    found = await index.candidates(
        dense=None, sparse=query_vector(question), visible=FOR_EVERYBODY, limit=FIRST_STATEMENTS
    )
    pages = merge_lists(found)[:WORDS_PAGES]
    return [(hit.payload.text, hit.payload.url) for page in pages for hit in page.hits[:STATEMENTS_PER_PAGE]]


def ranked_statements(answer: dict[str, Any]) -> list[tuple[str, str]]:
    """Return all statements of an answer with their pages, best first."""
    scored = [
        (statement["score"], statement["text"], result["url"])
        for result in answer["results"]
        for statement in result["statements"]
    ]
    return [(text, url) for _, text, url in sorted(scored, key=lambda item: -item[0])]


def show(verdicts: list[Verdict]) -> None:
    """Print some questions with their best statements, and for each language how many have their answer."""
    by_language = {
        name: [verdict for verdict in verdicts if verdict.question.language == code] for code, name in LANGUAGES.items()
    }
    for verdict in chain.from_iterable(those[:SHOWN_QUESTIONS] for those in by_language.values()):
        out.print(styled("\n[bold]{}[/]", verdict.question.question))
        for text, url in verdict.statements[:TOP_STATEMENTS]:
            mark = ">" if verdict.question.answer in text else " "
            out.print(styled(" [green]{}[/] {}\n   [dim]{}[/]", mark, text, url))
    out.print(
        styled("\n[dim]The statements above are the best three of all pages; [green]>[/] marks the right one.[/]")
    )
    right = sum(verdict.right for verdict in verdicts)
    out.print(f"\n{right} of {len(verdicts)} questions have their answer among the first {TOP_STATEMENTS} statements:")
    for name, those in by_language.items():
        by_words = sum(verdict.words_find_it for verdict in those)
        out.print(
            f"  {sum(verdict.right for verdict in those)} of {len(those)} in {name}. Only by words, {by_words} of "
            f"these {len(those)} have it on one of the first {WORDS_PAGES} pages."
        )
    for verdict in verdicts:
        if not verdict.right:
            err.print(styled("[yellow]Not among them:[/] {} (rank {})", verdict.question.question, verdict.rank))
