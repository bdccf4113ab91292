"""The confidence in the results: whether anything was found, or only pages that are nearest by meaning. Pure.

A dense list always has a nearest statement, also for `asdkjhqwe zxcvqwe`. Two features of a query say whether its
results are about it:

    closeness  cosine between the query and the nearest statement
    words      greatest share of the query's words that one statement has, with its context and title. A word is worth
               its rarity among the first statements by words: of "when was vindvloos born", `born` is worth little

Nothing was found if no statement has all words, and `closeness + WORDS_WORTH * words` is below a bound, and no
statement in another language than the query stands out (`other_languages.py`). The bound of an
embedding model is measured by `python -m benchmarks eval confidence` (docs/decisions/0045); without one nothing is
judged. Over an index in which made nonsense scores high, it is raised (`measuring.py`).

Behind an answer there are pages that share little with the query: a small index has no others. A page is far from the
query if its closeness and words lag behind the best page's by more than MAX_LAG. Those at the end of the order are
marked, as the nearest ones are where nothing was found, and folded for people (docs/decisions/0142).

A word that the index hardly has, or does not have at all, is probably the subject of the query. People are told which
word no page has, and which rare words a result lacks: only so they see that results are about something else. The list
by words shows which words may be rare, and the index is asked only for these (`streams.search.retrieval.lists`).
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from itertools import takewhile
from pathlib import Path
from uuid import UUID

from streams.models.protocols import ModelInfo
from streams.search.query_language.operators import OPERATORS, Conditions
from streams.search.ranking.context import Notes, RankingContext, RareWord
from streams.search.ranking.fusion import best_of_pages
from streams.search.ranking.other_languages import UNSURE, AskedIn, divide, lead_of
from streams.stores.protocols import Candidates, Hit, PageHits
from streams.vectors.bm25 import statement_terms

Words = Sequence[Sequence[int]]
"""The terms of each word of a query: a statement has the word if it has one of them."""
BOUNDS = Path(__file__).with_name("confidence.json")
WORDS_WORTH = 1.0
"""The closeness that all words of the query are worth in one statement."""
READ_STATEMENTS = 20
"""Maximum statements of the sparse list whose words are read. The best ones have the most of the query's words."""
MAX_CHARS = 2_000
"""Maximum length of a statement with its title and context whose words are read (characters)."""
MAX_NAMED_WORDS = 8
"""Maximum words of a query whose rare words are looked for. A longer query tells a story: no single word is its
subject."""
FREQUENT = 10
"""Minimum statements among those read that show that a word is not rare."""
MAX_SUSPECTS = 4
"""Maximum words for which the index is asked."""
MAX_LAG = 0.4
"""Maximum distance of a page's closeness and words behind the best page's, beyond which the page is far."""
NamedWord = tuple[str, tuple[int, ...]]
"""A word of a query as it was typed, and its terms."""
_WORD_OPERATORS = frozenset(operator.name for operator in OPERATORS if operator.has_words)
MAX_CONFIDENT = 0.025
"""Maximum share of made nonsense with confident results over an index: half of the aim, since other queries differ."""
MAX_RAISE = 0.2
"""Maximum distance from the bound of a model up to the bound of an index: beyond it answers would be lost."""
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

    @property
    def certain_score(self) -> float:
        """The score; infinite if one statement has all words: something was found then, whatever the bound."""
        return self.score if self.words < 1.0 else math.inf


def measure_confidence(found: Candidates, words: Words) -> Confidence:
    """Return the features. Without words, such as for an emoji, no statement has a share of them."""
    closeness = max((hit.score for hit in found.dense), default=0.0)
    return Confidence(round(closeness, 4), round(_greatest_share(words, found.sparse[:READ_STATEMENTS]), 4))


def measure_second_site(found: Candidates, words: Words, site_of: Callable[[str], str]) -> Confidence:
    """Return the features without the best site of each: what one site publishes raises none of them."""
    read = found.sparse[:READ_STATEMENTS] if words else ()
    shares = shares_of([words_in(_terms_of(hit), words) for hit in read], len(words)) if read else []
    return Confidence(
        _second_best((site_of(hit.payload.host), hit.score) for hit in found.dense),
        _second_best((site_of(hit.payload.host), share) for hit, share in zip(read, shares, strict=True)),
    )


