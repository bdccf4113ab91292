"""`/similar` and `/api/v1/similar`: pages of similar content, by the vectors of the page's statements."""

import asyncio
from collections.abc import Iterable
from typing import Annotated
from uuid import UUID

import numpy as np
from fastapi import APIRouter, Depends, Query, Request
from pydantic import Field
from starlette.responses import HTMLResponse, Response

from streams.errors import RiffleError
from streams.gateway.access.bucket import SIMILAR
from streams.gateway.access.guard import Charge, Guard
from streams.gateway.content.reading import PageContent
from streams.gateway.context import GatewayContext
from streams.gateway.http import openapi, presentation
from streams.gateway.http.openapi import ApiModel
from streams.gateway.http.problems import Problem, ProblemError, search_unavailable
from streams.gateway.http.requests import api_router
from streams.gateway.http.templates import Views
from streams.gateway.page.lookup import PageData
from streams.gateway.preferences.cookies import Cookies
from streams.pages.document.consent import consent_of
from streams.search.ranking.rules import NO_RULES, PersonalRules
from streams.search.searcher import Searcher
from streams.stores.page_record import Normalized
from streams.stores.protocols import Filters, Hit, PageHits, Visible

READ_STATEMENTS = 200
"""Maximum statements of the page whose vectors are read: its beginning."""
READ_CANDIDATES = 200
"""Number of statements that are found, of which pages are made."""
MAX_COUNT = 50
PROBLEMS = openapi.problem_responses(
    "/api/v1/similar",
    *openapi.ACCESS_PROBLEMS,
    ("Neither a page's id nor a URL", openapi.INVALID_URL),
    ("The page is unknown, or not in the index", Problem("no-content")),
    ("The index does not answer", openapi.NO_SEARCH),
)


class SimilarByContent(ApiModel):
    """A page with similar content."""

    page_id: UUID
    url: str
    title: str
    host: str
    language: str = ""
    statement: str = Field(
        description="Its statement that is nearest to the page's content. Empty if it may not be quoted. Untrusted."
    )
    score: float = Field(description="Cosine of the statement's vector and the mean of the page's vectors.")
    kept_from_models: tuple[str, ...] = Field(
        (),
        description="The publisher's directives for which no language model gets the page's text; "
        "`record-unread`: they could not be read.",
    )


class SimilarAnswer(ApiModel):
    """The pages whose content is similar to a page's, the nearest first."""

    page_id: UUID
    url: str
    pages: tuple[SimilarByContent, ...]


SHOWN = 10
"""Number of pages that people see."""


def similar_html_routes(
    context: GatewayContext, content: PageContent, guard: Guard, searcher: Searcher, views: Views, cookies: Cookies
) -> APIRouter:
    """Return the route for people: "more like this"."""
    router = APIRouter(include_in_schema=False)

    @router.get("/similar")
    async def more_like_this(request: Request, page: UUID) -> Response:
        charge = await guard.charge_person(request)
        data = await content.find(str(page), charge.visible)
        charge.spend(SIMILAR)
        found = await _similar(context, data, charge.visible, SHOWN, searcher, cookies.read(request).rules())
        normalized = data.record.normalized
        subject = presentation.clean_line(normalized.title if normalized else "") or data.url
        rendered = views.render("similar.html", request, found=found, subject=subject)
        return HTMLResponse(rendered, headers={"Cache-Control": "private, max-age=60"})

    return router


def similar_routes(context: GatewayContext, content: PageContent, guard: Guard, searcher: Searcher) -> APIRouter:
    router = api_router("search")

    @router.get(
        "/similar",
        summary="Similar pages",
        description="Pages of similar content, found by the vectors of the page's statements. Its copies are left out.",
        responses={200: openapi.json_response("Similar pages", "similar"), **PROBLEMS},
    )
    async def similar(
        charge: Annotated[Charge, Depends(guard.needs("search"))],
        page: Annotated[str, Query(min_length=1, max_length=2_048, description="The page's id or URL.")],
        count: Annotated[int, Query(ge=1, le=MAX_COUNT, description="Maximum number of pages.")] = 10,
    ) -> SimilarAnswer:
        data = await content.find(page, charge.visible)
        charge.spend(SIMILAR)
        return await _similar(context, data, charge.visible, count, searcher)

    return router


async def _similar(
    context: GatewayContext,
    data: PageData,
    visible: Visible,
    count: int,
    searcher: Searcher,
    personal: PersonalRules = NO_RULES,
) -> SimilarAnswer:
    """Return the pages whose content is nearest to a page's, of those that a search may show. Raises ProblemError."""
    try:
        async with asyncio.timeout(context.settings.gateway.deadline_seconds):
            pages = await similar_pages(context, data, visible, count, searcher, personal)
            records = await context.stores.normalized([page.page_id for page in pages], visible=visible)
    except (RiffleError, TimeoutError) as error:
        context.metrics.count_failure("vectors", error)
        raise ProblemError(search_unavailable("The index does not answer.", error)) from error
    shown = tuple(_to_similar(page.hits[0], records.get(page.page_id)) for page in pages)
    return SimilarAnswer(page_id=data.page_id, url=data.url, pages=shown)


async def similar_pages(
    context: GatewayContext,
    data: PageData,
    visible: Visible,
    count: int,
    searcher: Searcher,
    personal: PersonalRules = NO_RULES,
) -> list[PageHits]:
    """Return the pages that are nearest to a page, of those that a search may show. Raises ProblemError."""
    allowed = await searcher.leave_out(_to_pages(await _nearest(context, data, visible)), personal)
    return sorted(allowed, key=lambda page: -page.score)[:count]


async def _nearest(context: GatewayContext, data: PageData, visible: Visible) -> list[Hit]:
    """Return the statements of other pages that are nearest to the mean of the page's vectors, the nearest first."""
    own = data.statements[:READ_STATEMENTS]
    collection = (await context.stores.embedder.look()).collection
    vectors = await context.stores.vectors_of(own, visible=visible, collection=collection)
    if not vectors:
        raise ProblemError(Problem("no-content", "The page is not in the index."))
    mean = np.mean(np.asarray(vectors, dtype=np.float32), axis=0)
    mean /= max(float(np.linalg.norm(mean)), 1e-9)
    found = await context.stores.candidates(
        dense=mean.tolist(),
        sparse=None,
        visible=visible,
        filters=Filters(exclude_pages=(data.page_id,)),
        limit=READ_CANDIDATES,
        collection=collection,
    )
    return list(found.dense)


def _to_pages(hits: Iterable[Hit]) -> list[PageHits]:
    groups: dict[UUID, list[Hit]] = {}
    for hit in hits:
        groups.setdefault(hit.payload.page_id, []).append(hit)
    return [PageHits(page, tuple(group), group[0].score) for page, group in groups.items()]


def _to_similar(hit: Hit, record: Normalized | None) -> SimilarByContent:
    payload, consent = hit.payload, consent_of(record)
    shown = payload.title if payload.doubtful else payload.text
    [text] = consent.quote([presentation.clean_line(shown, presentation.MAX_SNIPPET_CHARS)])
    return SimilarByContent(
        page_id=payload.page_id,
        url=payload.url,
        title=presentation.title_of(payload),
        host=payload.host,
        language=payload.language,
        statement=text,
        score=round(hit.score, 4),
        kept_from_models=consent.kept_from_models,
    )
