"""The trained chain model on a CPU: sentences -> links. `chain_reader` has all but the network."""

from collections.abc import Callable, Sequence
from copy import copy
from pathlib import Path

from tokenizers import Tokenizer

from streams.models.inference.antecedents import links_by_rule
from streams.models.inference.chain_reader import OUTPUTS, ChainReader, SentenceAnswer
from streams.models.inference.repository import Parameters, find_file
from streams.models.inference.runtimes import ONNXRUNTIME, open_outputs
from streams.models.protocols import Link

Links = Callable[[Sequence[str]], list[Link]]
"""A chain model: sentences of a page -> their links."""


def chain_model(parameters: Parameters, folder: Path) -> Links:
    """Return the chain model of a configuration: the rules if it names no trained model. Raises UsageError."""
    return ChainEncoder(parameters, folder).links if "model_sources" in parameters else links_by_rule


class ChainEncoder:
    """One model in one thread (or `threads`). Raises UsageError when a file is missing or has another checksum."""

    def __init__(self, parameters: Parameters, folder: Path) -> None:
        tokenizer = Tokenizer.from_file(str(find_file(parameters, "tokenizer", folder)))
        self._reader = ChainReader(parameters, tokenizer)
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
        return self._reader.answers(sentences, passes, [self._model(each.feeds) for each in passes])

    def make_links(self, answers: Sequence[SentenceAnswer]) -> list[Link]:
        """Return the links of a page's sentences, by the thresholds."""
        return self._reader.make_links(answers)