def _second_best(values: Iterable[tuple[str, float]]) -> float:
    """Return the best value of the second best site; 0 if there is one site."""
    best: dict[str, float] = {}
    for site, value in values:
        best[site] = max(value, best.get(site, 0.0))
    return sorted(best.values(), reverse=True)[1] if len(best) > 1 else 0.0


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
    own, elsewhere = divide(context.found.dense, context.asked_in if context.min_lead is not None else UNSURE)
    measured = measure_confidence(replace(context.found, dense=tuple(own)), context.words)
    context.notes.passes["confidence"] = {
        "closeness": measured.closeness,
        "words": measured.words,
        "bound": round(context.min_confidence, 4),
    }
    if measured.certain_score >= context.min_confidence:
        context.notes.far = find_far(context, pages)
        return pages
    if elsewhere and context.min_lead is not None:
        lead = round(lead_of(elsewhere), 4)
        context.notes.passes["confidence"] |= {"lead_elsewhere": lead, "bound_elsewhere": context.min_lead}
        if lead >= context.min_lead:
            return pages
    context.notes.facets.clear()
    if pinned := [page for page in pages if "pinned" in context.notes.parts.get(page.page_id, ())]:
        return pinned  # the site has an answer to this query, and only that
    context.notes.nearest_only = True
    nearest = best_of_pages(context.found.dense)
    return sorted(pages, key=lambda page: -nearest.get(page.page_id, 0.0))[:MAX_NEAREST]


def find_far(context: RankingContext, pages: Sequence[PageHits]) -> frozenset[UUID]:
    """Return the pages at the end of this order that are far from the query, and lack a word of it.

    The first statements of both lists speak for a page. In another language than the query's, words say nothing.
    """
    if not context.words or not pages:
        return frozenset()
    near, by_words = best_of_pages(context.found.dense), _first_of_pages(context.found.sparse)
    by_meaning = _first_of_pages(context.found.dense)
    read = [words_in(_terms_of(hit), context.words) for hit in context.found.sparse[:READ_STATEMENTS]]
    share_of = _shares_among(read, len(context.words))
    shares = {
        page.page_id: max(
            (
                share_of(words_in(_terms_of(hit), context.words))
                for hits in (by_words, by_meaning)
                if (hit := hits.get(page.hits[0].payload.page_key))
            ),
            default=0.0,
        )
        for page in pages
    }
    scores = {page: Confidence(near.get(page, 0.0), share) for page, share in shares.items()}
    least = max(each.score for each in scores.values()) - MAX_LAG
    return last_ones(
        pages,
        lambda page: (
            scores[page.page_id].certain_score < least and not context.asked_in.excludes(page.hits[0].payload.language)
        ),
    )


def last_ones(pages: Sequence[PageHits], is_one: Callable[[PageHits], bool]) -> frozenset[UUID]:
    """Return the pages of this kind behind which there is no other page."""
    return frozenset(page.page_id for page in takewhile(is_one, reversed(pages)))


def _first_of_pages(hits: Iterable[Hit]) -> dict[str, Hit]:
    found: dict[str, Hit] = {}
    for hit in hits:
        found.setdefault(hit.payload.page_key, hit)
    return found


def min_confidence(
    model: ModelInfo | None,
    conditions: Conditions,
    *,
    has_text: bool,
    fixed: float | None = None,
    of_index: Callable[[str], float | None] = lambda _: None,
) -> float | None:
    """Return the bound for the results of a query; None if they are not judged.

    `fixed` is the bound of the settings, `of_index` returns the bound that was measured over the index for a model.
    Where words of the query are conditions, each result has them. A query without text has only operators.
    """
    if model is None or not has_text or not _WORD_OPERATORS.isdisjoint(conditions):
        return None
    if fixed is not None:
        return fixed
    measured = of_index(model.name)
    return model_bounds().get(model.name) if measured is None else measured


