"""The models behind Triton, over gRPC.

Name, version and dimensions of a model come from the server's configuration, so that a change of model is only a change
of the model repository. So does its interface: a model of Triton's python backend takes texts, and a graph takes token
ids (`triton_graphs`). After a change of the interface, the next call reads the configuration again.

Queries have a model of their own (`triton.query_model`, and a server of their own if `triton.query_url` names one), so
that they never wait for statements. It must have the name and version of the bulk model, since queries search that
model's vectors. A server without it serves queries by the bulk model, before the bulk work that waits there.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
import structlog
from tritonclient.grpc import InferInput

from streams.errors import RiffleError, StoreUnavailable
from streams.models.batches import BATCH_SIZE, embed_in_batches
from streams.models.inference.chain_windows import parts
from streams.models.inference.link_columns import NAMES, from_columns
from streams.models.inference.repository import CHAIN_MODEL, model_info, parameters_of
from streams.models.inference.seals import READ, SEAL, find_row_fault, find_whole_fault
from streams.models.protocols import Link, ModelInfo, Models, TextRole, Vectors, shift_link
from streams.models.triton_connection import MissingModel, Tensor, TritonConnection
from streams.models.triton_graphs import ChainGraph, EmbeddingGraph, RerankGraph, is_graph
from streams.settings import Settings, TritonSettings

IN_FLIGHT = 4
"""Maximum batches of one call at the server: they keep every model instance busy without a burst."""
READ_AGAIN_SECONDS = 30.0
"""Time after which a model's configuration is read again (seconds)."""
QUERY_PRIORITY, BULK_PRIORITY = 1, 2
"""Priorities of requests. Triton serves 1 first. Models without priority levels ignore priorities."""
MAX_TEXT_CHARS = 20_000
"""Maximum characters of a text that are sent. No model here reads more."""

log = structlog.get_logger(__name__)


async def open_triton(settings: Settings) -> Models:
    """Connect, and check that the models exist. Raises StoreUnavailable."""
    connection = TritonConnection(settings.triton)
    query_url = settings.triton.query_url
    query_settings = settings.triton.model_copy(update={"url": query_url})
    query_connection = TritonConnection(query_settings) if query_url else connection

    async def close_both() -> None:
        await connection.close()
        if query_connection is not connection:
            await query_connection.close()

    triton = TritonEmbedder(connection, settings.triton, query_connection)
    try:
        await _either(triton)
    except RiffleError:
        await close_both()
        raise
    cross_encoder = TritonReranker(query_connection, settings.triton.rerank_model)
    return Models(triton, TritonChains(connection), cross_encoder, close_both)


async def _either(triton: "TritonEmbedder") -> None:
    """Check that one of the two models answers: a gateway only needs the model for queries, a worker the bulk model."""
    try:
        await triton.info()
    except StoreUnavailable as error:
        if not triton.has_query_server and not isinstance(error, MissingModel):
            raise
        await triton.info("query")


class TritonModel:
    """One embedding model on one server."""

    def __init__(self, connection: TritonConnection, name: str, batch_size: int, priority: int = 0) -> None:
        self._connection = connection
        self.name = name
        self.batch_size = batch_size
        self._priority = priority
        self._info: ModelInfo | None = None
        self._graph: EmbeddingGraph | None = None
        self._config: Mapping[str, Any] = {}
        self._read_at = 0.0
        self._outputs = ["EMBEDDING", SEAL]

    async def info(self) -> ModelInfo:
        """Return the model's description, from its configuration. Raises StoreUnavailable.

        It is read again now and then: another model may have come under the same name.
        """
        now = asyncio.get_running_loop().time()
        if self._info is None or now - self._read_at >= READ_AGAIN_SECONDS:
            self._read_at = now  # further calls use the former description meanwhile
            config = await self._connection.config(self.name)
            if self._info is None or config != self._config:
                info = model_info(parameters_of(config), f"Triton at {self._connection.url}, model {self.name}")
                self._graph = EmbeddingGraph(self._connection, self.name, config) if is_graph(config) else None
                self._info, self._config = info, config
                self.batch_size = min(self.batch_size, int(config.get("max_batch_size", 0)) or 1)
                if READ in [output.get("name") for output in config.get("output", [])]:
                    self._outputs = ["EMBEDDING", SEAL, READ]
        return self._info

    async def embed(self, texts: Sequence[str], seconds: float) -> Vectors:
        """Return vectors of shape (len(texts), dimensions), for at most `batch_size` texts."""
        width = (await self.info()).dimensions
        try:
            if self._graph is not None:
                return await self._graph.embed(
                    [text[:MAX_TEXT_CHARS] for text in texts], width, seconds, self._priority
                )
            return await self._embed_texts(_encode(texts), width, seconds)
        except MissingModel:
            self._info = None
            raise

    async def _embed_texts(self, encoded: Sequence[bytes], width: int, seconds: float) -> Vectors:
        vectors, *_ = await self._connection.infer(
            self.name,
            [_text_tensor("TEXT", encoded, (len(encoded), 1))],
            self._outputs,
            seconds,
            lambda tensors: find_row_fault(encoded, width, tensors),
            self._priority,
        )
        return vectors


