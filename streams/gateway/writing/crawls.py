"""`/api/v1/crawls`: begin a crawl, look at it, cancel it."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Request
from pydantic import Field
from starlette.responses import Response

from schemas.envelope import utc_from_micros
from schemas.ids import page_id
from streams.crawl.frontier.progress import CrawlProgress
from streams.gateway.access.guard import Charge, Guard
from streams.gateway.context import GatewayContext
from streams.gateway.http import openapi
from streams.gateway.http.openapi import ApiModel
from streams.gateway.http.problems import Problem, ProblemError
from streams.gateway.http.requests import api_router
from streams.gateway.page.lookup import look_up
from streams.gateway.page.response import to_page_record
from streams.gateway.writing.requests import (
    IDEMPOTENCY_KEY,
    REPEATED_PROBLEMS,
    WRITE_PROBLEMS,
    Body,
    json_body,
    once,
    parse_body,
    read_body,
    writing,
)
from streams.plain_text import Sentence
from streams.stores.protocols import Visible
from streams.writing.crawls import (
    MAX_DEPTH,
    MAX_PAGES,
    MAX_SEEDS,
    Crawl,
    CrawlOrder,
    Crawls,
    CrawlStatus,
    cost_of,
    describe_crawl,
    seeds_of,
)
from streams.writing.idempotency import Repetitions

EXPLAINED_SEEDS = 5
"""Maximum number of seeds whose status a crawl names."""
CRAWL_ID = Path(pattern=r"^[0-9a-f]{12}$", description="The crawl's `id`.", examples=["3f9a51c0d2b7"])
_UNKNOWN = Problem("unknown-crawl", "The key began no crawl with this id within the last 7 days.")
_PROBLEMS = openapi.problem_responses("/api/v1/crawls", *WRITE_PROBLEMS)
_OF_ONE = openapi.problem_responses("/api/v1/crawls/3f9a51c0d2b7", ("There is no such crawl", _UNKNOWN))
_MADE = openapi.problem_responses("/api/v1/crawls", *REPEATED_PROBLEMS)


class NewCrawl(Body):
    """A crawl to begin."""

    seeds: tuple[Annotated[str, Field(min_length=1, max_length=2_048)], ...] = Field(
        min_length=1, max_length=MAX_SEEDS, description="Addresses at which it begins."
    )
    depth: int = Field(2, ge=0, le=MAX_DEPTH, description="Maximum hops from the seeds. 0: only the seeds.")
    max_pages: int = Field(
        MAX_PAGES, ge=1, le=1_000_000, description="Maximum pages of each host. The key's quota pays for all of them."
    )
    include: tuple[str, ...] = Field((), max_length=64, description="Only addresses like these globs, as `/docs/*`.")
    exclude: tuple[str, ...] = Field((), max_length=64, description="No addresses like these globs.")
    any_host: bool = Field(False, description="Also follow links to other hosts. Needs a key for every domain.")
    sitemap_only: bool = Field(False, description="The seeds are sitemaps, and no link is followed.")


class CrawlCounts(ApiModel):
    """The number of addresses of a crawl in each state, as `riffle crawl --json` has them. Each is in one."""

    discovered: int = Field(description="All of them.")
    waiting: int = Field(description="In a queue, or given to a fetcher.")
    digesting: int = Field(description="Fetched, and read now: they may lead to more addresses.")
    deferred: int = Field(description="At hosts that do not answer now.")
    fetched: int
    redirected: int
    known_from_another_crawl: int
    forbidden_by_robots: int
    refused: int
    gone: int
    failed: int


class Seed(ApiModel):
    """A seed, and its status as `/page` says it."""

    url: str
    page_id: UUID
    status: str = Field(description="As in `/api/v1/pages/{id}`; `unknown` until the frontier has it.")
    says: Sentence = ""


class CrawlAnswer(ApiModel):
    """A crawl, as far as it is."""

    id: str
    self: str = Field(description="Its path.")
    state: CrawlStatus = Field(
        description="`queued`; `running`; `waiting` for hosts that do not answer now; `done`: each address has its "
        "result, and its pages are searchable; `cancelled`."
    )
    says: str = Field("", description="The counts in a sentence.")
    created: datetime
    cancelled: datetime | None = None
    seeds: tuple[Seed, ...] = Field(description="The status of the first ones.")
    depth: int
    max_pages: int
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    any_host: bool = False
    sitemap_only: bool = False
    counts: CrawlCounts


class CrawlList(ApiModel):
    """The crawls of a key."""

    crawls: tuple[CrawlAnswer, ...] = Field(description="The newest first, of the last 7 days.")


def crawl_routes(context: GatewayContext, crawls: Crawls, repetitions: Repetitions, guard: Guard) -> APIRouter:
    router = api_router("crawls")
    charged = Annotated[Charge, Depends(guard.needs("write"))]

    @router.post(
        "/crawls",
        summary="Begin a crawl",
        description="Sends the seeds, as `riffle crawl` does. A key of some domains crawls only hosts of these.",
        status_code=201,
        response_class=Response,
        responses={
            201: openapi.written_response(CrawlAnswer, "The crawl. `Location` is its path.", "crawl"),
            **_PROBLEMS,
            **_MADE,
        },
        openapi_extra=json_body(NewCrawl, {"seeds": ["https://docs.example/"], "depth": 3}, IDEMPOTENCY_KEY),
    )
    async def begin_crawl(charge: charged, request: Request) -> Response:
        body = await read_body(request)
        wanted = parse_body(body, NewCrawl)
        order, writer = CrawlOrder(**wanted.model_dump()), await guard.writer_of(charge)
        async with writing(context):
            seeds = seeds_of(order, writer, context.settings.crawl)

        async def begin(crawl_id: str) -> CrawlAnswer:
            async with writing(context):
                known = await crawls.get(crawl_id, writer.key)
            if known is None:  # else it was begun before a crash, and paid
                await guard.take_quota(charge, cost_of(seeds, order.max_pages))
            async with writing(context):
                crawl = await crawls.begin(crawl_id, order, seeds, writer)
            return _answer(crawl, CrawlProgress(), "queued", ())

        return await once(context, repetitions, request, charge.client.id, body, begin)

    @router.get(
        "/crawls",
        summary="The crawls of the key",
        description="The crawls that the key has begun, with the state of each.",
        responses={200: openapi.json_response("The crawls", "crawls"), **_PROBLEMS},
        response_model_exclude_none=True,
    )
    async def list_crawls(charge: charged) -> CrawlList:
        async with writing(context):
            found = await crawls.statuses(await crawls.of_key(charge.key.id))
        return CrawlList(crawls=tuple(_answer(*each, ()) for each in found))

    @router.get(
        "/crawls/{crawl_id}",
        summary="A crawl",
        description="The state of a crawl that the key has begun.",
        responses={200: openapi.json_response("The crawl", "crawl"), **_PROBLEMS, **_OF_ONE},
        response_model_exclude_none=True,
    )
    async def crawl(charge: charged, crawl_id: Annotated[str, CRAWL_ID]) -> CrawlAnswer:
        found = await find_crawl(context, crawls, charge, crawl_id)
        return await _whole(context, crawls, found, charge.visible)

    @router.delete(
        "/crawls/{crawl_id}",
        summary="Cancel a crawl",
        description="What waits is not fetched any more. Pages that are searchable stay so.",
        responses={200: openapi.json_response("The crawl", "crawl"), **_PROBLEMS, **_OF_ONE},
        response_model_exclude_none=True,
    )
    async def cancel_crawl(charge: charged, crawl_id: Annotated[str, CRAWL_ID]) -> CrawlAnswer:
        found = await find_crawl(context, crawls, charge, crawl_id)
        async with writing(context):
            cancelled = await crawls.cancel(found)
        return await _whole(context, crawls, cancelled, charge.visible)

    return router


async def find_crawl(context: GatewayContext, crawls: Crawls, charge: Charge, crawl_id: str) -> Crawl:
    """Return a crawl of the request's key. Raises ProblemError."""
    async with writing(context):
        found = await crawls.get(crawl_id, charge.key.id)
    if found is None:
        raise ProblemError(_UNKNOWN)
    return found


