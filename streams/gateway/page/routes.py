"""`/api/v1/pages/{id or URL}` and `/page`: the whole history of a page, and why it is (not) indexed."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request, Response
from starlette.responses import HTMLResponse

from streams.gateway.access.guard import Charge, Guard
from streams.gateway.context import GatewayContext
from streams.gateway.http import openapi
from streams.gateway.http.problems import ProblemError, unknown_page
from streams.gateway.http.requests import api_router
from streams.gateway.http.responses import wants_html
from streams.gateway.http.templates import Views
from streams.gateway.page.lookup import look_up
from streams.gateway.page.response import PageRecord, to_page_record

PROBLEMS = openapi.problem_responses(
    "/api/v1/pages/https://example.org/",
    ("Neither a page's id nor a URL", openapi.INVALID_URL),
    ("Riffle has never seen this page", unknown_page("https://example.org/")),
    *openapi.ACCESS_PROBLEMS,
    ("The records do not answer", openapi.NO_RECORDS),
)


def page_api_routes(context: GatewayContext, guard: Guard) -> APIRouter:
    router = api_router("pages")

    @router.get(
        "/pages/{page:path}",
        summary="Why is a page (not) indexed?",
        description=(
            "The page's status, every event of its history, the record of each stage, its duplicates and the "
            "statements that searches can find. The page is given by its id, or by its percent-encoded URL."
        ),
        responses={200: openapi.json_response("All that is known of the page", "page"), **PROBLEMS},
        response_model_exclude_none=True,
    )
    async def page(
        charge: Annotated[Charge, Depends(guard.needs("pages"))],
        page: Annotated[
            str, Path(min_length=1, description="Id or percent-encoded URL.", examples=["https%3A%2F%2Fsqlite.org%2F"])
        ],
    ) -> PageRecord:
        return to_page_record(await look_up(context, page, charge.visible))

    return router


_NO_STORE = {"Cache-Control": "no-store"}


def page_html_routes(context: GatewayContext, views: Views, guard: Guard) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.get("/page")
    async def page(request: Request, url: str = "") -> Response:
        if not url.strip():
            return HTMLResponse(views.render("page_form.html", request, problem=None))
        charge = await guard.charge_person(request)
        try:
            data = await look_up(context, url, charge.visible)
        except ProblemError as error:
            if not wants_html(request):
                raise
            content = views.render("page_form.html", request, problem=error.problem, subject=url)
            return HTMLResponse(content, error.problem.status, {**_NO_STORE, **error.problem.headers})
        record = to_page_record(data)
        labs = request.app.state.has_labs
        content = views.render("page.html", request, record=record, subject=url, now=context.clock(), labs=labs)
        return HTMLResponse(content, headers=_NO_STORE)

    return router
