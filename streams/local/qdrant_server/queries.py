"""Points, queries and filters (with Riffle's conditions): from the API's JSON to the engine's objects, and back."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

import qdrant_edge as edge

from streams.local.qdrant_server.errors import BadRequest

Json = Mapping[str, Any]
PointId = str | int
DEFAULT_LIMIT = 10
"""Number of results of a request without a limit, as in Qdrant."""


def parse_point(json: Json) -> Any:
    vector = json["vector"]
    if isinstance(vector, Mapping):
        vector = {name: parse_vector(one) for name, one in vector.items()}
    return edge.Point(json["id"], vector, dict(json.get("payload") or {}))


def parse_vector(json: Json | Sequence[float]) -> Any:
    if isinstance(json, Mapping):
        return edge.SparseVector(json["indices"], json["values"])
    return json  # the engine makes its own floats, of integers too


def parse_query(json: Json) -> Any:
    return edge.QueryRequest(
        limit=_parse_limit(json),
        offset=json.get("offset"),
        query=_parse_nearest(json),
        filter=parse_filter(json.get("filter")),
        score_threshold=json.get("score_threshold"),
        params=_parse_params(json.get("params")),
        with_payload=_parse_payload_selector(json.get("with_payload"), False),
        with_vector=_parse_vector_selector(json.get("with_vector")),
    )


def parse_scroll(json: Json) -> Any:
    return edge.ScrollRequest(
        offset=json.get("offset"),
        limit=_parse_limit(json),
        filter=parse_filter(json.get("filter")),
        with_payload=_parse_payload_selector(json.get("with_payload"), True),
        with_vector=_parse_vector_selector(json.get("with_vector")),
    )


def parse_selectors(json: Json) -> tuple[Any, Any]:
    """Return the parts of points that are returned: of the payload, and of the vectors."""
    return _parse_payload_selector(json.get("with_payload"), True), _parse_vector_selector(json.get("with_vector"))


def point_json(point: Any) -> dict[str, Any]:
    """Return a scored point or a record as the API's JSON."""
    json = {"id": point_id(point.id), "payload": point.payload}
    if point.vector is not None:
        json["vector"] = _vector_json(point.vector)
    if hasattr(point, "score"):
        json |= {"score": point.score, "version": point.version}
    return json


def point_id(value: UUID | int | None) -> str | int | None:
    return str(value) if isinstance(value, UUID) else value


def _vector_json(vector: Any) -> Any:
    if isinstance(vector, Mapping):
        return {name: _vector_json(one) for name, one in vector.items()}
    if isinstance(vector, edge.SparseVector):
        return {"indices": list(vector.indices), "values": list(vector.values)}
    return vector


def _parse_nearest(json: Json) -> Any:
    """Return the vector that ranks the points, or None for the order of ids."""
    query = json.get("query")
    if query is None:
        return None
    if isinstance(query, Mapping):
        query = query.get("nearest", query)
        if isinstance(query, Mapping) and "indices" not in query:
            raise BadRequest(f"Format error in JSON body: this server knows no query with {', '.join(query)}")
    if isinstance(query, str | int):
        raise BadRequest("Format error in JSON body: this server takes vectors, not ids of points, as a query")
    return edge.Query.Nearest(parse_vector(query), using=json.get("using"))


def _parse_params(json: Json | None) -> Any:
    if not json:
        return None
    quantization = json.get("quantization")
    return edge.SearchParams(
        hnsw_ef=json.get("hnsw_ef"),
        exact=bool(json.get("exact")),
        indexed_only=bool(json.get("indexed_only")),
        idf=edge.IdfParams(parse_filter(json["idf"]["corpus"])) if json.get("idf") else None,
        quantization=None
        if quantization is None
        else edge.QuantizationSearchParams(
            bool(quantization.get("ignore")), quantization.get("rescore"), quantization.get("oversampling")
        ),
    )


def _parse_limit(json: Json) -> int:
    limit = json.get("limit")
    if limit is None:
        return DEFAULT_LIMIT
    if not isinstance(limit, int) or limit < 1:
        raise BadRequest(f"Validation error in JSON body: [limit: value {limit} invalid, must be 1 or larger]")
    return limit


def _parse_payload_selector(json: Any, default: bool) -> Any:
    if json is None:
        return default
    if isinstance(json, Mapping):
        if "include" in json:
            return edge.PayloadSelector.Include(json["include"])
        return edge.PayloadSelector.Exclude(json["exclude"])
    return json


def _parse_vector_selector(json: Any) -> Any:
    return False if json is None else json


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
    if "is_empty" in json:
        _allow_only(json, {"is_empty"}, "condition of an empty field")
        return edge.IsEmptyCondition(json["is_empty"]["key"])
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