async def _whole(context: GatewayContext, crawls: Crawls, crawl: Crawl, visible: Visible) -> CrawlAnswer:
    async with writing(context):
        progress, paused = await crawls.progress(crawl), await crawls.is_paused()
        state = await crawls.status(crawl, progress)
    seeds = [await _seed(context, url, visible) for url in crawl.seeds[:EXPLAINED_SEEDS]]
    return _answer(crawl, progress, state, tuple(seeds), paused=paused)


async def _seed(context: GatewayContext, url: str, visible: Visible) -> Seed:
    """Return what `/page` says of a seed."""
    try:
        record = to_page_record(await look_up(context, url, visible))
    except ProblemError as error:
        return Seed(url=url, page_id=page_id(url), status="unknown", says=error.problem.detail)
    return Seed(url=url, page_id=record.page_id, status=record.status, says=record.says)


def _answer(
    crawl: Crawl, progress: CrawlProgress, state: CrawlStatus, seeds: tuple[Seed, ...], *, paused: bool = False
) -> CrawlAnswer:
    more = tuple(Seed(url=url, page_id=page_id(url), status="unknown") for url in crawl.seeds[:EXPLAINED_SEEDS])
    return CrawlAnswer(
        id=crawl.id,
        self=f"/api/v1/crawls/{crawl.id}",
        state=state,
        says=describe_crawl(progress, paused=paused),
        created=utc_from_micros(crawl.created),
        cancelled=utc_from_micros(crawl.cancelled) if crawl.cancelled else None,
        seeds=seeds or more,
        depth=crawl.depth,
        max_pages=crawl.max_pages,
        include=crawl.include,
        exclude=crawl.exclude,
        any_host=crawl.any_host,
        sitemap_only=crawl.sitemap_only,
        counts=counts_of(progress),
    )


def counts_of(progress: CrawlProgress) -> CrawlCounts:
    return CrawlCounts(
        discovered=progress.discovered,
        waiting=progress.pending,
        digesting=progress.digesting,
        deferred=progress.deferred,
        fetched=progress.fetched,
        redirected=progress.redirected,
        known_from_another_crawl=progress.seen,
        forbidden_by_robots=progress.disallowed,
        refused=progress.refused,
        gone=progress.gone,
        failed=progress.failed,
    )
