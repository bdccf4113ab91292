"""The error model: how probable it is that a person typed one word and meant another. Pure.

The cost of a mistake is about the negative logarithm of its probability. Damerau (1964) found that four kinds of
mistakes make up most misspellings: a wrong, a missing or an extra letter, and two letters in the wrong order.
Kernighan, Church and Gale (1990) and Pollock and Zamora (1984) describe which of them are frequent: doubled letters,
vowels for vowels, letters that sound alike, neighbours on the keyboard, and seldom the first letter.

The costs of many words are computed at once, in columns of numpy, so that no index of mistakes has to be built or kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from streams.queries.spelling.words import MAX_CHARS

BAND = 3
"""Maximum difference between the places of a letter in both words."""
_OTHERS = 27
_CODES = 256
_VOWELS = "aeiouy"
_SOUND_TEXT = "ck cs kq sz cz fv gj td bp mn iy ij uw vw xz xs lr gk xc"
_SOUNDS = tuple(_SOUND_TEXT.split())
"""Pairs of letters that can sound alike, also for people with another first language."""
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")

Codes = NDArray[np.uint8]
Costs = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Weights:
    """The costs of mistakes. They were chosen on a sample that the decision record names."""

    other: float = 5.75
    """Another letter."""
    vowel: float = 4.06
    sound: float = 3.75
    neighbour: float = 5.0
    extra: float = 3.8
    extra_double: float = 2.2
    """An extra letter beside the same letter."""
    missing: float = 2.56
    missing_double: float = 2.0
    """One letter instead of two of the same."""
    missing_vowel: float = 2.24
    swapped: float = 2.09
    first: float = 1.8
    """The extra cost of a mistake in the first letter. A missing accent is none: capitals are often typed without."""
    accent: float = 0.3
    """A letter without its accent, or with another one."""
    further: float = 0.52
    """The extra cost of each missing or extra letter, and of each exchange of letters."""


def encode_all(words: Sequence[str]) -> Codes:
    """Return a row of codes for each word, with zeros behind the word.

    a to z have codes of their own. Letters of other scripts share codes rarely.
    """
    chars = np.array(words, f"<U{MAX_CHARS}").view("<u4")  # cut at the length, with zeros behind
    is_letter = chars != 0
    letters = chars[is_letter]
    codes = np.zeros(len(chars), np.uint8)
    codes[is_letter] = np.where(
        (letters >= 97) & (letters <= 122), letters - 96, _OTHERS + letters % (_CODES - _OTHERS)
    )
    return codes.reshape(len(words), MAX_CHARS)


def _code(char: str) -> int:
    return int(encode_all([char])[0, 0])


@lru_cache(maxsize=4)
def _substitutions(weights: Weights) -> Costs:
    """Return the cost of each letter in the place of each other letter."""
    costs = np.full((_CODES, _CODES), weights.other, np.float32)

    def lower(one: str, other: str, cost: float) -> None:
        for pair in ((one, other), (other, one)):
            place = tuple(_code(char) for char in pair)
            costs[place] = min(costs[place], cost)

    for row in _ROWS:
        for one, other in pairwise(row):
            lower(one, other, weights.neighbour)
    for upper, under in pairwise(_ROWS):
        for place, char in enumerate(under):
            for above in upper[place : place + 2]:
                lower(char, above, weights.neighbour)
    for pair in _SOUNDS:
        lower(pair[0], pair[1], weights.sound)
    for one in _VOWELS:
        for other in _VOWELS:
            lower(one, other, weights.vowel)
    for plain, accented in _ACCENTS.items():
        for char in accented:
            lower(plain, char, weights.accent)
    np.fill_diagonal(costs, 0.0)
    return costs


_ACCENTS = {
    "a": "àáâãäåā", "c": "çćč", "e": "èéêëěę", "i": "ìíîï", "n": "ñńň", "o": "òóôõöø", "s": "śšß", "u": "ùúûüů",
    "y": "ýÿ", "z": "źžż", "е": "ё", "и": "й",
}  # fmt: skip


def typing_costs(typed: str, letters: Codes, lengths: NDArray[np.uint8], weights: Weights) -> Costs:
    """Return what it costs to type `typed` when each of the words was meant.

    `letters` has a row of codes for each word, with zeros behind the word. A cost is infinite if the lengths differ by
    more than BAND. Time: the length of `typed`, times BAND, times the number of words.
    """
    asked, width = encode_all([typed])[0, : min(len(typed), MAX_CHARS)], letters.shape[1]
    columns = np.ascontiguousarray(letters.T)
    substitutions = _substitutions(weights)
    missing = _missing_costs(columns, weights)
    infinite = np.full(len(letters), np.inf, np.float32)
    above: list[Costs] = []
    before: list[Costs] = []
    for i in range(len(asked) + 1):
        row = [infinite] * (width + 1)
        for j in range(max(0, i - BAND), min(width, i + BAND) + 1):
            if i == j == 0:
                row[0] = np.zeros(len(letters), np.float32)
                continue
            first = weights.first if min(i, j) == 0 or i == j == 1 else 0.0
            best = infinite
            if i and above[j] is not infinite:
                best = above[j] + np.float32(_extra_cost(asked, i - 1, weights) + first)
            if j and row[j - 1] is not infinite:
                best = np.minimum(best, row[j - 1] + missing[j - 1] + np.float32(first))
            if i and j:
                cost = substitutions[asked[i - 1]][columns[j - 1]]
                cost = np.where(cost > weights.accent, cost + first, cost) if first else cost
                best = np.minimum(best, above[j - 1] + cost)
            if i > 1 and j > 1:
                is_swapped = (columns[j - 2] == asked[i - 1]) & (columns[j - 1] == asked[i - 2])
                is_swapped &= columns[j - 1] != columns[j - 2]
                if is_swapped.any():
                    penalty = weights.swapped + weights.further + (weights.first if i == j == 2 else 0.0)
                    best = np.minimum(best, np.where(is_swapped, before[j - 2] + np.float32(penalty), np.inf))
            row[j] = best
        before, above = above, row
    found = infinite.copy()
    for j in range(max(0, len(asked) - BAND), min(width, len(asked) + BAND) + 1):
        found = np.where(lengths == j, above[j], found)
    return found.astype(np.float32)


def _extra_cost(asked: Codes, place: int, weights: Weights) -> float:
    char = asked[place]
    is_double = (place > 0 and asked[place - 1] == char) or (place + 1 < len(asked) and asked[place + 1] == char)
    return weights.further + (weights.extra_double if is_double else weights.extra)


def _missing_costs(columns: Codes, weights: Weights) -> Costs:
    """Return the cost of each missing letter, by its place in the word."""
    costs = np.full(columns.shape, weights.missing, np.float32)
    costs[np.isin(columns, [_code(char) for char in _VOWELS])] = weights.missing_vowel
    is_double = np.zeros(columns.shape, bool)
    is_double[1:] = columns[1:] == columns[:-1]
    is_double[:-1] |= is_double[1:]
    costs[is_double] = weights.missing_double
    return costs + np.float32(weights.further)
