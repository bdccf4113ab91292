"""The points of the index, made from a page's statements and vectors."""

from collections.abc import Sequence
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from streams.statements.codec import PageStatements
from streams.statements.statement import Statement
from streams.stores.protocols import Point
from streams.stores.statement_payload import StatementPayload
from streams.vectors.bm25 import document_vector


def points_of(
    page: PageStatements,
    vectors: NDArray[np.float32],
    generation: int,
    published: str = "",
    page_type: str = "",
    file_type: str = "",
    quality: float = 1.0,
) -> list[Point]:
    """Return a point for each statement, in order.

    A point has the id of its statement. `published` is the page's ISO date, and `page_type` its type, if known.
    `file_type` is the type of a file that is not HTML, `quality` the quality of the page from 0 to 1.
    """
    return [
        Point(
            id=statement.id,
            dense=vector.tolist(),
            sparse=document_vector(statement.text, statement.context, page.language, page.title),
            payload=payload_of(page, statement, generation, published, page_type, file_type, quality),
        )
        for statement, vector in zip(page.statements, vectors, strict=True)
    ]


def payload_of(
    page: PageStatements,
    statement: Statement,
    generation: int,
    published: str = "",
    page_type: str = "",
    file_type: str = "",
    quality: float = 1.0,
) -> StatementPayload:
    """Return the facts that the index holds of a statement. The vectors follow from these facts and the model."""
    host = urlsplit(page.url).netloc
    return StatementPayload(
        page_id=page.page_id,
        url=page.url,
        host=host,
        sites=sites_of(host),
        title=page.title,
        text=statement.text,
        context=statement.context,
        language=page.language,
        published=published,
        page_type=page_type,
        file_type=file_type,
        page=statement.page,
        quality=quality,
        ordinal=statement.ordinal,
        kind=statement.kind,
        generation=generation,
    )


def sites_of(host: str) -> list[str]:
    """Return the domains above a host, without the top-level domain: `python.org` for `docs.python.org`."""
    parts = host.split(".")
    return [".".join(parts[start:]) for start in range(1, len(parts) - 1)]


def texts_of(page: PageStatements) -> Sequence[str]:
    """Return the texts to embed, in the order of their statements."""
    return [statement.in_context for statement in page.statements]
