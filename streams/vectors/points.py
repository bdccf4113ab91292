"""The points of the index, made from a page's statements and vectors."""

from collections.abc import Sequence
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from streams.statements.codec import PageStatements
from streams.statements.pages_of_entries import entries_of_page
from streams.statements.sentence_before import sentence_before
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
    facts = payloads_of(page, generation, published, page_type, file_type, quality)
    return [
        Point(
            id=statement.id,
            dense=vector.tolist(),
            sparse=document_vector(statement.text, statement.context, page.language, page.title),
            payload=payload,
        )
        for statement, vector, payload in zip(page.statements, vectors, facts, strict=True)
    ]


def payloads_of(
    page: PageStatements,
    generation: int,
    published: str = "",
    page_type: str = "",
    file_type: str = "",
    quality: float = 1.0,
) -> list[StatementPayload]:
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
            published=published,
            page_type=page_type,
            file_type=file_type,
            page=statement.page,
            quality=quality,
            ordinal=statement.ordinal,
            kind=statement.kind,
            entry=statement.ordinal in entries,
            before=sentence_before(page.statements, at),
            generation=generation,
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
