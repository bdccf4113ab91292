"""Filters: from the API's JSON to the engine's objects. The conditions are those that Riffle uses."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

import qdrant_edge as edge

from streams.local.qdrant_server.errors import BadRequest

Json = Mapping[str, Any]

_MATCHES: dict[str, Callable[[Any], Any]] = {
    "value": edge.MatchValue,
    "any": edge.MatchAny,
    "text": edge.MatchText,
    "phrase": edge.MatchPhrase,
}


def parse_filter(json: Json | None) -> Any:
    """Return the engine's Filter, or None. Raises BadRequest for an unknown field."""
    if json is None:
        return None
    _allow_only(json, {"must", "should", "must_not"}, "filter")
    return edge.Filter(
        must=_parse_conditions(json.get("must")),
        should=_parse_conditions(json.get("should")),
        must_not=_parse_conditions(json.get("must_not")),
    )


def _parse_conditions(json: Json | Sequence[Json] | None) -> list[Any] | None:
    if json is None:
        return None
    return [_parse_condition(one) for one in ([json] if isinstance(json, Mapping) else json)]


def _parse_condition(json: Json) -> Any:
    if not isinstance(json, Mapping):
        raise BadRequest(f"Format error in JSON body: a condition must be an object, not {json!r}")
    if "has_id" in json:
        _allow_only(json, {"has_id"}, "id condition")
        return edge.HasIdCondition({UUID(one) if isinstance(one, str) else one for one in json["has_id"]})
    return _parse_field(json) if "key" in json else parse_filter(json)


def _parse_field(json: Json) -> Any:
    _allow_only(json, {"key", "match", "range"}, "field condition")
    condition: dict[str, Any] = {
        "match": _parse_match(json["match"]) if json.get("match") is not None else None,
        "range": _parse_range(json["range"]) if json.get("range") is not None else None,
    }
    if all(part is None for part in condition.values()):
        raise BadRequest("Validation error in JSON body: at least one field condition must be specified")
    return edge.FieldCondition(json["key"], **condition)


def _parse_match(json: Json) -> Any:
    _allow_only(json, set(_MATCHES), "match")
    if len(json) != 1:
        raise BadRequest(f"Format error in JSON body: a match has one of {', '.join(_MATCHES)}")
    ((kind, value),) = json.items()
    return _MATCHES[kind](value)


def _parse_range(json: Json) -> Any:
    _allow_only(json, {"gt", "gte", "lt", "lte"}, "range")
    return edge.RangeFloat(**{name: bound for name, bound in json.items() if bound is not None})


def _allow_only(json: Json, known: set[str], part: str) -> None:
    unknown = sorted(name for name, value in json.items() if name not in known and value is not None)
    if unknown:
        raise BadRequest(f"Format error in JSON body: unknown {part} field `{unknown[0]}`")
