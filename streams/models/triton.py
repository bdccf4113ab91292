"""The models behind Triton, over gRPC; or the same model files in this process, where `triton.url` is `inprocess:`.

Name, version and dimensions of a model come from the server's configuration, so that a change of model is a change
of the model repository alone.

Queries have a model of their own (`triton.query_model`, and a server of their own if `triton.query_url` names one), so
that they never wait for statements. It must have the name and version of the bulk model, since it searches that model's
vectors. A server without it serves queries by the bulk model, before whatever waits there.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import structlog
from tritonclient.grpc import MAX_GRPC_MESSAGE_SIZE, InferInput, InferRequestedOutput
from tritonclient.grpc import InferenceServerClient as BlockingClient
from tritonclient.grpc.aio import InferenceServerClient
from tritonclient.utils import InferenceServerException

from streams.errors import DeadlineExceeded, PoisonError, RiffleError, StoreUnavailable
from streams.models.inference.chain_windows import parts
from streams.models.inference.link_columns import NAMES, from_columns
from streams.models.inference.repository import CHAIN_MODEL, model_info, parameters_of
from streams.models.protocols import ChainModel, Embedder, Link, ModelInfo, Reranker, Vectors
from streams.settings import Settings, TritonSettings
from streams.tls import TlsFiles

IN_PROCESS = "inprocess:"
IN_FLIGHT = 4
"""Maximum batches of one call that are sent at a time: they keep every model instance busy without a burst."""
RETRIES = 3
"""Maximum further tries while the server is unavailable."""
BACKOFF_SECONDS = 0.1
"""Seconds before the first further try. Each pause is twice the one before."""
QUERY_PRIORITY, BULK_PRIORITY = 1, 2
"""Triton serves 1 first. Models without priority levels ignore it."""
_UNAVAILABLE, _DEADLINE, _INVALID, _NOT_FOUND = (
    f"StatusCode.{name}" for name in ("UNAVAILABLE", "DEADLINE_EXCEEDED", "INVALID_ARGUMENT", "NOT_FOUND")
)
"""The names of gRPC's status codes in the client's exceptions."""
_UNKNOWN_MODEL = "unknown model"
"""A part of Triton's message about a model that is not in its repository."""
CHANNEL_OPTIONS = (
    ("grpc.max_send_message_length", MAX_GRPC_MESSAGE_SIZE),
    ("grpc.max_receive_message_length", MAX_GRPC_MESSAGE_SIZE),
    ("grpc.lb_policy_name", "round_robin"),
)
"""Options of a channel. It connects to every address of the server's name (a headless service has one for each pod) and
asks them in turn. gRPC reads the name again after a connection has ended, so the servers limit the age of connections
(`--grpc-max-connection-age`): that is how added servers are found."""
MAX_TEXT_CHARS = 20_000
"""Maximum characters of a text that are sent. No model here reads more."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Models:
    """The models that a process uses, and a function that closes them."""

    embedder: Embedder
    chains: ChainModel
    reranker: Reranker
    close: Callable[[], Awaitable[None]]


async def open_models(settings: Settings) -> Models:
    """Connect, and see that the models are there. Raises StoreUnavailable (or UsageError for missing local files)."""
    if settings.triton.url.startswith(IN_PROCESS):
        from streams.models.inprocess import open_in_process

        embedder, chains, reranker, close = await open_in_process(settings)
        return Models(embedder, chains, reranker, close)
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
    """See that one of the two models answers: a gateway needs the one for queries alone, a worker the other."""
    try:
        await triton.info()
    except StoreUnavailable as error:
        if not triton.has_query_server and not isinstance(error, MissingModel):
            raise
        await triton.info(urgent=True)


@dataclass(frozen=True, slots=True)
class Busy:
    """Seconds that a model's instances have computed, all of them together, and their number."""

    seconds: float
    instances: int


