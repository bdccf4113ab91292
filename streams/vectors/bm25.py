"""BM25 as sparse vectors: a statement's weights saturate its term counts, a query's weights count its terms.

The product of the two, times the inverse document frequency that Qdrant keeps for the collection (its `idf` modifier),
is BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009). The average length is a constant, so
that a statement's vector only depends on the statement and a replay writes the same vector.

The words of a statement's context count like the words of its text: "installation" finds "Run the script." below the
heading "Installation", ranked behind a statement that has the word itself as well. Words of the page's title count
twice, and labels of boxes ("Note") not at all. The constants have the best mean over three collections, Cranfield, CACM
and NPL (docs/decisions/0005).
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from heapq import nlargest
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

from streams.caches import cached_if_short
from streams.language.function_words import shown_language, typical_words, without_function_words
from streams.pages.text.language import identify
from streams.pages.text.tokens import drop_box_labels, index_words
from streams.stores.protocols import SparseVector
from streams.vectors.stemming import terms, terms_of_query

K1 = 1.2
B = 0.4
TITLE_WEIGHT = 2
"""The number of times that a word of the page's title counts."""
AVERAGE_WORDS = 32.0
"""Average number of words of a statement with its context, measured on documentation pages."""
MAX_QUERY_TERMS = 64
"""Maximum terms of a query. The most frequent terms are kept."""
SURE = 0.9
"""Minimum probability of the language of a query in Latin letters: `django documentation` is Danish at .17. It is not
sure either if the query has more function words of English: `your environ` is French at .95."""
_GUESSED_WEIGHT = 1e-4
"""Weight of a stem in a language that is not sure: it finds a statement, and moves none that has the word itself."""
_KEPT_QUERIES = 128
"""Maximum queries with cached terms: the parts of one search ask for the same ones, and each identifies a language."""
_KEPT_TEXTS = 32_768
"""Maximum texts with cached terms: about 20 MB, since each is kept as bytes. Several parts of one search ask for the
terms of its first statements, the statements of a page share its title and headings, and searches of one index find
many statements again. To cut a statement into terms takes 15 times as long as to read them here."""
_MAX_KEPT_TEXT_CHARS = 1_000
"""Maximum length of a text with cached terms (characters)."""


def document_vector(text: str, context: Sequence[str] = (), language: str = "", title: str = "") -> SparseVector:
    """Return the weights of a statement's terms. `language` is its page's (BCP 47), or empty when it isn't known.

    `title` is the page's title. Its words count more where the title is part of the context.
    """
    named = " ".join(title.split())
    found = [
        word
        for part in (text, *drop_box_labels(context))
        for word in index_words(part) * (TITLE_WEIGHT if named and part == named else 1)
    ]
    counts = Counter(chain.from_iterable(terms(found, language)))
    norm = K1 * (1 - B + B * len(found) / AVERAGE_WORDS)
    return make_vector({term: count * (K1 + 1) / (count + norm) for term, count in counts.items()})


def statement_terms(texts: Iterable[str], language: str = "") -> frozenset[int]:
    """Return the terms of a statement's texts: its own, its title and its context."""
    return frozenset(chain.from_iterable(_terms_of_text(text, language) for text in texts))


def terms_among(wanted: frozenset[int], texts: Iterable[str], language: str = "") -> frozenset[int]:
    """Return which of these terms the texts have."""
    return wanted.intersection(chain.from_iterable(_terms_of_text(text, language) for text in texts))


def _terms_of_text(text: str, language: str) -> memoryview:
    return memoryview(_packed_terms(text, language)).cast("I")


@cached_if_short(_KEPT_TEXTS, _MAX_KEPT_TEXT_CHARS)
def _packed_terms(text: str, language: str) -> bytes:
    """Return the terms of a text, each once, as integers of 32 bits."""
    words = list(dict.fromkeys(index_words(text)))
    return array("I", set(chain.from_iterable(terms(words, language)))).tobytes()


def query_vector(text: str, language: str = "") -> SparseVector:
    """Return the number of times that a query has each term, without function words where there are others.

    `language` is the language of the searched pages. When it isn't given, the query's own language is identified, so
    that inflections are found. The function words of this language are left out, if the query shows that it is in it
    (`shown_language`): these words are in nearly every statement, so they would find little and read the longest lists.
    """
    asked = _read_query(text, language)
    guessed = dict.fromkeys(chain.from_iterable(word.guessed for word in asked), _GUESSED_WEIGHT)
    counts = Counter(chain.from_iterable(word.terms for word in asked))
    weights = guessed | {term: float(count) for term, count in counts.items()}
    return make_vector(dict(nlargest(MAX_QUERY_TERMS, weights.items(), key=itemgetter(1))))


class _QueryWord(NamedTuple):
    """A word of a query: folded, its terms, and its term in a language that is not sure."""

    text: str
    terms: tuple[int, ...]
    guessed: tuple[int, ...] = ()


@lru_cache(_KEPT_QUERIES)
def _read_query(text: str, language: str) -> tuple[_QueryWord, ...]:
    asked = index_words(text)
    if language:
        return tuple(
            _QueryWord(word, terms_of_query(word, language)) for word in without_function_words(asked, language)
        )
    own = identify(text)
    kept = without_function_words(asked, shown_language(asked, own.language))
    typical, english = typical_words(asked, own.language)
    is_sure = own.confidence >= SURE and len(typical) >= len(english)
    if is_sure or own.script != "Latn":
        return tuple(_QueryWord(word, terms_of_query(word, own.language)) for word in kept)
    return tuple(_QueryWord(word, terms_of_query(word), terms([word], own.language)[0][1:]) for word in kept)


def named_query_words(text: str, language: str = "") -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return each word of a query, folded, with its terms. A statement has the word if it has one of its terms."""
    return tuple((word.text, word.terms + word.guessed) for word in _read_query(text, language))


def query_words(text: str, language: str = "") -> tuple[tuple[int, ...], ...]:
    """Return the terms of each word of a query."""
    return tuple(forms for _, forms in named_query_words(text, language))


def vector_of_word(forms: Sequence[int]) -> SparseVector:
    """Return the vector of a query for one word, by its terms."""
    return make_vector(dict.fromkeys(forms, 1.0))


def make_vector(weights: dict[int, float]) -> SparseVector:
    """Return the vector with ascending ids, so that equal statements have equal vectors."""
    ordered = sorted(weights.items())
    return SparseVector(tuple(term for term, _ in ordered), tuple(round(weight, 6) for _, weight in ordered))
