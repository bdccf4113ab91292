"""Files of rows: which contents are read, and which errors name which line."""

from pathlib import Path

import pytest

from streams.errors import UsageError
from streams.lines.jsonl import read_lines, read_objects, read_rows

READ = [
    # content, rows with their lines, why
    (b'{"a": 1}\n\n \n{"a": 2}', [(1, {"a": 1}), (4, {"a": 2})], "blank lines count, and are left out"),
    (b'{"a": 1}\r\n{"a": 2}\r\n', [(1, {"a": 1}), (2, {"a": 2})], "line ends of Windows"),
    (b'\xef\xbb\xbf{"a": 1}\n', [(1, {"a": 1})], "a byte order mark"),
    ('{"a": "x\u2028y\u0085z"}\n'.encode(), [(1, {"a": "x\u2028y\u0085z"})], "separators that JSON allows in a text"),
    (rb'{"a": "\ud83d\ude00 \\ud83d"}', [(1, {"a": "\U0001f600 \\ud83d"})], "a whole pair, and a backslash"),
]


@pytest.mark.parametrize(("content", "rows", "why"), READ, ids=[why for *_, why in READ])
def test_rows_are_read_by_line(tmp_path: Path, content: bytes, rows: list[tuple[int, object]], why: str) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(content)
    assert list(read_rows(file)) == rows, why
    assert list(read_objects(file)) == [(f"{file}, line {number}", row) for number, row in rows], why


WRONG = [
    # content, message, why
    (b'{"a": 1}\n{"a":', r"rows, line 2: not JSON \(Expecting value at column 6\)", "the end is missing"),
    (b'{"a": 1}\n\n{"a": "caf\xe9"}', r"rows, line 3: not UTF-8 \(byte 0xe9\)", "Latin-1"),
    (b'\xff\xfe{\x00"\x00', "rows, line 1: not UTF-8", "UTF-16"),
    (b'{"a": 1}\n"a"', "rows, line 2: not a JSON object", "a text"),
    (b'{"a": 1}\n' + b"[" * 100_000, "rows, line 2: not readable as JSON", "brackets without end"),
    (b'{"a": ' + b"1" * 5_000 + b"}", "rows, line 1: not readable as JSON", "a number that Python refuses"),
    (rb'{"a": "\ud83d"}', "rows, line 1: a text has half of a surrogate pair", "a text that no server takes"),
    (b"\n \n", "rows is empty", "no row"),
]


@pytest.mark.parametrize(("content", "message", "why"), WRONG, ids=[why for *_, why in WRONG])
def test_an_error_names_the_line(tmp_path: Path, content: bytes, message: str, why: str) -> None:
    file = tmp_path / "rows"
    file.write_bytes(content)
    for read in (read_rows, read_objects):
        with pytest.raises(UsageError, match=message):
            list(read(file))


def test_objects_may_stand_in_a_list_too(tmp_path: Path) -> None:
    file = tmp_path / "objects.json"
    file.write_bytes(b'\xef\xbb\xbf\n[{"a": 1},\n {"a": 2}]')
    assert list(read_objects(file)) == [(f"{file}, item 1", {"a": 1}), (f"{file}, item 2", {"a": 2})]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'[{"a": 1},\n{"a":}]', r"objects\.json, line 2: not JSON \(Expecting value at column 6\)"),
        (b'[{"a": 1},\n{"a": "\xe9"}]', r"objects\.json, line 2: not UTF-8"),
        (b"[{}, 5]", r"objects\.json, item 2: not a JSON object"),
        (rb'[{}, {"a": "\ud83d"}]', r"objects\.json, item 2: a text has half of a surrogate pair"),
    ],
)
def test_an_error_in_a_list_names_the_line_or_the_item(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "objects.json"
    file.write_bytes(content)
    with pytest.raises(UsageError, match=message):
        list(read_objects(file))


def test_lines_keep_their_columns(tmp_path: Path) -> None:
    file = tmp_path / "columns.tsv"
    file.write_bytes(b"\tfirst is empty\t\r\n\none\ttwo")
    assert list(read_lines(file)) == [(1, "\tfirst is empty\t"), (3, "one\ttwo")]


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for read in (read_lines, read_rows, read_objects):
        with pytest.raises(UsageError, match=r"gone\.jsonl can't be read \(No such file or directory\)"):
            list(read(tmp_path / "gone.jsonl"))
