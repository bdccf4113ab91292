"""The confidence that a statement answers a question: a probability, by logistic functions of a few features. Pure.

    similarity  closeness of the question and of the statement with its context (`ModelInfo.closeness`)
    covered     share of the question's words that the statement or its context has
    covered_own share of the question's words that the statement's own text has
    added       1 if the statement has a word of its own beside the question's words
    has_form    1 if the question asks for a form (a time, a number, a person, ...) and the statement has it
    lacks_form  1 if the question asks for a form and the statement does not have it
    lead        distance of the page's score above the best other page's (standard deviations)
    rank        logarithm of the page's place
    place       logarithm of the statement's place among the statements of its page
    words       logarithm of the statement's number of words
    asks        1 if the statement is a question itself
    lacks_name  1 if the question has a name, number or code that neither the statement nor its context or title has

The first function orders the statements of a search (`ranking`). The second one makes a probability of the best value
and of some features of the whole search (`calibration`): the best of many is less probable than its own value says.
A manual has nearly all words of a question that it does not answer, so a name that is missing counts there.
The parameters in `confidence.json` are made by `python -m benchmarks.answers.confidence`; docs/reference/answers.md has
the reliability on sets that had no part in the training.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from heapq import nlargest
from pathlib import Path
from typing import Self
from uuid import UUID

from streams.answers.answer_form import form_of, has_form
from streams.answers.evidence import Evidence
from streams.language.marks import asks
from streams.pages.text.tokens import index_words, words
from streams.vectors.bm25 import query_words, statement_terms

FEATURES = (
    "similarity",
    "covered",
    "covered_own",
    "added",
    "has_form",
    "lacks_form",
    "lead",
    "rank",
    "words",
    "asks",
    "place",
)
CALIBRATION = (
    "value",
    "lead_of_value",
    "terms",
    "similarity",
    "lacks_form",
    "has_form",
    "covered_own",
    "covered",
    "words",
    "lacks_name",
)
"""The features of the second function: the value of the best statement, its lead above the best statement of another
page, the logarithm of the number of the question's words (`terms`), and features of the best statement."""
PARAMETERS = Path(__file__).with_name("confidence.json")
_MAX_LEAD = 5.0
"""Maximum lead that counts (standard deviations): a page without others leads by any number."""
_MAX_WORDS = 200
"""Maximum words of a question that are looked at."""
_CODE = re.compile(r"\d|[_()]|\w\.\w")
_QUOTES = "\"'“”,;:"

Words = Sequence[Sequence[int]]
"""The terms of each word (`query_words`)."""

Features = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Logistic:
    """A trained logistic function: an intercept, and for each feature its coefficient, mean and deviation."""

    intercept: float
    coefficients: Features
    means: Features
    deviations: Features

    def value(self, features: Features) -> float:
        return self.intercept + math.fsum(
            coefficient * (features[name] - self.means[name]) / self.deviations[name]
            for name, coefficient in self.coefficients.items()
        )


@dataclass(frozen=True, slots=True)
class Parameters:
    """Both functions."""

    ranking: Logistic
    calibration: Logistic


@dataclass(frozen=True, slots=True)
class Judged:
    """A statement with its value as an answer."""

    evidence: Evidence
    value: float
    """The logit by the first function: comparable within one search."""
    features: Features


def judge_statements(question: str, evidence: Sequence[Evidence], parameters: Parameters) -> list[Judged]:
    """Return the statements that have a term of the question themselves, with their values, the best first.

    A heading around a statement may have all terms, and says nothing about the statement.
    """
    asked = _Asked.of(question)
    about_it = [each for each in _place(evidence) if asked.share_in(each.terms.own)]
    rows = [_features(each, asked) for each in about_it]
    judged = [
        Judged(each.evidence, parameters.ranking.value(row), row) for each, row in zip(about_it, rows, strict=True)
    ]
    return sorted(judged, key=lambda each: (-each.value, each.evidence.rank, each.evidence.ordinal))


def confidence_of(question: str, judged: Sequence[Judged], parameters: Parameters) -> float:
    """Return the probability that the first of these statements answers the question; 0 without statements."""
    if not judged:
        return 0.0
    valued = [(each.value, str(each.evidence.page_id), each.features) for each in judged]
    logit = parameters.calibration.value(calibration_features(question, valued))
    return 1 / (1 + math.exp(-max(min(logit, 30.0), -30.0)))


