"""BM25 as sparse vectors: a statement's weights saturate its term counts, a query's count its terms.

The product of the two, times the inverse document frequency that Qdrant keeps for the collection (its `idf` modifier),
is BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009). The average length is a constant, so
that a statement's vector depends on the statement alone and a replay writes the same one.

The words of a statement's context count like its own: the heading "Installation" above "Run the script." is found by
"installation", behind a statement that says it once more. (Counting them less was worse on Cranfield and CACM.)
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

import xxhash

from streams.pages.text.tokens import words
from streams.stores.protocols import SparseVector
from streams.vectors.stemming import stem

K1 = 1.2
B = 0.75
AVERAGE_WORDS = 32.0
"""Of a statement with its context; measured on documentation pages."""
MAX_QUERY_TERMS = 64
_FUNCTION_WORDS = (
    "a about again all also am an and any are as at be because been being both but by can could did do does each for "
    "from had has have he her here his how i if in into is it its just me more most my no nor not now of on once only "
    "or other our own same she should so some such than that the their them then there these they this those to too "
    "until very was we were what when where which while who whom whose why will with would you your"
)
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())


def document_vector(text: str, context: Sequence[str] = ()) -> SparseVector:
    """The weights of a statement's terms."""
    counts = Counter(term for part in (text, *context) for term in _terms(part))
    norm = K1 * (1 - B + B * counts.total() / AVERAGE_WORDS)
    return _sparse({term: count * (K1 + 1) / (count + norm) for term, count in counts.items()})


def query_vector(text: str, language: str = "") -> SparseVector:
    """How often each term is asked for, without function words where there are others.

    English ones count as such when the language is English or unknown. They are in nearly every statement, so they
    would find little and read the longest lists.
    """
    asked = words(text)
    if language in {"", "en"}:
        asked = [word for word in asked if word not in FUNCTION_WORDS] or asked
    counts = Counter(map(_cached_term_id, asked))
    return _sparse({term: float(count) for term, count in counts.most_common(MAX_QUERY_TERMS)})


def term_id(word: str) -> int:
    """The id of a word's stem: 32 bits of xxHash. Of 1,000,000 terms about 116 pairs share one."""
    return _term_id(stem(word))


def _terms(text: str) -> Iterable[int]:
    return map(_cached_term_id, words(text))


@lru_cache(maxsize=65_536)
def _cached_term_id(word: str) -> int:
    return term_id(word)


def _term_id(stemmed: str) -> int:
    return xxhash.xxh32_intdigest(stemmed.encode("utf-8", "replace"))


def _sparse(weights: dict[int, float]) -> SparseVector:
    """By ascending id, so that equal statements have equal vectors."""
    ordered = sorted(weights.items())
    return SparseVector(tuple(term for term, _ in ordered), tuple(round(weight, 6) for _, weight in ordered))
