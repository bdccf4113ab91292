"""One collection: its log, its shards, and the builds that turn new points into runs with a graph.

Each point is in one shard: in the one for new points, in the sealed one that a run is being built from, or in a run.
Who asks, asks all of them, and merges what they answer. A write goes to the shard for new points, then into the log;
then the former form of its points is removed from all other shards, before anybody is answered.
"""

import json
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar
from uuid import uuid4

import orjson
import structlog

from streams.local.qdrant_server import asking
from streams.local.qdrant_server.build import BuildOrder, build_run
from streams.local.qdrant_server.errors import ApiError, no_collection
from streams.local.qdrant_server.layout import (
    FORMER,
    LOG,
    NEW,
    RUNS,
    Layout,
    read_layout,
    remove_unused,
    store_layout,
    sync,
    write_atomically,
)
from streams.local.qdrant_server.queries import PointId
from streams.local.qdrant_server.shard import REMOVED, plain_id
from streams.local.qdrant_server.shard_config import config_json, mutable_config, parse_index
from streams.local.qdrant_server.shard_process import CONTEXT, ShardProcess, ask, ask_each
from streams.local.qdrant_server.write_ahead_log import REMOVED as REMOVED_IDS
from streams.local.qdrant_server.write_ahead_log import WRITTEN, WriteAheadLog, read_records

T = TypeVar("T")
Json = Mapping[str, Any]

SEAL_POINTS = 10_000
"""Number of written points from which on a run is built from them: an exact search of them takes 1 to 2 ms."""
_MERGED_SIZES = 4
"""A build takes in each run with up to this many times the points it has so far. So there are few runs, and a point is
written again only a few times: not for each build."""
_GARBAGE = 0.2
"""Share of removed points from which on a run is built again."""
_RETRY_SECONDS = 10.0
"""Time after which a failed build is tried again (seconds)."""
_LOOK_SECONDS = 0.2
"""Time between two looks of a waiting build whether its collection was closed (seconds)."""
_BATCH_POINTS = 256
"""Number of points whose payload is changed at once."""

log = structlog.get_logger()


class Builds:
    """The builds of all collections of a server: one at a time."""

    def __init__(self, seal_points: int = SEAL_POINTS) -> None:
        self.seal_points = seal_points
        self.turn = threading.Lock()


