"""`/api/v1/schemas`: the JSON Schemas of all events, and `/api/v1/asyncapi.json`: the topics that they are sent on.

They are the files of `schemas/generated`, which the package has with it. `dataschema` of an event names its schema by a
URN, or leads here where the gateway knows its public address.
"""

from collections.abc import Mapping
from functools import cache
from importlib import resources

import orjson
from fastapi import APIRouter
from starlette.responses import Response

from schemas import EVENTS
from schemas.envelope import SCHEMA_PREFIX, schema_id_of
from streams.gateway.http.problems import Problem, ProblemError
from streams.hooks.signing import SCHEMAS_PATH, schema_path
from streams.knowledge.own import SCHEMA_ID

MEDIA_TYPE = "application/schema+json"
HEADERS = {"Cache-Control": "public, max-age=300"}
FILES: Mapping[str, str] = {
    **{schema_id_of(event.event_type()): f"{event.topic}.schema.json" for event in EVENTS},
    SCHEMA_ID: "own-entity.schema.json",
}
"""The file of each schema, by its name."""


def schema_routes() -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.get(SCHEMAS_PATH)
    async def schemas() -> Response:
        found = [{"id": name, "self": schema_path(name)} for name in FILES]
        return _answer(orjson.dumps({"schemas": found}), "application/json")

    @router.get(f"{SCHEMAS_PATH}/{{name}}")
    async def schema(name: str) -> Response:
        """Return a schema by its name, or by the last part of that."""
        file = FILES.get(name) or FILES.get(f"{SCHEMA_PREFIX}{name}")
        if file is None:
            raise ProblemError(Problem("not-found", "There is no such schema.", f"All of them are at {SCHEMAS_PATH}."))
        return _answer(_read(file), MEDIA_TYPE)

    @router.get("/api/v1/asyncapi.json")
    async def asyncapi() -> Response:
        return _answer(_read("asyncapi.json"), "application/json")

    return router


@cache
def _read(file: str) -> bytes:
    return resources.files("schemas").joinpath("generated", file).read_bytes()


def _answer(content: bytes, media_type: str) -> Response:
    return Response(content, headers=HEADERS, media_type=media_type)
