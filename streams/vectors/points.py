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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from streams.errors import PoisonError
from streams.statements.readability import Around, entries_of_page, sentence_before, words_around
from streams.statements.standing import stands_alone
from streams.statements.statement import PageStatements
from streams.stores.protocols import Point
from streams.stores.statement_payload import StatementPayload
from streams.vectors.bm25 import document_vector
from streams.vectors.page_records import PageFacts

PART_POINTS = 1_024
"""Maximum points that are made at once: 15 MB. A page of 40,000 statements would take 600 MB."""


@dataclass(frozen=True, slots=True)
class PagePoints:
    """The points of a page, a part at a time."""

    page: PageStatements
    vectors: NDArray[np.floating[Any]]
    facts: PageFacts
    entries: frozenset[int]
    """The ordinals of its entries, if the page holds little else."""
    around: Mapping[int, Around]
    """The words around its statements that are repeated, by their ordinals."""

    @classmethod
    def of(cls, page: PageStatements, vectors: NDArray[np.floating[Any]], facts: PageFacts) -> Self:
        return cls(page, vectors, facts, entries_of_page(page.statements), words_around(page.statements))

    @property
    def ids(self) -> list[UUID]:
        return [statement.id for statement in self.page.statements]

    def starts(self) -> range:
        """Return where the parts start."""
        return range(0, len(self.page.statements), PART_POINTS)

    def part(self, start: int) -> list[Point]:
        """Return the points of a part."""
        end = start + PART_POINTS
        ordinals = range(start, min(end, len(self.page.statements)))
        payloads = _payloads(self.page, self.facts, self.entries, self.around, ordinals)
        return [
            Point(
                id=statement.id,
                dense=vector.tolist(),
                sparse=document_vector(statement.text, statement.context, self.page.language, self.page.title),
                payload=payload,
            )
            for statement, vector, payload in zip(
                self.page.statements[start:end], self.vectors[start:end], payloads, strict=True
            )
        ]


def points_of(page: PageStatements, vectors: NDArray[np.float32], facts: PageFacts) -> list[Point]:
    """Return a point for each statement, in order. A point has the id of its statement."""
    points = PagePoints.of(page, vectors, facts)
    return [point for start in points.starts() for point in points.part(start)]


def payloads_of(page: PageStatements, facts: PageFacts) -> list[StatementPayload]:
    """Return the facts that the index holds of each statement. The vectors follow from these facts and the model.

    What counts pages (what is left out, and by which versions they were made) is only at a page's first statement.
    """
    entries, around = entries_of_page(page.statements), words_around(page.statements)
    return _payloads(page, facts, entries, around, range(len(page.statements)))


def _payloads(
    page: PageStatements,
    facts: PageFacts,
    entries: frozenset[int],
    around: Mapping[int, Around],
    ordinals: range,
) -> list[StatementPayload]:
    host = urlsplit(page.url).netloc
    sites = sites_of(host)
    of_each = facts._replace(left_out=0, made=())
    first = max(0, ordinals.start - 1)
    numbers = {
        at: stands_alone(one.text, one.kind, one.context)
        for at, one in enumerate(page.statements[first : ordinals.stop], start=first)
    }
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
            anchor=statement.anchor,
            ordinal=statement.ordinal,
            kind=statement.kind,
            entry=statement.ordinal in entries,
            doubtful=statement.doubtful,
            before=sentence_before(page.statements, at, numbers),
            around=around.get(at, ()),
            alone=numbers[at],
            **(of_each if statement.ordinal else facts)._asdict(),
        )
        for at, statement in zip(ordinals, page.statements[ordinals.start : ordinals.stop], strict=True)
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


def encode_vectors(statements_ref: str, vectors: NDArray[np.floating[Any]]) -> bytes:
    """Return the vectors, shape (n, dimensions), as bytes."""
    count, dimensions = vectors.shape
    header = _HEADER.pack(MAGIC, count, dimensions, bytes.fromhex(statements_ref))
    return header + vectors.astype("<f2", copy=False).tobytes()


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
