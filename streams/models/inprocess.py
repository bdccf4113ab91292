"""The models of the local repository in this process: the same files, configuration and vectors as in Triton.

A model is loaded at its first use, so that a process has only the models that it uses. Statements and queries have an
encoder each: no query waits for statements.
"""

import asyncio
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from streams.errors import DeadlineExceeded, UsageError
from streams.models.batches import BATCH_SIZE, embed_in_batches
from streams.models.inference.chain_encoder import Links, chain_model
from streams.models.inference.chain_windows import parts
from streams.models.inference.cross_encoder import CrossEncoder
from streams.models.inference.encoder import SentenceEncoder
from streams.models.inference.pair_encoder import PairEncoder, check_model_files, open_encoder
from streams.models.inference.repository import (
    CHAIN_MODEL,
    LOCAL_REPOSITORY,
    SERVER_MODEL,
    check_files,
    model_info,
    parameters_of,
    read_config,
)
from streams.models.inference.runtimes import resolve_runtime
from streams.models.protocols import Embedder, Link, ModelInfo, Models, TextRole, Vectors, shift_link
from streams.settings import Settings
from streams.tracing import INTERNAL, span

VERSION = "1"
BULK_NICE = 5
"""Niceness added to the threads that embed statements and link them: the process's other work, such as events of other
stages, comes first."""
THREAD_NAME = "models"
"""The kernel's name of each thread that runs a model, as `top -H` shows it."""
M = TypeVar("M")
T = TypeVar("T")


class Loaded(Generic[M]):
    """A model that its own threads load at the first call."""

    def __init__(self, load: Callable[[], M], threads: int = 1, nice: int = 0) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._model: M | None = None
        self._threads = ThreadPoolExecutor(threads, THREAD_NAME, _begin_thread, (nice,))

    async def call(self, use: Callable[[M], T]) -> T:
        """Call `use` with the model, in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, lambda: use(self._get()))

    def _get(self) -> M:
        with self._lock:
            if self._model is None:
                self._model = self._load()
            return self._model

    def close(self) -> None:
        """Take no more calls. A call that has begun still ends in its thread."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _begin_thread(nice: int) -> None:
    """Name this thread for the kernel, and add to its niceness.

    A runtime's own threads get both from the thread that loads the model.
    """
    with suppress(OSError):  # only Linux has this file, and a niceness for each thread
        Path("/proc/thread-self/comm").write_text(THREAD_NAME)
        os.nice(nice)


class ClosableEmbedder(Embedder, Protocol):
    """An embedding model with connections or threads of its own."""

    async def close(self) -> None: ...


class InProcessEmbedder:
    """A sentence encoder behind the Embedder protocol: several threads for statements, one for queries."""

    def __init__(self, load: Callable[[int], SentenceEncoder | PairEncoder], info: ModelInfo, threads: int) -> None:
        """`load` loads the encoder for a number of threads that call it at once."""
        self._info = info
        self._statements = Loaded(lambda: load(threads), threads, BULK_NICE)
        self._queries = Loaded(lambda: load(1))

    async def info(self, role: TextRole = "passage") -> ModelInfo:
        return self._info

    async def embed(self, texts: Sequence[str], role: TextRole, *, deadline_seconds: float | None = None) -> Vectors:
        """Embed the texts. Raises DeadlineExceeded; a batch that has begun still ends in its thread."""
        encoder = self._queries if role == "query" else self._statements
        try:
            async with asyncio.timeout(deadline_seconds):
                with span(f"model {self._info.name} embed", {"riffle.texts": len(texts)}, INTERNAL):
                    return await embed_in_batches(
                        self._info.prefixed(texts, role),
                        BATCH_SIZE,
                        self._info.dimensions,
                        lambda batch: encoder.call(lambda model: model.embed(batch)),
                    )
        except TimeoutError as error:
            raise DeadlineExceeded(f"the model in this process: no answer in {deadline_seconds} s") from error

    async def close(self) -> None:
        self._statements.close()
        self._queries.close()


