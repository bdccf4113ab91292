"""The answer to every failure: a page for people, problem+json for programs and for everything under /api."""

import orjson
import structlog
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Match

from streams.errors import InvalidQuery, SearchUnavailable
from streams.gateway.http.presentation import clean_line
from streams.gateway.http.problem_forms import form_of
from streams.gateway.http.problems import (
    MEDIA_TYPE,
    Problem,
    ProblemError,
    internal,
    invalid_parameter,
    invalid_query,
    of_status,
    search_unavailable,
)
from streams.gateway.http.templates import Views
from streams.search.request import empty_query

log = structlog.get_logger(__name__)


def install(app: FastAPI, views: Views) -> None:
    """Make every failure of the app a problem."""

    async def on_failure(request: Request, error: Exception) -> Response:
        return respond(request, _problem_of(request, error), views)

    async def on_gone(request: Request, error: Exception) -> Response:
        # No fault of the gateway: the client went, or was cut off, while its body was read. Nobody reads this answer.
        return Response(status_code=400)

    for kind in (ProblemError, InvalidQuery, SearchUnavailable, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, on_failure)
    app.add_exception_handler(ClientDisconnect, on_gone)


def _problem_of(request: Request, error: Exception) -> Problem:
    """Return the problem of a failure. An unexpected error goes to the log."""
    match error:
        case ProblemError():
            return error.problem
        case InvalidQuery():
            return invalid_query(error)
        case SearchUnavailable():
            return search_unavailable(str(error), error.__cause__)
        case RequestValidationError():
            return _first_fault(error)
        case HTTPException(status_code=405):
            return of_status(405, str(error.detail), {"Allow": ", ".join(_allowed(request))})
        case HTTPException():
            return of_status(error.status_code, str(error.detail), dict(error.headers or {}))
    log.error("a request failed with an unexpected error", path=request.url.path, exc_info=error)
    return internal()


def _allowed(request: Request) -> list[str]:
    """Return the methods of all routes of a path. The framework names only the methods of its first route."""
    routes = [route for route in request.app.router.routes if route.matches(request.scope)[0] is not Match.NONE]
    return sorted({method for route in routes for method in getattr(route, "methods", None) or ()})


def respond(request: Request, problem: Problem, views: Views) -> Response:
    """Return the problem as a page for people or as JSON for programs, in the form of the API that was asked."""
    if form := form_of(request.url.path):
        headers = {"Cache-Control": "no-store", **problem.headers}
        return Response(orjson.dumps(form(problem)), problem.status, headers, media_type="application/json")
    if wants_html(request):
        content = views.render("problem.html", request, problem=problem, **_search_box(request))
        return HTMLResponse(content, status_code=problem.status, headers={"Vary": "Accept", **problem.headers})
    return problem_response(problem, request.url.path)


def _search_box(request: Request) -> dict[str, str]:
    """Return the content of the search box and its filters, so that a person can correct a wrong query."""
    given = {name: clean_line(request.query_params.get(name, "")) for name in ("q", "host", "language")}
    path = "/" + request.url.path.lstrip("/")  # `//host/` would lead to another site
    retry = f"{path}?{request.url.query}" if request.url.query else path
    return {"query": given["q"], "host": given["host"], "language": given["language"], "retry": retry}


def problem_response(problem: Problem, instance: str = "") -> Response:
    # orjson refuses lone surrogates. A URL holds none, since its bytes are decoded with replacement.
    return Response(
        orjson.dumps(problem.to_json(instance)),
        status_code=problem.status,
        media_type=MEDIA_TYPE,
        headers={"Vary": "Accept", "Cache-Control": "no-store", **problem.headers},
    )


def _first_fault(error: RequestValidationError) -> Problem:
    """Return the problem of the first wrong parameter: one clear sentence instead of a list."""
    fault = error.errors()[0]
    location = [str(step) for step in fault["loc"]]
    name = location[-1]
    if name == "q" and fault["type"] == "missing":
        return invalid_query(empty_query())
    return invalid_parameter(name, f"{name}: {fault['msg']}.")


def wants_html(request: Request) -> bool:
    """Return True if the answer is a page: never under /api and for tools, elsewhere by the Accept header."""
    if request.url.path.startswith(("/api/", "/.well-known/", "/mcp", "/healthz", "/readyz", "/metrics")):
        return False
    return prefers_html(request.headers.get("accept", ""))


def prefers_html(accept: str) -> bool:
    """Return True if the header prefers HTML (RFC 9110, section 12.5.1), prefers nothing, or is empty."""
    if not accept.strip():
        return True
    html = _quality(accept, "text/html")
    json = max(_quality(accept, "application/json"), _quality(accept, MEDIA_TYPE))
    return html >= json


def _quality(accept: str, media_type: str) -> float:
    """Return the quality that the most specific matching range gives to the type; 0 when none matches."""
    best_specificity, quality = -1, 0.0
    for item in accept.split(","):
        accepted, *parameters = (part.strip().lower() for part in item.split(";"))
        specificity = _specificity(accepted, media_type)
        if specificity > best_specificity:
            best_specificity, quality = specificity, _q_of(parameters)
    return quality


def _specificity(accepted: str, media_type: str) -> int:
    """Return 2 for the type itself, 1 for `text/*`, 0 for `*/*`, -1 for no match."""
    if accepted == media_type:
        return 2
    if accepted == media_type.partition("/")[0] + "/*":
        return 1
    return 0 if accepted == "*/*" else -1


def _q_of(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return min(max(float(value), 0.0), 1.0)
            except ValueError:
                return 0.0
    return 1.0
