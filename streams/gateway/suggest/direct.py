"""ASGI middleware that answers `/api/v1/suggest` before the routes are looked through.

People type several letters a second, so suggestions are asked far more often than anything else. Routes and parameters
by FastAPI take two thirds of the time of an answer (`python -m benchmarks suggest`), so a plain request is answered
here. Any other one (another method, another parameter, a wrong value) goes on to the route, which says what is wrong.
The answer is made by the same function.
"""

from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from urllib.parse import parse_qsl

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

PATH = "/api/v1/suggest"
MAX_CHARS, MAX_LANGUAGE_CHARS = 1_000, 20
"""Maximum length of what was typed, and of the tag of a language (characters)."""
_MAX_QUERY_BYTES = 4_096
_ROUTE = SimpleNamespace(path=PATH)
Answer = Callable[[str, str], Awaitable[Response]]
"""Return the answer for what was typed, and a language."""


class DirectSuggestions:
    """Middleware that answers plain requests for suggestions."""

    def __init__(self, app: ASGIApp, answer: Answer) -> None:
        self._app, self._answer = app, answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != PATH or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        given = read_parameters(scope["query_string"])
        if given is None:
            await self._app(scope, receive, send)
            return
        scope["route"] = _ROUTE  # the name of the request in the metrics
        response = await self._answer(*given)
        await response(scope, receive, send)


def read_parameters(query_string: bytes) -> tuple[str, str] | None:
    """Return what was typed, and the language; None if the request has anything else."""
    if len(query_string) > _MAX_QUERY_BYTES:
        return None
    values: dict[str, str] = {}
    for name, value in parse_qsl(query_string.decode("latin-1"), keep_blank_values=True):
        if name not in ("q", "language") or name in values:
            return None
        values[name] = value
    typed, language = values.get("q", ""), values.get("language", "")
    return (typed, language) if len(typed) <= MAX_CHARS and len(language) <= MAX_LANGUAGE_CHARS else None
