"""An embedder that keeps its vectors on disk: each model embeds a text once for all measurements.

One SQLite file holds the vectors of one model. A run that is interrupted continues where it was, and two runs at once
do no harm. The vectors have half precision, as the embed stage's vectors have in Cassandra.
"""

import asyncio
import re
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from hashlib import blake2b
from pathlib import Path

import numpy as np

from streams.models.protocols import Embedder, ModelInfo, TextRole, Vectors

PART_TEXTS = 256
"""Maximum texts of one call of the model. After each part its vectors are stored, and progress is reported."""
PART_SECONDS = 600.0
"""Maximum time of a call of the model (seconds). It is long: the machine may have other work as well."""
_WAIT_SECONDS = 60.0
"""Maximum wait for another process that writes to the file (seconds)."""
_READ_KEYS = 500
"""Maximum keys of one read."""

_NO_NAME = re.compile(r"[^A-Za-z0-9._-]")

Progress = Callable[[int, int], None]
"""A function that gets the number of texts that are done, and the number of all missing texts."""


class CachedEmbedder:
    """One or several embedders of the same model, used side by side, behind a cache on disk. See `Embedder`."""

    def __init__(self, embedders: Sequence[Embedder], folder: Path, progress: Progress | None = None) -> None:
        self._embedders = embedders
        self._folder = folder
        self._progress = progress

    async def info(self, role: TextRole = "passage") -> ModelInfo:
        return await self._embedders[0].info()

    async def embed(self, texts: Sequence[str], role: TextRole, *, deadline_seconds: float | None = None) -> Vectors:
        info = await self.info()
        read = info.prefixed(texts, role)
        keys = [blake2b(text.encode("utf-8", "replace"), digest_size=16).digest() for text in read]
        with closing(self._open(info)) as database:
            known = _read(database, keys)
            missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
            await self._add(database, missing, known, role)
        if not texts:
            return np.empty((0, info.dimensions), np.float32)
        vectors: Vectors = np.stack([np.frombuffer(known[key], "<f2") for key in keys]).astype(np.float32)
        return vectors

    async def _add(
        self, database: sqlite3.Connection, missing: dict[bytes, str], known: dict[bytes, bytes], role: TextRole
    ) -> None:
        """Embed the missing texts, part by part, texts of about the same length together."""
        waiting = sorted(missing.items(), key=lambda pair: len(pair[1]))
        parts = [waiting[start : start + PART_TEXTS] for start in range(0, len(waiting), PART_TEXTS)]
        parts.reverse()  # the longest first, so that the embedders end at about the same time
        done = 0

        async def work(embedder: Embedder) -> None:
            nonlocal done
            while parts:
                part = parts.pop(0)
                vectors = await embedder.embed([text for _, text in part], role, deadline_seconds=PART_SECONDS)
                rows = [(key, row.astype("<f2").tobytes()) for (key, _), row in zip(part, vectors, strict=True)]
                database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
                database.commit()
                known.update(rows)
                done += len(part)
                if self._progress:
                    self._progress(done, len(waiting))

        async with asyncio.TaskGroup() as group:
            for embedder in self._embedders:
                group.create_task(work(embedder))

    def _open(self, info: ModelInfo) -> sqlite3.Connection:
        self._folder.mkdir(parents=True, exist_ok=True)
        name = _NO_NAME.sub("-", f"vectors-{info.name}-{info.version}-{info.dimensions}.sqlite")
        database = sqlite3.connect(self._folder / name, timeout=_WAIT_SECONDS)
        database.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")
        return database


def _read(database: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, bytes]:
    known: dict[bytes, bytes] = {}
    wanted = list(dict.fromkeys(keys))
    for start in range(0, len(wanted), _READ_KEYS):
        part = wanted[start : start + _READ_KEYS]
        marks = ",".join("?" * len(part))
        known.update(database.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", part))  # only marks
    return known
