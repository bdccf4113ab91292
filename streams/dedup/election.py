"""Which of several pages with the same content stands for all of them.

By these rules, the first that tells two pages apart deciding:

1. a page that names another as its canonical one (`<link rel="canonical">`) steps back;
2. https before http;
3. the shorter URL;
4. the page that more pages link to;
5. the page that was seen first;
6. the URL that sorts first, so that there always is an answer, and everywhere the same.

The links come before the time: no two pages were seen in the same microsecond, so behind it they would never count.

Each rule looks at one page alone. That makes the order total, so whoever elects from the same pages, in whatever
order they came, elects the same one.
"""

from collections.abc import Iterable

from streams.stores.protocols import Fingerprint

Rank = tuple[bool, bool, int, int, int, str]


def rank(page: Fingerprint) -> Rank:
    """Lower is better."""
    steps_back = page.canonical_url is not None and page.canonical_url != page.url
    return (
        steps_back,
        not page.url.startswith("https:"),
        len(page.url),
        -page.in_links,
        page.first_seen,
        page.url,
    )


def elect(pages: Iterable[Fingerprint]) -> Fingerprint:
    """The page that stands for these. Raises ValueError for none."""
    return min(pages, key=rank)
