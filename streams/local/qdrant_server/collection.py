"""One collection: its description, its shard on disk, and the lock around the engine."""

import json
import os
import shutil
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar
from uuid import uuid4

import qdrant_edge as edge

from streams.local.qdrant_server.errors import ApiError, BadRequest, from_engine, no_collection

T = TypeVar("T")

_DISTANCES = {
    "Cosine": edge.Distance.Cosine,
    "Dot": edge.Distance.Dot,
    "Euclid": edge.Distance.Euclid,
    "Manhattan": edge.Distance.Manhattan,
}
_INDEXES = {
    "keyword": edge.PayloadSchemaType.Keyword,
    "integer": edge.PayloadSchemaType.Integer,
    "float": edge.PayloadSchemaType.Float,
    "bool": edge.PayloadSchemaType.Bool,
    "datetime": edge.PayloadSchemaType.Datetime,
    "uuid": edge.PayloadSchemaType.Uuid,
    "text": edge.PayloadSchemaType.Text,
}
_SEARCH_THREADS = 2
_NO_GRAPH = 0
"""No HNSW: building one takes 8 s for 20,000 points, in which the engine lets nothing else run in the process."""


class Collection:
    """A shard and the request that created it.

    The engine's calls keep Python's global lock while they run, so nothing is lost by one lock per collection, and a
    collection can't be closed under a running query. Every update is in the write-ahead log before it returns: it
    survives the death of the process (not of the machine: the log is synced to the disk by `flush`).
    """

    def __init__(self, name: str, folder: Path, description: Mapping[str, Any], shard: Any) -> None:
        self.name = name
        self.description = description
        self._folder = folder
        self._shard = shard
        self._lock = threading.Lock()
        self._dirty = True  # what the log replayed at start isn't flushed either

    @classmethod
    def create(cls, name: str, folder: Path, description: Mapping[str, Any]) -> Self:
        """Build a collection beside its place and move it there whole: a crash leaves all of it or nothing."""
        building = folder.with_name(f".new-{uuid4().hex}")
        try:
            (building / "shard").mkdir(parents=True)
            try:
                edge.EdgeShard.create(str(building / "shard"), _shard_config(description)).close()
            except Exception as error:
                raise from_engine(error) from error
            write_atomically(building / "collection.json", {"name": name, "description": description})
            building.rename(folder)
        except BaseException:
            shutil.rmtree(building, ignore_errors=True)
            raise
        return cls.load(folder)

    @classmethod
    def load(cls, folder: Path) -> Self:
        content = json.loads((folder / "collection.json").read_text())
        return cls(content["name"], folder, content["description"], edge.EdgeShard.load(str(folder / "shard")))

    def read(self, call: Callable[[Any], T]) -> T:
        """Return the result of a call with the shard. Raises ApiError."""
        with self._lock:
            if self._shard is None:
                raise no_collection(self.name)
            try:
                return call(self._shard)
            except ApiError:
                raise
            except Exception as error:
                raise from_engine(error) from error

    def update(self, operation: Any) -> None:
        """Apply and log an operation. Every later read sees it."""
        self._dirty = True
        self.read(lambda shard: shard.update(operation))

    def flush(self) -> None:
        """Write segments to disk, so that the log needn't be replayed. Without a change nothing happens."""
        if not self._dirty:
            return
        self._dirty = False  # before the flush: an update during it makes the collection dirty again
        try:
            self.read(lambda shard: shard.flush())
        except ApiError:
            self._dirty = True
            raise

    def vacuum(self) -> None:
        """Rebuild segments that are a fifth garbage, and merge small ones. Calls wait: 0.3 s for 20,000 points."""
        self.read(lambda shard: shard.optimize())

    def close(self) -> None:
        with self._lock:
            if self._shard is not None:
                self._shard.close()
                self._shard = None

    def drop(self) -> None:
        self.close()
        doomed = self._folder.with_name(f".old-{uuid4().hex}")
        self._folder.rename(doomed)
        shutil.rmtree(doomed)

    def create_index(self, field: str, schema: str | Mapping[str, Any] | None) -> None:
        kind = schema.get("type") if isinstance(schema, Mapping) else schema
        if kind not in _INDEXES:
            raise BadRequest(f"Format error in JSON body: unknown field schema `{kind}`")
        params = _text_index(schema) if kind == "text" and isinstance(schema, Mapping) else _INDEXES[kind]
        self.update(edge.UpdateOperation.create_field_index(field, params))

    def count(self) -> int:
        return self.read(lambda shard: int(shard.count(edge.CountRequest(exact=True))))

    def info(self) -> dict[str, Any]:
        """Return the answer of `GET /collections/{name}`."""
        shard = self.read(lambda shard: shard.info())
        kinds = {str(kind): name for name, kind in _INDEXES.items()}
        return {
            "status": "green",
            "optimizer_status": "ok",
            "indexed_vectors_count": shard.indexed_vectors_count,
            "points_count": shard.points_count,
            "segments_count": shard.segments_count,
            "config": _config_json(self.description),
            "payload_schema": {
                field: {"data_type": kinds.get(str(index.data_type), "keyword"), "points": index.points}
                for field, index in shard.payload_schema.items()
            },
        }


