"""Reads the files of an index as tasks of a sandbox process: the bytes of a part go in, its pages come out.

A stranger made the files, and the library that reads them is large and in C++. So a process reads them that opens no
file, has no secrets, and is ended when it takes too much time or memory, as by a small file that unpacks to terabytes.

    read_part      [documents, statements, [model, version, dimensions, stage version], of unit length, seed]
                   -> [pages, samples]
    read_removals  file -> [[page id, time, reason], ...]

A page is a list in the order of `TakenPage`. Samples are texts with the vectors that came with them, drawn by the seed:
the reader embeds them and compares, since a file may say that its vectors are of any model.
"""

from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple
from uuid import UUID

import msgpack
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from streams.errors import Refused
from streams.maintenance.shared_index import columns
from streams.maintenance.shared_index.layout import (
    MAX_ALTERNATES,
    MAX_DIRECTIVE_CHARS,
    MAX_DIRECTIVES,
    MAX_PART_STATEMENTS,
    PART_PAGES,
    PART_REMOVALS,
    REMOVED,
)
from streams.maintenance.shared_index.parts import SAMPLES, TakenPage
from streams.statements.statement import Statement, text_key
from streams.vectors.brought import BroughtVectors, Made

NORM_TOLERANCE = 0.02
"""Maximum difference of a vector's length from 1: half-precision numbers differ by .001."""
MAX_THRIFT_BYTES = 64 * 1024 * 1024
"""Maximum size of a file's own description (bytes)."""
_NEEDED_DOCUMENTS = (
    "page_id", "url", "fetched", "directives", "alternates", "private", "model", "model_version", "dimensions",
    "stage_version", "statements", "html",
)  # fmt: skip
_NEEDED_STATEMENTS = ("page_id", "text", "context", "vector")


class _Slice(NamedTuple):
    """The statements of a page in its part's file."""

    start: int
    stop: int


def read_part(request: bytes) -> bytes:
    """Read a part. Raises Refused."""
    documents, statements, made, are_normalized, seed = msgpack.unpackb(request, raw=False)
    wanted = Made(*made)
    pages = _table(documents, columns.DOCUMENTS, _NEEDED_DOCUMENTS, PART_PAGES).to_pylist()
    found = _table(statements, columns.STATEMENTS, _NEEDED_STATEMENTS, MAX_PART_STATEMENTS)
    texts = _Texts(found, wanted, are_normalized)
    taken, start = [], 0
    for row in pages:
        count = row["statements"]
        if not 0 <= count <= len(texts) - start:
            raise Refused("statements", "a page has more statements than its part, or less than none")
        taken.append(_page(row, texts, _Slice(start, start + count), wanted))
        start += count
    if start != len(texts):
        raise Refused("statements", "there are statements of no page")
    packed: bytes = msgpack.packb([taken, texts.draw(Random(seed))], use_bin_type=True)  # noqa: S311 no secret
    return packed


def read_removals(content: bytes) -> bytes:
    """Read a file of removals. Raises Refused."""
    table = _table(content, columns.REMOVALS, tuple(columns.REMOVALS.names), PART_REMOVALS)
    found = [
        [_identity(row["page_id"]), row["removed"], row["reason"]]
        for row in table.to_pylist()
        if row["reason"] in REMOVED
    ]
    packed: bytes = msgpack.packb(found, use_bin_type=True)
    return packed


def warm_up() -> None:
    """Load the library, and all that it loads at the first file: the process opens no file later."""
    pa.set_memory_pool(pa.system_memory_pool())  # the others start threads, and keep what they had
    for schema in (columns.DOCUMENTS, columns.STATEMENTS, columns.REMOVALS):
        sink = pa.BufferOutputStream()
        pq.write_table(schema.empty_table(), sink, compression="zstd")
        _table(sink.getvalue().to_pybytes(), schema, tuple(schema.names), 0).to_pylist()


def _table(content: bytes, schema: pa.Schema, names: Sequence[str], max_rows: int) -> pa.Table:
    """Return these columns of a file, without missing values. Raises Refused."""
    try:
        file = pq.ParquetFile(
            pa.BufferReader(content),
            pre_buffer=False,
            thrift_string_size_limit=MAX_THRIFT_BYTES,
            thrift_container_size_limit=MAX_THRIFT_BYTES,
        )
        if file.metadata.num_rows > max_rows:
            raise Refused("rows", f"{file.metadata.num_rows} rows are more than {max_rows}")
        for name in names:
            _check_type(file.schema_arrow, schema, name)
        table = file.read(columns=list(names), use_threads=False).select(list(names)).combine_chunks()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise Refused("file", f"it is no Parquet that can be read: {str(error)[:200]}") from None
    if table.num_rows > max_rows:
        raise Refused("rows", f"{table.num_rows} rows are more than {max_rows}")
    for at, name in enumerate(names):
        if table[name].null_count:
            raise Refused("columns", f"{name} has missing values")
        if pa.types.is_timestamp(table[name].type):  # as numbers: Python has no dates beyond the year 9999
            table = table.set_column(at, name, table[name].cast(pa.int64()))
    return table


