"""The election: which page of a group of duplicates is its representative.

First the site (host) is chosen: the site that had the text first, or if two are equally old, the host that sorts first.

Then a page of the site is chosen. The first rule that makes a difference decides:

1. A page that names another page as its canonical URL (`<link rel="canonical">`) loses.
2. The shorter URL wins.
3. The page with more pages linking to it wins.
4. The page that was seen first wins.
5. The URL that sorts first wins, so that the result is the same everywhere.

Neither the length of a URL nor the number of links counts across sites: anyone can copy a page to a shorter host name,
and make pages that link to the copy.

A page that names another site's page as its canonical URL counts as a page of that site, if the named page is in the
group. Both must agree: a page that names a third site is no page of the named site.

The elected page gets its site's age. So a page that replaces an older one of its site is not younger than the
copies of the older one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from streams.crawl.urls import host_of
from streams.stores.protocols import Fingerprint

Rank = tuple[bool, bool, int, int, int, str]


def elect(pages: Iterable[Fingerprint]) -> Fingerprint:
    """Return the representative of these pages, with the age of its site. Raises ValueError if there are none."""
    candidates = list(pages)
    by_url = {page.url: page for page in candidates}
    sites: dict[str, list[Fingerprint]] = {}
    for page in candidates:
        sites.setdefault(_site(page, by_url), []).append(page)
    age, site = min((min(page.known_since for page in pages_of), site) for site, pages_of in sites.items())
    return replace(min(sites[site], key=rank), site_first_seen=age)


def oldest_first(pages: Iterable[Fingerprint]) -> list[Fingerprint]:
    """The order in which pages are decided: the first page of a text is rarely replaced afterwards."""
    return sorted(pages, key=lambda page: (page.known_since, rank(page)))


def rank(page: Fingerprint) -> Rank:
    """Return the page's place among the pages of its site. The lowest rank wins."""
    names_another = page.canonical_url is not None and page.canonical_url != page.url
    return (_names_another_site(page), names_another, len(page.url), -page.in_links, page.first_seen, page.url)


def _site(page: Fingerprint, by_url: Mapping[str, Fingerprint]) -> str:
    """Return the host of the page, or of the page that it names as its canonical URL."""
    named = by_url.get(page.canonical_url or "")
    if named is not None and _names_another_site(page) and not _names_another_site(named):
        return host_of(named.url)
    return host_of(page.url)


def _names_another_site(page: Fingerprint) -> bool:
    return page.canonical_url is not None and host_of(page.canonical_url) != host_of(page.url)
