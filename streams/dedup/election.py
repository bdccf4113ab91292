"""The election: which page of a group of duplicates is its representative.

The first rule that makes a difference decides:

1. A page that names another page as its canonical URL (`<link rel="canonical">`) loses.
2. The shorter URL wins.
3. The page with more pages linking to it wins.
4. The page that was seen first wins.
5. The URL that sorts first wins, so that the result is the same everywhere.

Links come before time. Two pages are never seen in the same microsecond, so links behind time would never count.

Each rule looks at one page alone, so the order is total. Every worker that elects from the same pages elects the same
one, in whatever order they came.
"""

from collections.abc import Iterable

from streams.stores.protocols import Fingerprint

Rank = tuple[bool, int, int, int, str]


def rank(page: Fingerprint) -> Rank:
    """The page's place in an election. The lowest rank wins."""
    names_another = page.canonical_url is not None and page.canonical_url != page.url
    return (names_another, len(page.url), -page.in_links, page.first_seen, page.url)


def elect(pages: Iterable[Fingerprint]) -> Fingerprint:
    """The representative of these pages. Raises ValueError if there are none."""
    return min(pages, key=rank)
