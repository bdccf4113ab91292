"""Grouped queries, which the engine has not: asked and asked again as Qdrant does, until the groups are full."""

from collections.abc import Mapping
from typing import Any

from streams.local.qdrant_server.collection import Collection
from streams.local.qdrant_server.conditions import merged
from streams.local.qdrant_server.queries import parse_query, point_id, point_json

_ROUNDS = 5
"""As Qdrant: so many requests to find groups, and so many more to fill them."""

Json = dict[str, Any]


class _Groups:
    """The points found so far, by the value that they are grouped by."""

    def __init__(self, field: str, limit: int, size: int) -> None:
        self._field, self._limit, self._size = field, limit, size
        self._hits: dict[Any, list[Any]] = {}
        self.ids: set[Any] = set()

    def add(self, points: list[Any]) -> None:
        for point in points:
            for value in _values(point.payload, self._field):
                self._hits.setdefault(value, []).append(point)
            self.ids.add(point.id)
        for hits in self._hits.values():
            hits.sort(key=lambda point: (-point.score, str(point.id)))

    def best(self) -> list[tuple[Any, list[Any]]]:
        """The best groups, best first, each cut to its size."""
        ordered = sorted(self._hits.items(), key=lambda group: (-group[1][0].score, str(group[1][0].id)))
        return [(value, hits[: self._size]) for value, hits in ordered[: self._limit]]

    def full(self) -> list[Any]:
        return [value for value, hits in self._hits.items() if len(hits) >= self._size]

    def unfilled_best(self) -> list[Any]:
        return [value for value, hits in self.best() if len(hits) < self._size]

    def done(self) -> bool:
        best = self.best()
        return len(best) >= self._limit and all(len(hits) >= self._size for _, hits in best)


def query_groups(collection: Collection, json: Mapping[str, Any]) -> list[Json]:
    """As `POST /collections/{name}/points/query/groups` answers."""
    field, limit, size = json["group_by"], json.get("limit") or 10, json.get("group_size") or 3
    groups = _Groups(field, limit, size)
    for only_unfilled in (False, True):
        for _ in range(_ROUNDS):
            if groups.done():
                break
            points = collection.read(_asked(json, groups, field, limit, size, only_unfilled))
            if not points:
                break
            groups.add(points)
    return _enriched(collection, groups.best(), json)


def _asked(json: Mapping[str, Any], groups: _Groups, field: str, limit: int, size: int, only_unfilled: bool) -> Any:
    known = groups.unfilled_best() if only_unfilled else groups.full()
    kind = "any" if only_unfilled else "except"
    rest: Json = {"must_not": [{"is_empty": {"key": field}}, {"has_id": [point_id(one) for one in groups.ids]}]}
    if known:
        rest["must"] = [{"key": field, "match": {kind: known}}]
    request = {
        **json,
        "limit": limit * size,
        "prefetch": _widened(json.get("prefetch"), limit),
        "filter": merged(json.get("filter"), rest),
        "with_payload": [field],
        "with_vector": False,
    }
    query = parse_query(request)
    return lambda shard: shard.query(query)


def _widened(prefetch: Any, factor: int) -> list[Json]:
    """Prefetches that bring enough for so many groups."""
    listed = [prefetch] if isinstance(prefetch, Mapping) else prefetch or []
    return [
        {**one, "limit": (one.get("limit") or 10) * factor, "prefetch": _widened(one.get("prefetch"), factor)}
        for one in listed
    ]


def _enriched(collection: Collection, groups: list[tuple[Any, list[Any]]], json: Mapping[str, Any]) -> list[Json]:
    """With the payload and the vectors that were asked for."""
    ids = [point.id for _, hits in groups for point in hits]
    payload, vector = json.get("with_payload") or False, json.get("with_vector") or False
    records = {}
    if ids and (payload or vector):
        found = collection.read(lambda shard: shard.retrieve(ids, payload, vector))
        records = {record.id: point_json(record) for record in found}
    return [
        {"id": value, "hits": [{**point_json(point), "payload": None, **records.get(point.id, {})} for point in hits]}
        for value, hits in groups
    ]


def _values(payload: Mapping[str, Any] | None, field: str) -> list[Any]:
    value: Any = payload or {}
    for part in field.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    values = value if isinstance(value, list) else [value]
    return [one for one in values if isinstance(one, str | int) and not isinstance(one, bool)]
