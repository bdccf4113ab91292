"""The models of the local repository in this process, for machines that Triton doesn't run on.

Slower than Triton, since every process has a copy of its own and one thread at a time runs it; otherwise the same
files, configuration and vectors.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from streams.errors import DeadlineExceeded
from streams.models.inference.chain_encoder import Links, chain_model
from streams.models.inference.chain_windows import parts
from streams.models.inference.cross_encoder import CrossEncoder
from streams.models.inference.encoder import SentenceEncoder
from streams.models.inference.repository import CHAIN_MODEL, model_info, parameters_of, read_config
from streams.models.inference.runtimes import resolve_runtime
from streams.models.protocols import Link, ModelInfo, Vectors, shift_link
from streams.settings import Settings

LOCAL_REPOSITORY = "local"
VERSION = "1"


class InProcessEmbedder:
    """A sentence encoder behind the Embedder protocol, in a thread of its own."""

    def __init__(self, encoder: SentenceEncoder, info: ModelInfo, batch_size: int) -> None:
        self._encoder = encoder
        self._info = info
        self._batch_size = batch_size
        self._thread = ThreadPoolExecutor(1, "encoder")

    async def info(self, *, urgent: bool = False) -> ModelInfo:
        return self._info

    async def embed(
        self, texts: Sequence[str], *, deadline_seconds: float | None = None, urgent: bool = False
    ) -> Vectors:
        """Embed the texts. Raises DeadlineExceeded; a batch that has begun still ends in the thread."""
        try:
            async with asyncio.timeout(deadline_seconds):
                return await self._embed(list(texts))
        except TimeoutError as error:
            raise DeadlineExceeded(f"the model in this process: no answer in {deadline_seconds} s") from error

    async def _embed(self, texts: list[str]) -> Vectors:
        """Embed batch by batch, so that a query gets the thread between two batches of a long page."""
        loop = asyncio.get_running_loop()
        vectors = np.empty((len(texts), self._info.dimensions), dtype=np.float32)
        for start in range(0, len(texts), self._batch_size):
            batch = texts[start : start + self._batch_size]
            vectors[start : start + len(batch)] = await loop.run_in_executor(self._thread, self._encoder.embed, batch)
        return vectors

    async def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


class InProcessChains:
    """A chain model behind the ChainModel protocol, in a thread of its own."""

    def __init__(self, model: Links) -> None:
        self._model = model
        self._thread = ThreadPoolExecutor(1, "chains")

    async def links(self, sentences: Sequence[str], *, deadline_seconds: float | None = None) -> list[Link]:
        """Return the links. Raises DeadlineExceeded; a part that has begun still ends in the thread."""
        try:
            async with asyncio.timeout(deadline_seconds):
                return await self._links(sentences)
        except TimeoutError as error:
            raise DeadlineExceeded(f"the chain model in this process: no answer in {deadline_seconds} s") from error

    async def _links(self, sentences: Sequence[str]) -> list[Link]:
        loop = asyncio.get_running_loop()
        links = [Link()] * len(sentences)
        for start, end in parts(sentences):
            found = await loop.run_in_executor(self._thread, self._model, sentences[start:end])
            links[start:end] = [shift_link(link, start) for link in found]
        return links

    async def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


class InProcessReranker:
    """A cross-encoder behind the Reranker protocol, in a thread of its own. It is loaded at the first call."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._encoder: CrossEncoder | None = None
        self._thread = ThreadPoolExecutor(1, "reranker")

    async def scores(
        self, query: str, texts: Sequence[str], *, deadline_seconds: float | None = None
    ) -> Sequence[float]:
        """Return the scores. Raises UsageError, DeadlineExceeded; a call that has begun still ends in the thread."""
        try:
            async with asyncio.timeout(deadline_seconds):
                return await asyncio.get_running_loop().run_in_executor(self._thread, self._scores, query, texts)
        except TimeoutError as error:
            raise DeadlineExceeded(f"the cross-encoder in this process: no answer in {deadline_seconds} s") from error

    def _scores(self, query: str, texts: Sequence[str]) -> list[float]:
        if self._encoder is None:
            self._encoder = CrossEncoder(parameters_of(read_config(self._folder)), self._folder / VERSION)
        found: list[float] = self._encoder.scores(query, texts).tolist()
        return found

    async def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


def open_chains(settings: Settings) -> tuple[str, InProcessChains]:
    """Return the chain model of the local repository, and its name with its version. Raises UsageError."""
    folder = settings.models_path / LOCAL_REPOSITORY / CHAIN_MODEL
    parameters = parameters_of(read_config(folder))
    model = chain_model(parameters, folder / VERSION)
    return f"{parameters['model_name']} {parameters['model_version']}", InProcessChains(model)


async def open_in_process(
    settings: Settings,
) -> tuple[InProcessEmbedder, InProcessChains, InProcessReranker, Callable[[], Awaitable[None]]]:
    """Load the encoder of the local repository. Raises UsageError, which names the missing or wrong file."""
    folder = settings.models_path / LOCAL_REPOSITORY / settings.triton.model
    config: dict[str, Any] = read_config(folder)
    parameters = resolve_runtime(parameters_of(config))
    encoder = await asyncio.to_thread(SentenceEncoder, parameters, folder / VERSION)
    embedder = InProcessEmbedder(encoder, model_info(parameters, str(folder)), settings.triton.batch_size)
    _, chains = await asyncio.to_thread(open_chains, settings)
    reranker = InProcessReranker(settings.models_path / LOCAL_REPOSITORY / settings.triton.rerank_model)

    async def close() -> None:
        await embedder.close()
        await chains.close()
        await reranker.close()

    return embedder, chains, reranker, close
