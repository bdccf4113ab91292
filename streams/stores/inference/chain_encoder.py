"""The trained chain model with ONNX Runtime on a CPU: sentences -> links.

A section is read in windows, one pass of the network each (`chain_windows`). Each window runs alone, so that a
sentence's link doesn't depend on what else is asked at the time.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from streams.stores.inference.antecedents import NONE, begins_with_connective, links_by_rule
from streams.stores.inference.chain_windows import Window, sections, windows
from streams.stores.inference.link_columns import MAX_ANTECEDENTS
from streams.stores.inference.repository import Parameters, find_file
from streams.stores.protocols import Link

Floats = NDArray[np.float32]


Links = Callable[[Sequence[str]], list[Link]]
"""A chain model: sentences of a page -> their links."""


def chain_model(parameters: Parameters, folder: Path) -> Links:
    """The chain model that a configuration describes: the rules, where it names no trained one. Raises UsageError."""
    return ChainEncoder(parameters, folder).links if "model_sources" in parameters else links_by_rule


class ChainEncoder:
    """One model in one thread (or `threads`). Raises UsageError when a file is missing or not the one described."""

    def __init__(self, parameters: Parameters, folder: Path) -> None:
        self._need, self._share = float(parameters["need_threshold"]), float(parameters["antecedent_share"])
        self._tokenizer = Tokenizer.from_file(str(find_file(parameters, "tokenizer", folder)))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._cls, self._sep = (self._tokenizer.token_to_id(token) or 0 for token in ("[CLS]", "[SEP]"))
        self._session = _session(find_file(parameters, "model", folder), int(parameters.get("threads", "1")))

    def links(self, sentences: Sequence[str]) -> list[Link]:
        """The link of each sentence. An empty sentence is a break that no link crosses."""
        links = [Link()] * len(sentences)
        for start, end in sections(sentences):
            links[start:end] = self._section(sentences[start:end], start)
        return links

    def _section(self, sentences: Sequence[str], start: int) -> Iterator[Link]:
        # An unpaired surrogate is no text that the tokenizer could take.
        texts = [sentence.encode("utf-8", "replace").decode() for sentence in sentences]
        encodings = self._tokenizer.encode_batch(texts, add_special_tokens=False)
        for part in windows([encoding.ids for encoding in encodings], self._cls, self._sep):
            need, scores, leaf = self._run(part)
            for row in range(part.scored - part.first, part.end - part.first):
                text = texts[part.first + row]
                if row and (need[row] >= self._need or begins_with_connective(text)):
                    found = [start + part.first + at for at in self._chosen(scores[row, :row])]
                    if need[row] < self._need:  # the sentence draws a conclusion from the one before it
                        found = [start + part.first + row - 1]
                    yield Link(tuple(found), found[0], float(need[row]), float(leaf[row]))
                else:
                    yield Link((), NONE, float(need[row]), float(leaf[row]))

    def _chosen(self, scores: Floats) -> list[int]:
        """The most probable antecedents: as many as have the configured share of the probability together."""
        odds = np.exp(scores - scores.max())
        order = np.argsort(-odds, kind="stable")[:MAX_ANTECEDENTS]
        before = np.cumsum(odds[order]) - odds[order]
        chosen: list[int] = order[before < self._share * odds.sum()].tolist()
        return chosen

    def _run(self, part: Window) -> tuple[Floats, Floats, Floats]:
        need, scores, leaf = self._session.run(
            ["need", "scores", "leaf"], {"input_ids": part.ids, "membership": part.membership}
        )
        return _probability(need), scores, _probability(leaf)


def _session(model: Path, threads: int) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def _probability(logits: Any) -> Floats:
    probability: Floats = 1 / (1 + np.exp(-logits))
    return probability
