"""One shard of a collection, as the process that holds it sees it: the engine, document frequencies and removed points.

A collection has a shard for new points, which is searched exactly, and runs: shards with a graph, which get no new
points. Nothing is flushed to the engine's files: points of the first are in the collection's log, and what is removed
from a run is in the run's file `removed`, which is applied again when the run is opened.
"""

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self
from uuid import UUID

import orjson
import qdrant_edge as edge

from streams.local.qdrant_server.errors import BadRequest
from streams.local.qdrant_server.frequencies import Frequencies, Terms
from streams.local.qdrant_server.payloads import NewPayloads, Payloads, StoredPayloads, select
from streams.local.qdrant_server.queries import (
    PointId,
    parse_filter,
    parse_point,
    parse_query,
    parse_scroll,
    parse_selectors,
    parse_vector,
    point_id,
    point_json,
)
from streams.local.qdrant_server.shard_config import index_json, mutable_config, parse_index, sparse_names

Json = Mapping[str, Any]
Found = tuple[float, PointId, int]
"""Score, id and version of a point."""

ENGINE_FILES, COUNTED, REMOVED = "segments", "frequencies.npz", "removed"
"""Names in a run's folder: the engine's segments, document frequencies, and the points that were removed since."""
_PAGE = 1_000
"""Number of points that are read at once from a shard of a former Riffle, whose terms nobody counted."""


