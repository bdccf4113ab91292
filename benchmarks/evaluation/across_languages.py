"""Questions in one language over pages in the same or in another one: what is found, and what is called found.

    python -m benchmarks across-languages DIR

DIR has collections `xquad-LANGUAGE` in BEIR's format: the same paragraphs and questions in each language (Artetxe,
Ruder and Yogatama, "On the Cross-lingual Transferability of Monolingual Representations", 2020). The titles in
`xquad-en` name the articles. Each question is asked over all paragraphs, and without its article, so that nothing
answers it. Rows of words of several questions ask nothing. All are searches of the gateway, in this process.

Each second article belongs to the half that judges. What is chosen by these figures is chosen by the other half.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from benchmarks.evaluation.collection import Collection, Query, read_collection
from benchmarks.evaluation.commands.in_process import search_in_process
from benchmarks.evaluation.commands.steps import steps
from benchmarks.evaluation.metrics import mean, ndcg
from benchmarks.evaluation.search import Progress, open_run
from streams.commands.console import AsJson, command, out, print_json
from streams.errors import UsageError
from streams.pages.text.tokens import index_words
from streams.search.deadline import Deadline
from streams.search.request import parse
from streams.search.searcher import Found, Searcher
from streams.stores.protocols import FOR_EVERYBODY

PREFIX, ENGLISH = "xquad-", "en"
ROWS, ROW_WORDS = 60, range(4, 8)
"""Number of rows of words in a half, and of words in a row."""
SEED = 7


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of the questions in one language over the pages in one."""

    questions: str
    pages: str
    ndcg: float
    """nDCG@10 of the questions with an answer. Where nothing was found, three pages are left."""
    lost: float
    """Share of the questions with an answer of which a search says that nothing was found."""
    wrong: float
    """Share of the questions without an answer of which it does not."""
    rows: float
    """Share of the rows of words of which it does not."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A query of one half: the page that answers it, and the pages that are left out."""

    text: str
    answers: Mapping[str, int]
    left_out: tuple[str, ...] = ()


@command
async def run(
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False, metavar="DIR", help="Collections xquad-*.")],
    choosing: Annotated[bool, typer.Option(help="Of the half that chooses, in place of the one that judges.")] = False,
    cache: Annotated[Path | None, typer.Option(file_okay=False, help="Folder of the vectors.")] = None,
    as_json: AsJson = False,
) -> None:
    """Ask questions in several languages over pages in several: their order, and which are said to be found.

    Example:  RIFFLE_TRITON__MODEL=sbert_e5 python -m benchmarks across-languages collections/
    """
    with steps() as progress:
        found = await measure(folder, cache, progress, is_choosing=choosing)
    if as_json:
        print_json([asdict(each) for each in found])
        return
    out.print("\n".join(table(found)), highlight=False, markup=False, soft_wrap=True)


async def measure(folder: Path, cache: Path | None, progress: Progress, *, is_choosing: bool) -> list[Figures]:
    """Return the figures: languages by themselves, then over English pages, then English over others."""
    webs = {each.name.removeprefix(PREFIX): each for each in read_webs(folder)}
    articles = articles_of(webs[ENGLISH])
    found = []
    async with AsyncExitStack() as stack:
        opened = await open_run(stack, *search_in_process(cache), progress)
        for pages, web in webs.items():
            _, index = await opened.index(web.name, web.documents)
            searcher = opened.searcher(index)
            for questions in [name for name in webs if ENGLISH in {name, pages} or name == pages]:
                progress(f"{questions} over {pages}", 0, 0)
                asked = queries_of(webs[questions], web, articles, is_choosing=is_choosing)
                found.append(await _measure(searcher, questions, pages, asked))
    return sorted(found, key=lambda each: (each.questions != each.pages, each.pages != ENGLISH))


def read_webs(folder: Path) -> list[Collection]:
    """Return the collections of one language each. Raises UsageError if they are not parallel."""
    names = [each for each in sorted(folder.glob(f"{PREFIX}*")) if each.name.count("-") == 1]
    webs = [read_collection(each) for each in names]
    if not any(web.name == f"{PREFIX}{ENGLISH}" for web in webs):
        raise UsageError(f"{folder} has no collection {PREFIX}{ENGLISH}")
    if len({(len(web.documents), len(web.queries)) for web in webs}) > 1:
        raise UsageError(f"the collections {PREFIX}* of {folder} are not the same paragraphs and questions")
    return webs


def articles_of(english: Collection) -> list[int]:
    """Return the number of the article that each paragraph is of."""
    numbers = {title: number for number, title in enumerate(dict.fromkeys(each.title for each in english.documents))}
    return [numbers[each.title] for each in english.documents]


def queries_of(
    asked: Collection, web: Collection, articles: Sequence[int], *, is_choosing: bool
) -> dict[str, list[Asked]]:
    """Return the queries of one half, by kind: questions `with` and `without` an answer in the web, and `rows`."""
    places = {each.url: place for place, each in enumerate(asked.documents)}
    own = [(query, places[next(iter(query.grades))]) for query in asked.queries]
    own = [(query, place) for query, place in own if articles[place] % 2 != is_choosing]
    hosts: dict[int, tuple[str, ...]] = {}
    for document, article in zip(web.documents, articles, strict=True):
        hosts[article] = (*hosts.get(article, ()), urlsplit(document.url).netloc)
    return {
        "with": [Asked(query.text, {web.documents[place].url: 1}) for query, place in own],
        "without": [Asked(query.text, {}, hosts[articles[place]]) for query, place in own],
        "rows": [Asked(text, {}) for text in _rows([query for query, _ in own])],
    }


def _rows(queries: Sequence[Query]) -> Iterator[str]:
    """Yield rows of words, each of another question."""
    words, drawn = [sorted(set(index_words(query.text))) for query in queries], random.Random(SEED)
    asked = [each for each in words if each]
    for _ in range(ROWS):
        count = min(drawn.choice(ROW_WORDS), len(asked))
        yield " ".join(drawn.choice(each) for each in drawn.sample(asked, count))


async def _measure(searcher: Searcher, questions: str, pages: str, asked: Mapping[str, Sequence[Asked]]) -> Figures:
    found = {kind: [await _find(searcher, each) for each in queries] for kind, queries in asked.items()}
    gains = [
        ndcg([page.hits[0].payload.url for page in one.pages], each.answers)
        for one, each in zip(found["with"], asked["with"], strict=True)
    ]
    confident = {kind: mean([float(not one.notes.nearest_only) for one in each]) for kind, each in found.items()}
    return Figures(questions, pages, mean(gains), 1 - confident["with"], confident["without"], confident["rows"])


async def _find(searcher: Searcher, asked: Asked) -> Found:
    request = parse(asked.text, options=searcher.options, visible=FOR_EVERYBODY)
    return await searcher.find(replace(request, exclude=asked.left_out), Deadline(searcher.options.deadline_seconds))


def table(found: Sequence[Figures]) -> list[str]:
    """Return a table in Markdown: nDCG@10, and shares in percent."""
    rows = [
        f"| {each.questions} on {each.pages} | {each.ndcg:.3f} | {each.lost:.1%} | {each.wrong:.1%} | {each.rows:.1%} |"
        for each in found
    ]
    return ["| questions | nDCG@10 | lost | wrong | rows of words |", "|---|---:|---:|---:|---:|", *rows]
