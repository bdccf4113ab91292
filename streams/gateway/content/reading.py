"""The content of an indexed page, read from its blobs by the references of its record."""

from streams.errors import PoisonError
from streams.gateway.content.answers import (
    PageDocument,
    PageStatements,
    PageVectors,
    to_document,
    to_statement,
    to_vectors,
)
from streams.gateway.context import GatewayContext
from streams.gateway.http.problems import Problem, ProblemError
from streams.gateway.page.lookup import PageData, look_up, read_blob, refuse_copies
from streams.pages.document.codec import decode_document
from streams.pages.document.model import Document
from streams.statements.statement import PageStatements as StoredStatements
from streams.statements.statement import decode_statements
from streams.stores.page_record import StoredPart
from streams.stores.protocols import Visible
from streams.vectors.points import decode_vectors


class PageContent:
    """The reader of one gateway."""

    def __init__(self, context: GatewayContext) -> None:
        self._context = context

    async def find(self, page: str, visible: Visible) -> PageData:
        """Return what is known of a page. Raises ProblemError, also if the client may not see the page or a copy."""
        data = await look_up(self._context, page, visible)
        refuse_copies(data)
        return data

    async def document(self, data: PageData, ref: str) -> PageDocument:
        """Return the page's document. `ref`: the reference that the client wants; empty: the newest one."""
        wanted = _same(ref, data.record.normalized.document_ref)
        document = await self.read_document(data, wanted)
        return PageDocument(page_id=data.page_id, url=data.url, ref=wanted, document=to_document(document))

    async def read_document(self, data: PageData, ref: str) -> Document:
        try:
            return decode_document(await self._blob(data, data.record.normalized, ref))
        except PoisonError as error:
            raise ProblemError(_gone()) from error

    async def statements(self, data: PageData, ref: str, after: int, limit: int) -> PageStatements:
        wanted = _same(ref, data.record.indexed.statements_ref)
        stored = await self.read_statements(data, wanted)
        shown = stored.statements[after : after + limit]
        total = len(stored.statements)
        return PageStatements(
            page_id=data.page_id,
            url=data.url,
            ref=wanted,
            total=total,
            statements=tuple(to_statement(each) for each in shown),
            next=after + limit if after + limit < total else None,
        )

    async def read_statements(self, data: PageData, ref: str) -> StoredStatements:
        try:
            return decode_statements(await self._blob(data, data.record.indexed, ref))
        except PoisonError as error:
            raise ProblemError(_gone()) from error

    async def vectors(self, data: PageData, ref: str, after: int, limit: int) -> PageVectors:
        known = data.record.indexed
        wanted = _same(ref, known.vectors_ref)
        try:
            vectors = decode_vectors(await self._blob(data, known, wanted), known.statements_ref)
        except PoisonError as error:
            raise ProblemError(_gone()) from error
        total, dimensions = vectors.shape
        return PageVectors(
            page_id=data.page_id,
            url=data.url,
            ref=wanted,
            statements_ref=known.statements_ref,
            model=f"{known.model}/{known.model_version}",
            dimensions=dimensions,
            total=total,
            vectors=to_vectors(vectors[after : after + limit]),
            next=after + limit if after + limit < total else None,
        )

    async def _blob(self, data: PageData, part: StoredPart, ref: str) -> bytes:
        content = await read_blob(self._context, data, part, ref)
        if content is None:
            raise ProblemError(_gone())
        return content


def _same(wanted: str, known: str) -> str:
    """Return the reference to read. Raises ProblemError if the page has no such content, or other content by now."""
    if not known:
        raise ProblemError(_gone())
    if wanted and wanted != known:
        raise ProblemError(
            Problem(
                "content-changed",
                f"The page's content is {known}.",
                "Use the newer event of the page, or leave out `ref` for the newest content.",
                "ref",
            )
        )
    return known


def _gone() -> Problem:
    return Problem(
        "no-content",
        "The page was not fetched, was not divided into statements, or its content is not stored any more.",
        "Its history says why: /api/v1/pages/{id or URL}.",
    )
