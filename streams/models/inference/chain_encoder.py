"""The trained chain model on a CPU: sentences -> links.

A section is read in windows, one pass of the network each (`chain_windows`). Each window runs alone, so that a
sentence's link doesn't depend on what else is asked at the time. A window in which no sentence has a word that refers
to another one is not read: the network finds no need there, and it was only trained on English.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from streams.models.inference.antecedents import begins_with_connective, links_by_rule, may_refer
from streams.models.inference.chain_windows import sections, windows
from streams.models.inference.link_columns import MAX_ANTECEDENTS
from streams.models.inference.repository import Parameters, find_file
from streams.models.inference.runtimes import ONNXRUNTIME, open_outputs
from streams.models.protocols import Link

Floats = NDArray[np.float32]
OUTPUTS = ("need", "scores", "leaf")
"""The outputs of the network."""


Links = Callable[[Sequence[str]], list[Link]]
"""A chain model: sentences of a page -> their links."""


def chain_model(parameters: Parameters, folder: Path) -> Links:
    """Return the chain model of a configuration: the rules if it names no trained model. Raises UsageError."""
    return ChainEncoder(parameters, folder).links if "model_sources" in parameters else links_by_rule


@dataclass(frozen=True, slots=True)
class SentenceAnswer:
    """The network's answer about one sentence of a page, before the thresholds."""

    need: float = 0.0
    leaf: float = 1.0
    connective: bool = False
    """True if the sentence begins as a conclusion from the sentence before it."""
    earlier: int = 0
    """Number of earlier sentences that the network read."""
    antecedents: tuple[tuple[int, float], ...] = ()
    """The most probable of the earlier sentences with their probabilities, the most probable first."""


class ChainEncoder:
    """One model in one thread (or `threads`). Raises UsageError when a file is missing or has another checksum."""

    def __init__(self, parameters: Parameters, folder: Path) -> None:
        self._need, self._floor = float(parameters["need_threshold"]), float(parameters["antecedent_floor"])
        self._max = int(parameters.get("max_antecedents", MAX_ANTECEDENTS))
        self._tokenizer = Tokenizer.from_file(str(find_file(parameters, "tokenizer", folder)))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._cls, self._sep = (self._tokenizer.token_to_id(token) or 0 for token in ("[CLS]", "[SEP]"))
        runtime, threads = parameters.get("runtime", ONNXRUNTIME), int(parameters.get("threads", "1"))
        self._model = open_outputs(runtime, find_file(parameters, "model", folder), threads, OUTPUTS)

    def with_thresholds(self, need: float, floor: float) -> "ChainEncoder":
        """Return the same model with other thresholds."""
        other = copy(self)
        other._need, other._floor = need, floor
        return other

    def links(self, sentences: Sequence[str]) -> list[Link]:
        """Return the link of each sentence. An empty sentence is a break that no link crosses."""
        return self.make_links(self.answers(sentences))

    def answers(self, sentences: Sequence[str]) -> list[SentenceAnswer]:
        """Return the network's answer about each sentence."""
        answers = [SentenceAnswer()] * len(sentences)
        for start, end in sections(sentences):
            if any(map(may_refer, sentences[start:end])):
                answers[start:end] = self._section(sentences[start:end], start)
        return answers

    def make_links(self, answers: Sequence[SentenceAnswer]) -> list[Link]:
        """Return the links of a page's sentences, by the thresholds."""
        return [self._link(number, answer) for number, answer in enumerate(answers)]

    def _link(self, number: int, answer: SentenceAnswer) -> Link:
        if answer.antecedents and answer.need >= self._need:
            chosen = self._choose_antecedents(answer)
            return Link(chosen, chosen[0], answer.need, answer.leaf)
        if answer.antecedents and answer.connective:
            return Link((number - 1,), number - 1, answer.need, answer.leaf)
        return Link(need=answer.need, leaf=answer.leaf)

    def _choose_antecedents(self, answer: SentenceAnswer) -> tuple[int, ...]:
        """Return the most probable antecedent, and further ones that are probable enough.

        The fewer sentences compete, the higher the required probability: in a short section each sentence gets a large
        part of the probability, needed or not.
        """
        least = self._floor / answer.earlier**3
        (best, _), *further = answer.antecedents[: self._max]
        return (best, *(antecedent for antecedent, probability in further if probability >= least))

    def _section(self, sentences: Sequence[str], start: int) -> Iterator[SentenceAnswer]:
        # An unpaired surrogate is no text that the tokenizer could take.
        texts = [sentence.encode("utf-8", "replace").decode() for sentence in sentences]
        encodings = self._tokenizer.encode_batch(texts, add_special_tokens=False)
        for part in windows([encoding.ids for encoding in encodings], self._cls, self._sep):
            if not any(map(may_refer, texts[part.scored : part.end])):
                yield from [SentenceAnswer()] * (part.end - part.scored)
                continue
            need, scores, leaf = self._model({"input_ids": part.ids, "membership": part.membership})
            needs, leaves = _probability(need), _probability(leaf)
            for row in range(part.scored - part.first, part.end - part.first):
                yield SentenceAnswer(
                    need=float(needs[row]),
                    leaf=float(leaves[row]),
                    connective=begins_with_connective(texts[part.first + row]),
                    earlier=row,
                    antecedents=_rank_sentences(scores[row, :row], start + part.first),
                )


def _rank_sentences(scores: Floats, first: int) -> tuple[tuple[int, float], ...]:
    """Return the most probable of these sentences with their probabilities. `first` is the place of the first score."""
    if not len(scores):
        return ()
    odds = np.exp(scores - scores.max())
    odds = odds / odds.sum()
    order = np.argsort(-odds, kind="stable")[:MAX_ANTECEDENTS]
    return tuple((first + int(at), float(odds[at])) for at in order)


def _probability(logits: Any) -> Floats:
    probability: Floats = 1 / (1 + np.exp(-logits))
    return probability
