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
    host = urlsplit(page.url).netloc
    place: dict[str, object] = {"host": host, "generation": generation}
    place |= {"sites": sites} if (sites := sites_of(host)) else {}
    place |= {"published": published} if published else {}
    return [
        Point(
            id=statement.id,
            dense=vector.tolist(),
            sparse=document_vector(statement.text, statement.context, page.language, page.title),
            payload={**_payload(statement), **_page_payload(page), **place},
        )
        for statement, vector in zip(page.statements, vectors, strict=True)
    ]


def sites_of(host: str) -> list[str]:
    """The domains above a host, without the last: `python.org` for `docs.python.org`."""
    parts = host.split(".")
    return [".".join(parts[start:]) for start in range(1, len(parts) - 1)]


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
