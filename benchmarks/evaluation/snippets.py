"""`python -m benchmarks eval snippets DIR`: the share of shown snippets of the pages of sites that read alone.

The pages become documents, statements and points by the functions of the stages. Titles and headings of the pages are
the queries, and the gateway's answers have the snippets. Hashes decide what is drawn, so each run draws the same.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.evaluation.search import Options, Run, open_run
from benchmarks.evaluation.snippet_labels import add_snippets, compare, kept_labels, read_labels
from benchmarks.evaluation.snippet_rule import FAILURES, Snippet, find_failure, repeated_lines
from streams.crawl.urls import InvalidUrl, canonicalize
from streams.errors import Refused, UsageError
from streams.gateway.search.answers import to_search_answer
from streams.pages.document.model import Document
from streams.search.deadline import Deadline
from streams.search.request import parse
from streams.search.searcher import Found, Searcher
from streams.settings import Settings
from streams.stores.protocols import FOR_EVERYBODY

QUERIES = 120
SNIPPETS = 300
RESULTS = 5
"""Number of first results that are read: further ones are seldom seen."""
QUERY_WORDS = range(2, 13)
EXAMPLES = 5
"""Maximum examples of a class of failure."""
_HEADINGS = frozenset({"h1", "h2", "h3", "h4"})
_NUMBER = re.compile(r"(?:Chapter |Appendix )?(?:[A-Z]\.)?+(?:\d{1,3}\.)*+\s*+")
_FINITE = frozenset({"VB", "VBD", "VBP", "VBZ", "MD"})
"""Penn Treebank's tags of verbs that make a sentence. Participles don't."""

Progress = Callable[[str, int, int], None]
Normalize = Callable[[bytes, str], Document]
"""HTML and its URL to the document. Raises Refused."""
_T = TypeVar("_T")


async def evaluate_snippets(
    sites: Mapping[str, Sequence[Document]],
    settings: Settings,
    options: Options,
    labels: Path | None,
    progress: Progress,
) -> dict[str, Any]:
    """Return the figures of each site. Raises UsageError for missing model files or unreadable labels."""
    async with AsyncExitStack() as stack:
        run = await open_run(stack, settings, options, progress)
        known = read_labels(labels) if labels else {}
        judged = {**kept_labels(), **{name: alone for name, alone in known.items() if alone is not None}}
        found = {}
        for name, documents in sites.items():
            snippets, failures = await _judge(run, name, documents)
            found[name] = _figures(snippets, failures)
            found[name]["labels"] = compare(snippets, failures, judged).to_dict()
            if labels:
                found[name]["labels"]["added"] = add_snippets(labels, snippets, known)
        return {"sites": found}


async def _judge(run: Run, name: str, documents: Sequence[Document]) -> tuple[list[Snippet], list[str]]:
    pages, index = await run.index(name, documents)
    searcher, queries, shown = run.searcher(index), make_queries(documents), list[Snippet]()
    for done, query in enumerate(queries, start=1):
        shown += await shown_snippets(searcher, query)
        run.progress(f"search {name}", done, len(queries))
    snippets = draw(shown, SNIPPETS, lambda each: f"{each.query} {each.url} {each.stored}")
    repeated = repeated_lines(pages)
    return snippets, [find_failure(snippet, repeated, has_verb) for snippet in snippets]


def draw(values: Iterable[_T], count: int, name: Callable[[_T], str]) -> list[_T]:
    """Return at most `count` of the values. A value is drawn by its name, whatever other values there are."""
    return sorted(values, key=lambda value: blake2b(name(value).encode("utf-8", "replace")).digest())[:count]


def read_site(folder: Path, count: int, normalize: Normalize) -> list[Document]:
    """Return the documents of drawn pages of a folder HOST/path. Raises UsageError if there is none."""
    files = sorted(folder.glob("*/**/*.html"))
    documents = []
    for file in sorted(draw(files, count, lambda file: str(file.relative_to(folder)))):
        try:
            url = canonicalize(f"https://{file.relative_to(folder)}")
            documents.append(normalize(file.read_bytes(), url))
        except (InvalidUrl, Refused):  # the pipeline refuses it, too
            continue
    if not documents:
        raise UsageError(f"{folder} has no pages: expected files HOST/path.html")
    return documents


def make_queries(documents: Sequence[Document]) -> list[str]:
    """Return drawn titles and headings of the documents, without the numbers of chapters."""
    found: dict[str, None] = {}
    for document in documents:
        headings = (block.text for block in document.blocks if block.tag in _HEADINGS)
        for text in (document.title, *headings):
            query = " ".join(_NUMBER.sub("", text.strip(), count=1).split())
            if len(query.split()) in QUERY_WORDS:
                found[query] = None
    return draw(found, QUERIES, str)


async def shown_snippets(searcher: Searcher, query: str) -> list[Snippet]:
    """Return the snippets of the first results of a query, as a reader sees them."""
    return snippets_of(query, await ask(searcher, query))


async def ask(searcher: Searcher, query: str) -> Found:
    """Return the first page of results of a query."""
    return await searcher.find(
        parse(query, options=searcher.options, visible=FOR_EVERYBODY), Deadline(searcher.options.deadline_seconds)
    )


def snippets_of(query: str, found: Found) -> list[Snippet]:
    """Return the snippets of the first results that were found, as a reader sees them."""
    stored = _stored_texts(found)
    return [
        Snippet(query, result.url, shown.text, shown.kind, shown.context, stored[str(shown.id)], result.title)
        for result in to_search_answer(found).results[:RESULTS]
        for shown in result.statements
    ]


def _stored_texts(found: Found) -> dict[str, str]:
    return {str(hit.id): hit.payload.text for page in found.pages for hit in page.hits}


def _figures(snippets: Sequence[Snippet], failures: Sequence[str]) -> dict[str, Any]:
    counts = Counter(failures)
    examples: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for snippet, failure in zip(snippets, failures, strict=True):
        if failure and len(examples[failure]) < EXAMPLES:
            examples[failure].append({"query": snippet.query, "url": snippet.url, "text": snippet.text})
    return {
        "snippets": len(snippets),
        "alone": round(counts[""] / len(snippets), 3) if snippets else None,
        "failures": {name: counts[name] for name in FAILURES if counts[name]},
        "examples": dict(examples),
    }


@cache
def _tagger() -> Any:
    import spacy

    from streams.statements.sentences.splitter import MODEL

    return spacy.load(MODEL, exclude=["parser", "senter", "attribute_ruler", "lemmatizer", "ner"])


@cache
def has_verb(text: str) -> bool:
    """Return whether a text has a verb that makes a sentence, by a tagger of English."""
    return any(word.tag_ in _FINITE for word in _tagger()(text))
