"""Identifiers first: names, versions and codes of a query mean only themselves, so pages that have them all come first.

Where no page has the identifiers, the order stays. Pure.
"""

from collections.abc import Sequence

from streams.search.query_language.matching import has_all, identifiers
from streams.search.ranking.context import RankingContext
from streams.stores.protocols import PageHits


def put_identifiers_first(context: RankingContext, pages: list[PageHits]) -> list[PageHits]:
    """Apply the pass `identifiers`: note the number of pages that have all identifiers, and those that no page has."""
    names = identifiers(context.text)
    if not names:
        return pages
    exact = [_has_all(context, page, names) for page in pages]
    context.notes.passes["identifiers"] = {"pages": sum(exact)}
    if not any(exact):
        context.notes.missing = tuple(
            name for name in names if not any(_has_all(context, page, [name]) for page in pages)
        )
    return [page for wanted in (True, False) for page, has in zip(pages, exact, strict=True) if has is wanted]


def _has_all(context: RankingContext, page: PageHits, names: Sequence[str]) -> bool:
    context.check_time()
    return has_all(page, names)