def bound_of_index(of_model: float, nonsense: Sequence[float]) -> float:
    """Return the bound for an index over which made nonsense has these scores, by the bound of the model.

    At most 2.5 % of this nonsense has confident results then, as far as the bound may be raised. It is never lowered.
    """
    ranked = sorted(nonsense)
    place = math.floor((1 - MAX_CONFIDENT) * len(ranked))
    highest = ranked[place] if ranked else of_model
    return max(of_model, min(highest, of_model + MAX_RAISE))


def find_suspects(words: Sequence[NamedWord], by_words: Sequence[Hit]) -> list[NamedWord]:
    """Return the words that may be rare, by the best statements of the list by words: the rarest words first."""
    if len(words) > MAX_NAMED_WORDS:
        return []
    counts = Counter[int]()
    for hit in by_words[:READ_STATEMENTS]:
        counts.update(words_in(_terms_of(hit), [forms for _, forms in words]))
    places = sorted((place for place in range(len(words)) if counts[place] < FREQUENT), key=lambda place: counts[place])
    return [words[place] for place in places[:MAX_SUSPECTS]]


def lacked_words(rare: Iterable[RareWord], page: PageHits, asked: AskedIn = UNSURE) -> tuple[str, ...]:
    """Return the rare words that a page does not have, of those that may stand in its language."""
    lacked = (word.text for word in rare if page.page_id not in word.pages)
    is_elsewhere = asked.excludes(page.hits[0].payload.language)
    return tuple(word for word in lacked if not is_elsewhere or asked.may_stand_elsewhere(word))


def missing_words(notes: Notes, shown: Sequence[PageHits], asked: AskedIn = UNSURE) -> tuple[str, ...]:
    """Return the words that no page has. Where all results are in other languages, that says nothing of most words."""
    if notes.nearest_only or not shown or not all(asked.excludes(page.hits[0].payload.language) for page in shown):
        return notes.missing
    return tuple(word for word in notes.missing if word in notes.missing_names or asked.may_stand_elsewhere(word))


def words_in(terms: Set[int], words: Words) -> frozenset[int]:
    if not terms:
        return frozenset()
    return frozenset(place for place, forms in enumerate(words) if not terms.isdisjoint(forms))


def shares_of(covered: Sequence[Collection[int]], count: int) -> list[float]:
    """Return the share of the `count` words that each text has, from 0 to 1. Rarer words have more of it.

    `covered` are the places of the words that the texts have. The worth of a word is its inverse document frequency
    among these texts, as BM25 has it.
    """
    share_of = _shares_among(covered, count)
    return [share_of(frozenset(places)) for places in covered]


def _shares_among(covered: Sequence[Collection[int]], count: int) -> Callable[[frozenset[int]], float]:
    """Return the function from the places of a text's words to its share, by the rarity of words in these texts."""
    counts = Counter(place for places in covered for place in places)
    worth = [math.log(1 + (len(covered) + 0.5) / (counts[place] + 0.5)) for place in range(count)]
    total = math.fsum(worth)

    @cache
    def share_of(places: frozenset[int]) -> float:  # many texts have the same words
        return math.fsum(worth[place] for place in sorted(places)) / total

    return share_of


def cut(texts: Iterable[str], count: int) -> Iterator[str]:
    """Yield the texts as far as their first `count` characters. Nothing is joined: the terms of a text are cached."""
    for text in texts:
        if count <= 0:
            return
        yield text[:count]
        count -= len(text)


def _terms_of(hit: Hit) -> frozenset[int]:
    payload = hit.payload
    return statement_terms([*cut((payload.text, payload.title, *payload.context), MAX_CHARS)], payload.language)


@cache
def model_bounds() -> dict[str, float]:
    """Return the bound of each embedding model that was measured, by the name of the model."""
    found: dict[str, float] = json.loads(BOUNDS.read_text(encoding="utf-8"))
    return found
