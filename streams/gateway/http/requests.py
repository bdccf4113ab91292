"""Checks of what a request carries: parameters that its route has, and forms of this site, within limits.

A misspelt parameter would otherwise be ignored, and the answer be another one. A form changes something, so a form of
another site must not reach it: a request that a browser marks as coming from another site is refused (`Sec-Fetch-Site`,
`Origin`). No page needs a secret for that.
"""

from collections.abc import AsyncIterator, Iterable
from difflib import get_close_matches
from typing import TypeVar
from urllib.parse import parse_qs

from fastapi import APIRouter, Depends, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.routing import BaseRoute, Route

from streams.gateway.http.openapi import operation_id
from streams.gateway.http.presentation import clean_line
from streams.gateway.http.problems import Problem, ProblemError, invalid_parameter

Model = TypeVar("Model", bound=BaseModel)
MAX_PARAMETER_CHARS = 60


def api_router(tag: str) -> APIRouter:
    """Return a router of the API: it refuses unknown parameters, and its answers are stored by no cache."""
    return APIRouter(
        prefix="/api/v1",
        tags=[tag],
        dependencies=[Depends(refuse_unknown), Depends(_keep_from_caches)],
        generate_unique_id_function=operation_id,
    )


def compatible_router(prefix: str) -> APIRouter:
    """Return a router that answers as another service does: it takes parameters that it does not know."""
    return APIRouter(prefix=prefix, include_in_schema=False, dependencies=[Depends(_keep_from_caches)])


def answer_head(routes: Iterable[BaseRoute]) -> None:
    """Make each route that answers GET answer HEAD, too (RFC 9110, 9.3.2). The server leaves the content out."""
    for route in routes:
        if isinstance(route, Route | APIRoute) and route.methods and "GET" in route.methods:
            route.methods.add("HEAD")


async def _keep_from_caches(response: Response) -> None:
    response.headers["Cache-Control"] = "no-store"


async def refuse_unknown(request: Request) -> None:
    """Raise ProblemError for a query parameter that the route does not have. A dependency of the routers of the API."""
    route = request.scope["route"]
    assert isinstance(route, APIRoute)
    known = [parameter.alias for parameter in route.dependant.query_params]
    for name in request.query_params:
        if name not in known:
            shown = clean_line(name)[:MAX_PARAMETER_CHARS]
            near = get_close_matches(shown, known, n=1)
            hint = f"Did you mean `{near[0]}`?" if near else f"The parameters are {', '.join(known) or 'none'}."
            raise ProblemError(invalid_parameter(shown, f"There is no parameter {shown}.", hint))


MAX_FORM_BYTES = 20_000
MAX_FORM_FIELDS = 20


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a posted form, the last of each name, and the text of a file. Raises ProblemError."""
    body = await read_bytes(request, MAX_FORM_BYTES, Problem("form-too-large"))
    if request.headers.get("content-type", "").startswith("multipart/form-data"):
        return await _read_parts(request, body)
    try:
        fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MAX_FORM_FIELDS)
    except ValueError:
        raise ProblemError(_invalid()) from None
    return {name: values[-1] for name, values in fields.items()}


async def read_json(request: Request, kind: type[Model], max_bytes: int) -> Model:
    """Return the JSON that was sent, as a model. Raises ProblemError: it is too large, no JSON, or not as described."""
    hint = f"Send at most {max_bytes:,} bytes."
    too_large = Problem("form-too-large", "The body is too large.", hint, title="The request is too large")
    body = await read_bytes(request, max_bytes, too_large)
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
        name = ".".join(clean_line(str(step)) for step in fault["loc"])[:MAX_PARAMETER_CHARS]
        detail = f"{name or 'The body'}: {clean_line(fault['msg'])}."
        raise ProblemError(
            invalid_parameter(name, detail) if name else Problem("invalid-request", detail, "Send a JSON object.")
        ) from None


async def read_bytes(request: Request, max_bytes: int, too_large: Problem) -> bytes:
    """Return the body of a request. Raises ProblemError with this problem for a longer one."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > max_bytes:
            raise ProblemError(too_large)
    return bytes(body)


async def _read_parts(request: Request, body: bytes) -> dict[str, str]:
    async def stream() -> AsyncIterator[bytes]:
        yield body

    try:
        parser = MultiPartParser(request.headers, stream(), max_files=1, max_fields=MAX_FORM_FIELDS)  # type: ignore[arg-type]  # an iterator is enough
        form = await parser.parse()
    except (MultiPartException, KeyError, ValueError):
        raise ProblemError(_invalid()) from None
    fields: dict[str, str] = {}
    for name, value in form.multi_items():
        fields[name] = (await value.read()).decode("utf-8", "replace") if isinstance(value, UploadFile) else value
    await form.close()
    return fields


def refuse_other_sites(request: Request) -> None:
    """Raise ProblemError for a form of another site. A program that sends no such headers is no browser."""
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "same-origin")
    # Compared as text: an origin is a scheme, `://` and the host (RFC 6454, 6.2), and a malformed one is foreign, too.
    foreign = origin is not None and origin.partition("://")[2] != request.headers.get("host", "")
    if site != "same-origin" or foreign:
        raise ProblemError(Problem("foreign-form", "Nothing was written."))


def was_chosen(request: Request, *sites: str) -> bool:
    """Return whether a person went to this address in a browser, from one of these kinds of sites.

    A browser says so in `Sec-Fetch-Mode` and `Sec-Fetch-Site` (W3C Fetch Metadata), which no page can set: an image or
    a script is no `navigate`, and a link of another site is `cross-site`. Over plain http browsers send them only to
    their own machine, and programs send none: neither is counted.
    """
    mode, site = request.headers.get("sec-fetch-mode", ""), request.headers.get("sec-fetch-site", "")
    return mode == "navigate" and site in sites and "prefetch" not in request.headers.get("sec-purpose", "")


def _invalid() -> Problem:
    return Problem("invalid-form", "It has too many fields, or is damaged.")
