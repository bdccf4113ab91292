"""Models that are graphs in a Triton server: token ids go in, so the client tokenizes and reads the numbers.

A server with such models needs no python backend. The tokenizer, and what else a client has to know, are parameters of
the model's configuration (`tokenizing`). Each graph also returns a checksum of the ids that it has read, so an
answer is compared with its request (`seals.find_read_fault`).

    model            tensor           type, shape
    embedding        input_ids        INT64 [n, tokens]
                     attention_mask   INT64 [n, tokens]
                     -> embedding     FP32 [n, dimensions]
                     -> read          INT64 [n, 1]
    a pair           the same of both encoders (`pair_tokens`)
                     -> embedding     FP32 [n, dimensions of both]
                     -> read          INT64 [n, 2]
    statement_chain  input_ids        INT64 [tokens]
                     membership       FP32 [sentences, tokens]: 1 where a token is a sentence's
                     -> need, leaf    FP32 [sentences]
                     -> scores        FP32 [sentences, sentences]
                     -> read          INT64 [1]
    statement_chain  input_ids        INT64 [n, tokens]: windows in batches, if its `max_batch_size` is not 0
                     membership       FP32 [n, sentences, tokens]
                     -> need, leaf    FP32 [n, sentences]
                     -> scores        FP32 [n, sentences, sentences]
                     -> read          INT64 [n, 1]
    cross-encoder    input_ids        INT64 [n, tokens]
                     attention_mask   INT64 [n, tokens]
                     token_type_ids   INT64 [n, tokens], unless the model has no such input
                     -> logits        FP32 [n, classes]
                     -> read          INT64 [n, 1]
"""

import asyncio
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from tritonclient.grpc import InferInput

from streams.errors import StoreUnavailable
from streams.models.batches import gather_all
from streams.models.inference.chain_encoder import OUTPUTS, Batch, ChainReader
from streams.models.inference.cross_encoder import Floats, read_scores
from streams.models.inference.packed.graph import FIRST
from streams.models.inference.pair_tokens import PairTokens
from streams.models.inference.pairs import IDS, MASK, Feeds, PairTokenizer
from streams.models.inference.repository import Parameters, parameters_of, prefixes_of
from streams.models.inference.seals import find_read_fault, read_checksums
from streams.models.inference.tokenizing import PaddedTokenizer, Tokens, unpack_tokenizer
from streams.models.protocols import Link, Vectors
from streams.models.triton_connection import Tensor, TritonConnection

MEMBERSHIP, LOGITS, READ = "membership", "logits", "read"
BATCHES_AT_ONCE = 4
"""Maximum requests to the chain model at the server, for one page."""


def is_graph(config: Mapping[str, Any]) -> bool:
    """Return True if the model takes token ids, by its configuration."""
    return IDS in _inputs(config)


def _inputs(config: Mapping[str, Any]) -> list[str]:
    return [tensor.get("name", "") for tensor in config.get("input", [])]


class EmbeddingGraph:
    """The graph of an embedding model, or of a pair of them."""

    def __init__(self, connection: TritonConnection, name: str, config: Mapping[str, Any]) -> None:
        parameters, where = parameters_of(config), f"Triton at {connection.url}, model {name}"
        self._connection, self._name = connection, name
        prefixes = prefixes_of(parameters)
        self._tokenizer = _padded_tokenizer(parameters, where, prefixes=prefixes)
        self._pair: PairTokens | None = None
        if FIRST + IDS in _inputs(config):
            self._pair = PairTokens(_padded_tokenizer(parameters, where, of=FIRST), self._tokenizer, prefixes)

    async def embed(self, texts: Sequence[str], width: int, seconds: float, priority: int) -> Vectors:
        """Return the vectors of one batch. Raises the errors of `TritonConnection.infer`."""
        tokens = await asyncio.to_thread(self._encode, texts)
        checksums = np.concatenate([read_checksums(*both) for both in tokens], axis=1)
        names = [prefix + name for prefix in ("", FIRST) for name in (IDS, MASK)]
        vectors, _ = await self._connection.infer(
            self._name,
            [_tensor(name, values) for name, values in zip(names, chain.from_iterable(tokens), strict=False)],
            ["embedding", READ],
            seconds,
            lambda tensors: find_read_fault(checksums, [(len(texts), width)], tensors),
            priority,
        )
        return vectors

    def _encode(self, texts: Sequence[str]) -> list[tuple[Tokens, Tokens]]:
        return self._pair.encode(texts) if self._pair else [self._tokenizer.encode(texts)]


