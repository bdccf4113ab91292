"""An embedding model behind a server with the API of OpenAI (`POST URL/embeddings`), such as vLLM, TEI or llama.cpp.

`RIFFLE_TRITON__URL=openai+https://HOST/v1` names the server, and `RIFFLE_TRITON__MODEL` a description in the folder
`local` of the model repository, which `triton_models/describe_server.py` writes. The other models run in this process.

The server is the operator's, but what it answers is a stranger's: an answer has a deadline and a limit of bytes, no
redirects are followed, and each is compared with its request before it is believed (`openai_answers`). The key is sent
to this server only, and is in no message.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import numpy as np
import orjson
import structlog

from streams.client.plain_http import plain_async_client
from streams.credentials import TlsFiles, client_context
from streams.errors import DeadlineExceeded, PoisonError, StoreUnavailable, UsageError
from streams.models.batches import embed_in_batches
from streams.models.inference.repository import SERVER_MODEL, find_file, model_info
from streams.models.inprocess import VERSION, beside, embedding_parameters
from streams.models.openai_answers import PROBES, USUAL_BYTES_PER_TOKEN, Request, ServedModel, as_sent, most_bytes
from streams.models.protocols import ForeignAnswer, ModelInfo, Models, TextRole, Vectors
from streams.settings import Settings
from streams.settings.servers import OPENAI, TritonSettings
from streams.tracing import span

PATH = "/embeddings"
IN_FLIGHT = 4
"""Maximum requests for statements at the server. Queries don't wait for them."""
RETRIES = 3
"""Maximum further tries of a request that the server does not answer."""
BACKOFF_SECONDS = 0.2
"""Pause before the first further try (seconds), if the server names none. Each later pause is twice as long."""
CONNECT_SECONDS = 5.0
BUSY = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
"""Statuses of an answer that may be another one soon (RFC 9110, 15)."""
REFUSED = frozenset({400, 413, 422})
"""Statuses for a request that the server does not take: too many texts, or a text with too many tokens."""

log = structlog.get_logger(__name__)


class _Refused(Exception):
    """The server does not take the request."""


def open_openai(settings: Settings) -> Models:
    """Return the embedding model behind the server, and the others in this process. The server is asked at first use.

    Raises UsageError, StoreUnavailable.
    """
    folder, parameters = embedding_parameters(settings)
    return beside(OpenAIEmbedder.of(settings.triton, served_model(parameters, folder / VERSION)), settings)


def server_url(settings: TritonSettings) -> str:
    """Return the address of the server. Raises UsageError."""
    url = settings.url.removeprefix(OPENAI).rstrip("/")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or "@" in url:
        raise UsageError(
            "RIFFLE_TRITON__URL needs an address such as openai+https://models.example/v1, without a password in it"
        )
    return url


def served_model(parameters: Mapping[str, str], folder: Path) -> ServedModel:
    """Return the model of a description. `folder` has its files. Raises UsageError, StoreUnavailable."""
    if SERVER_MODEL not in parameters:
        raise UsageError(
            f"{folder.parent} describes no model of a server ({SERVER_MODEL}). "
            "Write a description by triton_models/describe_server.py, or set RIFFLE_TRITON__URL=inprocess:"
        )
    info = model_info(parameters, str(folder.parent))
    probes = np.load(find_file(parameters, "probes", folder), allow_pickle=False)
    if probes.shape != (len(PROBES), info.dimensions) or probes.dtype != np.float32:
        raise UsageError(f"{folder} has probes of shape {probes.shape}: write it again by describe_server.py")
    return ServedModel(
        info,
        parameters[SERVER_MODEL],
        probes,
        parameters.get("encoding_format", "base64"),
        parameters.get("asks_dimensions") == "true",
        max(int(parameters.get("batch_size", "64")), 1),
    )


