"""The weight of meaning beside words in a page's score: a logistic function of three features of the query.

    terms     words of the query that are searched: the longer the query is, the more its words count
    fall      distance between the best page and the tenth in the dense list: where meaning decides, it falls sharply
    question  1 for a question: its words are the asker's, not the answer's

The parameters in `weights.json` are made by `python -m benchmarks.search.meaning_weight`. Its training data have few
short questions, so their bonus is not trained: the bonus was chosen by evaluation (docs/decisions/0005). A weight is
shown with its features in `explain=true`.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from streams.language.marks import asks
from streams.language.questions import FIRST_WORDS
from streams.search.ranking.fusion import best_of_pages
from streams.stores.protocols import Candidates, SparseVector

FEATURES = ("terms", "fall", "question")
PARAMETERS = Path(__file__).with_name("weights.json")
FALL_PAGES = 10
SHORT_QUESTION_TERMS = 2.0
"""Maximum `terms` of a short question: about six words."""
SHORT_QUESTION_BONUS = 0.75
"""Addition to the logit of the weight for a short question, which seldom has the words of its answer."""
_LOWEST, _HIGHEST = 0.2, 0.95
"""Bounds of the weight: no list is without influence."""


@dataclass(frozen=True, slots=True)
class Weight:
    """The weight of meaning for one query, with its features."""

    meaning: float
    features: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Parameters:
    """The trained model: an intercept, and for each feature its coefficient, mean and deviation."""

    intercept: float
    coefficients: Mapping[str, float]
    means: Mapping[str, float]
    deviations: Mapping[str, float]

    def weight(self, features: Mapping[str, float]) -> float:
        standardized = {name: (features[name] - self.means[name]) / self.deviations[name] for name in FEATURES}
        total = self.intercept + sum(self.coefficients[name] * standardized[name] for name in FEATURES)
        return min(max(1 / (1 + math.exp(-total - bonus(features))), _LOWEST), _HIGHEST)


def bonus(features: Mapping[str, float]) -> float:
    """Return the part of the logit that is not trained."""
    return SHORT_QUESTION_BONUS if features["question"] and features["terms"] < SHORT_QUESTION_TERMS else 0.0


def weight_of(query: str, terms: SparseVector | None, found: Candidates, fixed: float | None = None) -> Weight:
    """Return the weight of meaning for this query and its two lists, or a fixed one."""
    if fixed is not None:
        return Weight(fixed)
    features = features_of(query, terms, found)
    return Weight(round(parameters().weight(features), 4), {name: round(features[name], 4) for name in FEATURES})


def features_of(query: str, terms: SparseVector | None, found: Candidates) -> dict[str, float]:
    best = sorted(best_of_pages(found.dense).values(), reverse=True)[:FALL_PAGES]
    return {
        "terms": math.log1p(sum(terms.values) if terms else 0.0),
        "fall": best[0] - best[-1] if best else 0.0,
        "question": float(is_question(query)),
    }


def is_question(query: str) -> bool:
    """Return True if the query ends with a question mark, or begins with an English question word."""
    first = query.split(maxsplit=1)[:1]
    return asks(query) or bool(first and first[0].casefold() in FIRST_WORDS)


@cache
def parameters() -> Parameters:
    return Parameters(**json.loads(PARAMETERS.read_text(encoding="utf-8")))