def _padded_tokenizer(
    parameters: Parameters, where: str, of: str = "", prefixes: Sequence[str] = ()
) -> PaddedTokenizer:
    """Return the tokenizer of a graph, by the parameters whose names begin with `of`. Raises StoreUnavailable."""
    tokenizer = unpack_tokenizer(parameters, where, of)
    try:
        sizes = {"max_tokens": int(parameters[f"{of}max_tokens"]), "pad_to": int(parameters["pad_to"])}
    except (KeyError, ValueError) as error:
        raise StoreUnavailable(f"{where}: its parameter {error} is missing or no number") from error
    return PaddedTokenizer(tokenizer, **sizes, prefixes=prefixes)


class ChainGraph:
    """The graph of the chain model."""

    def __init__(self, connection: TritonConnection, name: str, config: Mapping[str, Any]) -> None:
        parameters, where = parameters_of(config), f"Triton at {connection.url}, model {name}"
        self._connection, self._name = connection, name
        rows = int(config.get("max_batch_size", 0))
        self._reader = ChainReader(parameters, unpack_tokenizer(parameters, where), rows)

    async def links(self, sentences: Sequence[str], seconds: float) -> list[Link]:
        """Return the links of these sentences. Raises the errors of `TritonConnection.infer`."""
        passes = await asyncio.to_thread(lambda: list(self._reader.passes(sentences)))
        slots, made = asyncio.Semaphore(BATCHES_AT_ONCE), dict[int, list[Tensor]]()

        async def run(batch: Batch) -> None:
            async with slots:
                made.update(batch.outputs(await self._run(batch, seconds)))

        await gather_all(map(run, self._reader.batches(passes)))
        answers = [made[place] for place in range(len(passes))]
        return self._reader.make_links(self._reader.answers(sentences, passes, answers))

    async def _run(self, batch: Batch, seconds: float) -> list[Tensor]:
        ids = np.atleast_2d(batch.feeds[IDS])
        checksums = read_checksums(ids, np.ones_like(ids))  # padding has the id 0, which adds nothing
        *outputs, _ = await self._connection.infer(
            self._name,
            [_tensor(name, values) for name, values in batch.feeds.items()],
            [*OUTPUTS, READ],
            seconds,
            lambda tensors: find_read_fault(checksums, batch.shapes, tensors),
        )
        return outputs


class RerankGraph:
    """The graph of a cross-encoder."""

    def __init__(self, connection: TritonConnection, name: str, config: Mapping[str, Any]) -> None:
        parameters, where = parameters_of(config), f"Triton at {connection.url}, model {name}"
        self._connection, self._name = connection, name
        self._inputs = _inputs(config)
        self._classes = next(int(tensor["dims"][0]) for tensor in config["output"] if tensor["name"] == LOGITS)
        self._batch_size = int(config.get("max_batch_size", 0)) or 1
        try:
            self._pairs = PairTokenizer(unpack_tokenizer(parameters, where), int(parameters["max_tokens"]))
        except (KeyError, ValueError) as error:
            raise StoreUnavailable(f"{where}: its parameter {error} is missing or no number") from error

    async def scores(self, query: str, texts: Sequence[str], seconds: float) -> Floats:
        """Return the score of each text. Raises the errors of `TritonConnection.infer`."""
        scores = np.empty(len(texts), dtype=np.float32)
        batches = await asyncio.to_thread(lambda: list(self._pairs.batches(query, texts)))

        async def run(batch: list[int], feeds: Feeds) -> None:
            for start in range(0, len(batch), self._batch_size):
                part = slice(start, start + self._batch_size)
                scores[batch[part]] = await self._run({name: values[part] for name, values in feeds.items()}, seconds)

        await gather_all(run(batch, feeds) for batch, feeds in batches)
        return scores

    async def _run(self, feeds: Feeds, seconds: float) -> Floats:
        checksums, rows = read_checksums(feeds[IDS], feeds[MASK]), len(feeds[IDS])
        logits, _ = await self._connection.infer(
            self._name,
            [_tensor(name, feeds[name]) for name in self._inputs],
            [LOGITS, READ],
            seconds,
            lambda tensors: find_read_fault(checksums, [(rows, self._classes)], tensors),
        )
        return read_scores(logits, rows)


def _tensor(name: str, values: Tensor) -> InferInput:
    tensor = InferInput(name, list(values.shape), "INT64" if values.dtype == np.int64 else "FP32")
    tensor.set_data_from_numpy(np.ascontiguousarray(values))
    return tensor
