"""Indirect questions: the place of the answering sentence among the sentences of the right page, only by meaning.

    python -m benchmarks.search.indirect_questions MODEL... [--cache DIR] [--repository DIR]

A question has no content word in common with its answer: "May a stranger improve it?", "The project does not accept
patches from anonymous passers-by". `indirect/questions.jsonl` has 38 questions about pages of the bundled web, and 31
in German about manual pages in `indirect/handbuch.test`. They were written before a model had answered one. A statement
is embedded in three forms, and each model (`sbert`, `e5`) by itself is compared with all of them side by side: the mean
of their cosines, each in standard deviations of the page's.
"""

import argparse
import asyncio
import itertools
import json
import math
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.evaluation.indexing import pages_of
from benchmarks.evaluation.vector_cache import CachedEmbedder
from streams.lines.jsonl import read_rows
from streams.local.demo import unpack
from streams.models.opening import open_models
from streams.pages.document.model import Document
from streams.pages.normalize import normalize
from streams.settings import Settings
from streams.statements.statement import PageStatements, Statement

FOLDER = Path(__file__).with_name("indirect")
AMONG = (3, 10)
"""The places that count as found: a short list, and a long one."""
SIDE_BY_SIDE = "side by side"

Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the place of its answer."""

    question: str
    language: str
    url: str
    answer: str
    """A part of the answering sentence, which no other sentence of the page has."""


def _without_headings(statement: Statement) -> str:
    return "\n".join((*statement.context[:1], statement.text))


FORMS: Mapping[str, Callable[[Statement], str]] = {
    "title and headings": lambda statement: statement.in_context,
    "title": _without_headings,
    "nothing": lambda statement: statement.text,
}
"""The text to embed of a statement, by what stands before it. The first form is the product's."""


def read_questions() -> list[Question]:
    return [Question(**row) for _, row in read_rows(FOLDER / "questions.jsonl")]


def place_of(scores: Scores, answers: Iterable[int]) -> int:
    """Return the place of the best answer, from 1. Equal scores before it count, so that a constant finds nothing."""
    best = max(scores[list(answers)])
    equal = sum(int(scores[each] == best) for each in answers)
    return int((scores >= best).sum()) - equal + 1


def standardize(scores: Scores) -> Scores:
    """Return the distances from the mean, in standard deviations."""
    found: Scores = (scores - scores.mean()) / max(float(scores.std()), 1e-9)
    return found


def share_of(places: Sequence[int], among: int) -> dict[str, float]:
    """Return the share of the questions whose answer is among the first, with its standard error."""
    share = sum(place <= among for place in places) / len(places)
    return {"share": round(share, 3), "error": round(math.sqrt(share * (1 - share) / len(places)), 3)}


async def places(models: Sequence[str], cache: Path, repository: Path | None) -> dict[str, dict[str, list[int]]]:
    """Return the places of the answers by model and form, then by language."""
    questions = read_questions()
    own = {"model_repository": repository} if repository else {}
    pages = await _pages({each.url for each in questions}, own)
    scores: dict[tuple[str, str], list[Scores]] = {}
    for model in models:
        opened = await open_models(Settings(triton={"url": "inprocess:", "model": model, "threads": 1}, **own))  # type: ignore[arg-type]  # pydantic reads the dictionary
        embedder = CachedEmbedder([opened.embedder], cache)
        asked = await embedder.embed([each.question for each in questions], "query")
        for form, text_of in FORMS.items():
            vectors = {
                url: await embedder.embed([text_of(each) for each in page.statements], "passage")
                for url, page in pages.items()
            }
            scores[model, form] = [
                standardize(vectors[each.url].astype(np.float64) @ vector.astype(np.float64))
                for each, vector in zip(questions, asked, strict=True)
            ]
        await opened.close()
    for form in FORMS if len(models) > 1 else ():
        lists = zip(*(scores[model, form] for model in models), strict=True)
        scores[SIDE_BY_SIDE, form] = [np.asarray(np.mean(each, axis=0)) for each in lists]
    found: dict[str, dict[str, list[int]]] = {}
    for (model, form), of_questions in scores.items():
        by_language = found.setdefault(f"{model}, {form}", defaultdict(list))
        for each, one in zip(questions, of_questions, strict=True):
            by_language[each.language].append(place_of(one, answers_in(pages[each.url], each.answer)))
    return found


def answers_in(page: PageStatements, answer: str) -> list[int]:
    """Return the ordinals of the statements with this text. A page without one is an error of the set."""
    found = [at for at, each in enumerate(page.statements) if answer in " ".join(each.text.split())]
    if not found:
        raise ValueError(f"{page.url} has no statement with {answer!r}")
    return found


async def _pages(urls: Iterable[str], own: Mapping[str, Any]) -> dict[str, PageStatements]:
    """Return the statements of the pages, as the product makes them."""
    with tempfile.TemporaryDirectory() as scratch:
        folders = (unpack(Path(scratch) / "demo"), FOLDER)
        documents = [document_of(url, folders) for url in sorted(urls)]
    opened = await open_models(Settings(triton={"url": "inprocess:"}, **own))
    made = await pages_of(documents, opened.chains)
    await opened.close()
    return {page.url: page for page in made}


def document_of(url: str, folders: Iterable[Path]) -> Document:
    """Return the page of one of these folders of HOST/path."""
    file = next(path for folder in folders if (path := folder / url.removeprefix("https://")).is_file())
    return normalize(file.read_bytes(), url=url).document


def figures(found: Mapping[str, Mapping[str, Sequence[int]]]) -> dict[str, Any]:
    """Return the shares by row, language and number of places. `all` has all languages together."""
    return {
        row: {
            language: {str(among): share_of(of_language, among) for among in AMONG}
            for language, of_language in {
                **by_language,
                "all": list(itertools.chain.from_iterable(by_language.values())),
            }.items()
        }
        for row, by_language in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL", help="names of models in the repository")
    parser.add_argument("--cache", type=Path, default=None, help="folder of the vectors (default: eval in RIFFLE_HOME)")
    parser.add_argument("--repository", type=Path, default=None, help="folder that holds `local`")
    arguments = parser.parse_args()
    found = asyncio.run(places(arguments.models, arguments.cache or Settings().home / "eval", arguments.repository))
    print(json.dumps(figures(found), indent=2))


if __name__ == "__main__":
    main()
