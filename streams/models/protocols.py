"""The embedding model, the chain model and the reranker."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from schemas.pages import ModelName
from streams.errors import StoreUnavailable

Vectors = NDArray[np.float32]
"""Shape (n, dimensions), rows of unit length unless the model says otherwise."""
TextRole = Literal["query", "passage"]
"""The role of a text: a query, or a passage that queries find. Some models read the two in different forms."""


class ForeignAnswer(StoreUnavailable):
    """A server gave the answer of another request, or a damaged one. It counts as an outage of the server."""


RELATED = 0.65
"""The closeness of a question and the nearest sentence of a page about it. Two texts without relation have 0."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """An embedding model, as the model repository describes it."""

    name: str
    version: str
    dimensions: int
    max_tokens: int = 256
    normalized: bool = True
    query_prefix: str = ""
    passage_prefix: str = ""
    """The words that the model was trained to read before each query, and before each passage."""
    cosine_unrelated: float = 0.0
    cosine_related: float = RELATED
    """The mean cosine of a query and any passage, and of a question and the nearest sentence of a page about it."""

    def closeness(self, cosine: float) -> float:
        """Return a cosine of this model on the scale on which the functions of closeness were trained."""
        return (cosine - self.cosine_unrelated) / (self.cosine_related - self.cosine_unrelated) * RELATED

    def prefixed(self, texts: Sequence[str], role: TextRole) -> Sequence[str]:
        """Return the texts as the model reads them."""
        prefix = self.prefix(role)
        return [prefix + text for text in texts] if prefix else texts

    def prefix(self, role: TextRole) -> str:
        """Return the words that the model reads before each text of this role."""
        return self.query_prefix if role == "query" else self.passage_prefix

    @property
    def model(self) -> ModelName:
        return ModelName(self.name, self.version)


class Embedder(Protocol):
    """The embedding model."""

    async def info(self, role: TextRole = "passage") -> ModelInfo:
        """Return the description of the model that embeds texts of this role."""

    async def embed(self, texts: Sequence[str], role: TextRole, *, deadline_seconds: float | None = None) -> Vectors:
        """Return vectors of shape (len(texts), dimensions). Any number of texts is embedded, in batches of the model.

        A person waits for a query: the model for queries embeds it, or the bulk model before its bulk work.
        """


@dataclass(frozen=True, slots=True)
class Link:
    """The chain model's answer about one sentence. Sentences are named by their index."""

    antecedents: tuple[int, ...] = ()
    """The earlier sentences that the sentence may need, the most probable first. Empty: it needs none."""
    followed: int = -1
    """The earlier sentence at which a chain through this sentence continues, or -1."""
    need: float = 0.0
    """Probability that the sentence needs an earlier one."""
    leaf: float = 1.0
    """Probability that the sentence can be matched alone."""


def shift_link(link: Link, start: int) -> Link:
    """Return the link with its indices moved by `start`, for a page that begins `start` sentences earlier."""
    followed = link.followed + start if link.followed >= 0 else -1
    return Link(tuple(at + start for at in link.antecedents), followed, link.need, link.leaf)


class ChainModel(Protocol):
    """The model that finds the antecedent of each sentence."""

    async def links(self, sentences: Sequence[str], *, deadline_seconds: float | None = None) -> list[Link]:
        """Return the link of each sentence of a page. An empty sentence is a break that no link crosses."""


class Reranker(Protocol):
    """The cross-encoder, which scores texts as answers to a query."""

    async def scores(
        self, query: str, texts: Sequence[str], *, deadline_seconds: float | None = None
    ) -> Sequence[float]:
        """Return the score of each text. Only scores of one query can be compared."""


class OtherModels(Protocol):
    """The embedding models that a process has besides the one of its settings."""

    async def find(self, fits: Callable[[ModelInfo], bool]) -> Embedder | None:
        """Return the embedder of a model whose description fits, opened. None: there is none. Raises its errors."""


class NoOtherModels:
    """See `OtherModels`. There are none."""

    async def find(self, fits: Callable[[ModelInfo], bool]) -> Embedder | None:
        return None


@dataclass(frozen=True, slots=True)
class Models:
    """The models that a process uses, and a function that closes them."""

    embedder: Embedder
    chains: ChainModel
    reranker: Reranker
    close: Callable[[], Awaitable[None]]
    other_models: OtherModels = field(default_factory=NoOtherModels)
