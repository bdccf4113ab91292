"""Reads files with a JSON object on each line (JSONL), and other files of lines. An error names the file and the line.

A line ends only at a line feed: a JSON text may contain other separators, such as U+2028. A byte order mark at the
start of a line is left out, since some editors write one into each file.
"""

import io
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from streams.errors import UsageError
from streams.lines.bounded import MAX_LINE_BYTES, Line, lines_of, read_whole

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""An escaped half of a pair, such as `\\ud83d`."""


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line that is not blank, without its end. Raises UsageError."""
    try:
        with path.open("rb") as file:
            yield from _texts(lines_of(file), path)
    except OSError as error:
        raise UsageError(f"{path} can't be read ({error.strerror})") from error


def read_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the content of each line that is not blank. Raises UsageError, also if there is none."""
    return _rows(read_lines(path), path)


def read_objects(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the content of each object of a JSON list, or of JSONL. Raises UsageError."""
    content = read_whole(path)  # once, and not to look first: it may be a pipe
    if not content.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"["):
        for number, row in _rows(_texts(lines_of(io.BytesIO(content)), path), path):
            yield f"{path}, line {number}", row
        return
    for number, item in enumerate(_parse_json(_decode(content, path, 1), path, 1), start=1):
        where = f"{path}, item {number}"
        _refuse_half_surrogates(item, where)
        yield where, _require_object(item, where)


def _texts(lines: Iterable[Line], path: Path) -> Iterator[tuple[int, str]]:
    for number, line in lines:
        if line is None:
            raise UsageError(f"{path}, line {number}: longer than {MAX_LINE_BYTES:,} bytes")
        text = _decode(line, path, number).rstrip("\r\n")
        if text.strip():
            yield number, text


def _rows(lines: Iterable[tuple[int, str]], path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    number = 0
    for number, text in lines:
        row, where = _parse_json(text, path, number), f"{path}, line {number}"
        if _SURROGATE.search(text):
            _refuse_half_surrogates(row, where)
        yield number, _require_object(row, where)
    if not number:
        raise UsageError(f"{path} is empty: it needs a JSON object on each line")


def _decode(content: bytes, path: Path, first: int) -> str:
    """Return the text of bytes that begin at this line of the file."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, byte = first + error.object[: error.start].count(b"\n"), error.object[error.start]
        raise UsageError(f"{path}, line {line}: not UTF-8 (byte 0x{byte:02x}). Save the file as UTF-8") from error


def _parse_json(text: str, path: Path, first: int) -> Any:
    """Return the value of a JSON text that begins at this line of the file."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        where = f"{path}, line {first + error.lineno - 1}"
        raise UsageError(f"{where}: not JSON ({error.msg} at column {error.colno})") from error
    except (ValueError, RecursionError) as error:  # a number with thousands of digits, thousands of brackets
        raise UsageError(f"{path}, line {first}: not readable as JSON ({error})") from error


def _refuse_half_surrogates(value: Any, where: str) -> None:
    """Raise UsageError for a text with half of a surrogate pair: no model and no server takes it."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{where}: a text has half of a surrogate pair; remove it") from error


def _require_object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{where}: not a JSON object")
    return value