class TritonConnection:
    """One gRPC channel, with deadlines, retries while the server is unavailable, and Riffle's errors."""

    def __init__(self, settings: TritonSettings) -> None:
        self._settings = settings
        self.url = settings.url
        self._files = TlsFiles.of(settings)
        self._opened_with = self._files.stamp
        self._client = new_client(settings)
        self._replaced: list[InferenceServerClient] = []

    async def _current_client(self) -> InferenceServerClient:
        """The client; a new one after the certificates' files changed, since gRPC reads them only once per channel.

        The one before the last is closed then: calls that still use the last one finish first.
        """
        stamp = self._files.stamp
        if stamp != self._opened_with:
            replacement = new_client(self._settings)
            self._replaced.append(self._client)
            self._client, self._opened_with = replacement, stamp
            while len(self._replaced) > 1:
                await self._replaced.pop(0).close()
        return self._client

    @property
    def timeout_seconds(self) -> float:
        """Seconds after which a call ends that has no deadline of its own."""
        return self._settings.timeout_seconds

    async def config(self, model: str) -> dict[str, Any]:
        """The model's configuration as Triton gives it in JSON."""
        answer = await self._tried(
            model,
            lambda client, seconds: client.get_model_config(model, as_json=True, client_timeout=seconds),
            self._settings.timeout_seconds,
        )
        config: dict[str, Any] = answer["config"]
        return config

    async def busy(self, model: str) -> "Busy":
        """The time that the model's instances have computed since the server's start."""
        answer = await self._tried(
            model,
            lambda client, seconds: client.get_inference_statistics(model, as_json=True, client_timeout=seconds),
            self._settings.timeout_seconds,
        )
        batches = answer["model_stats"][0].get("batch_stats", [])
        groups = (await self.config(model)).get("instance_group", [])
        nanoseconds = sum(int(batch.get("compute_infer", {}).get("ns", 0)) for batch in batches)
        return Busy(nanoseconds / 1e9, sum(int(group.get("count", 1)) for group in groups) or 1)

    async def infer(
        self, model: str, tensors: Sequence[InferInput], outputs: Sequence[str], seconds: float, priority: int = 0
    ) -> list[np.ndarray[Any, Any]]:
        """The output tensors. Raises DeadlineExceeded after `seconds`, retries included."""
        answer = await self._tried(
            model,
            lambda client, left: client.infer(
                model,
                list(tensors),
                outputs=[InferRequestedOutput(output) for output in outputs],
                priority=priority,
                client_timeout=left,
            ),
            seconds,
        )
        return [answer.as_numpy(output) for output in outputs]

    async def close(self) -> None:
        for client in (*self._replaced, self._client):
            await client.close()

    async def _tried(
        self, model: str, call: Callable[[InferenceServerClient, float], Awaitable[Any]], seconds: float
    ) -> Any:
        clock = asyncio.get_running_loop().time
        end, backoff = clock() + seconds, BACKOFF_SECONDS
        for attempt in range(RETRIES + 1):
            left = max(end - clock(), 0.001)
            try:
                return await asyncio.wait_for(call(await self._current_client(), left), left + 0.5)
            except TimeoutError as error:
                raise self._too_late(model, seconds) from error
            except InferenceServerException as error:
                if error.status() != _UNAVAILABLE or attempt == RETRIES or _UNKNOWN_MODEL in (error.message() or ""):
                    raise self._translated(model, error, seconds) from error
                if clock() + backoff >= end:
                    raise self._translated(model, error, seconds) from error
            await asyncio.sleep(backoff)
            backoff *= 2
        raise AssertionError("unreachable")

    def _translated(self, model: str, error: InferenceServerException, seconds: float) -> RiffleError:
        status, reason = error.status() or "", error.message() or "no reason given"
        where = f"Triton at {self.url}, model {model}: {reason}"
        if status == _DEADLINE:
            return self._too_late(model, seconds)
        if status == _INVALID:
            return PoisonError(where)
        if status == _NOT_FOUND or _UNKNOWN_MODEL in reason:
            return MissingModel(f"{where}. Add it to the server's model repository, or name another one")
        return StoreUnavailable(
            f"{where} ({status}). Is it running (`riffle status`), and does RIFFLE_TRITON__URL name its gRPC port?"
        )

    def _too_late(self, model: str, seconds: float) -> DeadlineExceeded:
        return DeadlineExceeded(f"Triton at {self.url}, model {model}: no answer in {seconds:g} s")


class MissingModel(StoreUnavailable):
    """The server answers, but its repository lacks the model."""


class TritonModel:
    """One embedding model on one server."""

    def __init__(self, connection: TritonConnection, name: str, batch_size: int, priority: int = 0) -> None:
        self._connection = connection
        self.name = name
        self.batch_size = batch_size
        self._priority = priority
        self._info: ModelInfo | None = None

    async def info(self) -> ModelInfo:
        """The model's description, from its configuration. Raises StoreUnavailable."""
        if self._info is None:
            config = await self._connection.config(self.name)
            self._info = model_info(parameters_of(config), f"Triton at {self._connection.url}, model {self.name}")
            self.batch_size = min(self.batch_size, int(config.get("max_batch_size", 0)) or 1)
        return self._info

    async def embed(self, texts: Sequence[str], seconds: float) -> Vectors:
        """Shape (len(texts), dimensions), for at most `batch_size` texts."""
        tensor = _text_tensor("TEXT", texts, (len(texts), 1))
        (vectors,) = await self._connection.infer(self.name, [tensor], ["EMBEDDING"], seconds, self._priority)
        return vectors


def new_client(settings: TritonSettings) -> InferenceServerClient:
    """A client with a channel of its own, encrypted if an authority is set. Raises UsageError."""
    return InferenceServerClient(settings.url, channel_args=list(CHANNEL_OPTIONS), **_encryption(settings))


def _encryption(settings: TritonSettings) -> dict[str, Any]:
    """The client's options for certificates. It reads the files at once."""
    files = TlsFiles.of(settings)
    names = {"root_certificates": files.ca, "private_key": files.key, "certificate_chain": files.cert}
    return {"ssl": True, **{name: path and str(path) for name, path in names.items()}} if files.ca else {}


