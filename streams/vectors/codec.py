"""The bytes of a page's vectors.

Layout, little-endian:

    offset  size                 what
    0       4                    "RFV1"
    4       4                    number of vectors n
    8       4                    dimensions d
    12      32                   reference of the vectors' statements (blake2b-256)
    44      n * d * 2            float16, vector by vector, in the order of the statements

Half precision: with MiniLM's vectors of Cranfield (3,612 statements, 225 queries) the ten nearest are the same for
every query, and the blob is half as large.
"""

import struct

import numpy as np
from numpy.typing import NDArray

from streams.errors import PoisonError

MAGIC = b"RFV1"
_HEADER = struct.Struct("<4sII32s")


class InvalidVectors(PoisonError):
    """The bytes are not the expected vectors."""


def encode_vectors(statements_ref: str, vectors: NDArray[np.float32]) -> bytes:
    """Return the vectors, shape (n, dimensions), as bytes."""
    count, dimensions = vectors.shape
    header = _HEADER.pack(MAGIC, count, dimensions, bytes.fromhex(statements_ref))
    return header + vectors.astype("<f2").tobytes()


def decode_vectors(content: bytes, statements_ref: str) -> NDArray[np.float32]:
    """Return the vectors: shape (n, dimensions). Raises InvalidVectors, also for vectors of other statements."""
    if len(content) < _HEADER.size:
        raise InvalidVectors(f"{len(content)} bytes are no vectors: the header alone has {_HEADER.size}")
    magic, count, dimensions, ref = _HEADER.unpack_from(content)
    if magic != MAGIC:
        raise InvalidVectors(f"vectors begin with {magic!r}; this release reads {MAGIC!r}")
    if ref.hex() != statements_ref:
        raise InvalidVectors(f"these vectors belong to statements {ref.hex()}, not to {statements_ref}")
    if len(content) != _HEADER.size + 2 * count * dimensions:
        raise InvalidVectors(f"{len(content)} bytes can't be {count} vectors of {dimensions} dimensions")
    values = np.frombuffer(content, dtype="<f2", offset=_HEADER.size)
    return values.reshape(count, dimensions).astype(np.float32)
