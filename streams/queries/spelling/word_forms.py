"""Forms of words that no list has: with a prefix, with an ending, or made of two words. English. Pure.

A word such as `unhighlighted` or `plaintext` is in no dictionary, but nothing is wrong with it. Such a word is
corrected only if a correction is much more probable than it has to be for other words.
"""

from collections.abc import Iterator
from typing import Literal, Protocol

PREFIXES = (
    "anti", "auto", "bi",
    "co", "counter", "cross", "cyber", "de", "dis", "down", "en", "fore", "hyper", "il", "im", "in",
    "inter", "ir", "macro", "mega", "meta", "micro", "mid", "mini", "mis", "mono", "multi", "nano", "neo", "non", "off",
    "out", "over", "para", "photo", "poly", "post", "pre", "pro", "proto", "pseudo", "quasi", "re", "semi", "sub",
    "super",
    "tele", "trans", "tri", "ultra", "un", "under", "uni", "up",
)  # fmt: skip
MIN_STEM = 4
"""Minimum letters of a stem behind a prefix."""
MIN_PART = 4
"""Minimum letters of both parts of a compound."""
COMMON = -14.0
"""Minimum share of a word in a compound, as a logarithm: both words are common."""
Form = Literal["plain", "derived", "compound"]
_VOWELS = frozenset("aeiouy")


class Shares(Protocol):
    """A vocabulary: it knows the shares of words."""

    def share(self, word: str) -> float | None: ...


def form_of(word: str, known: Shares) -> Form:
    """Return how an unknown word is made of known words; `plain` if it is not."""
    if any(known.share(stem) is not None for stem in _stems(word)):
        return "derived"
    if word.endswith("e") and known.share(word + "d") is not None:  # the verb of a known participle
        return "derived"
    for prefix in PREFIXES:
        rest = word[len(prefix) :]
        is_open = word.startswith(prefix) and len(rest) >= MIN_STEM
        if is_open and any(known.share(stem) is not None for stem in (rest, *_stems(rest))):
            return "derived"
    for place in range(MIN_PART, len(word) - MIN_PART + 1):
        shares = known.share(word[:place]), known.share(word[place:])
        if all(share is not None and share >= COMMON for share in shares):
            return "compound"
    return "plain"


def _stems(word: str) -> Iterator[str]:
    """Yield the words that the word may be a regular form of, spelt as the rules of English ask for."""
    for stem in _simple_stems(word):
        if len(stem) >= MIN_STEM:
            yield stem
            yield from (inner for inner in _simple_stems(stem) if len(inner) >= MIN_STEM)
    if "is" in word[3:]:  # British spelling of -ize
        head, _, tail = word.rpartition("is")
        american = f"{head}iz{tail}"
        yield american
        yield from _simple_stems(american)


def _simple_stems(word: str) -> Iterator[str]:
    if word.endswith("'s"):
        yield word[:-2]
    if word.endswith("s'"):
        yield word[:-1]
    if word.endswith("ies") or word.endswith("ied") or word.endswith("ier"):
        yield word[:-3] + "y"
    if word.endswith(("ses", "xes", "zes", "ches", "shes")):
        yield word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        yield word[:-1]
    for ending in ("ed", "ing", "er", "able", "or"):
        if word.endswith(ending):
            yield from _before_vowel(word[: -len(ending)])
    for ending, added in _ENDINGS.items():
        if word.endswith(ending):
            yield word[: -len(ending)] + added


def _before_vowel(stem: str) -> Iterator[str]:
    """Yield the words that become `stem` before an ending with a vowel: `stopp` is of stop, `hop` of hope only."""
    if len(stem) < 3:
        return
    doubles = stem[-1] == stem[-2]
    ends_short = stem[-1] not in _VOWELS and stem[-2] in _VOWELS and stem[-3] not in _VOWELS
    if doubles and stem[-1] not in _VOWELS:
        yield stem[:-1]
    if not ends_short or stem[-1] in "wx":
        yield stem
    elif sum(char in _VOWELS for char in stem) > 1 and stem.endswith(("er", "en", "it", "et", "or", "al", "el")):
        yield stem  # the last syllable has no stress
    if stem[-1] not in "e":
        yield stem + "e"


_ENDINGS = {
    "ly": "", "ically": "ic", "ably": "able", "ness": "", "iness": "y", "less": "",
    "ability": "able", "ibility": "ible",
    "ization": "ize", "izations": "ize", "izer": "ize", "izers": "ize", "izable": "ize", "ment": "", "ments": "",
    "ification": "ify", "ism": "", "ist": "", "like": "", "wise": "", "ful": "", "ship": "", "hood": "",
    "ified": "ify",
    "ize": "", "ity": "", "ally": "al",
}  # fmt: skip
