"""`/labs/page` and `/labs/statements`: a page taken apart, and its statements, for people."""

import asyncio
from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from streams.gateway.access.sight import Sight
from streams.gateway.context import GatewayContext
from streams.gateway.http.templates import Views
from streams.gateway.labs.capacity import LabsCapacity
from streams.gateway.labs.explainer import Explainer
from streams.gateway.labs.statements_view import KINDS, SHOWN, read_request, statements_view
from streams.gateway.labs.view import labs_view
from streams.gateway.page.lookup import look_up


def labs_routes(
    context: GatewayContext, explainer: Explainer, views: Views, sight_of: Callable[[], Awaitable[Sight]]
) -> APIRouter:
    """Return the routes. `sight_of`: returns the pages that people may see who open them."""
    router = APIRouter(include_in_schema=False)
    capacity = LabsCapacity()

    @router.api_route("/labs/page", methods=["GET", "HEAD"])
    async def labs(request: Request, url: str = "") -> Response:
        data = await look_up(context, url, await sight_of())
        async with capacity.slot():
            view = await labs_view(context, explainer, data)
            # In a thread: the page may have a million characters, and other requests are answered meanwhile.
            content = await asyncio.to_thread(views.render, "labs_page.html", request, view=view)
        return HTMLResponse(content, headers={"Cache-Control": "no-store"})

    @router.api_route("/labs/statements", methods=["GET", "HEAD"])
    async def statements(
        request: Request, url: str = "", show: str = "", kind: str = "", words: str = "", ask: str = "", start: int = 0
    ) -> Response:
        data = await look_up(context, url, await sight_of())
        async with capacity.slot():
            view = await statements_view(context, data, read_request(show, kind, words, ask, start))
            content = await asyncio.to_thread(
                views.render, "labs_statements.html", request, view=view, shown=SHOWN, kinds=KINDS
            )
        return HTMLResponse(content, headers={"Cache-Control": "no-store"})

    return router
