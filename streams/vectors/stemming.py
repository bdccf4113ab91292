"""Stemming: `connect`, `connected` and `connections` are one term, in documents and queries alike.

A word of an English text, or of a text whose language is not known, has an English stem (Porter, "An algorithm for
suffix stripping", Program 14, 1980). A word of any other text stays as it is written, and has the stem of its language
as well, if there is a stemmer (Snowball's, by PyStemmer): `Häuser` is `häuser` and `haus`. A word of a query has all
three, since it may be found in pages of any language: the stem of the query's own language, the English one, and the
word itself. The id of a stem is a term. Porter's stems of other languages joined words that have nothing in common
(docs/decisions/0006).

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
_ENGLISH_STEMMER = "porter"
LANGUAGES = dict(pair.split() for pair in _NAMES.split(", "))
"""The stemmer's name by language, as `primary` writes languages. English has Porter's."""
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
    """Return the stems of each lower-case word of a text in this language (BCP 47; empty: not known).

    A word with other characters than plain letters, or with only one or two letters, stays as it is.
    """
    return _stems(words, _stemmer_of(language))


def terms(words: Sequence[str], language: str = "") -> list[tuple[int, ...]]:
    """Return the terms of each lower-case word of a text: the ids of its stems."""
    name = _stemmer_of(language)
    return [(_kept_terms if len(word) <= _MAX_KEPT_CHARS else _terms_of)(word, name) for word in words]


def terms_in_any_language(words: Sequence[str], language: str) -> list[tuple[int, ...]]:
    """Return the terms of each word of a query in this language, as pages of any language have them."""
    return [
        tuple(dict.fromkeys((*english, *own)))
        for english, own in zip(terms(words), terms(words, language or "und"), strict=True)
    ]


def _terms_of(word: str, name: str) -> tuple[int, ...]:
    return tuple(map(_term_id, _stems([word], name)[0]))


_kept_terms = lru_cache(_KEPT_WORDS)(_terms_of)


def _term_id(stemmed: str) -> int:
    """Return the id of a stem: 32 bits of xxHash. Of 1,000,000 terms about 116 pairs share one."""
    return xxhash.xxh32_intdigest(stemmed.encode("utf-8", "replace"))


def _stemmer_of(language: str) -> str:
    """Return the name of a stemmer; empty for a language without one."""
    own = primary(language)
    return _ENGLISH_STEMMER if own in {"", "en"} else LANGUAGES.get(own, "")


def _stems(words: Sequence[str], name: str) -> list[tuple[str, ...]]:
    if not name:
        return [(word,) for word in words]
    if name == _ENGLISH_STEMMER:
        return [(stem,) for stem in _stem_words(words, name, [bool(_ENGLISH.fullmatch(word)) for word in words])]
    fit = [len(word) >= _MIN_CHARS and not _NO_WORD.search(word) for word in words]
    return [
        (word,) if word == stem else (word, stem)
        for word, stem in zip(words, _stem_words(words, name, fit), strict=True)
    ]


def _stem_words(words: Sequence[str], name: str, fit: Sequence[bool]) -> list[str]:
    # A stemmer must not be used by two threads at once. Making one takes 5 microseconds.
    stemmer: Any = Stemmer.Stemmer(name, 0)
    return [stemmer.stemWord(word) or word if fits else word for word, fits in zip(words, fit, strict=True)]
