"""`/api/v1/search/batch`: several searches in one request, answered side by side."""

import asyncio
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from streams.gateway.access.costs import cost_of_search
from streams.gateway.access.guard import Charge, Guard
from streams.gateway.http import examples
from streams.gateway.http.parameters import refuse_unknown
from streams.gateway.http.problems import Problem, ProblemError, invalid_parameter, invalid_query, search_unavailable
from streams.gateway.search.answer_model import SearchAnswer
from streams.gateway.search.answers import limit_to
from streams.gateway.search.service import SearchService
from streams.search.errors import InvalidQuery, SearchUnavailable
from streams.search.request import MAX_DOMAINS, MAX_PER_PAGE, Parameters, Sort

MAX_SEARCHES = 20
"""Maximum searches of one request."""
AT_ONCE = 4
"""Maximum searches of one request that run at the same time: a batch must not take all of a gateway."""
MAX_BODY_BYTES = 200_000
_PATH = "/api/v1/search/batch"


class OneSearch(BaseModel):
    """A search with its parameters, as `/api/v1/search` has them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    q: str
    page: int = Field(1, ge=1, le=1_000)
    per_page: int = Field(10, ge=1, le=MAX_PER_PAGE)
    cursor: str = ""
    host: str = ""
    language: str = ""
    include: tuple[str, ...] = Field((), max_length=MAX_DOMAINS)
    exclude: tuple[str, ...] = Field((), max_length=MAX_DOMAINS)
    sort: Sort = "relevance"
    exact: bool = False


class Batch(BaseModel):
    """Several searches."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    searches: tuple[OneSearch, ...] = Field(min_length=1, max_length=MAX_SEARCHES)


class OneOutcome(BaseModel):
    """The answer to one search, or its problem."""

    status: int = Field(description="The status that the search would have alone.")
    answer: SearchAnswer | None = None
    problem: dict[str, Any] | None = Field(None, description="Problem details (RFC 9457), in place of the answer.")


class BatchAnswer(BaseModel):
    """The outcomes, in the order of the searches."""

    outcomes: tuple[OneOutcome, ...]


_PROBLEMS: dict[int | str, dict[str, Any]] = {
    **examples.ACCESS_PROBLEMS,
    400: examples.problem_response(
        "The body is not a batch", invalid_parameter("searches", "q is missing.").to_json(_PATH)
    ),
    413: examples.problem_response(
        "The body is too large", Problem(413, "body-too-large", "The body is too large").to_json(_PATH)
    ),
}


def _schema() -> dict[str, Any]:
    """Return the schema of a batch, with the schema of a search in its place."""
    schema = Batch.model_json_schema()
    schema["properties"]["searches"]["items"] = schema.pop("$defs")["OneSearch"]
    return schema


_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": _schema(),
                "example": {"searches": [{"q": "write-ahead log"}, {"q": "rollback", "per_page": 3}]},
            }
        },
    }
}


def batch_routes(service: SearchService, guard: Guard) -> APIRouter:
    router = APIRouter(prefix="/api/v1", tags=["search"], dependencies=[Depends(refuse_unknown)])

    @router.post(
        "/search/batch",
        summary="Several searches",
        description=f"At most {MAX_SEARCHES} searches. Each costs what it costs alone, and fails alone.",
        responses={
            200: examples.json_response(
                "The outcomes, in the order of the searches", {"outcomes": [{"status": 200, "answer": examples.SEARCH}]}
            ),
            **_PROBLEMS,
        },
        response_model_exclude_none=True,
        openapi_extra=_BODY,
    )
    async def batch(
        request: Request, response: Response, charge: Annotated[Charge, Depends(guard.needs("search"))]
    ) -> BatchAnswer:
        asked, free = await _read(request), asyncio.Semaphore(AT_ONCE)

        async def one(search: OneSearch) -> OneOutcome:
            async with free:
                return await _answer(service, charge, search)

        response.headers["Cache-Control"] = "no-store"
        outcomes = await asyncio.gather(*(one(search) for search in asked.searches))
        charge.spend(1)
        return BatchAnswer(outcomes=tuple(outcomes))

    return router


async def _answer(service: SearchService, charge: Charge, search: OneSearch) -> OneOutcome:
    fields = search.model_dump(exclude={"q", "exact"})
    try:
        running = service.start(search.q, charge.sight.limit(Parameters(**fields)), exact=search.exact)
        answer = limit_to(await running.answer(), charge.sight)
    except InvalidQuery as error:
        return _failed(invalid_query(error))
    except SearchUnavailable as error:
        return _failed(search_unavailable(str(error), error.__cause__))
    # The batch itself has cost the unit that a request costs to begin.
    charge.spend(1 + cost_of_search(answer.page, answer.per_page, len(answer.operators), reranks=service.reranks))
    return OneOutcome(status=200, answer=answer)


def _failed(problem: Problem) -> OneOutcome:
    return OneOutcome(status=problem.status, problem=problem.to_json(_PATH))


async def _read(request: Request) -> Batch:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise ProblemError(
                Problem(413, "body-too-large", "The body is too large", f"At most {MAX_BODY_BYTES:,} bytes.")
            )
    try:
        return Batch.model_validate(orjson.loads(bytes(body)))
    except orjson.JSONDecodeError as error:
        raise ProblemError(invalid_parameter("body", f"The body is not JSON: {error}.")) from None
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        place = ".".join(str(step) for step in fault["loc"])
        raise ProblemError(invalid_parameter(place or "body", f"{place or 'body'}: {fault['msg']}.")) from None
