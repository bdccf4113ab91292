"""A page's statements and vectors -> points of the index."""

from collections.abc import Sequence
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from streams.statements.codec import PageStatements
from streams.statements.statement import Statement
from streams.stores.protocols import Point
from streams.vectors.bm25 import document_vector


def points_of(page: PageStatements, vectors: NDArray[np.float32], generation: int, published: str = "") -> list[Point]:
    """A point for each statement, in order. Its id is the statement's. `published` is the page's ISO date, if known."""
    return [
        Point(
            id=statement.id,
            dense=vector.tolist(),
            sparse=document_vector(statement.text, statement.context, page.language, page.title),
            payload=payload_of(page, statement, generation, published),
        )
        for statement, vector in zip(page.statements, vectors, strict=True)
    ]


def payload_of(page: PageStatements, statement: Statement, generation: int, published: str = "") -> dict[str, object]:
    """The fields that the index holds of a statement. Its vectors follow from them and from the model."""
    host = urlsplit(page.url).netloc
    sites = sites_of(host)
    return {
        "text": statement.text,
        "context": list(statement.context),
        "ordinal": statement.ordinal,
        "kind": statement.kind,
        "page_id": str(page.page_id),
        "url": page.url,
        "title": page.title,
        "language": page.language,
        "host": host,
        "generation": generation,
        **({"sites": sites} if sites else {}),
        **({"published": published} if published else {}),
    }


def sites_of(host: str) -> list[str]:
    """The domains above a host, without the last: `python.org` for `docs.python.org`."""
    parts = host.split(".")
    return [".".join(parts[start:]) for start in range(1, len(parts) - 1)]


def texts_of(page: PageStatements) -> Sequence[str]:
    """The texts that are embedded, in order."""
    return [statement.in_context for statement in page.statements]
