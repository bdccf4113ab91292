"""Pages of sites on disk, what is drawn of them by hashes, and searches over them, for measurements."""

from collections.abc import Callable, Iterable
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

from streams.crawl.urls import InvalidUrl, canonicalize
from streams.errors import Refused, UsageError
from streams.pages.document.model import Document
from streams.search.deadline import Deadline
from streams.search.request import parse
from streams.search.searcher import Found, Searcher
from streams.stores.protocols import FOR_EVERYBODY

Normalize = Callable[[bytes, str], Document]
"""HTML and its URL to the document. Raises Refused."""
_T = TypeVar("_T")


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


async def ask(searcher: Searcher, query: str) -> Found:
    """Return the first page of results of a query."""
    return await searcher.find(
        parse(query, options=searcher.options, visible=FOR_EVERYBODY), Deadline(searcher.options.deadline_seconds)
    )
