"""Requests to all shards at once, and the one answer of them: searches, points by their ids, pages of points.

The caller keeps the shards as they are meanwhile.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from streams.local.qdrant_server.merging import (
    for_shard,
    merge_ids,
    merge_scored,
    record_json,
    scored_json,
    weighted_terms,
    with_weights,
)
from streams.local.qdrant_server.queries import PointId
from streams.local.qdrant_server.shard import plain_id
from streams.local.qdrant_server.shard_config import with_idf
from streams.local.qdrant_server.shard_process import ShardProcess, ask, ask_each

Json = Mapping[str, Any]


def query(shards: Sequence[ShardProcess], requests: Sequence[Json], description: Json) -> list[list[dict[str, Any]]]:
    """Return the best points of each request, with what it wants of them."""
    requests = _weigh(shards, requests, with_idf(description))
    found = ask(shards, "query", [for_shard(request) for request in requests])
    best = [
        merge_scored(request, description, [of_shard[number] for of_shard in found])
        for number, request in enumerate(requests)
    ]
    return _complete(shards, requests, best, found)


def retrieve(shards: Sequence[ShardProcess], request: Json) -> list[dict[str, Any]]:
    """Return points by their ids, in the order of the request."""
    ids = list(dict.fromkeys(map(plain_id, request["ids"])))
    found = fetch(shards, [{**_selectors(request, True), "ids": ids}] * len(shards), "fetch")
    return [record_json(id, found[id]) for id in ids if id in found]


def scroll(shards: Sequence[ShardProcess], request: Json) -> tuple[list[dict[str, Any]], PointId | None]:
    """Return a page of points by their ids, and the first id of the next page."""
    found = ask(shards, "scroll", request)
    ids, following = merge_ids(found, request.get("limit"))
    wanted, selectors = set(ids), _selectors(request, True)
    parts = fetch(shards, [{**selectors, "ids": [id for id in here if id in wanted]} for here in found])
    return [record_json(id, parts[id]) for id in ids], following


def fetch(shards: Sequence[ShardProcess], wanted: Sequence[Json], call: str = "fetch_found") -> dict[PointId, Any]:
    """Return the parts of points, of a request to each shard. They were found there, unless `call` is `fetch`."""
    calls = [(shard, (one,)) for shard, one in zip(shards, wanted, strict=True) if one["ids"]]
    return {id: parts for answer in ask_each(calls, call) for id, parts in answer.items()}


def _weigh(shards: Sequence[ShardProcess], requests: Sequence[Json], idf: frozenset[str]) -> list[Json]:
    """Weight the terms of searches by words over all shards."""
    terms = {number: weighted_terms(request, idf) for number, request in enumerate(requests)}
    wanted = {number: one for number, one in terms.items() if one is not None}
    if not wanted:
        return list(requests)
    statistics = ask(shards, "statistics", list(wanted.values()))
    of_request = dict(zip(wanted, zip(*statistics, strict=True), strict=True))
    return [
        with_weights(request, of_request[number]) if number in of_request else request
        for number, request in enumerate(requests)
    ]


def _complete(
    shards: Sequence[ShardProcess], requests: Sequence[Json], best: Sequence[Any], found: Sequence[Any]
) -> list[list[dict[str, Any]]]:
    """Return the points with what each request wants of them. Only the shard that has a point is asked for it, once for
    all requests that want the same of it."""
    alike: defaultdict[str, list[int]] = defaultdict(list)
    for number, request in enumerate(requests):
        alike[repr(_selectors(request, False))].append(number)
    parts: list[dict[PointId, Any]] = [{} for _ in requests]
    for numbers in alike.values():
        selectors = _selectors(requests[numbers[0]], False)
        if not selectors["with_payload"] and not selectors["with_vector"]:
            continue
        ids = {id for number in numbers for _, id, _ in best[number]}
        owned = [{id for number in numbers for _, id, _ in of_shard[number]} & ids for of_shard in found]
        fetched = fetch(shards, [{**selectors, "ids": list(here)} for here in owned])
        for number in numbers:
            parts[number] = fetched
    return [
        [scored_json(point, of_request.get(point[1], {})) for point in points]
        for points, of_request in zip(best, parts, strict=True)
    ]


def _selectors(request: Json, with_payload: bool) -> dict[str, Any]:
    payload, vector = request.get("with_payload"), request.get("with_vector")
    return {"with_payload": with_payload if payload is None else payload, "with_vector": vector or False}
