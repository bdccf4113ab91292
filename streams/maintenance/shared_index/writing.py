"""Writes the rows of an index as Parquet, in parts of a bounded size."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from streams.maintenance.shared_index import columns
from streams.maintenance.shared_index.layout import (
    DOCUMENTS,
    PART_HTML_BYTES,
    PART_PAGES,
    PART_REMOVALS,
    PART_STATEMENTS,
    REMOVALS,
    STATEMENTS,
    file_of,
)
from streams.statements.statement import Statement

Row = dict[str, Any]


@dataclass(slots=True)
class IndexWriter:
    """Writes the files of a folder that exists and is empty."""

    folder: Path
    parts: int = 0
    removal_parts: int = 0
    _documents: list[Row] = field(default_factory=list)
    _statements: list[Row] = field(default_factory=list)
    _vectors: list[NDArray[np.float16]] = field(default_factory=list)
    _removals: list[Row] = field(default_factory=list)
    _html_bytes: int = 0

    def add(self, document: Row, statements: Sequence[Statement], vectors: NDArray[np.float16]) -> None:
        """Add a page. `vectors` has the shape (len(statements), dimensions)."""
        self._documents.append(_encodable({**document, "statements": len(statements)}))
        self._statements += [_encodable(_row(document["page_id"], each)) for each in statements]
        self._vectors.append(vectors)
        self._html_bytes += len(document["html"])
        is_full = len(self._documents) >= PART_PAGES or len(self._statements) >= PART_STATEMENTS
        if is_full or self._html_bytes >= PART_HTML_BYTES:
            self._end_part()

    def add_removal(self, removal: Row) -> None:
        self._removals.append(removal)
        if len(self._removals) >= PART_REMOVALS:
            self._end_removals()

    def close(self) -> None:
        """Write what is left."""
        if self._documents:
            self._end_part()
        if self._removals:
            self._end_removals()

    def _end_part(self) -> None:
        self._write(DOCUMENTS, self.parts, pa.Table.from_pylist(self._documents, columns.DOCUMENTS))
        without = pa.schema([each for each in columns.STATEMENTS if each.name != "vector"])
        table = pa.Table.from_pylist(self._statements, without)
        self._write(STATEMENTS, self.parts, table.append_column(columns.STATEMENTS.field("vector"), self._lists()))
        self.parts += 1
        self._documents, self._statements, self._vectors, self._html_bytes = [], [], [], 0

    def _lists(self) -> pa.Array:
        """Return the vectors as lists. Pages may have vectors of different models."""
        lengths = [of_page.shape[1] for of_page in self._vectors for _ in range(len(of_page))]
        flat = np.concatenate([each.ravel() for each in self._vectors])
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat, pa.float16()))

    def _end_removals(self) -> None:
        self._write(REMOVALS, self.removal_parts, pa.Table.from_pylist(self._removals, columns.REMOVALS))
        self.removal_parts += 1
        self._removals = []

    def _write(self, kind: str, number: int, table: pa.Table) -> None:
        file = self.folder.joinpath(*file_of(kind, number))
        file.parent.mkdir(exist_ok=True)
        pq.write_table(table, file, compression="zstd")


def _row(page_id: str, statement: Statement) -> Row:
    return {
        "page_id": page_id,
        "ordinal": statement.ordinal,
        "text": statement.text,
        "context": list(statement.context),
        "kind": statement.kind,
        "page": statement.page,
        "anchor": statement.anchor,
        "doubtful": statement.doubtful,
    }


def _encodable(value: Any) -> Any:
    """Return a row whose texts are UTF-8: half a character of a surrogate pair becomes a question mark."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {name: _encodable(each) for name, each in value.items()}
    return type(value)(map(_encodable, value)) if isinstance(value, list | tuple) else value
