"""Pure functions that make one answer of the answers of several shards. No point is in two shards."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from streams.local.qdrant_server.errors import BadRequest
from streams.local.qdrant_server.frequencies import inverse_frequencies
from streams.local.qdrant_server.queries import DEFAULT_LIMIT, PointId

Json = Mapping[str, Any]

_NO_CORPUS: Json = {"corpus": {"must": [{"has_id": []}]}}
"""An empty population of IDF: over it, the engine gives all terms the same weight, which is ln 2."""
_ENGINE_WEIGHT = math.log(2)
_ASCENDING = ("Euclid", "Manhattan")
"""Distances whose best point is the one with the lowest score."""


def weighted_terms(request: Json, idf: frozenset[str]) -> tuple[str, Sequence[int], Json | None] | None:
    """Return what the weights of a request's terms need: its sparse vector, its terms, and the population to count.
    None if its terms have no weights."""
    name, sparse = request.get("using"), _nearest(request)
    if name not in idf or not isinstance(sparse, Mapping) or "indices" not in sparse:
        return None
    wanted = (request.get("params") or {}).get("idf")
    return name, sparse["indices"], wanted["corpus"] if wanted else None


def with_weights(request: Json, statistics: Sequence[tuple[int, Sequence[int]]]) -> dict[str, Any]:
    """Return the request with its terms weighted by how rare they are in all shards together, instead of in each."""
    points = sum(of_shard for of_shard, _ in statistics)
    counts = [sum(each) for each in zip(*(counted for _, counted in statistics), strict=True)]
    sparse = _nearest(request)
    if len(sparse["values"]) != len(sparse["indices"]):
        raise BadRequest("Validation error in JSON body: [sparse vector: must be the same length as indices]")
    weights = inverse_frequencies(points, counts)
    values = [value * weight / _ENGINE_WEIGHT for value, weight in zip(sparse["values"], weights, strict=True)]
    query = {"nearest": {"indices": sparse["indices"], "values": values}}
    return {**request, "query": query, "params": {**(request.get("params") or {}), "idf": _NO_CORPUS}}


def for_shard(request: Json) -> dict[str, Any]:
    """Return the request to each shard: which points a page skips is known when all have answered."""
    limit, offset = _limit(request), request.get("offset") or 0
    return {**request, "limit": limit + offset, "offset": None}


def merge_scored(
    request: Json, description: Json, found: Sequence[Sequence[tuple[float, PointId, int]]]
) -> list[tuple[float, PointId, int]]:
    """Return the best points of all shards."""
    if request.get("query") is None:
        together = sorted((point for points in found for point in points), key=lambda point: id_order(point[1]))
    else:
        sign = 1 if _is_ascending(request, description) else -1
        together = sorted((point for points in found for point in points), key=lambda point: sign * point[0])
    offset = request.get("offset") or 0
    return together[offset : offset + _limit(request)]


def merge_ids(found: Sequence[Sequence[PointId]], limit: int | None) -> tuple[list[PointId], PointId | None]:
    """Return a scroll's ids in their order, and the first id of the next page."""
    limit = DEFAULT_LIMIT if limit is None else limit
    together = sorted((id for ids in found for id in ids), key=id_order)
    return together[:limit], together[limit] if len(together) > limit else None


def id_order(id: PointId) -> tuple[bool, PointId]:
    """Numbers come before UUIDs, as in the engine."""
    return isinstance(id, str), id


def record_json(id: PointId, parts: Mapping[str, bytes]) -> dict[str, Any]:
    """Return a point as the API's JSON."""
    return {"id": id, "payload": None} | {name: orjson.Fragment(part) for name, part in parts.items()}


def scored_json(point: tuple[float, PointId, int], parts: Mapping[str, bytes]) -> dict[str, Any]:
    score, id, version = point
    return {**record_json(id, parts), "score": score, "version": version}


def _nearest(request: Json) -> Any:
    query = request.get("query")
    return query.get("nearest", query) if isinstance(query, Mapping) else query


def _limit(request: Json) -> int:
    limit = request.get("limit")
    if limit is None:
        return DEFAULT_LIMIT
    if not isinstance(limit, int) or limit < 1:
        raise BadRequest(f"Validation error in JSON body: [limit: value {limit} invalid, must be 1 or larger]")
    return limit


def _is_ascending(request: Json, description: Json) -> bool:
    vectors = description.get("vectors") or {}
    params = vectors if "size" in vectors else vectors.get(request.get("using") or "", {})
    return params.get("distance") in _ASCENDING
