"""The network of the chain model: the lower layers of MiniLM, and three small heads.

For each sentence of a window it gives the logit that it needs an earlier sentence, the score of each sentence as its
antecedent, and the logit that it can be matched alone. Only plain operations, so that the ONNX export needs no
custom ones. One window at a time: without padding there is no mask.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

HIDDEN, HEADS, FEED_FORWARD, POSITIONS, VOCABULARY = 384, 12, 1536, 512, 30522
POINTER = 128
"""Dimensions in which a sentence is compared with its possible antecedents."""
DISTANCES = 17
"""Distances with a bias of their own. Farther sentences share the last one."""
NEVER = -1e4


class Layer(nn.Module):
    """One transformer layer with the parameters of BERT's."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(HIDDEN, HIDDEN) for _ in range(3))
        self.attention_out, self.attention_norm = nn.Linear(HIDDEN, HIDDEN), nn.LayerNorm(HIDDEN, eps=1e-12)
        self.up, self.down = nn.Linear(HIDDEN, FEED_FORWARD), nn.Linear(FEED_FORWARD, HIDDEN)
        self.norm = nn.LayerNorm(HIDDEN, eps=1e-12)
        self.dropout = nn.Dropout(dropout)

    def forward(self, hidden: Tensor) -> Tensor:
        query, key, value = (self._heads(part(hidden)) for part in (self.query, self.key, self.value))
        weights = torch.softmax(query @ key.transpose(1, 2) / math.sqrt(HIDDEN // HEADS), dim=-1)
        attended = (self.dropout(weights) @ value).transpose(0, 1).reshape(-1, HIDDEN)
        hidden = self.attention_norm(hidden + self.dropout(self.attention_out(attended)))
        raised = nn.functional.gelu(self.up(hidden))
        return self.norm(hidden + self.dropout(self.down(raised)))

    @staticmethod
    def _heads(hidden: Tensor) -> Tensor:
        return hidden.reshape(-1, HEADS, HIDDEN // HEADS).transpose(0, 1)


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
    def __init__(self, layers: int, frozen: int = 0, dropout: float = 0.1) -> None:
        super().__init__()
        self.frozen = frozen
        self.words, self.places = nn.Embedding(VOCABULARY, HIDDEN), nn.Embedding(POSITIONS, HIDDEN)
        self.kind = nn.Parameter(torch.zeros(HIDDEN))
        self.norm = nn.LayerNorm(HIDDEN, eps=1e-12)
        self.layers = nn.ModuleList(Layer(dropout) for _ in range(layers))
        self.dropout = nn.Dropout(dropout)
        self.need_up, self.need_down = nn.Linear(HIDDEN, POINTER), nn.Linear(POINTER, 1)
        self.leaf_up, self.leaf_down = nn.Linear(2 * HIDDEN, POINTER), nn.Linear(POINTER, 1)
        self.pointer_query, self.pointer_key = nn.Linear(HIDDEN, POINTER), nn.Linear(HIDDEN, POINTER)
        self.sentence_query, self.sentence_key = nn.Linear(HIDDEN, POINTER), nn.Linear(HIDDEN, POINTER)
        self.distance = nn.Embedding(DISTANCES, 1)
        nn.init.constant_(self.need_down.bias, -5.0)
        with torch.no_grad():
            self.distance.weight.copy_(-0.3 * torch.arange(DISTANCES, dtype=torch.float32).unsqueeze(1))

    def lower(self, ids: Tensor) -> Tensor:
        """The embeddings and the frozen layers, shape (tokens, HIDDEN)."""
        hidden = self.norm(self.words(ids) + self.places(torch.arange(ids.shape[0], device=ids.device)) + self.kind)
        for layer in self.layers[: self.frozen]:
            hidden = layer(hidden)
        return hidden

    def upper(self, hidden: Tensor) -> Tensor:
        """The layers above the frozen ones, shape (tokens, HIDDEN)."""
        hidden = self.dropout(hidden)
        for layer in self.layers[self.frozen :]:
            hidden = layer(hidden)
        return hidden

    def encode(self, ids: Tensor) -> Tensor:
        """Shape (tokens, HIDDEN)."""
        return self.upper(self.lower(ids))

    def forward(self, ids: Tensor, membership: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Need, scores and leaf. `membership` has shape (sentences, tokens): 1 where a token is a sentence's."""
        answer = self.answer(self.encode(ids), membership)
        return answer.need, answer.scores, answer.leaf

    def answer(self, hidden: Tensor, membership: Tensor) -> Answer:
        token_need = self.need_down(nn.functional.gelu(self.need_up(hidden))).squeeze(-1)
        evidence = token_need.unsqueeze(0) + (1 - membership) * NEVER
        weights = torch.softmax(evidence, dim=-1)
        focus = weights @ hidden
        mean = (membership / membership.sum(-1, keepdim=True)) @ hidden
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
        scores = scores + self.sentence_query(mean) @ self.sentence_key(mean).T / math.sqrt(POINTER)
        number = torch.arange(membership.shape[0], device=membership.device)
        distance = number.unsqueeze(1) - number.unsqueeze(0)
        bias = self.distance(distance.clamp(0, DISTANCES - 1)).squeeze(-1)
        later = (distance <= 0).to(scores.dtype)
        return (scores + bias) * (1 - later) + later * NEVER

    def _by_token(self, queries: Tensor, hidden: Tensor, membership: Tensor) -> Tensor:
        """The fit of each sentence to each query: the logarithm of the sum over the sentence's tokens."""
        fit = self.pointer_query(queries) @ self.pointer_key(hidden).T / math.sqrt(POINTER)
        top = fit.max(dim=-1, keepdim=True).values.detach()
        return torch.log(torch.exp(fit - top) @ membership.T + 1e-9) + top


def _log_sum_exp(values: Tensor) -> Tensor:
    top = values.max(dim=-1, keepdim=True).values
    return (torch.log(torch.exp(values - top).sum(-1, keepdim=True)) + top).squeeze(-1)


_PARTS = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "attention_out": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "up": "intermediate.dense",
    "down": "output.dense",
    "norm": "output.LayerNorm",
}


def from_minilm(weights: Path, layers: int, frozen: int) -> ChainNetwork:
    """The network with MiniLM's embeddings and lower layers, and new heads. Embeddings and frozen layers stay."""
    given = load_file(str(weights))
    network = ChainNetwork(layers, frozen)
    state = {
        "words.weight": given["embeddings.word_embeddings.weight"],
        "places.weight": given["embeddings.position_embeddings.weight"],
        "kind": given["embeddings.token_type_embeddings.weight"][0],
        "norm.weight": given["embeddings.LayerNorm.weight"],
        "norm.bias": given["embeddings.LayerNorm.bias"],
    }
    for number in range(layers):
        for ours, theirs in _PARTS.items():
            for kind in ("weight", "bias"):
                state[f"layers.{number}.{ours}.{kind}"] = given[f"encoder.layer.{number}.{theirs}.{kind}"]
    missing, unexpected = network.load_state_dict(state, strict=False)
    assert not unexpected
    assert all(not name.startswith(("words", "places", "layers", "norm", "kind")) for name in missing)
    for part in (network.words, network.places, network.norm, *network.layers[:frozen]):
        part.requires_grad_(False)
    network.kind.requires_grad_(False)
    return network
