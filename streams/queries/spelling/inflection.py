"""Regular forms of English words that no list has: plurals, endings of verbs, British spellings, prefixes. Pure.

Lists of words have `execute` and `executable`, but not `executables`. A query may have such a form, and it may be what
was meant. Each form is made by the rules of spelling, so that a misspelt form is never made.
"""

from collections.abc import Iterator, Mapping

MIN_STEM = 4
PLURAL, VERB, AGENT, PREFIXED, BRITISH, ABSTRACT = 0.05, 0.1, 0.03, 0.01, 0.5, 0.01
"""The frequency of a form, as a share of the frequency of its word."""
MIN_SHARE = 1.0
"""Minimum frequency of a word whose forms are made, per billion words."""
MIN_PREFIXED = 3000.0
"""Minimum frequency of a word that may get a prefix, per billion words."""
_PREFIX_TEXT = "un re de pre non sub auto multi over under mis dis inter super meta"
_PREFIXES = tuple(_PREFIX_TEXT.split())
_VOWELS = frozenset("aeiou")


def add_regular_forms(counts: Mapping[str, float]) -> dict[str, float]:
    """Return the vocabulary with regular forms of its words. A word that is in it keeps its count."""
    found = dict(counts)
    for word, count in counts.items():
        if len(word) < MIN_STEM or count < MIN_SHARE or not (word.isascii() and word.isalpha()):
            continue
        for form, share in _forms(word, counts):
            found.setdefault(form, count * share)
    for word, count in [each for each in found.items() if "iz" in each[0] or "yz" in each[0]]:
        for form in _british(word):
            found.setdefault(form, count * BRITISH)
    return found


def _forms(word: str, counts: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    if not word.endswith(("s", "ed", "ing", "ly")):
        yield plural(word), PLURAL
    if word.endswith("ing"):
        yield word + "s", PLURAL / 5
    if _is_verb(word, counts):
        stem = _stem_before_vowel(word, counts)
        yield stem + "ed", VERB
        yield stem + "ing", VERB
        for ending in ("er", "ers", "able"):
            yield stem + ending, AGENT
        for form in (word, plural(word), stem + "ed", stem + "ing"):
            yield "re" + form, PREFIXED
    if word.endswith(("ive", "able", "al", "ous", "ful", "less")):
        yield (word[:-1] + "y" if word.endswith("able") else word + "ly"), AGENT
    if word.endswith("able"):
        yield word[:-4] + "ability", ABSTRACT
    if word.endswith("ize"):
        for ending in ("ization", "izations", "izer", "izers", "izable"):
            yield word[:-3] + ending, AGENT
    if word.endswith("ate"):
        for ending in ("ation", "ations", "ator", "ators"):
            yield word[:-3] + ending, ABSTRACT
    if counts[word] >= MIN_PREFIXED and not word.startswith(_PREFIXES):
        for prefix in _PREFIXES:
            yield prefix + word, PREFIXED / 10


def _is_verb(word: str, counts: Mapping[str, float]) -> bool:
    stem = word[:-1] if word.endswith("e") else word
    return (stem + "ing" in counts or stem + stem[-1] + "ing" in counts) and not word.endswith("ing")


def _stem_before_vowel(word: str, counts: Mapping[str, float]) -> str:
    """Return the word as it is spelt before an ending with a vowel."""
    if word.endswith("e"):
        return word[:-1]
    doubled = word + word[-1]
    return doubled if doubled + "ing" in counts and word + "ing" not in counts else word


def plural(word: str) -> str:
    if word.endswith("y") and word[-2] not in _VOWELS:
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "z", "ch", "sh")) else "s")


def _british(word: str) -> Iterator[str]:
    for american in ("ize", "izi", "iza", "yze", "yzi"):
        place = word.rfind(american, 3)
        if place > 0:
            yield word[: place + 1] + "s" + word[place + 2 :]
