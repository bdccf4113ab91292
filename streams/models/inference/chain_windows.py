"""Sentences -> windows of tokens for the chain model, with enough preceding sentences before each scored sentence.

    [CLS] first sentence [SEP] second sentence [SEP] ...

An empty sentence is a break between two sections: no window crosses it. The training reads the same windows, so this
module imports nothing but numpy.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

MAX_SENTENCE_TOKENS = 80
"""Maximum tokens of a sentence. The rest of a longer sentence is not read."""
WINDOW_TOKENS = 320
"""Maximum tokens of a window."""
HISTORY_TOKENS = 128
"""Minimum tokens of preceding sentences before a scored sentence, if its section has as many."""
PART_SENTENCES = 128
"""Number of sentences after which a request for links ends, at the section's end: a few seconds of work."""
OUTSIDE = -1
"""The sentence index of a token that belongs to no sentence."""


@dataclass(frozen=True, slots=True)
class Window:
    """Sentences of one section that the model reads together. Indices count from the section's first sentence."""

    first: int
    scored: int
    """The first sentence with its answer from this window. The sentences before it are its history."""
    end: int
    ids: Ints
    sentence_of: Ints
    """For each token the index of its sentence, counted from `first`, or OUTSIDE."""

    @property
    def membership(self) -> NDArray[np.float32]:
        """Shape (sentences, tokens): 1 where a token is a sentence's."""
        numbers = np.arange(self.end - self.first)
        members: NDArray[np.float32] = (self.sentence_of[None, :] == numbers[:, None]).astype(np.float32)
        return members


def windows(sentences: Sequence[Sequence[int]], cls: int, sep: int) -> list[Window]:
    """Return the windows of a section; each sentence is scored once. `sentences` are ids without special tokens."""
    cut = [list(tokens[: MAX_SENTENCE_TOKENS - 1]) for tokens in sentences]
    lengths = [len(tokens) + 1 for tokens in cut]
    return [window(cut, first, scored, end, cls, sep) for first, scored, end in _plan(lengths)]


def window(sentences: Sequence[Sequence[int]], first: int, scored: int, end: int, cls: int, sep: int) -> Window:
    ids, sentence_of = [cls], [OUTSIDE]
    for number, tokens in enumerate(sentences[first:end]):
        ids += [*tokens, sep]
        sentence_of += [number] * (len(tokens) + 1)
    return Window(first, scored, end, np.array(ids, dtype=np.int64), np.array(sentence_of, dtype=np.int64))


def _plan(lengths: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return first, scored and end of each window. A window takes as many sentences as fit."""
    plan: list[tuple[int, int, int]] = []
    scored = 0
    while scored < len(lengths):
        first = _history_start(lengths, scored) if plan else 0
        end, left = first, WINDOW_TOKENS - 1
        while end < len(lengths) and (lengths[end] <= left or end <= scored):
            left -= lengths[end]
            end += 1
        plan.append((first, scored, end))
        scored = end
    return plan


def _history_start(lengths: Sequence[int], scored: int) -> int:
    """Return the first sentence of a window, so that its history has HISTORY_TOKENS or a little more."""
    first, tokens = scored, 0
    while first > 0 and tokens < HISTORY_TOKENS:
        first -= 1
        tokens += lengths[first]
    return first


def sections(sentences: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each run of sentences between breaks (empty sentences)."""
    start = 0
    for index, sentence in enumerate([*sentences, ""]):
        if not sentence.strip():
            if index > start:
                yield start, index
            start = index + 1


def parts(sentences: Sequence[str], least: int = PART_SENTENCES) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each part of a page: whole sections, at least `least` sentences but for the last."""
    start = end = 0
    for _, end in sections(sentences):
        if end - start >= least:
            yield start, end
            start = end
    if end > start:
        yield start, end