class InProcessChains:
    """A chain model behind the ChainModel protocol, in a thread of its own."""

    def __init__(self, load: Callable[[], Links]) -> None:
        self._model = Loaded(load, nice=BULK_NICE)

    async def links(self, sentences: Sequence[str], *, deadline_seconds: float | None = None) -> list[Link]:
        """Return the links. Raises DeadlineExceeded; a part that has begun still ends in the thread."""
        try:
            async with asyncio.timeout(deadline_seconds):
                with span("model chains", {"riffle.texts": len(sentences)}, INTERNAL):
                    return await self._links(sentences)
        except TimeoutError as error:
            raise DeadlineExceeded(f"the chain model in this process: no answer in {deadline_seconds} s") from error

    async def _links(self, sentences: Sequence[str]) -> list[Link]:
        links = [Link()] * len(sentences)
        for start, end in parts(sentences):
            links[start:end] = [shift_link(link, start) for link in await self._links_of_part(sentences[start:end])]
        return links

    async def _links_of_part(self, sentences: Sequence[str]) -> list[Link]:
        return await self._model.call(lambda links_of: links_of(sentences))

    async def close(self) -> None:
        self._model.close()


class InProcessReranker:
    """A cross-encoder behind the Reranker protocol, in a thread of its own."""

    def __init__(self, folder: Path) -> None:
        self._encoder = Loaded(lambda: CrossEncoder(parameters_of(read_config(folder)), folder / VERSION))

    async def scores(
        self, query: str, texts: Sequence[str], *, deadline_seconds: float | None = None
    ) -> Sequence[float]:
        """Return the scores. Raises UsageError, DeadlineExceeded; a call that has begun still ends in the thread."""
        try:
            async with asyncio.timeout(deadline_seconds):
                found: list[float] = await self._encoder.call(lambda model: model.scores(query, texts).tolist())
                return found
        except TimeoutError as error:
            raise DeadlineExceeded(f"the cross-encoder in this process: no answer in {deadline_seconds} s") from error

    async def close(self) -> None:
        self._encoder.close()


def open_chains(settings: Settings, need_threshold: float | None = None) -> tuple[str, InProcessChains]:
    """Return the chain model of the local repository, and its name with its version. Raises UsageError.

    `need_threshold` is for measurements, in place of the repository's own.
    """
    folder = settings.models_path / LOCAL_REPOSITORY / CHAIN_MODEL
    parameters = parameters_of(read_config(folder))
    check_files(parameters, folder / VERSION)
    if need_threshold is not None:
        parameters = {**parameters, "need_threshold": str(need_threshold)}
    chains = InProcessChains(lambda: chain_model(parameters, folder / VERSION))
    return f"{parameters['model_name']} {parameters['model_version']}", chains


def need_threshold(settings: Settings) -> float:
    """Return the least probability of a need that makes a chain, as the local repository has it."""
    return float(parameters_of(read_config(settings.models_path / LOCAL_REPOSITORY / CHAIN_MODEL))["need_threshold"])


def embedding_model(settings: Settings) -> ModelInfo:
    """Return the description of the embedding model, by its configuration only. Raises UsageError, StoreUnavailable."""
    folder, parameters = embedding_parameters(settings)
    return model_info(parameters, str(folder))


def embedding_parameters(settings: Settings) -> tuple[Path, dict[str, str]]:
    """Return the folder of the embedding model, and its parameters with a runtime that is installed."""
    folder = settings.models_path / LOCAL_REPOSITORY / settings.triton.model
    if not folder.is_dir():
        others = ", ".join(sorted(path.parent.name for path in folder.parent.glob("*/config.pbtxt")))
        raise UsageError(
            f"{folder.parent} has no model {settings.triton.model!r} (RIFFLE_TRITON__MODEL), only {others}"
        )
    return folder, resolve_runtime(parameters_of(read_config(folder)))


def open_in_process(settings: Settings) -> Models:
    """Return the models of the local repository. Raises UsageError, which names the missing or wrong file."""
    folder, parameters = embedding_parameters(settings)
    if SERVER_MODEL in parameters:
        raise UsageError(f"{folder} describes a model of a server: set RIFFLE_TRITON__URL=openai+https://HOST/v1")
    check_model_files(parameters, folder / VERSION)
    embedder = InProcessEmbedder(
        lambda callers: open_encoder(parameters, folder / VERSION, callers),
        model_info(parameters, str(folder)),
        settings.triton.threads or count_cores(),
    )
    return beside(embedder, settings)


def beside(embedder: ClosableEmbedder, settings: Settings) -> Models:
    """Return the other models of the local repository with this embedder. Raises UsageError."""
    _, chains = open_chains(settings)
    reranker = InProcessReranker(settings.models_path / LOCAL_REPOSITORY / settings.triton.rerank_model)

    async def close() -> None:
        await embedder.close()
        await chains.close()
        await reranker.close()

    return Models(embedder, chains, reranker, close)


def count_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
