"""`/labs/page` and `/labs/statements`: a page taken apart, and its statements, for people.

Only a few are made at the same time: each page reads, decodes and shows up to 10 MB.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from streams.gateway.context import GatewayContext
from streams.gateway.http.problems import Problem, ProblemError
from streams.gateway.http.templates import Views
from streams.gateway.labs.explainer import Explainer
from streams.gateway.labs.statements_view import KINDS, SHOWN, read_request, statements_view
from streams.gateway.labs.view import labs_view
from streams.gateway.page.lookup import look_up
from streams.stores.protocols import Visible


def labs_routes(
    context: GatewayContext, explainer: Explainer, views: Views, visible_to: Callable[[], Awaitable[Visible]]
) -> APIRouter:
    """Return the routes. `visible_to`: returns the pages that people may see who open them."""
    router = APIRouter(include_in_schema=False)
    capacity = LabsCapacity()

    @router.get("/labs/page")
    async def labs(request: Request, url: str = "") -> Response:
        data = await look_up(context, url, await visible_to())
        async with capacity.slot():
            view = await labs_view(context, explainer, data)
            # In a thread: the page may have a million characters, and other requests are answered meanwhile.
            content = await asyncio.to_thread(views.render, "labs_page.html", request, view=view)
        return HTMLResponse(content, headers={"Cache-Control": "no-store"})

    @router.get("/labs/statements")
    async def statements(
        request: Request, url: str = "", show: str = "", kind: str = "", words: str = "", ask: str = "", start: int = 0
    ) -> Response:
        data = await look_up(context, url, await visible_to())
        async with capacity.slot():
            view = await statements_view(context, data, read_request(show, kind, words, ask, start))
            content = await asyncio.to_thread(
                views.render, "labs_statements.html", request, view=view, shown=SHOWN, kinds=KINDS
            )
        return HTMLResponse(content, headers={"Cache-Control": "no-store"})

    return router


AT_ONCE = 2
"""Maximum labs pages that are made at the same time."""
MAX_WAITING = 8
"""Maximum labs pages that wait. Further pages are refused."""
RETRY_AFTER_SECONDS = 10


class LabsCapacity:
    """The slots for labs pages of one gateway process."""

    def __init__(self, at_once: int = AT_ONCE, max_waiting: int = MAX_WAITING) -> None:
        self._slots = asyncio.Semaphore(at_once)
        self._max = at_once + max_waiting
        self._inside = 0

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a slot, and hold it. Raises ProblemError when MAX_WAITING pages wait already."""
        if self._inside >= self._max:
            headers = {"Retry-After": str(RETRY_AFTER_SECONDS)}
            why, hint = "Each of them takes a second or more.", "Try again in a few seconds."
            raise ProblemError(Problem("labs-busy", why, hint, headers=headers))
        self._inside += 1
        try:
            async with self._slots:
                yield
        finally:
            self._inside -= 1
