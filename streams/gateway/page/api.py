"""`/api/v1/pages/{id or URL}`: the whole history of a page."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Response

from streams.gateway.access.guard import Charge, Guard
from streams.gateway.context import GatewayContext
from streams.gateway.http import examples
from streams.gateway.http.parameters import refuse_unknown
from streams.gateway.page.lookup import look_up
from streams.gateway.page.response import PageRecord, to_page_record

PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: examples.problem_response("Neither a page's id nor a URL", examples.PROBLEM_URL),
    404: examples.problem_response("Riffle has never seen this page", examples.PROBLEM_UNKNOWN_PAGE),
    **examples.ACCESS_PROBLEMS,
    503: examples.problem_response("The records do not answer", examples.PROBLEM_RECORDS),
}


def page_api_routes(context: GatewayContext, guard: Guard) -> APIRouter:
    router = APIRouter(prefix="/api/v1", tags=["pages"], dependencies=[Depends(refuse_unknown)])

    @router.get(
        "/pages/{page:path}",
        summary="Why is a page (not) indexed?",
        description=(
            "The page's status, every event of its history, the record of each stage, its duplicates and the "
            "statements that searches can find. The page is given by its id, or by its percent-encoded URL."
        ),
        responses={200: examples.json_response("All that is known of the page", examples.PAGE), **PROBLEMS},
        response_model_exclude_none=True,
    )
    async def page(
        response: Response,
        charge: Annotated[Charge, Depends(guard.needs("pages"))],
        page: Annotated[
            str, Path(min_length=1, description="Id or percent-encoded URL.", examples=["https%3A%2F%2Fsqlite.org%2F"])
        ],
    ) -> PageRecord:
        record = to_page_record(await look_up(context, page, charge.sight))
        response.headers["Cache-Control"] = "no-store"
        return record

    return router
