"""`/api/v1/pages/{id}/document`, `/statements` and `/vectors`: the content that events refer to."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query, Response

from streams.gateway.access.guard import Charge, Guard
from streams.gateway.content import examples as own_examples
from streams.gateway.content.answers import PageDocument, PageStatements, PageVectors
from streams.gateway.content.reading import PageContent
from streams.gateway.http import examples
from streams.gateway.http.parameters import refuse_unknown

MAX_PART = 500
"""Maximum statements, or vectors, of one answer."""
PROBLEMS: dict[int | str, dict[str, Any]] = {
    **examples.ACCESS_PROBLEMS,
    400: examples.problem_response("A parameter is not valid", examples.PROBLEM_EMPTY),
    404: examples.problem_response("The page is unknown, or has no such content", own_examples.PROBLEM_NO_CONTENT),
    409: examples.problem_response("The page has other content by now", own_examples.PROBLEM_CHANGED),
    503: examples.problem_response("The records do not answer", examples.PROBLEM_RECORDS),
}
_REF = "The reference of an event (`document_ref`, `statements_ref`, `vectors_ref`). Empty: the newest content."
Ref = Annotated[str, Query(pattern="^([0-9a-f]{64})?$", description=_REF)]
After = Annotated[int, Query(ge=0, le=1_000_000, description="The value `next` of the part before.")]
Limit = Annotated[int, Query(ge=1, le=MAX_PART, description="Maximum number of statements or vectors.")]
PageId = Annotated[UUID, Path(description="The page's id: UUIDv5 of its URL.")]


def content_api_routes(content: PageContent, guard: Guard) -> APIRouter:
    router = APIRouter(prefix="/api/v1", tags=["content"], dependencies=[Depends(refuse_unknown)])
    charged = Annotated[Charge, Depends(guard.needs("pages"))]

    @router.get(
        "/pages/{page_id:uuid}/document",
        summary="The document of a page",
        description="The text and structure of the page without its markup and boilerplate, as the index has it.",
        responses={200: examples.json_response("The document", own_examples.DOCUMENT), **PROBLEMS},
        response_model_exclude_none=True,
    )
    async def document(response: Response, charge: charged, page_id: PageId, ref: Ref = "") -> PageDocument:
        response.headers["Cache-Control"] = "no-store"
        return await content.document(await content.find(str(page_id), charge.sight), ref)

    @router.get(
        "/pages/{page_id:uuid}/statements",
        summary="The statements of a page",
        description="All statements of the page with their places and chains, in parts.",
        responses={200: examples.json_response("A part of the statements", own_examples.STATEMENTS), **PROBLEMS},
        response_model_exclude_none=True,
    )
    async def statements(
        response: Response,
        charge: charged,
        page_id: PageId,
        ref: Ref = "",
        after: After = 0,
        limit: Limit = 200,
    ) -> PageStatements:
        response.headers["Cache-Control"] = "no-store"
        return await content.statements(await content.find(str(page_id), charge.sight), ref, after, limit)

    @router.get(
        "/pages/{page_id:uuid}/vectors",
        summary="The vectors of a page's statements",
        description="One vector for each statement, in the order of the statements, in parts.",
        responses={200: examples.json_response("A part of the vectors", own_examples.VECTORS), **PROBLEMS},
        response_model_exclude_none=True,
    )
    async def vectors(
        response: Response,
        charge: charged,
        page_id: PageId,
        ref: Ref = "",
        after: After = 0,
        limit: Limit = 200,
    ) -> PageVectors:
        response.headers["Cache-Control"] = "no-store"
        return await content.vectors(await content.find(str(page_id), charge.sight), ref, after, limit)

    return router
