"""Seals: the proof that the answer of a model belongs to its request. Pure.

The process that runs a model hashes its input together with its answer. The client makes the same hash from its request
and the answer. So an answer of another request, an answer of another length and a damaged answer are recognized,
whatever happened on the way. A server on a starved machine has given such answers: Triton's python backend replaces a
process that is late by a new one on the same shared memory (triton-inference-server/server, 6901 and 8882).

A graph that a server runs itself can't hash. It returns a checksum of the token ids that it has read, which the client
compares with the checksum of its ids (`read_checksums`): both outputs are of one run of the graph.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

SEAL = "SEAL"
"""Name of the output tensor with the seals."""
READ = "READ"
"""Name of the output tensor with the checksums of token ids, of models that return checksums."""
SEAL_BYTES = 8

Seals = NDArray[np.int64]
Tensor = NDArray[Any]


def seal_rows(texts: Sequence[bytes], rows: Tensor) -> Seals:
    """Return the seal of each text with its row of the answer: shape (n, 1). Raise ValueError if the lengths differ."""
    if len(texts) != len(rows):
        raise ValueError(f"{len(rows)} rows for {len(texts)} texts")
    parts = np.ascontiguousarray(rows)
    return np.array([[_seal([text, row.tobytes()])] for text, row in zip(texts, parts, strict=True)], dtype=np.int64)


def seal_whole(texts: Sequence[bytes], columns: Sequence[Tensor]) -> Seals:
    """Return the seal of all texts with all tensors of the answer: shape (1,)."""
    return np.array([_seal([*texts, *(np.ascontiguousarray(column).tobytes() for column in columns)])], dtype=np.int64)


def read_checksums(ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the checksum of each row of token ids: shape (n, 1). Padding does not change it.

    A checksum is the sum of id x (position + 1) x 31 + id: integer operations that an ONNX graph makes on any device.
    """
    weights = (np.arange(ids.shape[1], dtype=np.int64) + 1) * 31 + 1
    checksums: NDArray[np.int64] = (ids * mask * weights).sum(axis=1, keepdims=True)
    return checksums


def _seal(parts: Sequence[bytes]) -> int:
    """Hash the parts, each with its length before it, so that no two lists of parts are one text."""
    digest = blake2b(digest_size=SEAL_BYTES)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return int.from_bytes(digest.digest(), "little", signed=True)


def find_row_fault(texts: Sequence[bytes], width: int, tensors: Sequence[Tensor | None]) -> str:
    """Return the reason why an answer of one row a text does not belong to these texts, or an empty string.

    `tensors` are the rows, their seals, and the checksums of the token ids if the model returns checksums.
    """
    rows, seals, *read = tensors
    if rows is None or rows.shape != (len(texts), width):
        return f"rows of shape {_shape(rows)} for {len(texts)} texts, {width} numbers each"
    sealed = read[0] if read else rows
    if sealed is None or len(sealed) != len(texts) or seals is None or seals.shape != (len(texts), 1):
        return f"seals of shape {_shape(seals)} for {len(texts)} texts"
    if not np.isfinite(rows).all():
        return "numbers that are not finite"
    foreign = int((seals != seal_rows(texts, sealed)).sum())
    return f"{foreign} of {len(texts)} rows have the seal of another request" if foreign else ""


def find_whole_fault(texts: Sequence[bytes], rows: int, tensors: Sequence[Tensor | None]) -> str:
    """Return the reason why an answer does not belong to these texts, or an empty string.

    `tensors` are the columns, each with this number of rows, and the seal of all columns.
    """
    *columns, seal = tensors
    kept = [column for column in columns if column is not None and len(column) == rows]
    if len(kept) != len(columns):
        return f"columns of shapes {', '.join(map(_shape, columns))} for {rows} rows"
    if seal is None or not np.array_equal(seal, seal_whole(texts, kept)):
        return "the seal belongs to another request"
    return ""


def _shape(tensor: Tensor | None) -> str:
    return "none" if tensor is None else str(tensor.shape)


def find_read_fault(
    checksums: NDArray[np.int64], shapes: Sequence[tuple[int, ...]], tensors: Sequence[Tensor | None]
) -> str:
    """Return the reason why an answer of a graph does not belong to the ids with these checksums, or an empty string.

    `tensors` are the outputs, which must have these shapes, and behind them the checksums of the ids that were read.
    """
    *outputs, read = tensors
    for output, shape in zip(outputs, shapes, strict=True):
        if output is None or output.shape != shape:
            return f"a tensor of shape {_shape(output)} in place of {shape}"
        if not np.isfinite(output).all():
            return "numbers that are not finite"
    if read is None or read.size != checksums.size:
        return f"checksums of shape {_shape(read)} for {checksums.size} rows"
    foreign = int((read.reshape(-1) != checksums.reshape(-1)).sum())
    return f"{foreign} of {checksums.size} rows were read from other tokens" if foreign else ""