class OpenAIEmbedder:
    """See `Embedder`."""

    def __init__(
        self, url: str, model: ServedModel, key: Callable[[], str] = str, *, seconds: float = 30.0, verify: Any = True
    ) -> None:
        """`key` returns the API key for the next request, or an empty text. `seconds`: maximum time of a batch."""
        self._url, self._model, self._key, self._seconds = url.rstrip("/") + PATH, model, key, seconds
        self.path = urlsplit(self._url).path
        # Without TLS nothing is verified, and reading the certificates of all authorities takes 35 ms of CPU time.
        verify = False if url.lower().startswith("http:") else verify
        self._client = plain_async_client(follow_redirects=False, trust_env=False, verify=verify)
        self._slots = asyncio.Semaphore(IN_FLIGHT)

    @classmethod
    def of(cls, settings: TritonSettings, model: ServedModel) -> "OpenAIEmbedder":
        """Return the embedder of the settings. Raises UsageError."""
        verify = client_context(TlsFiles(ca=settings.ca_file)) if settings.ca_file else True
        return cls(
            server_url(settings), model, settings.current_api_key, seconds=settings.timeout_seconds, verify=verify
        )

    @property
    def model(self) -> ServedModel:
        return self._model

    async def info(self, role: TextRole = "passage") -> ModelInfo:
        return self._model.info

    async def embed(self, texts: Sequence[str], role: TextRole, *, deadline_seconds: float | None = None) -> Vectors:
        """Return the vectors. Raises StoreUnavailable, DeadlineExceeded, and PoisonError for a text that is refused."""
        info, seconds = self._model.info, self._seconds if deadline_seconds is None else deadline_seconds
        prefix = info.prefix(role)

        async def embed_batch(batch: list[str]) -> Vectors:
            if role == "query":
                return await self._embed_in_time(batch, prefix, seconds)
            async with self._slots:
                return await self._embed_in_time(batch, prefix, seconds)

        with span(f"model {info.name} embed", {"riffle.texts": len(texts)}):
            return await embed_in_batches(texts, self._model.batch_size, info.dimensions, embed_batch)

    async def close(self) -> None:
        await self._client.aclose()

    async def _embed_in_time(self, texts: Sequence[str], prefix: str, seconds: float) -> Vectors:
        try:
            async with asyncio.timeout(seconds) as limit:
                end = limit.when()
                assert end is not None
                return await self._embed(texts, prefix, end)
        except TimeoutError as error:
            raise DeadlineExceeded(f"{self._url}: no answer in {seconds:g} s") from error

    async def _embed(self, texts: Sequence[str], prefix: str, end: float) -> Vectors:
        """Embed the texts. A request that is refused is divided, and at last a text is shortened."""
        most = self._model.info.max_tokens
        sent = [as_sent(text, prefix, most * USUAL_BYTES_PER_TOKEN) for text in texts]
        try:
            return await self._ask(Request.of(sent), end)
        except _Refused:
            await self._check_accepts(end)
            if len(texts) > 1:
                half = len(texts) // 2
                return np.concatenate([await self._embed(part, prefix, end) for part in (texts[:half], texts[half:])])
        try:
            return await self._ask(Request.of([as_sent(texts[0], prefix, max(most - len(prefix.encode()), 1))]), end)
        except _Refused as error:
            raise PoisonError(f"{self._url} does not take a text of {len(texts[0])} characters: {error}") from error

    async def _check_accepts(self, end: float) -> None:
        """Raise StoreUnavailable if the server also refuses a request without texts of others: it takes none at all."""
        try:
            await self._ask(Request.of([]), end)
        except _Refused as error:
            raise StoreUnavailable(f"{error}. Does the server have the model {self._model.name}?") from error

    async def _ask(self, request: Request, end: float) -> Vectors:
        """Return the vectors of a request's texts. An answer with a fault is asked for again, as after an outage."""
        clock, backoff = asyncio.get_running_loop().time, BACKOFF_SECONDS
        for attempt in range(RETRIES + 1):
            pause = backoff
            try:
                status, headers, answer = await self._post(request)
                if status == 200:
                    return request.vectors(answer, self._model)
                if status not in BUSY:
                    raise self._failure(status)
                failure = self._failure(status)
                pause = max(backoff, _retry_after(headers))
            except ValueError as error:
                failure = ForeignAnswer(f"{self._url}, model {self._model.name}: {error}")
                log.error(
                    "the answer of a model does not belong to its request",
                    model=self._model.name,
                    server=self._url,
                    fault=str(error),
                )
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                failure = StoreUnavailable(f"{self._url}: {type(error).__name__}: {error}. Does the server run?")
                failure.__cause__ = error
            if attempt == RETRIES or clock() + pause >= end:
                raise failure
            await asyncio.sleep(pause)
            backoff *= 2
        raise AssertionError("unreachable")

    async def _post(self, request: Request) -> tuple[int, Mapping[str, str], bytes]:
        """Return the status, headers and body of the answer. The body of a failure is not read."""
        headers = {"Content-Type": "application/json", **self._authorization()}
        content = orjson.dumps(request.body(self._model))
        limits = httpx2.Timeout(None, connect=CONNECT_SECONDS)
        async with self._client.stream("POST", self._url, content=content, headers=headers, timeout=limits) as response:
            if response.status_code != 200:
                return response.status_code, response.headers, b""
            most, body = most_bytes(len(request.texts), self._model.info.dimensions), bytearray()
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > most:
                    raise ValueError(f"more than {most:,} bytes")
            return 200, response.headers, bytes(body)

    def _authorization(self) -> dict[str, str]:
        try:
            key = self._key()
        except UsageError as error:  # the file can't be read
            raise StoreUnavailable(str(error)) from error
        if not all("!" <= char <= "~" for char in key):  # the HTTP client's error would show it
            raise StoreUnavailable("the API key of the embedding model has characters that are not visible ASCII")
        return {"Authorization": f"Bearer {key}"} if key else {}

    def _failure(self, status: int) -> Exception:
        where = f"{self._url} answered with status {status}"
        if status in REFUSED:
            return _Refused(where)
        if status in (401, 403):
            return StoreUnavailable(f"{where}. Does RIFFLE_TRITON__KEY_FILE have the server's API key?")
        if 300 <= status < 400:
            return StoreUnavailable(f"{where}. Redirects are not followed: set RIFFLE_TRITON__URL to the last address")
        return StoreUnavailable(f"{where}. Does the server have the model {self._model.name}?")


def _retry_after(headers: Mapping[str, str]) -> float:
    """Return the pause that the server asks for (seconds), or 0. A date is not read."""
    value = headers.get("retry-after", "").strip()
    return float(value) if value.isascii() and value.isdigit() and len(value) < 6 else 0.0
