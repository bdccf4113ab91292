"""The content of pages for programs: `/api/v1/pages/{id}/document`, `/statements`, `/vectors`; `/api/v1/extract`."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query

from streams.gateway.access.guard import Charge, Guard
from streams.gateway.content.answers import (
    Extract,
    PageDocument,
    PageStatements,
    PageVectors,
)
from streams.gateway.content.extracting import Extracting
from streams.gateway.content.reading import PageContent
from streams.gateway.http import openapi
from streams.gateway.http.problems import Problem
from streams.gateway.http.requests import api_router

MAX_PART = 500
"""Maximum statements, or vectors, of one answer."""
PROBLEMS = openapi.problem_responses(
    "/api/v1/pages/0d8a1b5e-53c4-5be2-a0de-3c4c4ba1f6ab/document",
    *openapi.ACCESS_PROBLEMS,
    ("A parameter is not valid", openapi.NO_QUERY),
    ("The page is unknown, or has no such content", Problem("no-content")),
    ("The page has other content by now", Problem("content-changed", parameter="ref")),
    ("The records do not answer", openapi.NO_RECORDS),
)
_REF = "The reference of an event (`document_ref`, `statements_ref`, `vectors_ref`). Empty: the newest content."
Ref = Annotated[str, Query(pattern=r"^(([0-9a-f]{32}\.)?[0-9a-f]{64})?$", description=_REF)]
After = Annotated[int, Query(ge=0, le=1_000_000, description="The value `next` of the part before.")]
Limit = Annotated[int, Query(ge=1, le=MAX_PART, description="Maximum number of statements or vectors.")]
PageId = Annotated[UUID, Path(description="The page's id: UUIDv5 of its URL.")]


def content_api_routes(content: PageContent, guard: Guard) -> APIRouter:
    router = api_router("content")
    charged = Annotated[Charge, Depends(guard.needs("pages"))]

    @router.get(
        "/pages/{page_id:uuid}/document",
        summary="The document of a page",
        description="The text and structure of the page without its markup and boilerplate, as the index has it.",
        responses={200: openapi.json_response("The document", "document"), **PROBLEMS},
        response_model_exclude_none=True,
    )
    async def document(charge: charged, page_id: PageId, ref: Ref = "") -> PageDocument:
        return await content.document(await content.find(str(page_id), charge.visible), ref)

    @router.get(
        "/pages/{page_id:uuid}/statements",
        summary="The statements of a page",
        description="All statements of the page with their places and chains, in parts.",
        responses={200: openapi.json_response("A part of the statements", "statements"), **PROBLEMS},
        response_model_exclude_none=True,
    )
    async def statements(
        charge: charged, page_id: PageId, ref: Ref = "", after: After = 0, limit: Limit = 200
    ) -> PageStatements:
        return await content.statements(await content.find(str(page_id), charge.visible), ref, after, limit)

    @router.get(
        "/pages/{page_id:uuid}/vectors",
        summary="The vectors of a page's statements",
        description="One vector for each statement, in the order of the statements, in parts.",
        responses={200: openapi.json_response("A part of the vectors", "vectors"), **PROBLEMS},
        response_model_exclude_none=True,
    )
    async def vectors(
        charge: charged, page_id: PageId, ref: Ref = "", after: After = 0, limit: Limit = 200
    ) -> PageVectors:
        return await content.vectors(await content.find(str(page_id), charge.visible), ref, after, limit)

    return router


EXTRACT_PROBLEMS = openapi.problem_responses(
    "/api/v1/extract",
    *openapi.ACCESS_PROBLEMS,
    ("Not the address of a page", openapi.INVALID_URL),
    ("The page is not in the index", Problem("no-content")),
    ("The page could not be fetched, or not be read", Problem("not-fetched", "robots.txt of the host forbids it.")),
    ("The records do not answer, or the page's host is busy", openapi.NO_RECORDS),
)
_URL = Query(
    min_length=1, max_length=2_048, description="Address of the page.", examples=["https://sqlite.org/wal.html"]
)
_FETCH = "Fetch the page now if the index does not have it. Needs the scope `extract`, as the operator allows."


def extract_routes(extracting: Extracting, guard: Guard) -> APIRouter:
    router = api_router("content")

    @router.get(
        "/extract",
        summary="The content of a page",
        description=(
            "The document, statements and facts of a page of the index. With `fetch`, a page that is not in the index "
            "is fetched now, within the rules of the crawler, and nothing of it is stored."
        ),
        responses={200: openapi.json_response("The content", "extract"), **EXTRACT_PROBLEMS},
        response_model_exclude_none=True,
    )
    async def extract(
        charge: Annotated[Charge, Depends(guard.needs("pages"))],
        url: Annotated[str, _URL],
        fetch: Annotated[bool, Query(description=_FETCH)] = False,
    ) -> Extract:
        return await extracting.extract(url, charge, fetch=fetch)

    return router
