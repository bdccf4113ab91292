"""Stemming: `connect`, `connected` and `connections` are one term, in documents and queries alike.

Each word of a page has its English stem (Porter, "An algorithm for suffix stripping", Program 14, 1980), whatever the
language of the page: so a word has one document frequency, and a name weighs the same in pages of all languages. A word
of a page in another language also has its stem there (Snowball's, by PyStemmer), as a term of only this language:
`Häuser` is `häuser`, and `haus` in German. Function words have none, since queries are searched without them.

A query finds pages of all languages by its words' English stems. Only a query whose language is sure also asks for the
stems of this language, and for pages in other languages that have such a stem as a word (`terms_of_query`).

An English stem that is a function word is no stem: Porter's `theses` are `these`, and `herring` is `her`. Few words
have an exception. The id of a stem is a term (docs/decisions/0006).

Snowball's stems are kept in the index: after a new version of PyStemmer that makes other stems, all pages must be
indexed again.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import Stemmer
import xxhash

from streams.language.function_words import FUNCTION_WORDS, is_function_word
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
_EXCEPTIONS = {"news": "news"} | dict.fromkeys(("use", "uses", "used", "using"), "use")
"""English stems that are words of another meaning by Porter's rules: `new` and `us`."""
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

    English has one stem, another language the word itself and its stem. A word with other characters than plain
    letters, or with only one or two letters, stays as it is.
    """
    return _stems(words, _stemmer_of(language))


def terms(words: Sequence[str], language: str = "") -> list[tuple[int, ...]]:
    """Return the terms of each lower-case word of a page: the ids of its stems in English and in this language."""
    own = primary(language)
    return [(_kept_terms if len(word) <= _MAX_KEPT_CHARS else _terms_of)(word, own) for word in words]


def terms_of_query(word: str, language: str = "") -> tuple[int, ...]:
    """Return the terms of a word of a query that is surely in this language; without a language, the English stem's.

    A page of another language may have the stem of the query's language as a word: `Materialien` finds `material`.
    """
    english, *own = terms([word], language)[0]
    return tuple(dict.fromkeys((english, *map(_term_id, stems([word], language)[0][-1:]), *own)))


def _terms_of(word: str, language: str) -> tuple[int, ...]:
    english = _term_id(_stems([word], _ENGLISH_STEMMER)[0][0])
    if language not in LANGUAGES or not _is_inflected(word) or is_function_word(word, language):
        return (english,)
    return english, _term_id(f"{language}:{_stems([word], LANGUAGES[language])[0][-1]}")


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
    # A stemmer must not be used by two threads at once. Making one takes 5 microseconds.
    stemmer: Any = Stemmer.Stemmer(name, 0)
    if name == _ENGLISH_STEMMER:
        return [(_stem_english(word, stemmer),) for word in words]
    stemmed = (stemmer.stemWord(word) or word if _is_inflected(word) else word for word in words)
    return [(word,) if word == stem else (word, stem) for word, stem in zip(words, stemmed, strict=True)]


def _stem_english(word: str, stemmer: Any) -> str:
    if not _ENGLISH.fullmatch(word):
        return word
    stem: str = _EXCEPTIONS.get(word) or stemmer.stemWord(word) or word
    return word if stem in FUNCTION_WORDS["en"] else stem


def _is_inflected(word: str) -> bool:
    return len(word) >= _MIN_CHARS and not _NO_WORD.search(word)