@dataclass(frozen=True, slots=True)
class ServerState:
    """The version of a Triton server, and the states of its models as it lists them (name, state, reason)."""

    version: str
    models: list[dict[str, str]]


def server_state(settings: TritonSettings, timeout_seconds: float) -> ServerState:
    """Ask a server for its version and models, blocking. Raises StoreUnavailable, UsageError."""
    client = BlockingClient(settings.url, **_encryption(settings))
    try:
        server = client.get_server_metadata(as_json=True, client_timeout=timeout_seconds)
        index = client.get_model_repository_index(as_json=True, client_timeout=timeout_seconds)
    except InferenceServerException as error:
        raise StoreUnavailable(
            f"Triton at {settings.url} doesn't answer ({error.message()}, {error.status()})"
        ) from error
    finally:
        client.close()
    return ServerState(server.get("version", "?"), index.get("models", []))


class TritonEmbedder:
    """The embedding model on Triton. Texts of similar length are sent together, several batches at a time."""

    def __init__(
        self, connection: TritonConnection, settings: TritonSettings, query_connection: TritonConnection | None = None
    ) -> None:
        self._settings = settings
        self.has_query_server = query_connection not in (None, connection)
        size = settings.batch_size
        self._bulk = TritonModel(connection, settings.model, size, BULK_PRIORITY)
        self._urgent_bulk = TritonModel(connection, settings.model, size, QUERY_PRIORITY)
        self._queries = TritonModel(query_connection or connection, settings.query_model, size)
        self._has_query_model = bool(settings.query_model)
        self._slots = asyncio.Semaphore(IN_FLIGHT)

    async def info(self, *, urgent: bool = False) -> ModelInfo:
        """The model's description. Raises StoreUnavailable."""
        return await (await self._model(urgent)).info()

    async def embed(
        self, texts: Sequence[str], *, deadline_seconds: float | None = None, urgent: bool = False
    ) -> Vectors:
        model = await self._model(urgent)
        info, size = await model.info(), model.batch_size
        order = sorted(range(len(texts)), key=lambda index: (len(texts[index]), index))
        chunks = [order[start : start + size] for start in range(0, len(order), size)]
        seconds = self._settings.timeout_seconds if deadline_seconds is None else deadline_seconds
        vectors = np.empty((len(texts), info.dimensions), dtype=np.float32)

        async def embed_chunk(chunk: list[int]) -> None:
            async with self._slots:
                vectors[chunk] = await model.embed([texts[index] for index in chunk], seconds)

        # With a TaskGroup one failure cancels the other batches, and surfaces in a group: take it out again.
        try:
            async with asyncio.TaskGroup() as group:
                for chunk in chunks:
                    group.create_task(embed_chunk(chunk))
        except* RiffleError as failures:
            raise failures.exceptions[0] from None
        return vectors

    async def _model(self, urgent: bool) -> TritonModel:
        if not urgent:
            await self._bulk.info()
            return self._bulk
        if self._has_query_model:
            try:
                await self._queries.info()
                return self._queries
            except MissingModel as error:
                self._has_query_model = False
                log.warning("no model for queries alone: they wait for statements that are embedded", error=str(error))
        await self._urgent_bulk.info()
        return self._urgent_bulk


class TritonChains:
    """The chain model on Triton. A long page is asked for in parts, so that each request ends within its deadline."""

    def __init__(self, connection: TritonConnection) -> None:
        self._connection = connection

    async def links(self, sentences: Sequence[str], *, deadline_seconds: float | None = None) -> list[Link]:
        seconds = self._connection.timeout_seconds if deadline_seconds is None else deadline_seconds
        links = [Link()] * len(sentences)
        for start, end in parts(sentences):
            tensor = _text_tensor("SENTENCES", sentences[start:end], (end - start,))
            columns = await self._connection.infer(CHAIN_MODEL, [tensor], NAMES, seconds)
            links[start:end] = from_columns(columns, start)
        return links


class TritonReranker:
    """The cross-encoder on Triton, beside the model for queries."""

    def __init__(self, connection: TritonConnection, model: str) -> None:
        self._connection, self._model = connection, model

    async def scores(
        self, query: str, texts: Sequence[str], *, deadline_seconds: float | None = None
    ) -> Sequence[float]:
        if not texts:
            return []
        seconds = self._connection.timeout_seconds if deadline_seconds is None else deadline_seconds
        tensors = [_text_tensor("QUERY", [query], (1,)), _text_tensor("TEXTS", texts, (len(texts),))]
        (scores,) = await self._connection.infer(self._model, tensors, ["SCORES"], seconds)
        found: list[float] = scores.tolist()
        return found


def _text_tensor(name: str, texts: Sequence[str], shape: tuple[int, ...]) -> InferInput:
    tensor = InferInput(name, list(shape), "BYTES")
    encoded = [text[:MAX_TEXT_CHARS].encode("utf-8", "replace") for text in texts]
    tensor.set_data_from_numpy(np.array(encoded, dtype=np.object_).reshape(shape))
    return tensor
