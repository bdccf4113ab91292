"""`/api/v1/search`: statements by meaning and by words, grouped by page."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response

from streams.gateway.access.costs import cost_of_search
from streams.gateway.access.guard import Charge, Guard
from streams.gateway.http import examples
from streams.gateway.http.parameters import refuse_unknown
from streams.gateway.search.answer_model import SearchAnswer
from streams.gateway.search.answers import limit_to
from streams.gateway.search.service import SearchService
from streams.search.paging import SORTED_RESULTS
from streams.search.request import MAX_DOMAINS, MAX_PER_PAGE, Parameters, Sort

PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: examples.problem_response("The query or a parameter is not valid", examples.PROBLEM_EMPTY),
    **examples.ACCESS_PROBLEMS,
    503: examples.problem_response("The index does not answer", examples.PROBLEM_UNAVAILABLE),
}

_LANGUAGE = (
    "Only pages in this language (BCP 47; `und`: not known), or `*`: in any. Empty: the operator's choice, all as a "
    "rule; `languages` of the answer lists them."
)
_INCLUDE = (
    f"Only pages of these domains and their subdomains. Give the parameter once for each domain, at most {MAX_DOMAINS} "
    "times."
)
_EXCLUDE = "No pages of these domains and their subdomains, in the same form."
_CURSOR = (
    "The page behind another page: the value `next` of its answer. The query and the other parameters stay the same, "
    "and `page` is not read."
)
_EXACT = "Search for exactly this query: its spelling is not corrected."
_SORT = f"`date`: the best {SORTED_RESULTS} results, the newest first; pages without a date come last."


def search_api_routes(service: SearchService, guard: Guard) -> APIRouter:
    router = APIRouter(prefix="/api/v1", tags=["search"], dependencies=[Depends(refuse_unknown)])

    @router.get(
        "/search",
        summary="Search",
        description=(
            "Finds pages by their statements: by meaning (dense vectors) and by words (BM25), and combines both "
            "scores. When a part fails, the others answer: `partial` is then true, and `reasons` names what is missing."
        ),
        responses={200: examples.json_response("What was found", examples.SEARCH), **PROBLEMS},
        response_model_exclude_none=True,
    )
    async def search(
        response: Response,
        charge: Annotated[Charge, Depends(guard.needs("search"))],
        q: Annotated[str, Query(description="The query, in any language.", examples=["write-ahead log"])],
        page: Annotated[int, Query(ge=1, le=1_000, description="From 1.")] = 1,
        per_page: Annotated[int, Query(ge=1, le=MAX_PER_PAGE)] = 10,
        cursor: Annotated[str, Query(description=_CURSOR)] = "",
        host: Annotated[str, Query(description="Only pages of this host.", examples=["sqlite.org"])] = "",
        language: Annotated[str, Query(description=_LANGUAGE, examples=["en"])] = "",
        include: Annotated[list[str] | None, Query(description=_INCLUDE)] = None,
        exclude: Annotated[list[str] | None, Query(description=_EXCLUDE)] = None,
        sort: Annotated[Sort, Query(description=_SORT)] = "relevance",
        exact: Annotated[bool, Query(description=_EXACT)] = False,
        explain: Annotated[bool, Query(description="Also timings, model and the state of each part.")] = False,
    ) -> SearchAnswer:
        given = Parameters(
            page=page,
            per_page=per_page,
            cursor=cursor,
            host=host,
            language=language,
            include=tuple(include or ()),
            exclude=tuple(exclude or ()),
            sort=sort,
            explain=explain,
        )
        running = service.start(q, charge.sight.limit(given), exact=exact)
        response.headers["Cache-Control"] = "no-store"
        answer = await running.answer()
        charge.spend(cost_of_search(answer.page, answer.per_page, len(answer.operators), reranks=service.reranks))
        return limit_to(answer, charge.sight)

    return router
