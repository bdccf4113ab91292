"""Files of OpenAI's Batch API: a server embeds the texts of a reindex when it has time, at a lower price.

A folder has the requests (`requests-0001.jsonl`, ...), and what the operator got for them from the server: any other
`.jsonl`. A row of the requests:

    {"custom_id": DIGEST, "method": "POST", "url": "/v1/embeddings", "body": {"model": ..., "input": [TEXT, ...]}}

and a row of the results:

    {"custom_id": DIGEST, "response": {"status_code": 200, "body": {"data": [...]}}, "error": null}

The digest is of the model and of the row's texts, one of which is a probe. So a result is compared with its request as
each other answer is (`openai_answers`), and requests that were changed, or are of another model, are recognized.

The format: https://platform.openai.com/docs/api-reference/batch/request-input
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import orjson

from streams.caches import RecentCache
from streams.errors import UsageError
from streams.lines.bounded import BLOCK_BYTES, MAX_LINE_BYTES, LineCutter, lines_of
from streams.models.openai_answers import USUAL_BYTES_PER_TOKEN, Request, ServedModel, as_sent
from streams.models.protocols import Embedder, ModelInfo, TextRole, Vectors

REQUESTS = "requests-"
MAX_INPUTS = 50_000
"""Maximum texts of a file (the Batch API's limit), the probes among them."""
MAX_FILE_BYTES = 190_000_000
"""Maximum bytes of a file. The Batch API takes 200 MB."""
CACHED_ROWS = 64
"""Rows of results that are kept as vectors, for the pages in progress."""


class _Place(NamedTuple):
    """The place of a row: a file, and the bytes before the row."""

    file: Path
    offset: int


class _Pair(NamedTuple):
    """A row of requests, and the row of results that answers it."""

    request: _Place
    result: _Place


@dataclass(frozen=True, slots=True)
class BatchState:
    """The state of a folder."""

    texts: int
    """Texts with a vector that is believed."""
    waiting: tuple[str, ...]
    """Files of requests without any result."""
    failed: tuple[str, ...]
    """Rows of the other files that failed, are missing, or are not believed, with the reason."""


class BatchFiles:
    """The files of one folder, for one model."""

    def __init__(self, folder: Path, model: ServedModel, path: str) -> None:
        """`path` is the path of the server's address, as each request has it."""
        self._folder, self._model, self._path = folder, model, path
        self._pairs: list[_Pair] = []
        self._places: dict[bytes, tuple[int, int]] = {}
        """The pair and the place in it for each text, by its hash."""
        self._vectors: RecentCache[int, Vectors] = RecentCache(CACHED_ROWS)

    @property
    def has_requests(self) -> bool:
        return any(self._requests())

    async def write(self, pages: AsyncIterator[Sequence[str]]) -> tuple[int, list[str]]:
        """Write requests for the texts of pages, each text once. Return the number of texts, and the files' names.

        The files get their names when all are written: an interrupted run begins anew.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        known, waiting = set[bytes](), list[str]()
        with closing(_Writer(self._folder)) as writer:
            async for texts in pages:
                for text in map(self._sent, texts):
                    if (key := _key(text)) not in known:
                        known.add(key)
                        waiting.append(text)
                    if len(waiting) >= self._model.batch_size:
                        writer.put(self._row(waiting), len(waiting) + 1)
                        waiting.clear()
            if waiting:
                writer.put(self._row(waiting), len(waiting) + 1)
            return len(known), writer.finish()

    def read(self) -> BatchState:
        """Compare all results with their requests. Raises UsageError for requests that are not of this model."""
        requests = {custom_id: place for path in self._requests() for custom_id, place in self._read_requests(path)}
        failed: dict[str, str] = {}
        answered: dict[str, _Place] = {}
        for path in sorted(set(self._folder.glob("*.jsonl")) - set(self._requests())):
            for place, row in _rows(path):
                custom_id = str(row.get("custom_id"))[:64] if row else f"{path.name}, byte {place.offset}"
                if custom_id not in requests:
                    failed[custom_id] = "no request has this custom_id" if row else "no JSON object"
                elif fault := self._fault(requests[custom_id], row or {}):
                    failed.setdefault(custom_id, fault)
                else:
                    answered[custom_id] = place
        begun = {requests[custom_id].file for custom_id in (*answered, *failed) if custom_id in requests}
        for custom_id, place in requests.items():
            if custom_id in answered:
                self._add(_Pair(place, answered[custom_id]))
                failed.pop(custom_id, None)
            elif place.file in begun:
                failed.setdefault(custom_id, "no result")
        waiting = [path.name for path in self._requests() if path not in begun]
        return BatchState(len(self._places), tuple(waiting), tuple(f"{key}: {why}" for key, why in failed.items()))

    def find(self, texts: Sequence[str]) -> dict[int, Vectors]:
        """Return the vectors of the texts that have one, by their place among the texts."""
        places = ((index, self._places.get(_key(self._sent(text)))) for index, text in enumerate(texts))
        return {index: self._vectors_of(place[0])[place[1]] for index, place in places if place is not None}

    def before(self, server: Embedder) -> Embedder:
        """Return an embedder that asks the server only for what the files lack."""
        return BatchEmbedder(self, server)

    def _requests(self) -> list[Path]:
        return sorted(self._folder.glob(f"{REQUESTS}*.jsonl"))

    def _sent(self, text: str) -> str:
        info = self._model.info
        return as_sent(text, info.passage_prefix, info.max_tokens * USUAL_BYTES_PER_TOKEN)

    def _row(self, texts: Sequence[str]) -> bytes:
        request = Request.of(texts)
        row = {
            "custom_id": self._digest(request),
            "method": "POST",
            "url": self._path,
            "body": request.body(self._model),
        }
        return orjson.dumps(row) + b"\n"

    def _digest(self, request: Request) -> str:
        own = self._model
        digest = blake2b(digest_size=16)
        for part in (own.info.name, own.info.version, own.name, *request.texts):
            content = part.encode()
            digest.update(len(content).to_bytes(8, "little") + content)
        return digest.hexdigest()

    def _read_requests(self, path: Path) -> Iterator[tuple[str, _Place]]:
        for place, row in _rows(path):
            try:
                request = Request.of_sent((row or {})["body"]["input"])
                if (digest := self._digest(request)) != (row or {}).get("custom_id"):
                    raise ValueError("another digest")
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                own = self._model.info
                raise UsageError(
                    f"{path}, byte {place.offset}: not a request of {own.name} {own.version}. "
                    "Give another folder, in which the requests are written anew"
                ) from error
            yield digest, place

    def _fault(self, place: _Place, row: Mapping[str, Any]) -> str:
        """Return the reason why a row of results has no vectors of the request, or an empty string."""
        try:
            self._read_vectors(place, row)
        except ValueError as error:
            return str(error)
        return ""

    def _read_vectors(self, place: _Place, row: Mapping[str, Any]) -> Vectors:
        response = row.get("response")
        if row.get("error") or not isinstance(response, Mapping) or response.get("status_code") != 200:
            status = response.get("status_code") if isinstance(response, Mapping) else None
            raise ValueError(f"the server answered with status {str(status)[:20]}")
        return self._request_at(place).vectors(response.get("body"), self._model)

    def _request_at(self, place: _Place) -> Request:
        return Request.of_sent((_row_at(place) or {})["body"]["input"])

    def _add(self, pair: _Pair) -> None:
        self._pairs.append(pair)
        for position, text in enumerate(self._request_at(pair.request).own_texts):
            self._places[_key(text)] = (len(self._pairs) - 1, position)

    def _vectors_of(self, number: int) -> Vectors:
        vectors = self._vectors.get(number)
        if vectors is None:
            pair = self._pairs[number]
            vectors = self._read_vectors(pair.request, _row_at(pair.result) or {})
            self._vectors.put(number, vectors)
        return vectors


class BatchEmbedder:
    """An embedder (see `Embedder`) that takes vectors of passages from files, and asks the server for the others."""

    def __init__(self, files: BatchFiles, server: Embedder) -> None:
        self._files, self._server = files, server
        self._reading = asyncio.Lock()

    async def info(self, role: TextRole = "passage") -> ModelInfo:
        return await self._server.info(role)

    async def embed(self, texts: Sequence[str], role: TextRole, *, deadline_seconds: float | None = None) -> Vectors:
        if role == "query":
            return await self._server.embed(texts, role, deadline_seconds=deadline_seconds)
        async with self._reading:
            found = await asyncio.to_thread(self._files.find, texts)
        others = [index for index in range(len(texts)) if index not in found]
        vectors = np.empty((len(texts), (await self.info()).dimensions), np.float32)
        for index, vector in found.items():
            vectors[index] = vector
        if others:
            asked = [texts[index] for index in others]
            vectors[others] = await self._server.embed(asked, role, deadline_seconds=deadline_seconds)
        return vectors


class _Writer:
    """The writer of the files of requests, none of which is too large for the Batch API."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._names = folder, list[str]()
        self._file: BinaryIO | None = None
        self._inputs = self._bytes = 0

    def put(self, row: bytes, inputs: int) -> None:
        if self._file is None or self._inputs + inputs > MAX_INPUTS or self._bytes + len(row) > MAX_FILE_BYTES:
            self.close()
            self._names.append(f"{REQUESTS}{len(self._names) + 1:04}.jsonl")
            self._file = (self._folder / f"{self._names[-1]}.part").open("wb")
        self._file.write(row)
        self._inputs += inputs
        self._bytes += len(row)

    def finish(self) -> list[str]:
        """Give the files their names. Return the names."""
        self.close()
        for name in self._names:
            (self._folder / f"{name}.part").rename(self._folder / name)
        return self._names

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file, self._inputs, self._bytes = None, 0, 0


def _key(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()


def _rows(path: Path) -> Iterator[tuple[_Place, dict[str, Any] | None]]:
    """Yield each row that is not blank, with its place. None: it is no JSON object, or too long."""
    cutter, block_at, offset = LineCutter(MAX_LINE_BYTES), 0, 0
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            for line, behind in cutter.feed(block):
                if line is None or line.strip():
                    yield _Place(path, offset), _object(line)
                offset = block_at + behind
            block_at += len(block)
    last = cutter.finish()
    if last is None or last.strip():
        yield _Place(path, offset), _object(last)


def _row_at(place: _Place) -> dict[str, Any] | None:
    with place.file.open("rb") as file:
        file.seek(place.offset)
        return next((_object(line) for _, line in lines_of(file)), None)


def _object(line: bytes | None) -> dict[str, Any] | None:
    try:
        row = orjson.loads(line or b"")
    except orjson.JSONDecodeError:
        return None
    return row if isinstance(row, dict) else None
