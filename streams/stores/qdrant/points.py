"""Points and hits in the form of Qdrant's client, and writes as the JSON of Qdrant's API."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np
import orjson
from qdrant_client import models

from streams.stores.protocols import Hit, Point, SparseVector
from streams.stores.statement_payload import MADE, StatementPayload, id_of
from streams.stores.vector_collection import words_of_audience

EVERYBODYS_WORDS, PRIVATE_WORDS = "sparse", "private"
"""The vectors of words: of the pages for everybody, and of all private audiences. Qdrant counts the statements with a
term for each vector by itself."""


def points_json(points: Sequence[Point]) -> bytes:
    """Return the JSON of a request that writes points (`PointsList` of Qdrant's API).

    The client's own models copy and check each number, and write a float of 32 bits with the digits of 64.
    """
    return orjson.dumps({"points": [_point_row(point) for point in points]}, option=orjson.OPT_SERIALIZE_NUMPY)


def _point_row(point: Point) -> dict[str, Any]:
    vector: dict[str, Any] = {"dense": np.asarray(point.dense, dtype=np.float32)}
    if point.sparse.indices:
        audience = point.payload.audience
        words = words_of_audience(point.sparse, audience)
        vector[PRIVATE_WORDS if audience else EVERYBODYS_WORDS] = {"indices": words.indices, "values": words.values}
    return {"id": str(point.id), "vector": vector, "payload": point.payload.row()}


def selector_json(page_id: UUID, before_generation: int | None, keep: Sequence[UUID]) -> bytes:
    """Return the JSON of a request that deletes points of a page (`FilterSelector` of Qdrant's API).

    Only points below `before_generation` are deleted, if it is given, and none of the points in `keep`.
    """
    must: list[dict[str, Any]] = [{"key": "page_id", "match": {"value": str(page_id)}}]
    if before_generation is not None:
        must.append({"key": "generation", "range": {"lt": before_generation}})
    kept = {"must_not": [{"has_id": list(keep)}]} if keep else {}
    return orjson.dumps({"filter": {"must": must, **kept}})


def audience_json(host: str, audience: str) -> list[tuple[str, bytes]]:
    """Return the requests that give the pages of a domain another audience: the path of each, and its JSON.

    The first one notes which pages are to be made anew: those that do not have this audience yet.
    """
    of_host = {"should": [{"key": key, "match": {"value": host}} for key in ("host", "sites")]}
    has_it = {"key": "audience", "match": {"value": audience}} if audience else {"is_empty": {"key": "audience"}}
    others = {"must": [of_host], "must_not": [has_it]}
    first = {**others, "must": [of_host, {"key": "ordinal", "range": {"lt": 1}}]}
    outdated = {"payload": {f"{MADE}normalize": 0}, "filter": first}
    if audience:
        change = ("points/payload", {"payload": {"audience": audience}, "filter": others})
    else:
        change = ("points/payload/delete", {"keys": ["audience"], "filter": others})
    return [(path, orjson.dumps(body)) for path, body in (("points/payload", outdated), change)]


def sparse_json(sparse: SparseVector) -> orjson.Fragment:
    """Return a vector of words as JSON that may stand in several places of a request."""
    return orjson.Fragment(orjson.dumps({"indices": sparse.indices, "values": sparse.values}))


def vector_json(dense: Sequence[float]) -> orjson.Fragment:
    """Return a vector as JSON that may stand in several places of a request, with the digits of 32 bits."""
    return orjson.Fragment(orjson.dumps(np.asarray(dense, dtype=np.float32), option=orjson.OPT_SERIALIZE_NUMPY))


def floats_of(dense: Sequence[float]) -> list[float]:
    floats: list[float] = np.asarray(dense, dtype=np.float32).tolist()
    return floats


def hit_of(point: models.ScoredPoint) -> Hit:
    return Hit(id_of(str(point.id)), point.score, StatementPayload.of_row(point.payload or {}))


def hit_of_json(point: Mapping[str, Any]) -> Hit:
    return Hit(id_of(point["id"]), point["score"], StatementPayload.of_row(point["payload"] or {}))


def hit_of_record(record: models.Record) -> Hit:
    return Hit(UUID(str(record.id)), 0.0, StatementPayload.of_row(record.payload or {}))
