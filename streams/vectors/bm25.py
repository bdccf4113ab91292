"""BM25 as sparse vectors: a statement's weights saturate its term counts, a query's count its terms.

The product of the two, times the inverse document frequency that Qdrant keeps for the collection (its `idf` modifier),
is BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009). The average length is a constant, so
that a statement's vector depends on the statement alone and a replay writes the same one.

The words of a statement's context count too, but less (as fields do in BM25F): the heading "Installation" above "Run
the script." should be found by "installation", behind a statement that says it itself.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

import xxhash

from streams.pages.tokens import words
from streams.stores.protocols import SparseVector
from streams.vectors.stemming import stem

K1 = 1.2
B = 0.75
AVERAGE_WORDS = 22.0
"""Of a statement with its context, counted as below; measured on documentation pages."""
CONTEXT_WEIGHT = 0.4
"""Of a word of the context, against one of the statement."""
MAX_QUERY_TERMS = 64


def document_vector(text: str, context: Sequence[str] = ()) -> SparseVector:
    """The weights of a statement's terms."""
    counts: Counter[int] = Counter()
    for term in _terms(text):
        counts[term] += 1
    weighted = {term: float(count) for term, count in counts.items()}
    for term in (term for part in context for term in _terms(part)):
        weighted[term] = weighted.get(term, 0.0) + CONTEXT_WEIGHT
    norm = K1 * (1 - B + B * sum(weighted.values()) / AVERAGE_WORDS)
    return _sparse({term: count * (K1 + 1) / (count + norm) for term, count in weighted.items()})


def query_vector(text: str, language: str = "") -> SparseVector:
    """How often each term is asked for. The language makes no difference yet: documents don't know a query's."""
    counts = Counter(_terms(text))
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
