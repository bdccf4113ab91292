"""Test collections in BEIR's format: what is read, and which errors name which line."""

import json
from pathlib import Path

import pytest

from benchmarks.evaluation.collection import read_collection
from streams.errors import UsageError

CORPUS = [
    {"_id": "a", "title": "Boats", "text": "Boats float on water.\n\nThey  carry people."},
    {"_id": "b", "title": "Only a title", "text": ""},
    {"_id": "c", "text": "Bridges carry roads over rivers."},
]
QUERIES = [{"_id": "1", "text": "what floats"}, {"_id": "2", "text": "never judged"}, {"_id": "3", "text": "bridges"}]
QRELS = "query-id\tcorpus-id\tscore\n1\ta\t2\n1\tb\t0\n3\tc\t1\n3\tgone\t1\n"


def write_collection(folder: Path, qrels: str = QRELS, place: str = "qrels.tsv") -> Path:
    for name, rows in (("corpus", CORPUS), ("queries", QUERIES)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    (folder / place).parent.mkdir(exist_ok=True)
    (folder / place).write_text(qrels)
    return folder


def test_documents_and_judged_queries_are_read(tmp_path: Path) -> None:
    found = read_collection(write_collection(tmp_path))
    assert [document.title for document in found.documents] == ["Boats", "Only a title", ""]
    assert [[block.text for block in document.blocks] for document in found.documents] == [
        ["Boats float on water.", "They carry people."],
        ["Only a title"],
        ["Bridges carry roads over rivers."],
    ]
    first, _, last = (document.url for document in found.documents)
    assert [(query.text, query.grades) for query in found.queries] == [
        ("what floats", {first: 2}),
        ("bridges", {last: 1}),
    ]
    assert len({url.split("/")[2] for url in (first, last)}) == 2, "hosts of their own"


def test_qrels_may_lie_where_beir_has_them(tmp_path: Path) -> None:
    assert len(read_collection(write_collection(tmp_path, place="qrels/test.tsv"), limit=1).queries) == 1


def test_ids_may_be_numbers_and_lines_may_end_as_in_windows(tmp_path: Path) -> None:
    write_collection(tmp_path, "query-id\tcorpus-id\tscore\r\n\r\n3\t0\t2\r\n").joinpath("corpus.jsonl").write_bytes(
        b'{"_id": 0, "title": null, "text": "Bridges carry roads."}\r\n'
    )
    found = read_collection(tmp_path)
    assert [query.grades for query in found.queries] == [{found.documents[0].url: 2}]


BROKEN: list[tuple[str, str | bytes, str]] = [
    ("corpus.jsonl", "{", r"corpus\.jsonl, line 1: not JSON"),
    ("corpus.jsonl", "[]", r"corpus\.jsonl, line 1: not a JSON object"),
    ("corpus.jsonl", '{"text": "x"}', r"corpus\.jsonl, line 1: no _id"),
    ("corpus.jsonl", '{"_id": {"a": 1}}', r"corpus\.jsonl, line 1: '_id' is \{'a': 1\}"),
    ("corpus.jsonl", '{"_id": "a", "text": ["x"]}', r"corpus\.jsonl, line 1: 'text' is \['x'\]"),
    ("corpus.jsonl", '{"_id": "a", "title": 5}', r"corpus\.jsonl, line 1: 'title' is 5"),
    ("corpus.jsonl", b'\n{"_id": "a", "text": "caf\xe9"}', r"corpus\.jsonl, line 2: not UTF-8"),
    ("corpus.jsonl", "", r"corpus\.jsonl is empty"),
    ("queries.jsonl", '{"_id": "1"}', r"queries\.jsonl, line 1: no text"),
    ("queries.jsonl", '{"_id": "1", "text": " "}', r"queries\.jsonl, line 1: no text"),
    ("qrels.tsv", "1\ta\t1\n1\ta\t\u00b2", r"qrels\.tsv, line 2: expected"),
    ("qrels.tsv", f"1\ta\t1\n1\ta\t{'1' * 5_000}", r"qrels\.tsv, line 2: expected"),
    ("qrels.tsv", "1\ta\t1\n1\ta\t--1", r"qrels\.tsv, line 2: expected"),
    ("qrels.tsv", b"1\ta\t1\n\xff\ta\t1", r"qrels\.tsv, line 2: not UTF-8"),
    ("qrels.tsv", "query-id\tcorpus-id\tscore\n1\ta", r"qrels\.tsv, line 2: expected"),
    ("qrels.tsv", "", "0 queries with judgements"),
]


@pytest.mark.parametrize(("name", "content", "message"), BROKEN, ids=[message for *_, message in BROKEN])
def test_an_error_names_the_file_and_the_line(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    (write_collection(tmp_path) / name).write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(UsageError, match=message):
        read_collection(tmp_path)


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels.tsv"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    (write_collection(tmp_path) / name).unlink()
    with pytest.raises(UsageError, match=name):
        read_collection(tmp_path)
