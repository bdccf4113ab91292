"""Test collections of kinds that open collections lack, made of the pages of a web, in BEIR's format.

    python -m benchmarks open-sets OUT [--web DIR]

links       the text of a link -> the page that it leads to: what an author calls a page, mostly a name or keywords
keywords    some words of a page -> the page: a known item that is remembered by a few words
questions   a heading that asks -> the page with the answer, without this heading: questions over long pages

Words of a known item are drawn by how often the page and how seldom the web has them, from a fixed seed (Azzopardi, de
Rijke and Balog, "Building Simulated Queries for Known-Item Topics", 2007). Nobody has judged these pairs: other pages
may answer as well. That costs every ranking the same, so the sets compare rankings and promise no level.
"""

import json
import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.evaluation.sites import draw
from streams.commands.console import command
from streams.crawl.urls import InvalidUrl, canonicalize
from streams.local.demo import unpack
from streams.pages.document.model import Document
from streams.pages.normalize import normalize
from streams.pages.text.alphabets import PLAIN_WORDS
from streams.pages.text.tokens import words

SEED = 25
MAX_QUERIES = 150
"""Maximum number of queries of a set."""
LINK_WORDS = range(2, 9)
"""Number of words of a link's text that is a query. A single word is often a button or a name of a parameter."""
MAX_TARGETS = 3
"""Maximum number of pages that links with one text lead to. A text for many pages is no name."""
KEYWORDS = range(2, 5)
MIN_PAGES, MAX_SHARE = 2, 0.2
"""Bounds of the number of pages that have a keyword: people remember neither a misprint nor a word of every page."""
QUESTION_WORDS = range(4, 20)

_NUMBER = re.compile(r"(?:\d{1,3}\.){0,5}+(?:\d{1,3}\.?)?+\s{0,3}+(?=[A-Z])")
"""The number of a chapter before its name."""

Queries = Mapping[str, frozenset[str]]
"""The URLs of the pages that answer each query."""


@dataclass(frozen=True, slots=True)
class Page:
    url: str
    title: str
    paragraphs: tuple[str, ...]
    document: Document


def read_web(folder: Path, count: int | None = None) -> list[Page]:
    """Return the normalized pages of a folder HOST/path, by URL. `count` is the maximum number of drawn pages."""
    files, pages = sorted(folder.glob("*/**/*.html")), []
    for file in files if count is None else draw(files, count, lambda file: str(file.relative_to(folder))):
        url = canonicalize(f"https://{file.relative_to(folder)}")
        document = normalize(file.read_bytes(), url=url).document
        pages.append(Page(url, document.title, tuple(block.text for block in document.blocks), document))
    return pages


def link_queries(pages: Iterable[Page]) -> Queries:
    """Return the texts of links in main content that are no titles of the pages that they lead to."""
    titles = {page.url: words(page.title) for page in pages}
    found: defaultdict[str, set[str]] = defaultdict(set)
    for page in pages:
        for link in page.document.links:
            target, asked = _canonicalize(link.url), words(_without_number(link.text.strip()))
            is_other = link.in_content and target in titles and target != page.url
            if is_other and len(asked) in LINK_WORDS and asked != titles[target][: len(asked)]:
                found[" ".join(asked)].add(target)
    return {text: frozenset(urls) for text, urls in found.items() if len(urls) <= MAX_TARGETS}


def _without_number(heading: str) -> str:
    """Return a heading without the number of its chapter."""
    number = _NUMBER.match(heading)
    return heading[number.end() :] if number else heading


def _canonicalize(url: str) -> str:
    """Return the URL of a page without its part behind `#`; an empty text for what is no page."""
    try:
        return canonicalize(url.partition("#")[0])
    except InvalidUrl:
        return ""


def keyword_queries(pages: list[Page]) -> Queries:
    """Return a few words of each page, drawn by their weights."""
    counts = {page.url: Counter(_content_words(page)) for page in pages}
    having = Counter(word for count in counts.values() for word in count)
    drawn = random.Random(SEED)
    queries = {}
    for url, count in counts.items():
        weights = {
            word: number * math.log(len(pages) / having[word])
            for word, number in count.items()
            if MIN_PAGES <= having[word] <= MAX_SHARE * len(pages)
        }
        if len(weights) >= 2 * KEYWORDS.stop and any(weights.values()):
            chosen = drawn.choices(list(weights), list(weights.values()), k=4 * KEYWORDS.stop)
            queries[" ".join(islice(dict.fromkeys(chosen), drawn.choice(KEYWORDS)))] = frozenset([url])
    return queries


def _content_words(page: Page) -> list[str]:
    plain = PLAIN_WORDS["en"]
    texts = (page.title, *page.paragraphs)
    return [word for text in texts for word in words(text) if len(word) > 2 and word.isalpha() and word not in plain]


def question_queries(pages: Iterable[Page]) -> Queries:
    """Return the headings that ask a question."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for page in pages:
        for block in page.document.blocks:
            if _asks(block.tag, block.text):
                found[_without_number(block.text.strip())].add(page.url)
    return {text: frozenset(urls) for text, urls in found.items() if len(urls) == 1}


def _asks(tag: str, text: str) -> bool:
    return tag in ("h2", "h3", "h4", "h5", "dt") and text.strip().endswith("?") and len(words(text)) in QUESTION_WORDS


def write_set(folder: Path, pages: Iterable[Page], queries: Queries) -> int:
    """Write a collection. Returns the number of its queries."""
    folder.mkdir(parents=True, exist_ok=True)
    # By a fixed shuffle: a limit must not take the first host only.
    asked = sorted(queries)
    random.Random(SEED).shuffle(asked)
    asked = sorted(asked[:MAX_QUERIES])
    _write(folder / "corpus.jsonl", (_row(page, asked) for page in pages))
    _write(folder / "queries.jsonl", ({"_id": str(n), "text": text} for n, text in enumerate(asked)))
    judged = (f"{n}\t{url}\t1" for n, text in enumerate(asked) for url in sorted(queries[text]))
    (folder / "qrels.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *judged]) + "\n", encoding="utf-8")
    return len(asked)


def _row(page: Page, asked: Iterable[str]) -> dict[str, str]:
    """Return the page without the headings that are queries."""
    headings = frozenset(asked)
    text = "\n\n".join(part for part in page.paragraphs if _without_number(part.strip()) not in headings)
    return {"_id": page.url, "title": page.title, "text": text}


def _write(file: Path, rows: Iterable[Mapping[str, str]]) -> None:
    file.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8")


@command
def run(
    out: Annotated[Path, typer.Argument(file_okay=False, metavar="OUT", help="Folder for the collections.")],
    web: Annotated[
        Path | None, typer.Option(exists=True, file_okay=False, metavar="DIR", help="Default: the bundled web.")
    ] = None,
) -> None:
    """Make test collections of kinds that open ones lack, for `eval search --all`: links, keywords, questions.

    Example:  python -m benchmarks open-sets collections/ && python -m benchmarks eval search --all collections/
    """
    for name, queries in make(out, web):
        typer.echo(f"{out / name}: {queries} queries")


def make(out: Path, web: Path | None) -> Iterator[tuple[str, int]]:
    """Write the three sets to `out`. Yields each set's name and its number of queries."""
    pages = read_web(web or unpack(out / ".web"))
    for name, queries in (
        ("links", link_queries(pages)),
        ("keywords", keyword_queries(pages)),
        ("questions", question_queries(pages)),
    ):
        yield name, write_set(out / name, pages, queries)
