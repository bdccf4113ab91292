"""The figures of a ranking: nDCG@10, recall@100, MRR@10, and percentiles of times.

nDCG has linear gains, as trec_eval computes it: a document of grade 3 at rank 1 counts 3.
"""

import math
from collections.abc import Mapping, Sequence

Ranking = Sequence[str]
"""URLs of documents, the best first."""
Grades = Mapping[str, int]


def figures(rankings: Sequence[Ranking], relevant: Sequence[Grades]) -> dict[str, float]:
    """Return the mean of each figure over all queries, rounded to four digits."""
    pairs = list(zip(rankings, relevant, strict=True))
    return {
        "ndcg@10": round(mean([ndcg(ranking, grades) for ranking, grades in pairs]), 4),
        "recall@100": round(mean([recall(ranking, grades) for ranking, grades in pairs]), 4),
        "mrr@10": round(mean([reciprocal_rank(ranking, grades) for ranking, grades in pairs]), 4),
    }


def ndcg(ranking: Ranking, grades: Grades, at: int = 10) -> float:
    """Normalized discounted cumulative gain of the first documents (Jarvelin and Kekalainen, 2002)."""
    ideal = _gain(sorted(grades.values(), reverse=True)[:at])
    return _gain([grades.get(document, 0) for document in ranking[:at]]) / ideal if ideal else 0.0


def recall(ranking: Ranking, grades: Grades, at: int = 100) -> float:
    """Return the share of the relevant documents that are among the first."""
    return len(grades.keys() & set(ranking[:at])) / len(grades) if grades else 0.0


def reciprocal_rank(ranking: Ranking, grades: Grades, at: int = 10) -> float:
    """Return one over the rank of the first relevant document; 0 if none is among the first."""
    return next((1 / rank for rank, document in enumerate(ranking[:at], start=1) if document in grades), 0.0)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share of all values does not exceed. 0 without values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


def _gain(grades: Sequence[int]) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1))


def mean(values: Sequence[float]) -> float:
    """Return the mean, or 0 without values."""
    return math.fsum(values) / len(values) if values else 0.0
