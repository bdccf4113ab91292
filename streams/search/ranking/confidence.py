"""The confidence in the results: whether anything was found, or only pages that are nearest by meaning. Pure.

A dense list always has a nearest statement, also for `asdkjhqwe zxcvqwe`. Two features of a query say whether its
results are about it:

    closeness  cosine between the query and the nearest statement
    words      greatest share of the query's words that one statement has, with its context and title. A word is worth
               its rarity among the first statements by words: of "when was vindvloos born", `born` is worth little

Nothing was found if no statement has all words, and `closeness + WORDS_WORTH * words` is below a bound of the embedding
model. The bound is measured by `riffle eval confidence` (docs/decisions/0045). Without a bound nothing is judged.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from streams.models.protocols import ModelInfo
from streams.search.query_language.operators import OPERATORS, Conditions
from streams.search.ranking.context import RankingContext
from streams.search.ranking.fusion import best_of_pages
from streams.search.ranking.word_coverage import Words, cut, shares_of, words_in
from streams.stores.protocols import Candidates, Hit, PageHits
from streams.vectors.bm25 import statement_terms

BOUNDS = Path(__file__).with_name("confidence.json")
WORDS_WORTH = 1.0
"""The closeness that all words of the query are worth in one statement."""
READ_STATEMENTS = 20
"""Maximum statements of the sparse list whose words are read. The best ones have the most of the query's words."""
MAX_CHARS = 2_000
"""Maximum length of a statement with its title and context whose words are read (characters)."""
_WORD_OPERATORS = frozenset(operator.name for operator in OPERATORS if operator.has_words)
MAX_NEAREST = 3
"""Maximum pages that are shown if nothing was found."""


@dataclass(frozen=True, slots=True)
class Confidence:
    """The features of a query's results."""

    closeness: float
    words: float

    @property
    def score(self) -> float:
        return self.closeness + WORDS_WORTH * self.words


def measure_confidence(found: Candidates, words: Words) -> Confidence:
    """Return the features. Without words, such as for an emoji, no statement has a share of them."""
    closeness = max((hit.score for hit in found.dense), default=0.0)
    return Confidence(round(closeness, 4), round(_greatest_share(words, found.sparse[:READ_STATEMENTS]), 4))


def _greatest_share(words: Words, hits: Sequence[Hit]) -> float:
    """Return the greatest share of the words that one statement has. Nothing is read behind one that has all."""
    covered: list[frozenset[int]] = []
    for hit in hits if words else ():
        covered.append(words_in(_terms_of(hit), words))
        if len(covered[-1]) == len(words):
            return 1.0
    return max(shares_of(covered, len(words)), default=0.0) if words else 0.0


def keep_nearest_only(context: RankingContext, pages: list[PageHits]) -> list[PageHits]:
    """Apply the pass `confidence`: where nothing was found, at most three pages are left, the nearest first."""
    if context.min_confidence is None or not context.found.dense or context.notes.is_addressed:
        return pages
    measured = measure_confidence(context.found, context.words)
    context.notes.passes["confidence"] = {"closeness": measured.closeness, "words": measured.words}
    if measured.words == 1.0 or measured.score >= context.min_confidence:
        return pages
    context.notes.nearest_only = True
    context.notes.facets.clear()
    nearest = best_of_pages(context.found.dense)
    return sorted(pages, key=lambda page: -nearest.get(page.page_id, 0.0))[:MAX_NEAREST]


def min_confidence(
    model: ModelInfo | None, conditions: Conditions, *, has_text: bool, fixed: float | None = None
) -> float | None:
    """Return the bound for the results of a query; None if they are not judged.

    Where words of the query are conditions, each result has them. A query without text has only operators.
    """
    if model is None or not has_text or not _WORD_OPERATORS.isdisjoint(conditions):
        return None
    return model_bounds().get(model.name) if fixed is None else fixed


def _terms_of(hit: Hit) -> frozenset[int]:
    payload = hit.payload
    return statement_terms([*cut((payload.text, payload.title, *payload.context), MAX_CHARS)], payload.language)


@cache
def model_bounds() -> dict[str, float]:
    """Return the bound of each embedding model that was measured, by the name of the model."""
    found: dict[str, float] = json.loads(BOUNDS.read_text(encoding="utf-8"))
    return found
