"""The build of a run: runs and log files become one shard with a graph and quantized vectors, in a process of its own.

It reads files that only grow, and writes into a folder that nobody else uses: a kill loses nothing, and the next build
begins anew.
"""

import os
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import orjson
import qdrant_edge as edge

from streams.local.qdrant_server.frequencies import Frequencies
from streams.local.qdrant_server.layout import sync
from streams.local.qdrant_server.payloads import PLACES, TEXTS, PayloadWriter, StoredPayloads, id_bytes
from streams.local.qdrant_server.queries import PointId
from streams.local.qdrant_server.shard import (
    COUNTED,
    ENGINE_FILES,
    REMOVED,
    Shard,
    count_terms,
    plain_id,
    read_removed,
)
from streams.local.qdrant_server.shard_config import parse_index, run_config, sparse_names
from streams.local.qdrant_server.shard_process import die_with_parent
from streams.local.qdrant_server.write_ahead_log import WRITTEN, read_records, written_points

_BATCH_POINTS = 256
_NICE = 5
"""Niceness that is added: the build gives way to answers (nice(1))."""


@dataclass(frozen=True, slots=True)
class BuildOrder:
    """Sources and target of a build. `target` is made; `runs` and `logs` are only read."""

    target: Path
    runs: Sequence[Path]
    logs: Sequence[Path]
    description: Mapping[str, Any]
    indexes: Mapping[str, Any]


def build_run(order: BuildOrder) -> None:
    """Build the run. The process ends with status 0 when it is whole and on the disk."""
    die_with_parent()
    os.nice(_NICE)
    parts, frequencies = order.target.with_name(f"{order.target.name}.parts"), Frequencies()
    parts.mkdir()
    order.target.mkdir()
    payloads = PayloadWriter(order.target)
    for number, run in enumerate(order.runs):
        frequencies.merge(_copy_run(run, parts / str(number), order.description, payloads))
    frequencies.merge(_write_points(order, payloads))
    payloads.close()
    for segment in parts.glob(f"*/{ENGINE_FILES}/*"):
        segment.rename(order.target / ENGINE_FILES / segment.name)
    shutil.rmtree(parts)
    engine = edge.EdgeShard.load(str(order.target))
    engine.optimize()
    engine.flush()
    engine.close()
    frequencies.save(order.target / COUNTED)
    written = (order.target / name for name in (COUNTED, TEXTS, PLACES, ENGINE_FILES))
    for path in (*written, order.target, order.target.parent):
        sync(path)


def _copy_run(run: Path, part: Path, description: Mapping[str, Any], payloads: PayloadWriter) -> Frequencies:
    """Copy a run's segments and payloads without the removed points. Return the document frequencies of the rest."""
    part.mkdir()
    shutil.copytree(run / ENGINE_FILES, part / ENGINE_FILES)
    engine = edge.EdgeShard.load(str(part), run_config(description, 1))
    removed = read_removed(run / REMOVED)  # after the copy: what the copied files have lost is here
    for first in range(0, len(removed), _BATCH_POINTS):
        engine.update(edge.UpdateOperation.delete_points([id for id, _ in removed[first : first + _BATCH_POINTS]]))
    engine.flush()
    if (run / COUNTED).exists():
        frequencies = Frequencies.load(run / COUNTED)
        frequencies.remove(terms for _, terms in removed)
    else:
        frequencies = count_terms(engine, sparse_names(description))
    _copy_payloads(StoredPayloads.open(run), {id for id, _ in removed}, payloads)
    engine.close()
    return frequencies


def _copy_payloads(stored: StoredPayloads | None, removed: Collection[PointId], payloads: PayloadWriter) -> None:
    gone = {id_bytes(id) for id in removed if isinstance(id, str)}
    for id, payload in stored.items() if stored else ():
        if id not in gone:
            payloads.put_bytes(id, payload)


def _write_points(order: BuildOrder, payloads: PayloadWriter) -> Frequencies:
    """Make the new run of the points that the log files leave. Return their document frequencies."""
    threads = max(1, (os.cpu_count() or 1) // 2)
    shard = Shard(
        edge.EdgeShard.create(str(order.target), run_config(order.description, threads)),
        order.description,
        Frequencies(),
        None,
    )
    for field, schema in order.indexes.items():
        shard.engine.update(edge.UpdateOperation.create_field_index(field, parse_index(schema, on_disk=True)))
    for points in _remaining_points(order.logs):
        shard.upsert_points(points)
        for point in points:
            payloads.put(plain_id(point["id"]), orjson.dumps(point.get("payload") or {}))
    shard.engine.flush()
    shard.engine.close()
    return shard.frequencies


def _remaining_points(logs: Sequence[Path]) -> Iterator[list[Mapping[str, Any]]]:
    """Yield the last form of each point that the logs leave, some at a time. The logs are read twice: all points as
    Python's objects take ten times the memory of their vectors."""
    last: dict[PointId, int] = {}
    for number, (kind, content) in _numbered_records(logs):
        if kind == WRITTEN:
            last.update(dict.fromkeys(_points_by_id(content), number))
        else:
            for id in orjson.loads(content):
                last.pop(id, None)
    batch: list[Mapping[str, Any]] = []
    for number, (kind, content) in _numbered_records(logs):
        if kind == WRITTEN:
            batch += [point for id, point in _points_by_id(content).items() if last.get(id) == number]
        if len(batch) >= _BATCH_POINTS:
            yield batch
            batch = []
    yield batch


def _numbered_records(logs: Sequence[Path]) -> Iterator[tuple[int, tuple[bytes, bytes]]]:
    return enumerate(chain.from_iterable(map(read_records, logs)))


def _points_by_id(content: bytes) -> dict[PointId, Mapping[str, Any]]:
    return {plain_id(point["id"]): point for point in written_points(content)}
