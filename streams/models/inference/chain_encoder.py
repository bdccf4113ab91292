"""The trained chain model: from sentences to passes of its network, and from the outputs to links.

A section is read in windows, one pass of the network each (`chain_windows`). Each window runs by itself, so that the
link of a sentence does not depend on what else is asked at the time. A window in which no sentence has an English word
that refers to another one is not read: the network finds no need there, and it was only trained on English. A
multilingual model (`multilingual` in its configuration) reads all windows.

`ChainReader` has all but the network, which runs on a server or here, on a CPU (`ChainEncoder`). A network takes one
window, or a batch of windows that are padded to one size.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from streams.models.inference.antecedents import begins_with_connective, links_by_rule, may_refer
from streams.models.inference.chain_windows import Window, sections, windows
from streams.models.inference.link_columns import MAX_ANTECEDENTS
from streams.models.inference.repository import Parameters, find_file
from streams.models.inference.runtimes import ONNXRUNTIME, open_outputs
from streams.models.inference.tokenizing import plain_tokenizer
from streams.models.protocols import Link

Floats = NDArray[np.float32]
OUTPUTS = ("need", "scores", "leaf")
"""The outputs of the network."""
PAD_SENTENCES = 16
"""Windows of a batch are padded to a multiple of this number of sentences."""
Links = Callable[[Sequence[str]], list[Link]]
"""A chain model: sentences of a page -> their links."""


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


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass of the network: a window of the section that begins with the page's sentence `start`."""

    start: int
    window: Window

    @property
    def sentences(self) -> int:
        """The number of sentences of the window."""
        return self.window.end - self.window.first


@dataclass(frozen=True, slots=True)
class Batch:
    """Passes that the network makes together, and its inputs and outputs."""

    places: Sequence[int]
    """The place of each pass among the passes of a page."""
    sentences: Sequence[int]
    """The number of sentences of each pass."""
    feeds: dict[str, Any]
    """The inputs: ids of shape (tokens,), membership of shape (sentences, tokens), both behind the number of passes
    if the network takes batches."""

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shapes of the network's outputs, in the order of OUTPUTS."""
        *rows, count, _ = self.feeds["membership"].shape
        return [(*rows, count), (*rows, count, count), (*rows, count)]

    def outputs(self, made: Sequence[Floats]) -> Iterator[tuple[int, list[Floats]]]:
        """Yield the place of each pass with its outputs, without padding."""
        for row, (place, count) in enumerate(zip(self.places, self.sentences, strict=True)):
            need, scores, leaf = (each[row] if len(self.shapes[0]) > 1 else each for each in made)
            yield place, [need[:count], scores[:count, :count], leaf[:count]]


