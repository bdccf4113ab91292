"""The network of the chain model: the lower layers of an encoder (`encoders`), and three small heads.

For each sentence of a window it gives the logit that it needs an earlier sentence, the score of each sentence as its
antecedent, and the logit that it can be matched alone. Only plain operations, so that the ONNX export needs no
custom ones. A window by itself has no padding, and needs no mask. In a batch, a token is read if it is the first one
or belongs to a sentence, and the answers about sentences without tokens mean nothing.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from triton_models.statement_chain.training.encoders import Weights

POINTER = 128
"""Dimensions in which a sentence is compared with its possible antecedents."""
DISTANCES = 17
"""Distances with a bias of their own. Farther sentences share the last one."""
NEVER = -1e4


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of an encoder. They are stored with the checkpoint."""

    vocabulary: int
    positions: int
    hidden: int
    inner: int
    heads: int
    epsilon: float
    layers: int
    frozen: int
    """Lower layers that are not trained."""

    @classmethod
    def of(cls, weights: Weights, layers: int, frozen: int) -> "Shape":
        vocabulary, hidden = weights.tensors["words.weight"].shape
        positions, inner = len(weights.tensors["places.weight"]), len(weights.tensors["layers.0.up.bias"])
        return cls(vocabulary, positions, hidden, inner, weights.heads, weights.epsilon, layers, frozen)


class Layer(nn.Module):
    """One transformer layer with the parameters of BERT's."""

    def __init__(self, shape: Shape, dropout: float) -> None:
        super().__init__()
        hidden = shape.hidden
        self.heads, self.size = shape.heads, hidden // shape.heads
        self.query, self.key, self.value = (nn.Linear(hidden, hidden) for _ in range(3))
        self.attention_out, self.attention_norm = nn.Linear(hidden, hidden), nn.LayerNorm(hidden, eps=shape.epsilon)
        self.up, self.down = nn.Linear(hidden, shape.inner), nn.Linear(shape.inner, hidden)
        self.norm = nn.LayerNorm(hidden, eps=shape.epsilon)
        self.dropout = nn.Dropout(dropout)

    def forward(self, hidden: Tensor, padding: Tensor | None) -> Tensor:
        query, key, value = (self._heads(part(hidden)) for part in (self.query, self.key, self.value))
        # In this form `fused_attention` recognizes it.
        scores = query.permute(0, 2, 1, 3) @ key.permute(0, 2, 3, 1) / math.sqrt(self.size)
        weights = torch.softmax(scores if padding is None else scores + padding, dim=-1)
        attended = (self.dropout(weights) @ value.permute(0, 2, 1, 3)).permute(0, 2, 1, 3).reshape(hidden.shape)
        hidden = self.attention_norm(hidden + self.dropout(self.attention_out(attended)))
        raised = nn.functional.gelu(self.up(hidden))
        return self.norm(hidden + self.dropout(self.down(raised)))

    def _heads(self, hidden: Tensor) -> Tensor:
        return hidden.reshape(hidden.shape[0], hidden.shape[1], self.heads, self.size)


class Encoder(nn.Module):
    """The embeddings and the lower layers of a BERT. Tensors have the shape (windows, tokens, hidden)."""

    def __init__(self, shape: Shape, dropout: float) -> None:
        super().__init__()
        self.frozen = shape.frozen
        self.words, self.places = (nn.Embedding(rows, shape.hidden) for rows in (shape.vocabulary, shape.positions))
        self.norm = nn.LayerNorm(shape.hidden, eps=shape.epsilon)
        self.layers = nn.ModuleList(Layer(shape, dropout) for _ in range(shape.layers))
        self.dropout = nn.Dropout(dropout)

    def lower(self, ids: Tensor, padding: Tensor | None = None) -> Tensor:
        """The embeddings and the frozen layers."""
        hidden = self.norm(self.words(ids) + self.places(torch.arange(ids.shape[1], device=ids.device)))
        for layer in self.layers[: self.frozen]:
            hidden = layer(hidden, padding)
        return hidden

    def upper(self, hidden: Tensor, padding: Tensor | None = None) -> Tensor:
        """The layers above the frozen ones."""
        hidden = self.dropout(hidden)
        for layer in self.layers[self.frozen :]:
            hidden = layer(hidden, padding)
        return hidden

    def forward(self, ids: Tensor, padding: Tensor | None = None) -> Tensor:
        """Both, in single precision. `padding` is added to the scores of attention."""
        if padding is not None:
            padding = padding.to(self.norm.weight.dtype)
        return self.upper(self.lower(ids, padding), padding).float()


@dataclass(frozen=True, slots=True)
class Answer:
    need: Tensor
    """Shape (sentences,)."""
    scores: Tensor
    """Shape (sentences, sentences): row by column as its antecedent. A sentence that isn't earlier has NEVER."""
    leaf: Tensor
    token_need: Tensor
    """Shape (tokens,): the evidence that `need` sums up."""


