"""Stemming: `connect`, `connected` and `connections` are one term, in documents and queries alike.

Every word has an English stem (Porter, "An algorithm for suffix stripping", Program 14, 1980), since the language of a
query is often unknown. In a text of another language with a stemmer (Snowball's, by PyStemmer) a word has that
language's stem as well, where it differs: `Häuser` is `häuser` and `haus`. So a query in German finds German
inflections, and a query of unknown language still finds the words as they are written. The id of a stem is a term.

Snowball's stems are kept in the index: after a new version of PyStemmer that makes other stems, all pages must be
indexed again.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import Stemmer
import xxhash

from streams.pages.text.language import primary

_NAMES = (
    "ar arabic, hy armenian, eu basque, ca catalan, cs czech, da danish, nl dutch, eo esperanto, et estonian, "
    "fi finnish, fr french, de german, el greek, hi hindi, hu hungarian, id indonesian, ga irish, it italian, "
    "lt lithuanian, ne nepali, no norwegian, fa persian, pl polish, pt portuguese, ro romanian, ru russian, "
    "sr serbian, es spanish, sv swedish, ta tamil, tr turkish, yi yiddish"
)
LANGUAGES = dict(pair.split() for pair in _NAMES.split(", "))
"""The stemmer's name by language, as `primary` writes languages. English and other languages only have Porter's."""
_MIN_CHARS = 3
"""Minimum length of a word that is stemmed (characters)."""
_ENGLISH = re.compile(rf"[a-z]{{{_MIN_CHARS},}}")
_NO_WORD = re.compile(r"[\d_'.,+#]")
"""Characters of numbers and names (`utf8`, `c++`), which have no inflections."""
_KEPT_WORDS = 32_768
"""Maximum words with cached terms: about 6 MB. A title and its headings come again with each statement of a page, and
most words of a text are among the few thousand frequent words."""
_MAX_KEPT_CHARS = 32
"""Maximum length of a word with cached terms (characters), since a stranger may write texts longer than any word."""


def stems(words: Sequence[str], language: str = "") -> list[tuple[str, ...]]:
    """Return the stems of each lower-case word: the English stem, and the stem in the text's language if it differs.

    A word with other characters than plain letters, or with only one or two letters, stays as it is.
    """
    return _stems(words, _stemmer_of(language))


def terms(words: Sequence[str], language: str = "") -> list[tuple[int, ...]]:
    """Return the terms of each lower-case word: the ids of its stems."""
    name = _stemmer_of(language)
    return [(_kept_terms if len(word) <= _MAX_KEPT_CHARS else _terms_of)(word, name) for word in words]


def _terms_of(word: str, name: str) -> tuple[int, ...]:
    return tuple(map(_term_id, _stems([word], name)[0]))


_kept_terms = lru_cache(_KEPT_WORDS)(_terms_of)


def _term_id(stemmed: str) -> int:
    """Return the id of a stem: 32 bits of xxHash. Of 1,000,000 terms about 116 pairs share one."""
    return xxhash.xxh32_intdigest(stemmed.encode("utf-8", "replace"))


def _stemmer_of(language: str) -> str:
    return LANGUAGES.get(primary(language), "")


def _stems(words: Sequence[str], name: str) -> list[tuple[str, ...]]:
    english = _stem_words(words, "porter", [bool(_ENGLISH.fullmatch(word)) for word in words])
    if not name:
        return [(stem,) for stem in english]
    stemmed = _stem_words(words, name, [len(word) >= _MIN_CHARS and not _NO_WORD.search(word) for word in words])
    return [(one,) if one == other else (one, other) for one, other in zip(english, stemmed, strict=True)]


def _stem_words(words: Sequence[str], name: str, fit: Sequence[bool]) -> list[str]:
    # A stemmer must not be used by two threads at once. Making one takes 5 microseconds.
    stemmer: Any = Stemmer.Stemmer(name, 0)
    return [stemmer.stemWord(word) or word if fits else word for word, fits in zip(words, fit, strict=True)]