def _check_type(found: pa.Schema, schema: pa.Schema, name: str) -> None:
    if found.get_field_index(name) < 0 or found.field(name).type != schema.field(name).type:
        raise Refused("columns", f"{name} is missing, twice there, or no {schema.field(name).type}")


class _Texts:
    """The texts of a part's statements with their vectors."""

    def __init__(self, table: pa.Table, wanted: Made, are_normalized: bool) -> None:
        self._ids: list[str] = table["page_id"].to_pylist()
        self._texts: list[str] = table["text"].to_pylist()
        self._contexts: list[list[str | None]] = table["context"].to_pylist()
        lists = table["vector"].combine_chunks()
        self._lengths = lists.value_lengths().to_numpy(zero_copy_only=False)
        values = lists.flatten()
        self._are_numbers = values.null_count == 0
        self._values = values.to_numpy(zero_copy_only=False) if self._are_numbers else np.empty(0, np.float16)
        self._starts = np.concatenate([[0], np.cumsum(self._lengths)])
        self._wanted, self._are_normalized = wanted, are_normalized
        self._usable: list[int] = []

    def __len__(self) -> int:
        return len(self._ids)

    def are_of(self, page_id: str, at: _Slice) -> bool:
        return all(each == page_id for each in self._ids[at.start : at.stop])

    def brought(self, at: _Slice) -> tuple[bytes, bool]:
        """Return the vectors of these statements, and whether they are vectors as they should be."""
        vectors = self._vectors(at)
        if vectors is None:
            return b"", False
        self._usable += range(at.start, at.stop)
        keys = [text_key(self._text(index)) for index in range(at.start, at.stop)]
        return BroughtVectors(self._wanted, keys, vectors).encode(), True

    def _vectors(self, at: _Slice) -> NDArray[np.float16] | None:
        dimensions = self._wanted.dimensions
        if not self._are_numbers or (self._lengths[at.start : at.stop] != dimensions).any():
            return None
        flat = self._values[self._starts[at.start] : self._starts[at.stop]]
        vectors: NDArray[np.float16] = flat.reshape(at.stop - at.start, dimensions)
        norms = np.linalg.norm(vectors.astype(np.float32), axis=1)
        fit = np.abs(norms - 1) <= NORM_TOLERANCE if self._are_normalized else np.isfinite(norms)
        return vectors if bool(fit.all()) else None

    def _text(self, index: int) -> str:
        """Return a text as it is embedded."""
        context = tuple(each for each in self._contexts[index] if each is not None)
        return Statement(UUID(int=0), 0, self._texts[index], context).in_context

    def draw(self, chance: Random) -> list[list[Any]]:
        """Return some texts with their vectors."""
        drawn = chance.sample(self._usable, min(SAMPLES, len(self._usable)))
        return [[self._text(index), self._vector(index)] for index in drawn]

    def _vector(self, index: int) -> bytes:
        values = self._values[self._starts[index] : self._starts[index + 1]]
        packed: bytes = values.astype("<f2").tobytes()
        return packed


def _page(row: dict[str, Any], texts: _Texts, at: _Slice, wanted: Made) -> TakenPage:
    made = Made(row["model"], row["model_version"], row["dimensions"], row["stage_version"])
    if not texts.are_of(row["page_id"], at):
        raise Refused("statements", "they are not in the order of their pages")
    brought, is_valid = b"", True
    if made == wanted and at.stop > at.start:
        brought, is_valid = texts.brought(at)
    return TakenPage(
        page_id=_identity(row["page_id"]),
        url=row["url"],
        fetched=row["fetched"],
        html=row["html"].encode(),
        directives=_directives(row["directives"]),
        alternates=_alternates(row["alternates"]),
        is_private=row["private"],
        is_of_model=made == wanted,
        has_valid_vectors=is_valid,
        brought=brought,
    )


def _identity(value: str) -> bytes:
    try:
        return UUID(value).bytes
    except ValueError:
        raise Refused("columns", f"{value[:60]!r} is no page's id") from None


def _directives(found: Sequence[str | None]) -> list[str]:
    """Return the wishes of a publisher. None may be lost: a list that is too long is refused."""
    if len(found) > MAX_DIRECTIVES or any(each is None or len(each) > MAX_DIRECTIVE_CHARS for each in found):
        raise Refused("columns", "directives are missing or too long")
    return [each.lower() for each in found if each and each.isprintable()]


def _alternates(found: Sequence[tuple[str, str | None]]) -> list[tuple[str, str]]:
    return [(language, url) for language, url in found[:MAX_ALTERNATES] if url]
