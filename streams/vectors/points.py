"""The vectors of a page's statements: as bytes, and with the statements as points of the index.

Layout of the bytes, little-endian:

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
from collections.abc import Sequence
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from streams.errors import PoisonError
from streams.statements.readability import entries_of_page, sentence_before
from streams.statements.statement import PageStatements
from streams.stores.protocols import Point
from streams.stores.statement_payload import StatementPayload
from streams.vectors.bm25 import document_vector
from streams.vectors.page_records import PageFacts


def points_of(page: PageStatements, vectors: NDArray[np.float32], facts: PageFacts) -> list[Point]:
    """Return a point for each statement, in order. A point has the id of its statement."""
    return [
        Point(
            id=statement.id,
            dense=vector.tolist(),
            sparse=document_vector(statement.text, statement.context, page.language, page.title),
            payload=payload,
        )
        for statement, vector, payload in zip(page.statements, vectors, payloads_of(page, facts), strict=True)
    ]


def payloads_of(page: PageStatements, facts: PageFacts) -> list[StatementPayload]:
    """Return the facts that the index holds of each statement. The vectors follow from these facts and the model."""
    host = urlsplit(page.url).netloc
    sites, entries = sites_of(host), entries_of_page(page.statements)
    return [
        StatementPayload(
            page_id=page.page_id,
            url=page.url,
            host=host,
            sites=sites,
            title=page.title,
            text=statement.text,
            context=statement.context,
            language=page.language,
            page=statement.page,
            ordinal=statement.ordinal,
            kind=statement.kind,
            entry=statement.ordinal in entries,
            before=sentence_before(page.statements, at),
            **facts._asdict(),
        )
        for at, statement in enumerate(page.statements)
    ]


def sites_of(host: str) -> list[str]:
    """Return the domains above a host, without the top-level domain: `python.org` for `docs.python.org`."""
    parts = host.split(".")
    return [".".join(parts[start:]) for start in range(1, len(parts) - 1)]


def texts_of(page: PageStatements) -> Sequence[str]:
    """Return the texts to embed, in the order of their statements."""
    return [statement.in_context for statement in page.statements]


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