def calibration_features(question: str, judged: Sequence[tuple[float, str, Features]]) -> dict[str, float]:
    """Return the features of the whole search, from the value, page and features of each statement, the best first."""
    value, page, best = judged[0]
    others = [other for other, of_page, _ in judged if of_page != page]
    return {
        "value": value,
        "lead_of_value": min(value - max(others), _MAX_LEAD) if others else _MAX_LEAD,
        "terms": math.log1p(len(set(query_words(question)))),
        **{name: best[name] for name in CALIBRATION[3:]},
    }


def features_of(question: str, evidence: Sequence[Evidence]) -> list[dict[str, float]]:
    asked = _Asked.of(question)
    return [_features(each, asked) for each in _place(evidence)]


def names_of(question: str) -> Words:
    """Return the terms of the question's names (`named_words`)."""
    return [terms for part in named_words(question) for word in index_words(part) for terms in query_words(word)]


def named_words(question: str) -> list[str]:
    """Return the names, numbers and codes of a question: words with a capital letter, a digit or a dot inside.

    The first word has a capital letter in any case.
    """
    found = question.split()[:_MAX_WORDS]
    parts = [part.strip(_QUOTES) for part in found]
    return [part for place, part in enumerate(parts) if _CODE.search(part) or (place > 0 and part[:1].isupper())]


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question: the terms of its words, each once, and of its names, its form, and its folded words."""

    words: Words
    names: Words
    form: str
    folded: frozenset[str]

    @classmethod
    def of(cls, question: str) -> Self:
        asked, folded = tuple(dict.fromkeys(query_words(question))), frozenset(words(question))
        return cls(asked, names_of(question), form_of(question), folded)

    def share_in(self, terms: Collection[int]) -> float:
        """Return the share of the words that have one of these terms."""
        return sum(any(form in terms for form in forms) for forms in self.words) / max(len(self.words), 1)


@dataclass(frozen=True, slots=True)
class _TextTerms:
    """The terms of a statement: of its own text, of its context, and of both with its title."""

    own: frozenset[int]
    around: frozenset[int]
    whole: frozenset[int]

    @classmethod
    def of(cls, evidence: Evidence) -> Self:
        own = statement_terms((evidence.text,), evidence.language)
        around = statement_terms(evidence.context, evidence.language)
        return cls(own, around, own | around | statement_terms((evidence.title,), evidence.language))


@dataclass(frozen=True, slots=True)
class _Placed:
    """A statement with its terms, its page's lead, and its place among the statements of its page, from 0."""

    evidence: Evidence
    terms: _TextTerms
    lead: float
    place: int


def _place(evidence: Sequence[Evidence]) -> list[_Placed]:
    leads = _leads({each.page_id: each.score for each in evidence})
    counts: Counter[UUID] = Counter()
    placed = []
    for each in evidence:
        placed.append(_Placed(each, _TextTerms.of(each), leads[each.page_id], counts[each.page_id]))
        counts[each.page_id] += 1
    return placed


def _leads(scores: Mapping[UUID, float]) -> dict[UUID, float]:
    """Return the distance of each page's score above the best other page's."""
    best, second = nlargest(2, [*scores.values(), -math.inf, -math.inf])
    return {
        page: max(min(score - (second if score == best else best), _MAX_LEAD), -_MAX_LEAD)
        for page, score in scores.items()
    }


def _features(placed: _Placed, asked: _Asked) -> dict[str, float]:
    evidence, terms = placed.evidence, placed.terms
    own_words = words(evidence.text)
    fits = bool(asked.form) and has_form(evidence.text, asked.form, asked.folded)
    return {
        "similarity": evidence.similarity,
        "covered": asked.share_in(terms.own | terms.around),
        "covered_own": asked.share_in(terms.own),
        "added": float(not asked.folded.issuperset(own_words)),
        "has_form": float(fits),
        "lacks_form": float(bool(asked.form) and not fits),
        "lacks_name": float(any(terms.whole.isdisjoint(name) for name in asked.names)),
        "lead": placed.lead,
        "rank": math.log1p(evidence.rank),
        "words": math.log1p(len(own_words)),
        "asks": float(asks(evidence.text)),
        "place": math.log1p(placed.place),
    }


@cache
def parameters() -> Parameters:
    """Return the parameters in use."""
    stored = json.loads(PARAMETERS.read_text(encoding="utf-8"))
    return Parameters(Logistic(**stored["ranking"]), Logistic(**stored["calibration"]))