class Shard:
    """The engine's shard. Its methods take and return what fits into a message; they raise ApiError, or the engine's
    own errors."""

    def __init__(
        self,
        engine: Any,
        description: Json,
        frequencies: Frequencies,
        removed: Path | None,
        payloads: Payloads | None = None,
    ) -> None:
        self.engine = engine
        self._payloads = payloads
        self._sparse = sparse_names(description)
        self.frequencies = frequencies
        self._is_run = removed is not None
        self._removed = None if removed is None else removed.open("ab", buffering=0)
        self._gone = 0

    @classmethod
    def create(cls, folder: Path, description: Json, indexes: Mapping[str, Any]) -> Self:
        """Make a shard for new points, in place of what is in the folder."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        engine = edge.EdgeShard.create(str(folder), mutable_config(description))
        shard = cls(engine, description, Frequencies(), None, NewPayloads())
        for field, schema in indexes.items():
            shard.create_index(field, schema)
        return shard

    @classmethod
    def open(cls, folder: Path, description: Json, indexes: Mapping[str, Any]) -> Self:
        """Open a run, or the shard of a former Riffle."""
        engine = edge.EdgeShard.load(str(folder))
        removed = folder / REMOVED
        _cut_half_line(removed)
        if (folder / COUNTED).exists():
            shard = cls(engine, description, Frequencies.load(folder / COUNTED), removed, StoredPayloads.open(folder))
            gone = read_removed(removed)
            shard._gone = len(gone)
            for first in range(0, len(gone), _PAGE):
                engine.update(edge.UpdateOperation.delete_points([id for id, _ in gone[first : first + _PAGE]]))
            shard.frequencies.remove(terms for _, terms in gone)
        else:
            engine.flush()  # what its own log replayed, so that a build finds it in the files
            for id, _ in read_removed(removed):
                engine.update(edge.UpdateOperation.delete_points([id]))
            shard = cls(engine, description, count_terms(engine, sparse_names(description)), removed)
        existing = engine.info().payload_schema
        for field, schema in indexes.items():
            if field not in existing:
                shard.create_index(field, schema)
        return shard

    def upsert(self, content: bytes) -> list[PointId]:
        """Write the points of a request. Return their ids."""
        body = orjson.loads(content)
        if "points" not in body:
            raise BadRequest("Format error in JSON body: this server takes points as a list, not a batch of columns")
        return self.upsert_points(body["points"])

    def upsert_points(self, points: Sequence[Json]) -> list[PointId]:
        written = {plain_id(point["id"]): point for point in points}
        parsed = [parse_point(point) for point in points]
        before = self._terms(written)
        self.engine.update(edge.UpdateOperation.upsert_points(parsed))
        if isinstance(self._payloads, NewPayloads):
            self._payloads.put((id, point.get("payload")) for id, point in written.items())
        self.frequencies.remove(before.values())
        self.frequencies.add(_terms_of(point.get("vector"), self._sparse) for point in written.values())
        return list(written)

    def delete(self, ids: Sequence[PointId]) -> int:
        """Remove points, if they are here. Return their number."""
        terms = self._terms(ids)
        if not terms:
            return 0
        if self._removed is not None:  # first: the engine's files may have it at once
            self._removed.write(b"".join(orjson.dumps(one) + b"\n" for one in terms.items()))
        self.engine.update(edge.UpdateOperation.delete_points(list(terms)))
        if isinstance(self._payloads, NewPayloads):
            self._payloads.drop(terms)
        self.frequencies.remove(terms.values())
        return len(terms)

    def find(self, conditions: Json | None) -> list[PointId]:
        """Return the ids of all points that meet a filter."""
        found: list[PointId] = []
        request: dict[str, Any] = {"filter": conditions, "limit": _PAGE, "with_payload": False}
        while True:
            records, offset = self.engine.scroll(parse_scroll(request))
            found += [_id(record) for record in records]
            if offset is None:
                return found
            request["offset"] = point_id(offset)

    def scroll(self, request: Json) -> list[PointId]:
        """Return the first ids of a scroll, one more than its limit."""
        wanted = parse_scroll({**request, "with_payload": False, "with_vector": False})
        plus_one = edge.ScrollRequest(
            offset=wanted.offset, limit=wanted.limit + 1, filter=wanted.filter, with_payload=False, with_vector=False
        )
        return [_id(record) for record in self.engine.scroll(plus_one)[0]]

    def statistics(self, wanted: Sequence[tuple[str, Sequence[int], Json | None]]) -> list[tuple[int, list[int]]]:
        """Return how many points have a sparse vector, and how many of them have each term: of all points, or of those
        that meet a filter."""
        return [
            (self.frequencies.points(name), self.frequencies.of(name, terms))
            if corpus is None
            else self._count_corpus(name, terms, corpus)
            for name, terms, corpus in wanted
        ]

    def query(self, requests: Sequence[Json]) -> list[list[Found]]:
        """Return the best points of each request, without payload."""
        batch = edge.QueryBatchRequest(
            [parse_query({**one, "with_payload": False, "with_vector": False}) for one in requests]
        )
        return [
            [(point.score, _id(point), point.version) for point in points] for points in self.engine.query_batch(batch)
        ]

    def fetch_found(self, wanted: Json) -> dict[PointId, dict[str, bytes]]:
        """Return the payload and the vector of points that are here as JSON: payloads as they were written."""
        if self._payloads is None or wanted["with_vector"]:
            return self.fetch(wanted)
        parts = {}
        for id, payload in self._payloads.find(wanted["ids"]).items():
            if (selected := select(payload, wanted["with_payload"])) is not None:
                parts[id] = {"payload": selected}
        others = [id for id in wanted["ids"] if id not in parts]
        return parts | self.fetch({**wanted, "ids": others}) if others else parts

    def fetch(self, wanted: Json) -> dict[PointId, dict[str, bytes]]:
        """Return the payload and the vector of points, as far as they are here, as JSON."""
        with_payload, with_vector = parse_selectors(wanted)
        records = self.engine.retrieve(list(wanted["ids"]), with_payload, with_vector)
        if with_vector:
            return {_id(record): _parts(point_json(record)) for record in records}
        return {_id(record): {"payload": orjson.dumps(record.payload)} for record in records}

    def size(self) -> tuple[int, int]:
        """Return the number of points that a run was built of, and how many of them were removed."""
        return self.count(None) + self._gone, self._gone

    def count(self, conditions: Json | None) -> int:
        return int(self.engine.count(edge.CountRequest(exact=True, filter=parse_filter(conditions))))

    def create_index(self, field: str, schema: Any) -> None:
        self.engine.update(edge.UpdateOperation.create_field_index(field, parse_index(schema, on_disk=self._is_run)))

    def info(self) -> dict[str, Any]:
        info = self.engine.info()
        return {
            "indexed_vectors_count": info.indexed_vectors_count,
            "points_count": info.points_count,
            "segments_count": info.segments_count,
            "payload_schema": {field: (index_json(one), one.points) for field, one in info.payload_schema.items()},
        }

    def _count_corpus(self, name: str, terms: Sequence[int], corpus: Json) -> tuple[int, list[int]]:
        """Count by searches: the engine has no other way to the points of a corpus with a term."""
        conditions = parse_filter(corpus)
        most = max(1, int(self.engine.count(edge.CountRequest(exact=True, filter=conditions))))
        having = edge.Filter(must=[edge.HasVectorCondition(name), conditions])
        points = int(self.engine.count(edge.CountRequest(exact=True, filter=having)))
        batch = edge.QueryBatchRequest(
            [
                edge.QueryRequest(
                    limit=most,
                    query=edge.Query.Nearest(parse_vector({"indices": [term], "values": [1.0]}), using=name),
                    filter=conditions,
                )
                for term in terms
            ]
        )
        return points, [len(found) for found in self.engine.query_batch(batch)]

    def _terms(self, ids: Iterable[PointId]) -> dict[PointId, dict[str, list[int]]]:
        """Return the terms of the points that are here."""
        asked = [UUID(one) if isinstance(one, str) else one for one in ids]
        records = self.engine.retrieve(asked, False, list(self._sparse) or False) if asked else ()
        return {_id(record): _terms_of(record.vector, self._sparse) for record in records}


def count_terms(engine: Any, names: Sequence[str]) -> Frequencies:
    """Return the document frequencies of all points of a shard."""
    frequencies, offset = Frequencies(), None
    while names:
        request = edge.ScrollRequest(offset=offset, limit=_PAGE, with_payload=False, with_vector=list(names))
        records, offset = engine.scroll(request)
        frequencies.add(_terms_of(record.vector, names) for record in records)
        if offset is None:
            break
    return frequencies


def read_removed(path: Path) -> list[tuple[PointId, Terms]]:
    """Return the points that were removed from a run, and their terms, without a line that is half written."""
    if not path.exists():
        return []
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    return [(id, terms) for id, terms in map(orjson.loads, whole.splitlines())]


def _cut_half_line(path: Path) -> None:
    if path.exists():
        os.truncate(path, path.read_bytes().rfind(b"\n") + 1)


def _terms_of(vectors: Any, names: Sequence[str]) -> dict[str, list[int]]:
    """Return the terms of a point's sparse vectors, which the engine or a request names."""
    if not isinstance(vectors, Mapping):
        return {}
    found = {name: vectors[name] for name in names if name in vectors}
    return {name: list(one["indices"] if isinstance(one, Mapping) else one.indices) for name, one in found.items()}


def _id(record: Any) -> PointId:
    id = point_id(record.id)
    assert id is not None
    return id


def plain_id(id: PointId) -> PointId:
    """Return an id as the engine returns it. Raises ValueError for a text that is no UUID."""
    return str(UUID(id)) if isinstance(id, str) else id


def _parts(json: dict[str, Any]) -> dict[str, bytes]:
    return {name: orjson.dumps(json[name]) for name in ("payload", "vector") if name in json}
