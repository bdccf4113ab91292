"""Points and hits in the form of Qdrant's client."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import numpy as np
from qdrant_client import models

from streams.stores.protocols import Hit, Point, SparseVector
from streams.stores.statement_payload import StatementPayload, id_of


def point_of(point: Point) -> models.PointStruct:
    vector: dict[str, Any] = {"dense": list(point.dense)}
    if point.sparse.indices:
        vector["sparse"] = sparse_of(point.sparse)
    return models.PointStruct(id=str(point.id), vector=vector, payload=point.payload.row())


def sparse_of(sparse: SparseVector) -> models.SparseVector:
    return models.SparseVector(indices=list(sparse.indices), values=list(sparse.values))


def floats_of(dense: Sequence[float]) -> list[float]:
    floats: list[float] = np.asarray(dense, dtype=np.float32).tolist()
    return floats


def hit_of(point: models.ScoredPoint) -> Hit:
    return Hit(id_of(str(point.id)), point.score, StatementPayload.of_row(point.payload or {}))


def hit_of_record(record: models.Record) -> Hit:
    return Hit(UUID(str(record.id)), 0.0, StatementPayload.of_row(record.payload or {}))