class Collection:
    """The shards of a collection, and the request that created it. Its methods block, and raise ApiError.

    Two locks: `_writing` is held while points or runs are changed, `_asking` while the shards are asked. So answers
    wait for a write of points, but for no disk and no build.
    """

    def __init__(self, name: str, folder: Path, description: Json, builds: Builds) -> None:
        self.name, self.description = name, description
        self._folder, self._builds = folder, builds
        self._writing, self._asking = threading.RLock(), threading.RLock()
        self._closed, self._opened = False, 0
        self._builder: Any = None
        self._layout = Layout()
        self._build_thread: threading.Thread | None = None
        self._build_not_before = 0.0
        self._open()

    @classmethod
    def create(cls, name: str, folder: Path, description: Json, builds: Builds) -> Self:
        """Make a collection beside its place and move it there whole: a crash leaves all of it or nothing."""
        mutable_config(description)  # raises BadRequest
        building = folder.with_name(f".new-{uuid4().hex}")
        try:
            building.mkdir(parents=True)
            write_atomically(building / "collection.json", {"name": name, "description": description})
            building.rename(folder)
            return cls.load(folder, builds)
        except BaseException:
            for unfinished in (building, folder):
                shutil.rmtree(unfinished, ignore_errors=True)
            raise

    @classmethod
    def load(cls, folder: Path, builds: Builds) -> Self:
        content = json.loads((folder / "collection.json").read_text())
        return cls(content["name"], folder, content["description"], builds)

    def upsert(self, content: bytes) -> None:
        """Write the points of a request, which every later read sees."""
        self._change(lambda: self._write(content))

    def delete(self, ids: Sequence[PointId]) -> None:
        same = [plain_id(id) for id in ids]
        self._change(lambda: self._remove([same] * len(self._shards())))

    def delete_by_filter(self, conditions: Json | None) -> None:
        self._change(lambda: self._remove(self._ask("find", conditions)))

    def change_payload(self, conditions: Json | None, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Write all points that meet a filter again, with another payload."""
        found = [id for ids in self._read(lambda: self._ask("find", conditions)) for id in ids]
        for first in range(0, len(found), _BATCH_POINTS):
            among = {"has_id": found[first : first + _BATCH_POINTS]}
            still = {"must": [among, conditions] if conditions else [among]}
            self._change(partial(self._write_again, still, change))

    def query(self, requests: Sequence[Json]) -> list[list[dict[str, Any]]]:
        """Return the best points of each request."""
        return self._read(lambda: asking.query(self._shards(), requests, self.description))

    def retrieve(self, request: Json) -> list[dict[str, Any]]:
        return self._read(lambda: asking.retrieve(self._shards(), request))

    def scroll(self, request: Json) -> tuple[list[dict[str, Any]], PointId | None]:
        return self._read(lambda: asking.scroll(self._shards(), request))

    def count(self, conditions: Json | None = None) -> int:
        return sum(self._read(lambda: self._ask("count", conditions)))

    def create_index(self, field: str, schema: Any) -> None:
        parse_index(schema)  # raises BadRequest
        with self._writing:
            self._layout = replace(self._layout, indexes={**self._layout.indexes, field: schema})
            store_layout(self._folder, self._layout)
            self._change(lambda: self._ask("create_index", field, schema))

    def info(self) -> dict[str, Any]:
        """Return the answer of `GET /collections/{name}`."""
        infos = self._read(lambda: self._ask("info"))
        counts = ("indexed_vectors_count", "points_count", "segments_count")
        return {
            "status": "green" if self._build_thread is None else "yellow",
            "optimizer_status": "ok",
            **{name: sum(info[name] for info in infos) for name in counts},
            "config": config_json(self.description),
            "payload_schema": {
                field: {
                    "data_type": schema["type"] if isinstance(schema, Mapping) else schema,
                    "points": sum(info["payload_schema"].get(field, (None, 0))[1] for info in infos),
                }
                for field, schema in self._layout.indexes.items()
            },
        }

    def flush(self) -> None:
        """Write the log and the notes of removed points to the disk. Nobody waits for it."""
        if self._closed:
            raise no_collection(self.name)
        self._log.sync()
        for run in list(self._runs):
            with suppress(FileNotFoundError):  # the run was replaced meanwhile
                sync(self._folder / run / REMOVED)

    def vacuum(self) -> None:
        """Build runs that are due, those too that are a fifth garbage."""
        with self._writing:
            self._build_if_due()

    def close(self) -> None:
        with self._writing, self._asking:
            if not self._closed:
                self._closed = True
                self._end_all()

    def drop(self) -> None:
        self.close()
        if (thread := self._build_thread) is not None:
            thread.join()
        doomed = self._folder.with_name(f".old-{uuid4().hex}")
        self._folder.rename(doomed)
        shutil.rmtree(doomed, ignore_errors=True)

    def _open(self) -> None:
        """Open the runs, and make the shard for new points from the log."""
        self._opened += 1
        self._layout = read_layout(self._folder)
        self._sealed: ShardProcess | None = None
        self._sealed_log = 0
        self._changed_since: list[PointId] = []
        self._written = 0
        self._runs: dict[str, ShardProcess] = {run: self._start_run(run) for run in self._layout.runs}
        if FORMER in self._runs and not self._layout.indexes:
            self._runs[FORMER].wait_ready()
            former = self._runs[FORMER].call("info")["payload_schema"]
            self._layout = replace(self._layout, indexes={field: schema for field, (schema, _) in former.items()})
        store_layout(self._folder, self._layout)
        self._new = self._start_new()
        for shard in self._shards():
            shard.wait_ready()
        self._log = WriteAheadLog(self._folder / LOG, self._layout.log)
        for path in self._log.files():
            for kind, content in read_records(path):
                ids = self._new.call("upsert", content) if kind == WRITTEN else orjson.loads(content)
                if kind == REMOVED_IDS:
                    self._new.call("delete", ids)
                _delete([(shard, ids) for shard in self._runs.values()])
                self._written += len(ids)
        self._build_if_due()

    def _start_run(self, run: str) -> ShardProcess:
        return ShardProcess(self._folder / run, self.description, self._layout.indexes, new=False)

    def _start_new(self) -> ShardProcess:
        return ShardProcess(self._folder / NEW / uuid4().hex, self.description, self._layout.indexes, new=True)

    def _shards(self) -> list[ShardProcess]:
        sealed = [] if self._sealed is None else [self._sealed]
        return [self._new, *sealed, *self._runs.values()]

    def _ask(self, name: str, *arguments: Any) -> list[Any]:
        with self._asking:
            return ask(self._shards(), name, *arguments)

    def _read(self, call: Callable[[], T]) -> T:
        """Return the result of a call that asks the shards."""
        try:
            with self._asking:
                self._check_open()
                opened = self._opened
                return call()
        except (EOFError, OSError) as error:
            with self._writing:
                raise self._open_again(opened, error) from error

    def _change(self, call: Callable[[], object]) -> None:
        """Make a call that changes points."""
        with self._writing:
            self._check_open()
            try:
                call()
            except (EOFError, OSError) as error:
                raise self._open_again(self._opened, error) from error
            self._build_if_due()

    def _check_open(self) -> None:
        if self._closed:
            raise no_collection(self.name)

    def _open_again(self, opened: int, error: Exception) -> ApiError:
        """Open all shards from their files, because one ended or the log can't be written. Return the API's error. The
        caller holds `_writing`."""
        with self._asking:
            self._check_open()
            if opened == self._opened:  # nobody else did it
                log.warning("a collection is opened again", collection=self.name, error=repr(error))
                self._end_all()
                self._open()
        return ApiError(f"Service internal error: {error!r}. Collection `{self.name}` was opened again")

    def _write(self, content: bytes) -> None:
        with self._asking:
            ids = self._new.call("upsert", content)
            self._log.append(WRITTEN, content)
            _delete([(shard, ids) for shard in self._shards()[1:]])
        self._note(ids)

    def _remove(self, found: Sequence[Sequence[PointId]]) -> None:
        """Remove points, which were found in each of the shards."""
        ids = list(dict.fromkeys(id for each in found for id in each))
        if ids:
            with self._asking:
                self._log.append(REMOVED_IDS, orjson.dumps(ids))
                _delete([(shard, each) for shard, each in zip(self._shards(), found, strict=True) if each])
            self._note(ids)

    def _note(self, ids: Sequence[PointId]) -> None:
        """Note changed points, which the run that is being built must lose."""
        self._written += len(ids)
        if self._sealed is not None:
            self._changed_since += ids

    def _write_again(self, conditions: Json, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        with self._asking:
            shards = self._shards()
            found = self._ask("find", conditions)
            wanted = [{"ids": ids, "with_payload": True, "with_vector": True} for ids in found]
            points = asking.fetch(shards, wanted)
        changed = [
            {"id": id, "vector": orjson.Fragment(parts["vector"]), "payload": change(orjson.loads(parts["payload"]))}
            for id, parts in points.items()
        ]
        if changed:
            self._write(orjson.dumps({"points": changed}))

    def _build_if_due(self) -> None:
        """Begin a build in a thread of its own if there is none. The caller holds `_writing`."""
        if self._closed or self._build_thread is not None or time.monotonic() < self._build_not_before:
            return
        is_full = self._written >= self._builds.seal_points or self._sealed is not None
        if is_full or FORMER in self._runs or any(map(_is_garbage, self._runs.values())):
            self._build_thread = threading.Thread(target=self._build, daemon=True, name=f"build of {self.name}")
            self._build_thread.start()

    def _build(self) -> None:
        try:
            while not self._closed:
                if self._builds.turn.acquire(timeout=_LOOK_SECONDS):
                    try:
                        self._build_run()
                        break
                    finally:
                        self._builds.turn.release()
        except (ApiError, EOFError, OSError) as error:
            self._build_not_before = time.monotonic() + _RETRY_SECONDS
            if not self._closed:
                log.warning("a graph could not be built; it is tried again", collection=self.name, error=repr(error))
        finally:
            with self._writing:
                self._build_thread = None
                self._build_if_due()

    def _build_run(self) -> None:
        self._seal()
        with self._writing:
            if self._closed:
                return
            remove_unused(self._folder, self._layout)  # what a failed build left
            runs = self._choose_runs()
            logs = [path for path in self._log.files() if int(path.name) <= self._sealed_log]
            target = self._folder / RUNS / uuid4().hex
            target.parent.mkdir(exist_ok=True)
            sources = [self._folder / run for run in runs]
            order = BuildOrder(target, sources, logs, self.description, self._layout.indexes)
            self._builder = CONTEXT.Process(target=build_run, args=(order,), daemon=True)
            self._builder.start()
        self._builder.join()
        if self._builder.exitcode != 0:
            raise OSError(f"the build's process ended with status {self._builder.exitcode}")
        built = ShardProcess(target, self.description, self._layout.indexes, new=False)
        try:
            built.wait_ready()
            ended = self._switch(built, runs)
        except BaseException:
            built.end()
            raise
        for shard in ended:
            shard.end()
            shutil.rmtree(shard.folder, ignore_errors=True)

    def _seal(self) -> None:
        """Let further points go into another shard and another file of the log."""
        if self._sealed is None:
            new = self._start_new()
            new.wait_ready()
            with self._writing:
                if self._closed:
                    new.end()
                    return
                self._sealed_log = self._log.rotate()
                self._bring_up_to_date(new)
                with self._asking:
                    self._sealed, self._new = self._new, new
                self._changed_since, self._written = [], 0

    def _switch(self, built: ShardProcess, merged: Sequence[str]) -> list[ShardProcess]:
        """Take the built run in place of what it was built from. Return the shards that nobody asks any more."""
        caught_up = len(self._changed_since)
        _delete_in_batches(built, self._changed_since[:caught_up])
        with self._writing:
            sealed = self._sealed
            if self._closed or sealed is None:  # the collection was opened again meanwhile
                return [built]
            _delete_in_batches(built, self._changed_since[caught_up:])
            self._bring_up_to_date(built)
            ended = [sealed, *(self._runs[run] for run in merged)]
            runs = {run: shard for run, shard in self._runs.items() if run not in merged}
            if built.points > built.removed:
                runs[str(built.folder.relative_to(self._folder))] = built
            else:
                ended.append(built)
            self._layout = replace(self._layout, runs=tuple(runs), log=self._sealed_log + 1)
            store_layout(self._folder, self._layout)
            with self._asking:
                self._runs, self._sealed, self._changed_since = runs, None, []
            self._log.drop_before(self._layout.log)
            return ended

    def _bring_up_to_date(self, shard: ShardProcess) -> None:
        """Make the payload indexes that were wanted while the shard was made."""
        for field, schema in self._layout.indexes.items():
            if field not in shard.indexes:
                shard.call("create_index", field, schema)

    def _choose_runs(self) -> list[str]:
        """Return the runs that the next build takes in."""
        with self._asking:
            chosen, points = list[str](), self._sealed.call("count", None) if self._sealed else 0
        for run, shard in sorted(self._runs.items(), key=lambda one: one[1].points):
            if run == FORMER or shard.points <= _MERGED_SIZES * points or _is_garbage(shard):
                chosen.append(run)
                points += shard.points
        return chosen

    def _end_all(self) -> None:
        if self._builder is not None:
            self._builder.kill()
        for shard in self._shards():
            shard.end()
        self._log.sync()
        self._log.close()


def _delete(calls: Sequence[tuple[ShardProcess, Sequence[PointId]]]) -> None:
    """Remove points from each of the shards, if they are there."""
    removed = ask_each([(shard, (ids,)) for shard, ids in calls], "delete")
    for (shard, _), count in zip(calls, removed, strict=True):
        shard.removed += count


def _delete_in_batches(shard: ShardProcess, ids: Sequence[PointId]) -> None:
    for first in range(0, len(ids), _BATCH_POINTS):
        _delete([(shard, ids[first : first + _BATCH_POINTS])])


def _is_garbage(shard: ShardProcess) -> bool:
    return shard.removed > _GARBAGE * shard.points
