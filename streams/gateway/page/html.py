"""`/page`: why a page is (not) indexed, for people."""

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from streams.gateway.access.guard import Guard
from streams.gateway.context import GatewayContext
from streams.gateway.http.negotiation import wants_html
from streams.gateway.http.problems import ProblemError
from streams.gateway.http.templates import Views
from streams.gateway.page.lookup import look_up
from streams.gateway.page.response import to_page_record

_NO_STORE = {"Cache-Control": "no-store"}


def page_html_routes(context: GatewayContext, views: Views, guard: Guard) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.api_route("/page", methods=["GET", "HEAD"])
    async def page(request: Request, url: str = "") -> Response:
        if not url.strip():
            return HTMLResponse(views.render("page_form.html", request, problem=None))
        try:
            data = await look_up(context, url, await guard.sight_of_people())
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
