"""Test collections of retrieval in BEIR's format: documents, queries, and which documents answer which query.

    DIR/corpus.jsonl    {"_id", "title", "text"}, one document a line; empty lines in a text divide paragraphs
    DIR/queries.jsonl   {"_id", "text"}
    DIR/qrels.tsv       query-id, corpus-id, score, with a line of names; BEIR's own qrels/test.tsv is read as well

Thakur and others, "BEIR: A Heterogenous Benchmark for Zero-shot Evaluation of Information Retrieval Models", 2021.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streams.errors import UsageError
from streams.pages.document.model import Block, Document
from streams.pages.text.language import identify

QRELS = ("qrels.tsv", "qrels/test.tsv")
"""Places of the judgements, in the order in which they are looked for."""
_NO_LABEL = re.compile(r"[^a-z0-9-]")
_PARAGRAPH = re.compile(r"\n[ \t\r]*+(?=\n)")


@dataclass(frozen=True, slots=True)
class Query:
    """A judged query: its text, and the grade of each document that answers it, by the document's URL."""

    text: str
    grades: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Collection:
    """A test collection. Queries without a judgement above 0 are left out."""

    name: str
    documents: tuple[Document, ...]
    queries: tuple[Query, ...]


def read_collection(folder: Path, limit: int | None = None) -> Collection:
    """Read a folder; `limit` is the maximum number of queries. Raises UsageError that names the file and the line."""
    documents: dict[str, Document] = {}
    for number, (where, row) in enumerate(_rows(folder / "corpus.jsonl")):
        documents[_text(row, "_id", where)] = _document(f"d{number}.{_label(folder.name)}.test", row)
    grades = _grades(folder, documents)
    queries = [
        Query(_text(row, "text", where), grades[identity])
        for where, row in _rows(folder / "queries.jsonl")
        if grades.get(identity := _text(row, "_id", where))
    ]
    if not documents or not queries:
        raise UsageError(f"{folder} has {len(documents)} documents and {len(queries)} queries with judgements")
    return Collection(folder.name, tuple(documents.values()), tuple(queries[:limit]))


def _document(host: str, row: Mapping[str, Any]) -> Document:
    """The document of a row, as the normalizer would have made it of a page with this title and these paragraphs.

    It has a host of its own, since the first page of results shows few results of one host.
    """
    title, text = str(row.get("title") or "").strip(), str(row.get("text") or "")
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
    """A part of a host name, of any text."""
    return _NO_LABEL.sub("-", name.lower())[:60] or "collection"


def _grades(folder: Path, documents: Mapping[str, Document]) -> dict[str, dict[str, int]]:
    """The grades above 0 of each query, by the document's URL."""
    file = next((folder / name for name in QRELS if (folder / name).is_file()), None)
    if file is None:
        raise UsageError(f"{folder} has no {' or '.join(QRELS)}")
    found: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        fields = line.split("\t")
        if len(fields) < 3 or not fields[2].strip().lstrip("-").isdigit():
            if number == 1 or not line.strip():
                continue
            raise UsageError(f"{file}, line {number}: expected query-id, corpus-id and a whole number, by tabs")
        query, document, grade = fields[:3]
        if int(grade) > 0 and document in documents:
            found[query][documents[document].url] = int(grade)
    return dict(found)


def _rows(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The place and the content of each line."""
    if not file.is_file():
        raise UsageError(f"{file} is missing: a BEIR folder has corpus.jsonl, queries.jsonl and qrels.tsv")
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            where = f"{file}, line {number}"
            try:
                row = json.loads(line)
            except ValueError as error:
                raise UsageError(f"{where}: not JSON ({error})") from error
            if not isinstance(row, dict):
                raise UsageError(f"{where}: not a JSON object")
            yield where, row


def _text(row: Mapping[str, Any], name: str, where: str) -> str:
    value = row.get(name)
    if value in (None, ""):
        raise UsageError(f"{where}: no {name}")
    return str(value)
