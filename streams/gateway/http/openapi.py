"""The OpenAPI document of the API, at /api/v1/openapi.json: the responses of routes, each with an example."""

import copy
import json
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute

from streams.gateway.http import openapi_3_0
from streams.gateway.http.problems import (
    KINDS,
    MEDIA_TYPE,
    Problem,
    foreign_host,
    internal,
    records_unavailable,
    search_unavailable,
)

ADDRESS = "/api/v1/openapi.json"
DESCRIPTION = """\
An open web search engine in which every page transition is an event.

Search over single statements, and the whole history of every page that was ever seen.

Every failure is answered with problem details (RFC 9457). Text in answers is plain text, never HTML. Answers only
gain fields within version 1: ignore those that you don't know.
"""
CONTACT = {"name": "Riffle", "url": "https://github.com/riffle-search/riffle"}
TAGS = {
    "search": "Results, suggestions and feeds.",
    "answers": "Answers by a language model, where one is configured.",
    "content": "The documents, statements and vectors of pages.",
    "pages": "The history of a page.",
    "entities": "Panels of entities.",
    "crawls": "Crawls that a key begins.",
    "writing": "Own pages of a key.",
    "changes": "Webhooks and the stream of pages that became searchable or were removed.",
    "operations": "For operators and load balancers.",
}
"""The groups of operations, with a description of each."""


class ApiModel(BaseModel):
    """A part of an answer of the API. It never changes."""

    model_config = ConfigDict(frozen=True)


def operation_id(route: APIRoute) -> str:
    """Return the name of an operation in the document: the name of its function."""
    return route.name


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
            description=DESCRIPTION,
            routes=_documented(app.routes),
            license_info={"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
            contact=CONTACT,
            tags=[{"name": name, "description": text} for name, text in TAGS.items()],
        )
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas |= {"Problem": PROBLEM_SCHEMA, **_NAMED}
        for unused in ("HTTPValidationError", "ValidationError"):  # FastAPI's own form, which this API never uses
            schemas.pop(unused, None)
        everywhere = {str(status): response for status, response in EVERYWHERE.items()}
        document["servers"] = [{"url": public_url or "/", "description": "This gateway"}]
        for operation in (operation for path in document["paths"].values() for operation in path.values()):
            if MEDIA_TYPE not in operation["responses"].get("422", {}).get("content", {}):
                operation["responses"].pop("422", None)  # a wrong parameter is answered with 400
            operation["responses"] = {**everywhere, **operation["responses"]}
            operation.setdefault("security", [])  # linters want it to be written
            if operation["security"] and not KEYED_TAGS.intersection(operation["tags"]):
                operation["security"] = [{}, *operation["security"]]  # a key is needed only where the operator says so
        app.openapi_schema = openapi_3_0.converted(document)
    return app.openapi_schema


def _documented(routes: Iterable[BaseRoute]) -> list[BaseRoute]:
    """Return the routes without HEAD: each GET answers it, and it needs no operation of its own."""
    documented = []
    for route in routes:
        if isinstance(route, APIRoute) and route.include_in_schema:
            route = copy.copy(route)
            route.methods = (route.methods or set()) - {"HEAD"}
        documented.append(route)
    return documented


_NAMED: dict[str, Any] = {}
"""Schemas of bodies and events, which no answer has, by name. A name makes them types of their own in clients."""


def name_schemas(schemas: Mapping[str, Any]) -> None:
    """Add schemas to each document. Raises ValueError if there is another one with such a name."""
    for name, schema in schemas.items():
        if _NAMED.setdefault(name, schema) != schema:
            raise ValueError(f"there are two schemas with the name {name}")


def reference(name: str) -> dict[str, str]:
    """Return the reference to a schema of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


def body_schema(model: type[BaseModel]) -> dict[str, str]:
    """Return the reference to the schema of a body, which the document then has."""
    name_schemas({model.__name__: model.model_json_schema()})
    return reference(model.__name__)


Responses = dict[int | str, dict[str, Any]]
"""The answers of a route by their status, as OpenAPI describes them."""
EXAMPLES: dict[str, dict[str, Any]] = json.loads(
    resources.files(__package__).joinpath("examples.json").read_text("utf-8")
)
"""An example of each answer, by its name. A test validates each against its schema."""
EXAMPLES["crawls"] = {"crawls": [EXAMPLES["crawl"]]}
EXAMPLES["words"] = {"synonyms": [["k8s", "kubernetes"]], "pinned": {"download": "https://docs.example/install"}}
EXAMPLES["hooks"] = {"hooks": [EXAMPLES["hook"]]}
EXAMPLES["entity"] = {"query": "albedo", "panel": EXAMPLES["panel"]}

KEYED_TAGS = frozenset({"crawls", "writing", "changes"})
"""Tags of the operations that nobody may use without a key."""

NO_QUERY = Problem("query-empty", "No query was given.", "Type the words that you are looking for.", "q")
NO_SEARCH = search_unavailable("The index does not answer.")
NO_RECORDS = records_unavailable("The store of page records does not answer.")
INVALID_URL = Problem(
    "invalid-url",
    "Scheme: ftp is not http or https.",
    "Give one like `https://sqlite.org/wal.html`, or a page's id.",
    "url",
)
_TYPE = (
    "The kind of problem, as `urn:riffle:problem:<kind>`. The kinds are "
    + ", ".join(f"`{kind}`" for kind in KINDS)
    + ". Version 1 may gain kinds: handle one that you don't know by its status."
)
PROBLEM_SCHEMA: dict[str, Any] = {
    "title": "Problem",
    "description": "Problem details, RFC 9457.",
    "type": "object",
    "required": ["type", "title", "status"],
    "properties": {
        "type": {"type": "string", "format": "uri", "description": _TYPE},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What happened this time."},
        "instance": {"type": "string", "description": "The path of the request."},
        "hint": {"type": "string", "description": "What to do."},
        "parameter": {"type": "string", "description": "The parameter at fault."},
    },
}


def json_response(description: str, example: str) -> dict[str, Any]:
    """Return the answer of a route, with the example of this name (`examples.json`)."""
    return {"description": description, "content": {"application/json": {"example": EXAMPLES[example]}}}


def written_response(model: type[BaseModel], description: str, example: str) -> dict[str, Any]:
    """Return the answer of a route that writes its bytes itself, so that FastAPI does not know their model."""
    return {"model": model, **json_response(description, example)}


def problem_responses(path: str, *problems: tuple[str, Problem]) -> Responses:
    """Return the problems of a path by their status, each with its description and an example."""
    schema = reference("Problem")
    return {
        problem.status: {
            "description": description,
            "content": {MEDIA_TYPE: {"schema": schema, "example": problem.to_json(path)}},
        }
        for description, problem in problems
    }


ACCESS_PROBLEMS = (
    ("No key, or a wrong one", Problem("key-refused", "The key has expired.")),
    ("The key does not allow this", Problem("scope-missing", "The key does not have the scope `search`.")),
    ("The budget is spent", Problem("too-many-requests", "The budget of work is spent: of this minute.")),
    ("The store of keys does not answer", records_unavailable("The store of keys does not answer.")),
)
"""The problems of every request that may need a key."""
EVERYWHERE = problem_responses(
    "/api/v1/search",
    ("The request is for a name that is not this gateway's", foreign_host("evil.example")),
    ("A fault in the gateway", internal()),
)
"""The problems of every request."""

METRICS = 'riffle_gateway_requests_total{method="GET",route="/api/v1/search",status="200"} 12.0\n'