class TritonEmbedder:
    """The embedding model on Triton. Texts of similar length are sent together, several batches at a time."""

    def __init__(
        self,
        connection: TritonConnection,
        settings: TritonSettings,
        query_connection: TritonConnection | None = None,
        batch_size: int = BATCH_SIZE,
    ) -> None:
        self._settings = settings
        self.has_query_server = query_connection not in (None, connection)
        self._bulk = TritonModel(connection, settings.model, batch_size, BULK_PRIORITY)
        self._urgent_bulk = TritonModel(connection, settings.model, batch_size, QUERY_PRIORITY)
        self._queries = TritonModel(query_connection or connection, settings.query_model, batch_size)
        self._has_query_model = bool(settings.query_model)
        self._slots = asyncio.Semaphore(IN_FLIGHT)

    async def info(self, role: TextRole = "passage") -> ModelInfo:
        """Return the model's description. Raises StoreUnavailable."""
        return await (await self._model(role)).info()

    async def embed(self, texts: Sequence[str], role: TextRole, *, deadline_seconds: float | None = None) -> Vectors:
        model = await self._model(role)
        info, size = await model.info(), model.batch_size
        seconds = self._settings.timeout_seconds if deadline_seconds is None else deadline_seconds

        async def embed_batch(batch: list[str]) -> Vectors:
            async with self._slots:
                return await model.embed(batch, seconds)

        return await embed_in_batches(info.prefixed(texts, role), size, info.dimensions, embed_batch)

    async def _model(self, role: TextRole) -> TritonModel:
        if role == "passage":
            await self._bulk.info()
            return self._bulk
        if self._has_query_model:
            try:
                await self._queries.info()
                return self._queries
            except MissingModel as error:
                self._has_query_model = False
                log.warning("no model only for queries: they wait for statements that are embedded", error=str(error))
        await self._urgent_bulk.info()
        return self._urgent_bulk


G = TypeVar("G")


class _Interface(Generic[G]):
    """The interface of a model: a graph, or a model that takes texts. The configuration says it, and is read once."""

    def __init__(self, connection: TritonConnection, model: str, make: Callable[[Mapping[str, Any]], G]) -> None:
        self._connection, self._model, self._make = connection, model, make
        self._found: tuple[G | None] | None = None

    async def find_graph(self) -> G | None:
        """Return the graph, or None for a model that takes texts. Raises StoreUnavailable."""
        if self._found is None:
            config = await self._connection.config(self._model)
            self._found = (self._make(config) if is_graph(config) else None,)
        return self._found[0]

    def forget(self) -> None:
        self._found = None


class TritonChains:
    """The chain model on Triton. A long page is asked for in parts, so that each request ends within its deadline."""

    def __init__(self, connection: TritonConnection) -> None:
        self._connection = connection
        self._interface = _Interface(connection, CHAIN_MODEL, partial(ChainGraph, connection, CHAIN_MODEL))

    async def links(self, sentences: Sequence[str], *, deadline_seconds: float | None = None) -> list[Link]:
        seconds = self._connection.timeout_seconds if deadline_seconds is None else deadline_seconds
        links = [Link()] * len(sentences)
        for start, end in parts(sentences):
            links[start:end] = await self._part(sentences[start:end], start, seconds)
        return links

    async def _part(self, sentences: Sequence[str], start: int, seconds: float) -> list[Link]:
        try:
            graph = await self._interface.find_graph()
            if graph is None:
                return from_columns(await self._columns(_encode(sentences), seconds), start)
            found = await graph.links(_cut(sentences), seconds)
        except MissingModel:
            self._interface.forget()
            raise
        return [shift_link(link, start) for link in found]

    async def _columns(self, sentences: Sequence[bytes], seconds: float) -> Sequence[Tensor]:
        *columns, _ = await self._connection.infer(
            CHAIN_MODEL,
            [_text_tensor("SENTENCES", sentences, (len(sentences),))],
            [*NAMES, SEAL],
            seconds,
            lambda tensors: find_whole_fault(sentences, len(sentences), tensors),
        )
        return columns


class TritonReranker:
    """The cross-encoder on Triton, beside the model for queries."""

    def __init__(self, connection: TritonConnection, model: str) -> None:
        self._connection, self._model = connection, model
        self._interface = _Interface(connection, model, partial(RerankGraph, connection, model))

    async def scores(
        self, query: str, texts: Sequence[str], *, deadline_seconds: float | None = None
    ) -> Sequence[float]:
        if not texts:
            return []
        seconds = self._connection.timeout_seconds if deadline_seconds is None else deadline_seconds
        try:
            graph = await self._interface.find_graph()
            scores = await (graph.scores(query, _cut(texts), seconds) if graph else self._ask(query, texts, seconds))
        except MissingModel:
            self._interface.forget()
            raise
        found: list[float] = scores.tolist()
        return found

    async def _ask(self, query: str, texts: Sequence[str], seconds: float) -> Tensor:
        asked, read = _encode([query]), _encode(texts)
        scores, _ = await self._connection.infer(
            self._model,
            [_text_tensor("QUERY", asked, (1,)), _text_tensor("TEXTS", read, (len(texts),))],
            ["SCORES", SEAL],
            seconds,
            lambda tensors: find_whole_fault([*asked, *read], len(texts), tensors),
        )
        return scores


def _cut(texts: Sequence[str]) -> list[str]:
    return [text[:MAX_TEXT_CHARS] for text in texts]


def _encode(texts: Sequence[str]) -> list[bytes]:
    return [text.encode("utf-8", "replace") for text in _cut(texts)]


def _text_tensor(name: str, texts: Sequence[bytes], shape: tuple[int, ...]) -> InferInput:
    tensor = InferInput(name, list(shape), "BYTES")
    tensor.set_data_from_numpy(np.array(texts, dtype=np.object_).reshape(shape))
    return tensor
