"""The OpenAPI document as version 3.0 has it: generators of clients in Go and Rust read no later one. Pure.

FastAPI writes 3.1. Null is no value in this API: an answer leaves out what has no value, and so may a request.
"""

import json
from typing import Any

VERSION = "3.0.3"
_OF_SCHEMAS = ("anyOf", "oneOf", "allOf")


def converted(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document in version 3.0."""
    schemas = document["components"]["schemas"]
    made = _walk({**document, "openapi": VERSION})
    made["components"]["schemas"] = {name: _schema(schema) for name, schema in schemas.items()}
    return made  # type: ignore[no-any-return]  # a dictionary, as it was


def _walk(node: Any) -> Any:
    """Return a part of the document with each schema in it converted. Examples stay as they are."""
    if isinstance(node, list):
        return [_walk(each) for each in node]
    if not isinstance(node, dict):
        return node
    return {
        name: value if name in ("example", "examples") else _schema(value) if name == "schema" else _walk(value)
        for name, value in node.items()
    }


def _schema(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema  # `additionalProperties: true`
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}  # what stands beside it does not count in 3.0
    made = {name: value for name, value in schema.items() if name not in ("title", "examples", "prefixItems", "const")}
    if "const" in schema:
        made["enum"] = [schema["const"]]
    if schema.get("examples"):
        made["example"] = schema["examples"][0]
    if "prefixItems" in schema and "items" not in schema:
        kinds = list({json.dumps(each, sort_keys=True): each for each in schema["prefixItems"]}.values())
        made["items"] = kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    for bound, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if bound in schema:
            made |= {limit: schema[bound], bound: True}
    for name in _OF_SCHEMAS:
        if name in made:
            made[name] = [_schema(each) for each in made[name] if each.get("type") != "null"]
    for name in ("items", "additionalProperties"):
        if name in made:
            made[name] = _schema(made[name])
    if "properties" in made:
        made["properties"] = {name: _schema(value) for name, value in made["properties"].items()}
    if made.get("default", "") is None or isinstance(made.get("default"), dict):
        made.pop("default")  # no generator can make an object of a default, and an empty one says nothing
    return _merged(made) if len(made.get("anyOf", ())) == 1 else made


def _merged(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema whose only choice is a part of itself."""
    (only,) = schema.pop("anyOf")
    return only if "$ref" in only else {**only, **schema}