class ChainNetwork(nn.Module):
    def __init__(self, shape: Shape, dropout: float = 0.1) -> None:
        super().__init__()
        self.shape, hidden = shape, shape.hidden
        self.encoder = Encoder(shape, dropout)
        self.need_up, self.need_down = nn.Linear(hidden, POINTER), nn.Linear(POINTER, 1)
        self.leaf_up, self.leaf_down = nn.Linear(2 * hidden, POINTER), nn.Linear(POINTER, 1)
        self.pointer_query, self.pointer_key = nn.Linear(hidden, POINTER), nn.Linear(hidden, POINTER)
        self.sentence_query, self.sentence_key = nn.Linear(hidden, POINTER), nn.Linear(hidden, POINTER)
        self.distance = nn.Embedding(DISTANCES, 1)
        nn.init.constant_(self.need_down.bias, -5.0)
        with torch.no_grad():
            self.distance.weight.copy_(-0.3 * torch.arange(DISTANCES, dtype=torch.float32).unsqueeze(1))

    def encode(self, ids: Tensor) -> Tensor:
        """The tokens of one window, shape (tokens, hidden)."""
        return self.encoder(ids.unsqueeze(0)).squeeze(0)

    def forward(self, ids: Tensor, membership: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Need, scores and leaf. `membership` has shape (sentences, tokens): 1 where a token is a sentence's.

        With one dimension before these, they are a batch of windows.
        """
        hidden = self.encode(ids) if ids.dim() == 1 else self.encoder(ids, _padding(membership))
        answer = self.answer(hidden, membership)
        return answer.need, answer.scores, answer.leaf

    def answer(self, hidden: Tensor, membership: Tensor) -> Answer:
        token_need = self.need_down(nn.functional.gelu(self.need_up(hidden))).squeeze(-1)
        evidence = token_need.unsqueeze(-2) + (1 - membership) * NEVER
        weights = torch.softmax(evidence, dim=-1)
        focus = weights @ hidden
        mean = (membership / membership.sum(-1, keepdim=True).clamp(min=1)) @ hidden
        leaf = self.leaf_down(nn.functional.gelu(self.leaf_up(torch.cat([focus, mean], dim=-1)))).squeeze(-1)
        return Answer(
            need=_log_sum_exp(evidence),
            scores=self._scores(focus, mean, hidden, membership),
            leaf=leaf,
            token_need=token_need,
        )

    def point(self, hidden: Tensor, positions: Tensor, membership: Tensor) -> Tensor:
        """Scores of the sentences as antecedents of mentions, shape (mentions, sentences), in all directions."""
        return self._by_token(hidden[positions], hidden, membership)

    def _scores(self, focus: Tensor, mean: Tensor, hidden: Tensor, membership: Tensor) -> Tensor:
        scores = self._by_token(focus, hidden, membership)
        scores = scores + self.sentence_query(mean) @ self.sentence_key(mean).transpose(-1, -2) / math.sqrt(POINTER)
        number = torch.arange(membership.shape[-2], device=membership.device)
        distance = number.unsqueeze(1) - number.unsqueeze(0)
        bias = self.distance(distance.clamp(0, DISTANCES - 1)).squeeze(-1)
        later = (distance <= 0).to(scores.dtype)
        return (scores + bias) * (1 - later) + later * NEVER

    def _by_token(self, queries: Tensor, hidden: Tensor, membership: Tensor) -> Tensor:
        """The fit of each sentence to each query: the logarithm of the sum over the sentence's tokens."""
        fit = self.pointer_query(queries) @ self.pointer_key(hidden).transpose(-1, -2) / math.sqrt(POINTER)
        fit = fit + (1 - membership.sum(-2, keepdim=True).clamp(max=1)) * NEVER
        top = fit.max(dim=-1, keepdim=True).values.detach()
        return torch.log(torch.exp(fit - top) @ membership.transpose(-1, -2) + 1e-9) + top


def _padding(membership: Tensor) -> Tensor:
    """The terms of the scores of attention, shape (windows, 1, tokens, tokens): NEVER where a token is padding."""
    tokens = membership.shape[2]
    first = (torch.arange(tokens, device=membership.device) == 0).to(membership.dtype)
    padding = (1 - (membership.sum(1) + first).clamp(max=1)) * NEVER
    return padding[:, None, None, :].expand(-1, 1, tokens, -1)


def _log_sum_exp(values: Tensor) -> Tensor:
    top = values.max(dim=-1, keepdim=True).values
    return (torch.log(torch.exp(values - top).sum(-1, keepdim=True)) + top).squeeze(-1)


def with_weights(weights: Weights, layers: int, frozen: int) -> ChainNetwork:
    """The network with the embeddings and lower layers of an encoder, and new heads. What is frozen is not trained."""
    network = ChainNetwork(Shape.of(weights, layers, frozen))
    network.encoder.load_state_dict({name: torch.tensor(values) for name, values in weights.tensors.items()})
    encoder = network.encoder
    for part in (encoder.words, encoder.places, encoder.norm, *encoder.layers[:frozen]):
        part.requires_grad_(False)
    return network
