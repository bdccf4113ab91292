"""The OpenAPI document of the API, at /api/v1/openapi.json, with the problems that the API really answers."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.responses import JSONResponse

from streams.gateway.http import examples
from streams.gateway.http.examples import PROBLEM_SCHEMA

ADDRESS = "/api/v1/openapi.json"
DESCRIPTION = """\
Search over single statements, and the whole history of every page that was ever seen.

Every failure is answered with problem details (RFC 9457). Text in answers is plain text, never HTML. Answers only
gain fields within version 1: ignore those that you don't know.
"""


def install(app: FastAPI, public_url: str = "") -> None:
    """Add the document. `public_url` is the gateway's address for programs, or empty if it is not known."""
    app.openapi = lambda: _document(app, public_url)  # type: ignore[method-assign]  # FastAPI documents this as its extension point

    @app.get(ADDRESS, include_in_schema=False)
    async def document() -> JSONResponse:
        return JSONResponse(app.openapi(), headers={"Cache-Control": "public, max-age=300"})


def _document(app: FastAPI, public_url: str) -> dict[str, Any]:
    if app.openapi_schema is None:
        document = get_openapi(
            title="Riffle",
            version="1",
            summary="An open web search engine in which every page transition is an event",
            description=DESCRIPTION,
            routes=app.routes,
            license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        )
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas["Problem"] = PROBLEM_SCHEMA
        for unused in ("HTTPValidationError", "ValidationError"):  # FastAPI's own form, which this API never uses
            schemas.pop(unused, None)
        everywhere = {str(status): response for status, response in examples.EVERYWHERE.items()}
        document["servers"] = [{"url": public_url or "/", "description": "This gateway"}]
        for operation in (operation for path in document["paths"].values() for operation in path.values()):
            operation["responses"].pop("422", None)  # a wrong parameter is answered with 400
            operation["responses"] = {**everywhere, **operation["responses"]}
            if "security" in operation:
                operation["security"] = [{}, *operation["security"]]  # a key is needed only where the operator says so
        app.openapi_schema = document
    return app.openapi_schema
