"""The layout of a folder with an index: names, columns, bounds, and the description of the whole. Pure.

    README.md                    the card, for people
    index.json                   the description (`Description`), for programs
    documents/00000.parquet ...  a row for each page
    statements/00000.parquet ... the statements of the pages in the documents' file with this number, in their order
    removals/00000.parquet ...   pages that left the index, by their ids: their addresses are told to nobody

A reader makes the names of the files from their numbers, and reads no other file.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from streams.errors import UsageError
from streams.plain_text import clean_line
from streams.vectors.brought import Made

FORMAT, VERSION = "riffle-index", 1
DESCRIPTION, CARD = "index.json", "README.md"
DOCUMENTS, STATEMENTS, REMOVALS = "documents", "statements", "removals"

PART_PAGES = 512
"""Maximum pages of a part."""
PART_STATEMENTS = 16_384
"""Number of statements at which a part ends: 13 MB of vectors at 384 dimensions. A page is never divided."""
PART_HTML_BYTES = 8 * 1024 * 1024
"""Size of the documents at which a part ends (bytes)."""
PART_REMOVALS = 65_536

MAX_DESCRIPTION_BYTES = 256 * 1024
MAX_FILE_BYTES = 256 * 1024 * 1024
"""Maximum size of a file that is read (bytes)."""
MAX_PARTS = 1_000_000
MAX_PART_STATEMENTS = 80_000
"""Maximum statements in a file: a page of 40,000 may come last."""
MAX_REMOVALS = 5_000_000
"""Maximum removals that are read: some 600 MB of memory."""
MAX_NAME_CHARS = 100
MAX_DIMENSIONS = 8_192
MAX_DIRECTIVES = 64
MAX_DIRECTIVE_CHARS = 200
MAX_ALTERNATES = 200

REMOVED = ("gone", "noindex", "refused", "unsupported", "request")
"""The removals that are handed on. A block by an operator, or a duplicate, says nothing of the page elsewhere."""


@dataclass(frozen=True, slots=True)
class Description:
    """The description of an index."""

    name: str
    made: int
    """Microseconds since 1970 UTC."""
    made_by: str
    hosts: tuple[str, ...]
    """The chosen hosts. Empty: all."""
    pages: int
    statements: int
    removals: int
    parts: int
    """Number of files with documents, and of files with statements."""
    removal_parts: int
    models: tuple[Made, ...]
    """The ways in which the vectors were made, the most frequent first."""

    def encode(self) -> bytes:
        return json.dumps({"format": FORMAT, "version": VERSION, **asdict(self)}, indent=2).encode() + b"\n"

    @classmethod
    def decode(cls, content: bytes) -> Self:
        """Read a description. Raises UsageError."""
        try:
            found: Any = json.loads(content)
        except (ValueError, RecursionError):
            raise UsageError(f"its {DESCRIPTION} is no JSON") from None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise UsageError(f"its {DESCRIPTION} describes no index")
        if found.get("version") != VERSION:
            raise UsageError(
                f"it is of layout {str(found.get('version'))[:20]}, and this release reads layout {VERSION}"
            )
        try:
            made = cls(
                name=_name(found["name"]),
                made=_number(found["made"], 1 << 62),
                made_by=_name(found["made_by"]),
                hosts=tuple(_name(each) for each in _listed(found["hosts"])),
                pages=_number(found["pages"]),
                statements=_number(found["statements"]),
                removals=_number(found["removals"], MAX_REMOVALS),
                parts=_number(found["parts"], MAX_PARTS),
                removal_parts=_number(found["removal_parts"], MAX_PARTS),
                models=tuple(_made(each) for each in _listed(found["models"])),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"its {DESCRIPTION} is not valid: {error!r}"[:300]) from None
        return made


def file_of(kind: str, number: int) -> tuple[str, str]:
    """Return the path of a file below the folder."""
    return kind, f"{number:05}.parquet"


def _name(value: Any) -> str:
    if not isinstance(value, str) or not value or value != clean_line(value) or len(value) > 4 * MAX_NAME_CHARS:
        raise ValueError("a name is missing, too long, or not one line of text")
    return value[:MAX_NAME_CHARS]


def _number(value: Any, most: int = 1 << 40) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError(f"a number is none, or not from 0 to {most}")
    return value


def _listed(value: Any) -> Sequence[Any]:
    if not isinstance(value, list):
        raise ValueError("a list is none")
    return value


def _made(value: Any) -> Made:
    return Made(
        _name(value["model"]),
        _name(value["model_version"]),
        _number(value["dimensions"], MAX_DIMENSIONS),
        _number(value["stage_version"]),
    )
