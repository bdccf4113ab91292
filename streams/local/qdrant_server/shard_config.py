"""The engine's configuration of a shard: from a collection's description, and from the schemas of payload indexes."""

from collections.abc import Mapping
from typing import Any

import qdrant_edge as edge

from streams.local.qdrant_server.errors import BadRequest

Json = Mapping[str, Any]

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
INDEX_NAMES = {str(kind): name for name, kind in _INDEXES.items()}
"""The API's name of each kind of payload index, by the engine's name."""
_ON_DISK = {
    "keyword": edge.KeywordIndexParams,
    "integer": edge.IntegerIndexParams,
    "float": edge.FloatIndexParams,
    "bool": edge.BoolIndexParams,
    "datetime": edge.DatetimeIndexParams,
    "uuid": edge.UuidIndexParams,
    "text": edge.TextIndexParams,
}
_SEARCH_THREADS = 2
_NO_GRAPH = 0
"""Threshold with which the engine makes neither a graph nor quantized vectors."""
_ALWAYS_GRAPH = 1
"""Threshold with which it makes both (kB of vectors)."""
_ONE_SEGMENT_KB = 1 << 40
"""Maximum size of a segment: larger than any, so that all points of a run stand in one."""
_EDGES, _EF_CONSTRUCT, _FULL_SCAN_KB = 16, 128, 10_000
"""The graph: edges of a point, candidates while it is built, and the size of a filter's result (kB of vectors) below
which that result is compared point by point."""


def mutable_config(description: Json) -> Any:
    """Return the configuration of a shard for new points: it is searched exactly, and what it holds is in the log."""
    return _shard_config(description, _NO_GRAPH, None)


def run_config(description: Json, threads: int) -> Any:
    """Return the configuration of a shard with a graph: full vectors are on disk, quantized ones in memory."""
    graph = edge.HnswIndexConfig(_EDGES, _EF_CONSTRUCT, _FULL_SCAN_KB, max_indexing_threads=threads)
    return _shard_config(description, _ALWAYS_GRAPH, graph)


def parse_index(schema: Any, *, on_disk: bool = False) -> Any:
    """Return the engine's parameters of a payload index, which is kept in memory or on disk. Raises BadRequest."""
    kind = schema.get("type") if isinstance(schema, Mapping) else schema
    if kind not in _INDEXES:
        raise BadRequest(f"Format error in JSON body: unknown field schema `{kind}`")
    if kind == "text" and isinstance(schema, Mapping):
        return _text_index(schema)
    return _ON_DISK[kind](memory=edge.Memory.Cold) if on_disk else _INDEXES[kind]


def index_json(info: Any) -> Any:
    """Return the schema with which `parse_index` makes an index like this one of the engine."""
    kind = INDEX_NAMES.get(str(info.data_type), "keyword")
    if kind != "text" or info.params is None:
        return kind
    params = {name: getattr(info.params, name) for name in ("lowercase", "phrase_matching", "on_disk", "enable_hnsw")}
    return {"type": "text", "tokenizer": "word"} | {name: value for name, value in params.items() if value is not None}


def sparse_names(description: Json) -> tuple[str, ...]:
    return tuple(description.get("sparse_vectors") or {})


def with_idf(description: Json) -> frozenset[str]:
    """Return the sparse vectors whose terms are weighted by how rare they are."""
    sparse = description.get("sparse_vectors") or {}
    return frozenset(name for name, params in sparse.items() if (params or {}).get("modifier") == "idf")


def config_json(description: Json) -> dict[str, Any]:
    """Return the configuration of a collection, as the API has it."""
    return {
        "params": {
            "vectors": description.get("vectors") or {},
            "sparse_vectors": description.get("sparse_vectors") or {},
            "shard_number": description.get("shard_number") or 1,
            "replication_factor": description.get("replication_factor") or 1,
            "write_consistency_factor": description.get("write_consistency_factor") or 1,
            "on_disk_payload": True,
        },
        "hnsw_config": {"m": _EDGES, "ef_construct": _EF_CONSTRUCT, "full_scan_threshold": _FULL_SCAN_KB},
        "optimizer_config": {"default_segment_number": 0, "flush_interval_sec": 5},
        "wal_config": {"wal_capacity_mb": 32, "wal_segments_ahead": 0},
        "quantization_config": description.get("quantization_config"),
    }


def _shard_config(description: Json, threshold_kb: int, graph: Any) -> Any:
    quantization = _quantization_config(description.get("quantization_config"))
    vectors = description.get("vectors") or {}
    if "size" in vectors:
        vectors = {"": vectors}
    return edge.EdgeConfig(
        vectors={name: _dense_config(one, quantization, graph) for name, one in vectors.items()},
        sparse_vectors={
            name: _sparse_config(one, graph) for name, one in (description.get("sparse_vectors") or {}).items()
        },
        hnsw_config=graph,
        optimizers=edge.EdgeOptimizersConfig(
            indexing_threshold=threshold_kb, default_segment_number=1, max_segment_size=_ONE_SEGMENT_KB
        ),
        max_search_threads=_SEARCH_THREADS,
        wal_enabled=False,
    )


def _text_index(schema: Json) -> Any:
    if schema.get("tokenizer") not in (None, "word"):
        raise BadRequest(f"Format error in JSON body: this server has no tokenizer `{schema['tokenizer']}`")
    return edge.TextIndexParams(
        tokenizer=edge.TokenizerType.Word,
        lowercase=schema.get("lowercase"),
        phrase_matching=schema.get("phrase_matching"),
        on_disk=schema.get("on_disk"),
        enable_hnsw=schema.get("enable_hnsw"),
    )


def _dense_config(json: Json, quantization: Any, graph: Any) -> Any:
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
        hnsw_config=graph,
        memory=edge.Memory.Cold,
    )


def _sparse_config(json: Json | None, graph: Any) -> Any:
    modifier = edge.Modifier.Idf if (json or {}).get("modifier") == "idf" else None
    return edge.EdgeSparseVectorParams(modifier=modifier, memory=edge.Memory.Cached if graph else None)


def _quantization_config(json: Json | None) -> Any:
    if not json:
        return None
    if "scalar" not in json:
        raise BadRequest("Format error in JSON body: this server knows scalar quantization only")
    scalar = json["scalar"]
    return edge.ScalarQuantizationConfig(edge.ScalarType.Int8, scalar.get("quantile"), scalar.get("always_ram"))