def _text_index(schema: Mapping[str, Any]) -> Any:
    if schema.get("tokenizer") not in (None, "word"):
        raise BadRequest(f"Format error in JSON body: this server has no tokenizer `{schema['tokenizer']}`")
    return edge.TextIndexParams(
        tokenizer=edge.TokenizerType.Word,
        lowercase=schema.get("lowercase"),
        phrase_matching=schema.get("phrase_matching"),
        on_disk=schema.get("on_disk"),
    )


def _shard_config(description: Mapping[str, Any]) -> Any:
    quantization = _quantization_config(description.get("quantization_config"))
    vectors = description.get("vectors") or {}
    if "size" in vectors:
        vectors = {"": vectors}
    return edge.EdgeConfig(
        vectors={name: _dense_config(one, quantization) for name, one in vectors.items()},
        sparse_vectors={name: _sparse_config(one) for name, one in (description.get("sparse_vectors") or {}).items()},
        optimizers=edge.EdgeOptimizersConfig(indexing_threshold=_NO_GRAPH, default_segment_number=1),
        max_search_threads=_SEARCH_THREADS,
        wal_enabled=True,
    )


def _dense_config(json: Mapping[str, Any], quantization: Any) -> Any:
    if json.get("distance") not in _DISTANCES:
        raise BadRequest(f"Format error in JSON body: unknown distance `{json.get('distance')}`")
    size = json.get("size")
    if not isinstance(size, int) or not 1 <= size <= 65_536:
        raise BadRequest(
            f"Validation error in JSON body: [vectors.size: value {size} invalid, must be from 1 to 65536]"
        )
    return edge.EdgeVectorParams(
        size=size,
        distance=_DISTANCES[json["distance"]],
        quantization_config=_quantization_config(json.get("quantization_config")) or quantization,
    )


def _sparse_config(json: Mapping[str, Any] | None) -> Any:
    modifier = (json or {}).get("modifier")
    return edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf if modifier == "idf" else None)


def _quantization_config(json: Mapping[str, Any] | None) -> Any:
    if not json:
        return None
    if "scalar" not in json:
        raise BadRequest("Format error in JSON body: this server knows scalar quantization only")
    scalar = json["scalar"]
    return edge.ScalarQuantizationConfig(edge.ScalarType.Int8, scalar.get("quantile"), scalar.get("always_ram"))


def _config_json(description: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "params": {
            "vectors": description.get("vectors") or {},
            "sparse_vectors": description.get("sparse_vectors") or {},
            "shard_number": description.get("shard_number") or 1,
            "replication_factor": description.get("replication_factor") or 1,
            "write_consistency_factor": description.get("write_consistency_factor") or 1,
            "on_disk_payload": True,
        },
        "hnsw_config": {"m": 0, "ef_construct": 100, "full_scan_threshold": 10_000},
        "optimizer_config": {"default_segment_number": 0, "flush_interval_sec": 5},
        "wal_config": {"wal_capacity_mb": 32, "wal_segments_ahead": 0},
        "quantization_config": description.get("quantization_config"),
    }


def write_atomically(path: Path, content: Any) -> None:
    """Write JSON beside the file, sync it, and move it into place."""
    beside = path.with_suffix(".new")
    with beside.open("w") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
