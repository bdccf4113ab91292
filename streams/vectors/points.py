"""A page's statements and vectors -> points of the index."""

from collections.abc import Sequence
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from streams.statements.codec import PageStatements
from streams.statements.statement import Statement
from streams.stores.protocols import Point
from streams.vectors.bm25 import document_vector


def points_of(page: PageStatements, vectors: NDArray[np.float32], generation: int) -> list[Point]:
    """A point for each statement, in order. Its id is the statement's."""
    host = urlsplit(page.url).netloc
    return [
        Point(
            id=statement.id,
            dense=vector.tolist(),
            sparse=document_vector(statement.text, statement.context, page.language, page.title),
            payload={**_payload(statement), **_page_payload(page), "host": host, "generation": generation},
        )
        for statement, vector in zip(page.statements, vectors, strict=True)
    ]


def _payload(statement: Statement) -> dict[str, object]:
    return {
        "text": statement.text,
        "context": list(statement.context),
        "ordinal": statement.ordinal,
        "kind": statement.kind,
    }


def _page_payload(page: PageStatements) -> dict[str, object]:
    return {"page_id": str(page.page_id), "url": page.url, "title": page.title, "language": page.language}


def texts_of(page: PageStatements) -> Sequence[str]:
    """The texts that are embedded, in order."""
    return [statement.in_context for statement in page.statements]
