"""The share of the query's words that a page has in all its statements found, the rarer words counting more. Pure.

A list by words judges each statement by itself: a page that has one word of the query in each of three statements has
no good one, and a statement that has a rare word four times passes one that has all words once. So the first pages gain
by the words that they have together. A word is as rare as it is among these pages, since a word that all of them have
decides nothing. The share is squared, so that a page with all words stands out (docs/decisions/0069).
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from streams.search.ranking.context import RankingContext
from streams.stores.protocols import Hit, PageHits
from streams.vectors.bm25 import statement_terms

PAGES = 30
"""Maximum pages whose words are read. Further ones gained nothing for the first results."""
STATEMENTS = 8
"""Maximum statements of a page whose words are read: its best ones."""
MAX_CHARS = 1_000
"""Maximum length of a statement, and of its title and context, whose words are read (characters)."""


def prefer_pages_with_all_words(context: RankingContext, pages: list[PageHits]) -> list[PageHits]:
    """Apply the pass `coverage`: note what the words that a page has add to its score."""
    weight = context.options.coverage_weight
    wanted = frozenset(context.terms)
    if not weight or not wanted:
        return pages
    first, covered = pages[:PAGES], []
    for page in first:
        context.check_time()
        covered.append(terms_on(page, wanted))
    changed = []
    for page, share in zip(first, shares_of(covered, wanted), strict=True):
        gain = weight * share**2
        context.notes.note_part(page.page_id, "coverage", gain)
        changed.append(replace(page, score=page.score + gain))
    # The sort is stable: pages with equal scores stay in their order.
    return sorted([*changed, *pages[PAGES:]], key=lambda page: -page.score)


def terms_on(page: PageHits, wanted: Collection[int]) -> frozenset[int]:
    """Return the terms of the query that the page has: in its title, its best statements, and the best one's context.

    Statements are read until all terms are found.
    """
    best, *others = page.hits[:STATEMENTS]
    found = _terms_of(best, (best.payload.title, *best.payload.context)).intersection(wanted)
    for hit in others:
        if len(found) == len(wanted):
            break
        found |= _terms_of(hit).intersection(wanted)
    return found


def shares_of(covered: Sequence[Collection[int]], wanted: Collection[int]) -> list[float]:
    """Return for each page the share of the terms that it has, from 0 to 1. Rarer terms have more of it."""
    worth = _worths(covered, wanted)
    total = math.fsum(worth.values())
    return [math.fsum(worth[term] for term in terms) / total for terms in covered]


def _worths(covered: Sequence[Collection[int]], wanted: Collection[int]) -> Mapping[int, float]:
    """Return the worth of each term: its inverse document frequency among these pages, as BM25 has it."""
    counts = Counter(term for terms in covered for term in terms)
    return {term: math.log(1 + (len(covered) + 0.5) / (counts[term] + 0.5)) for term in wanted}


def _terms_of(hit: Hit, above: Sequence[str] = ()) -> frozenset[int]:
    payload = hit.payload
    return statement_terms([payload.text[:MAX_CHARS], "\n".join(above)[:MAX_CHARS]], payload.language)
