"""Test collections of retrieval in BEIR's format: documents, queries, and which documents answer which query.

    DIR/corpus.jsonl    {"_id", "title", "text"}, one document a line; empty lines in a text divide paragraphs
    DIR/queries.jsonl   {"_id", "text"}
    DIR/qrels.tsv       query-id, corpus-id, score, with a line of names; BEIR's own qrels/test.tsv is read as well

Thakur and others, "BEIR: A Heterogenous Benchmark for Zero-shot Evaluation of Information Retrieval Models", 2021.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as shown
from typing import Any

from streams.errors import UsageError
from streams.lines.jsonl import read_lines, read_rows
from streams.pages.document.model import Block, Document
from streams.pages.text.language import identify

QRELS = ("qrels.tsv", "qrels/test.tsv")
"""Places of the judgements, in the order of the search."""
_NO_LABEL = re.compile(r"[^a-z0-9-]")
_PARAGRAPH = re.compile(r"\n[ \t\r]*+(?=\n)")
_GRADE = re.compile(r"-?[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Query:
    """A judged query: its text, and the grade of each document that answers the query, by the document's URL."""

    text: str
    grades: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Collection:
    """A test collection. Queries without a judgement above 0 are left out."""

    name: str
    documents: tuple[Document, ...]
    queries: tuple[Query, ...]


def read_collection(folder: Path, limit: int | None = None) -> Collection:
    """Read a folder. `limit` is the maximum number of queries. Raises UsageError, which names the file and the line."""
    documents: dict[str, Document] = {}
    for number, (where, row) in enumerate(_rows(folder / "corpus.jsonl")):
        documents[_identity(row, where)] = _document(f"d{number}.{_label(folder.name)}.test", row, where)
    grades = _grades(folder, documents)
    queries = [
        Query(_needed(row, "text", where), grades[identity])
        for where, row in _rows(folder / "queries.jsonl")
        if grades.get(identity := _identity(row, where))
    ]
    if not queries:
        raise UsageError(f"{folder} has {len(documents)} documents and {len(queries)} queries with judgements")
    return Collection(folder.name, tuple(documents.values()), tuple(queries[:limit]))


def _document(host: str, row: Mapping[str, Any], where: str) -> Document:
    """Return the document of a row, as the normalizer would make it from a page with this title and these paragraphs.

    It has a host of its own, since the first page of results shows few results of one host.
    """
    title, text = _text(row, "title", where).strip(), _text(row, "text", where)
    parts = [part.strip() for part in _PARAGRAPH.split(text) if part.strip()] or [title or "-"]
    found = identify(f"{title}\n{text}")
    return Document(
        url=f"https://{host}/",
        title=title,
        language=found.language,
        language_confidence=found.confidence,
        script=found.script,
        blocks=tuple(Block("p", " ".join(part.split())) for part in parts),
    )


def _label(name: str) -> str:
    """Return a part of a host name, of any text."""
    return _NO_LABEL.sub("-", name.lower())[:60] or "collection"


def _grades(folder: Path, documents: Mapping[str, Document]) -> dict[str, dict[str, int]]:
    """Return the grades above 0 of each query, by the document's URL."""
    file = next((folder / name for name in QRELS if (folder / name).is_file()), None)
    if file is None:
        raise UsageError(f"{folder} has no {' or '.join(QRELS)}")
    found: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for place, (number, line) in enumerate(read_lines(file)):
        fields = line.split("\t")
        if len(fields) < 3 or not _GRADE.fullmatch(fields[2].strip()):
            if place == 0:  # the names of the columns
                continue
            raise UsageError(f"{file}, line {number}: expected query-id, corpus-id and a whole number, by tabs")
        query, document, grade = fields[:3]
        if int(grade) > 0 and document in documents:
            found[query][documents[document].url] = int(grade)
    return dict(found)


def _rows(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the place and the content of each line."""
    if not file.is_file():
        raise UsageError(f"{file} is missing: a BEIR folder has corpus.jsonl, queries.jsonl and qrels.tsv")
    for number, row in read_rows(file):
        yield f"{file}, line {number}", row


def _identity(row: Mapping[str, Any], where: str) -> str:
    """Return the id as text: some collections write numbers."""
    value = row.get("_id")
    return str(value) if type(value) is int else _needed(row, "_id", where)


def _needed(row: Mapping[str, Any], name: str, where: str) -> str:
    text = _text(row, name, where)
    if not text.strip():
        raise UsageError(f"{where}: no {name}")
    return text


def _text(row: Mapping[str, Any], name: str, where: str) -> str:
    """Return a text that may be missing."""
    value = row.get(name)
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{where}: {name!r} is {shown(value)}, and should be a text")
    return value or ""
