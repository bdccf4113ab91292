"""One Triton server: a gRPC channel with deadlines and retries, whose answers are checked, and Riffle's errors."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import uuid4

import numpy as np
import structlog
from tritonclient.grpc import MAX_GRPC_MESSAGE_SIZE, InferInput, InferRequestedOutput
from tritonclient.grpc import InferenceServerClient as BlockingClient
from tritonclient.grpc.aio import InferenceServerClient
from tritonclient.utils import InferenceServerException, triton_to_np_dtype

from streams.credentials import TlsFiles
from streams.errors import DeadlineExceeded, PoisonError, RiffleError, StoreUnavailable
from streams.models.inference.link_columns import NAMES as COLUMNS
from streams.models.inference.seals import READ, SEAL, find_row_fault, find_whole_fault
from streams.models.protocols import ForeignAnswer
from streams.settings import TritonSettings

Tensor = np.ndarray[Any, Any]
FindFault = Callable[[Sequence[Tensor | None]], str]
"""A function that returns the fault of an answer's tensors, which may be missing, or an empty string."""
RETRIES = 3
"""Maximum further tries while the server is unavailable."""
BACKOFF_SECONDS = 0.1
"""Pause before the first further try (seconds). Each later pause is twice as long as the pause before it."""
_UNAVAILABLE, _DEADLINE, _INVALID, _NOT_FOUND = (
    f"StatusCode.{name}" for name in ("UNAVAILABLE", "DEADLINE_EXCEEDED", "INVALID_ARGUMENT", "NOT_FOUND")
)
"""The names of gRPC's status codes in the client's exceptions."""
_UNKNOWN_MODEL = "unknown model"
"""A part of Triton's message about a model that is not in its repository."""
_OTHER_TENSORS = ("unexpected inference output", "unexpected inference input", "inputs but got")
"""Parts of Triton's messages about tensors that a model does not have: its interface is another one."""
CHANNEL_OPTIONS = (
    ("grpc.max_send_message_length", MAX_GRPC_MESSAGE_SIZE),
    ("grpc.max_receive_message_length", MAX_GRPC_MESSAGE_SIZE),
    ("grpc.lb_policy_name", "round_robin"),
    ("grpc.max_reconnect_backoff_ms", 2_000),
)
"""Options of a channel. It connects to every address of the server's name (a headless service has one for each pod) and
asks them in turn. gRPC reads the name again after a connection has ended, so the servers limit the age of connections
(`--grpc-max-connection-age`): that is how added servers are found. A server that was started again is connected to
within two seconds: gRPC's own pause grows to two minutes while the server is away."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Busy:
    """Time that all instances of a model together have computed, and the number of instances."""

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
        """Return the client: a new client after a change of the certificates' files, which gRPC reads once per channel.

        Then the client before the last is closed: calls that still use the last client finish first.
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
        """Maximum time of a call without a deadline of its own (seconds)."""
        return self._settings.timeout_seconds

    async def config(self, model: str) -> dict[str, Any]:
        """Return the model's configuration as Triton gives it in JSON."""
        answer = await self._try_request(
            model,
            lambda client, seconds: client.get_model_config(model, as_json=True, client_timeout=seconds),
            self._settings.timeout_seconds,
        )
        config: dict[str, Any] = answer["config"]
        return config

    async def models(self) -> list[str]:
        """Return the names of the models that are ready."""
        return _ready_models(await self.statistics())

    async def busy(self, model: str) -> "Busy":
        """Return the time that the model's instances have computed since the server's start (seconds)."""
        answer = await self.statistics(model)
        batches = answer["model_stats"][0].get("batch_stats", [])
        groups = (await self.config(model)).get("instance_group", [])
        nanoseconds = sum(int(batch.get("compute_infer", {}).get("ns", 0)) for batch in batches)
        return Busy(nanoseconds / 1e9, sum(int(group.get("count", 1)) for group in groups) or 1)

    async def statistics(self, model: str = "") -> dict[str, Any]:
        """Return Triton's counters of a model, or of all models, in JSON."""
        answer: dict[str, Any] = await self._try_request(
            model,
            lambda client, seconds: client.get_inference_statistics(model, as_json=True, client_timeout=seconds),
            self._settings.timeout_seconds,
        )
        return answer

    async def infer(
        self,
        model: str,
        tensors: Sequence[InferInput],
        outputs: Sequence[str],
        seconds: float,
        find_fault: FindFault,
        priority: int = 0,
    ) -> list[Tensor]:
        """Return the output tensors. An answer with a fault is asked for again, as if the server were away.

        Raise ForeignAnswer if the last answer has a fault, DeadlineExceeded after `seconds`, retries included.
        """

        async def ask(client: InferenceServerClient, left: float) -> list[Tensor]:
            answer = await client.infer(
                model,
                list(tensors),
                outputs=[InferRequestedOutput(output) for output in outputs],
                priority=priority,
                client_timeout=left,
            )
            found = [answer.as_numpy(output) for output in outputs]
            if fault := find_fault(found):
                log.error(
                    "the answer of a model does not belong to its request", model=model, server=self.url, fault=fault
                )
                raise ForeignAnswer(f"Triton at {self.url}, model {model}: {fault}")
            return found

        answered: list[Tensor] = await self._try_request(model, ask, seconds)
        return answered

    async def close(self) -> None:
        for client in (*self._replaced, self._client):
            await client.close()

    async def _try_request(
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
            except ForeignAnswer:
                if attempt == RETRIES or clock() + backoff >= end:
                    raise
            except InferenceServerException as error:
                if error.status() != _UNAVAILABLE or attempt == RETRIES or _UNKNOWN_MODEL in (error.message() or ""):
                    raise self._translate_error(model, error, seconds) from error
                if clock() + backoff >= end:
                    raise self._translate_error(model, error, seconds) from error
            await asyncio.sleep(backoff)
            backoff *= 2
        raise AssertionError("unreachable")

    def _translate_error(self, model: str, error: InferenceServerException, seconds: float) -> RiffleError:
        status, reason = error.status() or "", error.message() or "no reason given"
        where = f"Triton at {self.url}, model {model}: {reason}"
        if status == _DEADLINE:
            return self._too_late(model, seconds)
        if status == _INVALID and any(part in reason for part in _OTHER_TENSORS):
            return MissingModel(f"{where}. The server's model repository is of another release: use that of this one")
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


def new_client(settings: TritonSettings) -> InferenceServerClient:
    """Return a client with a channel of its own, encrypted if an authority is set. Raises UsageError."""
    return InferenceServerClient(settings.url, channel_args=list(CHANNEL_OPTIONS), **_encryption(settings))


def _encryption(settings: TritonSettings) -> dict[str, Any]:
    """Return the client's options for certificates. It reads the files at once."""
    files = TlsFiles.of(settings)
    names = {"root_certificates": files.ca, "private_key": files.key, "certificate_chain": files.cert}
    return {"ssl": True, **{name: path and str(path) for name, path in names.items()}} if files.ca else {}


@dataclass(frozen=True, slots=True)
class ServerState:
    """The version of a Triton server, and the names of its models that are ready."""

    version: str
    models: list[str]


BROKEN = "is not healthy"
"""A part of Triton's message about a model whose process has ended and is not started again."""


ModelState = Literal["ok", "silent", "broken"]


def model_states(settings: TritonSettings, models: Sequence[str], timeout_seconds: float) -> dict[str, ModelState]:
    """Ask each model for one answer, blocking. Return the state of each model.

    `broken`: the model's process has ended for good, or gives answers of other requests. Triton keeps such a model for
    ever, and lists it as ready. `silent`: no answer in time.
    """
    client = BlockingClient(settings.url, **_encryption(settings))
    try:
        return {model: _state_of(client, model, timeout_seconds) for model in models}
    finally:
        client.close()


def _state_of(client: BlockingClient, model: str, timeout_seconds: float) -> ModelState:
    """Return the state of a model, by its answer to a small request."""
    text = f"a {uuid4()}".encode()  # another one each time, so that the answer of an earlier look is not taken for this
    try:
        metadata = client.get_model_metadata(model, as_json=True, client_timeout=timeout_seconds)
        tensors = []
        for described in metadata["inputs"]:
            shape = [max(int(size), 1) for size in described["shape"]]
            tensor = InferInput(described["name"], shape, described["datatype"])
            tensor.set_data_from_numpy(_small_tensor(described["datatype"], shape, text))
            tensors.append(tensor)
        answer = client.infer(model, tensors, client_timeout=timeout_seconds)
    except InferenceServerException as error:
        if BROKEN in (error.message() or ""):
            return "broken"
        return "silent" if "DEADLINE_EXCEEDED" in (error.status() or "") else "ok"
    named = [output["name"] for output in metadata.get("outputs", [])]
    if SEAL not in named:  # a graph, which no process of a backend answers
        return "ok"
    texts = [text] * sum(described["datatype"] == "BYTES" for described in metadata["inputs"])
    if fault := _find_fault(texts, {name: answer.as_numpy(name) for name in named}):
        log.error("the answer of a model does not belong to its request", model=model, fault=fault)
    return "broken" if fault else "ok"


def _find_fault(texts: Sequence[bytes], outputs: Mapping[str, Tensor | None]) -> str:
    """Return the reason why a sealed answer of one row does not belong to these texts, or an empty string."""
    names = sorted(outputs.keys() - {SEAL, READ}, key=lambda name: COLUMNS.index(name) if name in COLUMNS else -1)
    columns, seal = [outputs[name] for name in names], outputs[SEAL]
    if seal is None or seal.ndim == 1:
        return find_whole_fault(texts, 1, [*columns, seal])
    (rows,) = columns
    read = [outputs[READ]] if READ in outputs else []
    return find_row_fault(texts, rows.shape[-1] if rows is not None and rows.ndim else 0, [rows, seal, *read])


def _small_tensor(datatype: str, shape: Sequence[int], text: bytes) -> Tensor:
    """Return the text, or ones: a token that every vocabulary has."""
    if datatype == "BYTES":
        return np.full(shape, text, dtype=np.object_)
    return np.ones(shape, dtype=triton_to_np_dtype(datatype))


def _ready_models(statistics: Mapping[str, Any]) -> list[str]:
    """Return the names of the models that a server counts for: those that are ready.

    The list of the model repository would also have the others. It is closed, since loading models belongs to it
    (`streams.models.inference.serving`).
    """
    return sorted({model["name"] for model in statistics.get("model_stats", ())})


def server_state(settings: TritonSettings, timeout_seconds: float) -> ServerState:
    """Ask a server for its version and models, blocking. Raises StoreUnavailable, UsageError."""
    client = BlockingClient(settings.url, **_encryption(settings))
    try:
        server = client.get_server_metadata(as_json=True, client_timeout=timeout_seconds)
        statistics = client.get_inference_statistics(as_json=True, client_timeout=timeout_seconds)
    except InferenceServerException as error:
        raise StoreUnavailable(
            f"Triton at {settings.url} doesn't answer ({error.message()}, {error.status()})"
        ) from error
    finally:
        client.close()
    return ServerState(server.get("version", "?"), _ready_models(statistics))
