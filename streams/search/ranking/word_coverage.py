"""The words and identifiers of the query that a page has in all its statements found. Pure.

A list by words judges each statement by itself: a page that has one word of the query in each of three statements has
no good one, and a statement that has a rare word four times passes one that has all words once. So the first pages gain
by the share of the words that they have together, the rarer words counting more. A word is as rare as it is among these
pages, since a word that all of them have decides nothing. The share is squared, so that a page with all words stands
out (docs/decisions/0069).

Identifiers (names, versions and codes) mean only themselves, so pages that have them all come first. Where no page has
the identifiers, the order stays.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from streams.pages.text.tokens import drop_box_labels
from streams.search.query_language.matching import CheckedPage, fold, has_folded, identifiers
from streams.search.ranking.context import RankingContext
from streams.stores.protocols import Hit, PageHits
from streams.vectors.bm25 import statement_terms

PAGES = 30
"""Maximum pages whose words are read. Further ones gained nothing for the first results."""
STATEMENTS = 8
"""Maximum statements of a page whose words are read: its best ones."""
MAX_CHARS = 1_000
"""Maximum length of a statement, and of its title and context, whose words are read (characters)."""


Words = Sequence[Sequence[int]]
"""The terms of each word of a query: its English stem, and the stem in the query's language."""


def prefer_pages_with_all_words(context: RankingContext, pages: list[PageHits]) -> list[PageHits]:
    """Apply the pass `coverage`: note what the words that a page has add to its score."""
    weight = context.options.coverage_weight
    if not weight or not context.words:
        return pages
    first, covered = pages[:PAGES], []
    for page in first:
        context.check_time()
        covered.append(words_on(page, context.words))
    changed = []
    for page, share in zip(first, shares_of(covered, len(context.words)), strict=True):
        gain = weight * share**2
        context.notes.note_part(page.page_id, "coverage", gain)
        changed.append(replace(page, score=page.score + gain))
    # The sort is stable: pages with equal scores stay in their order.
    return sorted([*changed, *pages[PAGES:]], key=lambda page: -page.score)


def words_on(page: PageHits, words: Words) -> frozenset[int]:
    """Return the places of the words that the page has: in its title, its best statements, and the best one's context.

    Statements are read until all words are found.
    """
    best, *others = page.hits[:STATEMENTS]
    found = words_in(_terms_of(best, (best.payload.title, *drop_box_labels(best.payload.context))), words)
    for hit in others:
        if len(found) == len(words):
            break
        found |= words_in(_terms_of(hit), words)
    return found


def words_in(terms: Collection[int], words: Words) -> frozenset[int]:
    return frozenset(place for place, forms in enumerate(words) if any(form in terms for form in forms))


def shares_of(covered: Sequence[Collection[int]], count: int) -> list[float]:
    """Return the share of the `count` words that each text has, from 0 to 1. Rarer words have more of it.

    `covered` are the places of the words that the texts have. The worth of a word is its inverse document frequency
    among these texts, as BM25 has it.
    """
    counts = Counter(place for places in covered for place in places)
    worth = [math.log(1 + (len(covered) + 0.5) / (counts[place] + 0.5)) for place in range(count)]
    total = math.fsum(worth)
    return [math.fsum(worth[place] for place in sorted(places)) / total for places in covered]


def _terms_of(hit: Hit, above: Sequence[str] = ()) -> frozenset[int]:
    payload = hit.payload
    return statement_terms([payload.text[:MAX_CHARS], *cut(above, MAX_CHARS)], payload.language)


def cut(texts: Iterable[str], count: int) -> Iterator[str]:
    """Yield the texts as far as their first `count` characters. Nothing is joined: the terms of a text are cached."""
    for text in texts:
        if count <= 0:
            return
        yield text[:count]
        count -= len(text)


def put_identifiers_first(context: RankingContext, pages: list[PageHits]) -> list[PageHits]:
    """Apply the pass `identifiers`: note the number of pages that have all identifiers, and those that no page has.

    Each text is folded once, however many identifiers the query has.
    """
    names = {name: fold(name) for name in identifiers(context.text)}
    if not names:
        return pages
    exact: list[bool] = []
    found: set[str] = set()
    for page in pages:
        context.check_time()
        texts = CheckedPage(page).texts
        of_texts = [{name for name, wanted in names.items() if has_folded(text, wanted)} for text in texts]
        exact.append(any(len(of_text) == len(names) for of_text in of_texts))
        found.update(*of_texts)
    context.notes.passes["identifiers"] = {"pages": sum(exact)}
    if not any(exact):
        context.notes.missing_names = tuple(name for name in names if name not in found)
    return [page for wanted in (True, False) for page, has in zip(pages, exact, strict=True) if has is wanted]