class ChainReader:
    """The tokenizer and the thresholds of a chain model.

    `rows`: the maximum windows of a batch, or 0 if the network takes one window without a dimension for batches.
    """

    def __init__(self, parameters: Parameters, tokenizer: Tokenizer, rows: int = 0) -> None:
        self._rows, self._pad_to = rows, int(parameters.get("pad_to", "1"))
        self._reads_all = parameters.get("multilingual") == "true"
        self._need, self._floor = float(parameters["need_threshold"]), float(parameters["antecedent_floor"])
        self._max = int(parameters.get("max_antecedents", MAX_ANTECEDENTS))
        self._tokenizer, self._marks = plain_tokenizer(tokenizer)

    def with_thresholds(self, need: float, floor: float) -> "ChainReader":
        """Return the same reader with other thresholds."""
        other = copy(self)
        other._need, other._floor = need, floor
        return other

    def passes(self, sentences: Sequence[str]) -> Iterator[Pass]:
        """Yield the passes that the network has to make. An empty sentence is a break that no window crosses."""
        for start, end in sections(sentences):
            if not self._is_read(sentences[start:end]):
                continue
            # An unpaired surrogate is no text that the tokenizer could take.
            texts = [sentence.encode("utf-8", "replace").decode() for sentence in sentences[start:end]]
            encodings = self._tokenizer.encode_batch(texts, add_special_tokens=False)
            for window in windows([encoding.ids for encoding in encodings], *self._marks):
                if self._is_read(texts[window.scored : window.end]):
                    yield Pass(start, window)

    def _is_read(self, sentences: Sequence[str]) -> bool:
        return self._reads_all or any(map(may_refer, sentences))

    def batches(self, passes: Sequence[Pass]) -> Iterator[Batch]:
        """Yield the passes as the network takes them: windows of one padded size together, or each by itself."""
        if not self._rows:
            for place, each in enumerate(passes):
                feeds = {"input_ids": each.window.ids, "membership": each.window.membership}
                yield Batch([place], [each.sentences], feeds)
            return
        sizes: dict[tuple[int, int], list[int]] = defaultdict(list)
        for place, each in enumerate(passes):
            tokens = -(-len(each.window.ids) // self._pad_to) * self._pad_to
            sizes[tokens, -(-each.sentences // PAD_SENTENCES) * PAD_SENTENCES].append(place)
        for (tokens, count), places in sizes.items():
            for first in range(0, len(places), self._rows):
                own = places[first : first + self._rows]
                yield _padded(own, [passes[place] for place in own], tokens, count)

    def answers(
        self, sentences: Sequence[str], passes: Sequence[Pass], outputs: Sequence[Sequence[Floats]]
    ) -> list[SentenceAnswer]:
        """Return the answer about each sentence of the page, by the network's outputs for the passes."""
        answers = [SentenceAnswer()] * len(sentences)
        for each, (need, scores, leaf) in zip(passes, outputs, strict=True):
            first = each.start + each.window.first
            needs, leaves = _probability(need), _probability(leaf)
            for row in range(each.window.scored - each.window.first, each.window.end - each.window.first):
                answers[first + row] = SentenceAnswer(
                    need=float(needs[row]),
                    leaf=float(leaves[row]),
                    connective=begins_with_connective(sentences[first + row]),
                    earlier=row,
                    antecedents=_rank_sentences(scores[row, :row], first),
                )
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


def _padded(places: Sequence[int], passes: Sequence[Pass], tokens: int, sentences: int) -> Batch:
    """Return the batch of these passes. A token that belongs to no sentence is padding, whatever its id, except the
    first one."""
    ids = np.zeros((len(passes), tokens), np.int64)
    membership = np.zeros((len(passes), sentences, tokens), np.float32)
    for row, each in enumerate(passes):
        ids[row, : len(each.window.ids)] = each.window.ids
        membership[row, : each.sentences, : len(each.window.ids)] = each.window.membership
    return Batch(places, [each.sentences for each in passes], {"input_ids": ids, "membership": membership})


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


def chain_model(parameters: Parameters, folder: Path) -> Links:
    """Return the chain model of a configuration: the rules if it names no trained model. Raises UsageError."""
    return ChainEncoder(parameters, folder).links if "model_sources" in parameters else links_by_rule


class ChainEncoder:
    """One model in one thread (or `threads`). Raises UsageError when a file is missing or has another checksum."""

    def __init__(self, parameters: Parameters, folder: Path, rows: int = 0) -> None:
        tokenizer = Tokenizer.from_file(str(find_file(parameters, "tokenizer", folder)))
        self._reader = ChainReader(parameters, tokenizer, rows)
        runtime, threads = parameters.get("runtime", ONNXRUNTIME), int(parameters.get("threads", "1"))
        self._model = open_outputs(runtime, find_file(parameters, "model", folder), threads, OUTPUTS)

    def with_thresholds(self, need: float, floor: float) -> "ChainEncoder":
        """Return the same model with other thresholds."""
        other = copy(self)
        other._reader = self._reader.with_thresholds(need, floor)
        return other

    def links(self, sentences: Sequence[str]) -> list[Link]:
        """Return the link of each sentence. An empty sentence is a break that no link crosses."""
        return self.make_links(self.answers(sentences))

    def answers(self, sentences: Sequence[str]) -> list[SentenceAnswer]:
        """Return the network's answer about each sentence."""
        passes = list(self._reader.passes(sentences))
        made = dict(
            found for batch in self._reader.batches(passes) for found in batch.outputs(self._model(batch.feeds))
        )
        return self._reader.answers(sentences, passes, [made[place] for place in range(len(passes))])

    def make_links(self, answers: Sequence[SentenceAnswer]) -> list[Link]:
        """Return the links of a page's sentences, by the thresholds."""
        return self._reader.make_links(answers)
