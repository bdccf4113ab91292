"""Cross-origin requests of other sites' scripts to the API (CORS), for the origins that the operator names.

Only paths of the API answer them, never a page, a form or an operator's route, and never with cookies. A script sends
its key itself.
"""

from collections.abc import Sequence

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

API_PATH = "/api/"
REMEMBERED_SECONDS = 600
"""Time for which a browser remembers the answer to a preflight request."""
EXPOSED = ("RateLimit", "RateLimit-Policy", "Retry-After")
"""Headers of an answer that scripts may read, beside those that CORS always allows."""


class ApiCors:
    """ASGI middleware: Starlette's own for paths of the API, and nothing for all others."""

    def __init__(self, app: ASGIApp, origins: Sequence[str]) -> None:
        self._app = app
        self._api = CORSMiddleware(
            app,
            allow_origins=origins,
            allow_methods=("GET", "POST"),
            allow_headers=("Authorization", "Content-Type", "Accept"),
            expose_headers=EXPOSED,
            max_age=REMEMBERED_SECONDS,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_api = scope["type"] == "http" and scope["path"].startswith(API_PATH)
        await (self._api if is_api else self._app)(scope, receive, send)


def install(app: FastAPI, origins: Sequence[str]) -> None:
    """Let scripts of these origins ask the API. Without origins nothing is installed."""
    if origins:
        app.add_middleware(ApiCors, origins=origins)
