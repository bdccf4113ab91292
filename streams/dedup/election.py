"""The election: which page of a group of duplicates is its representative.

First the site (host) is chosen: the site that had the text first. If two are equally old, a page that names a page of
another site as canonical loses; then the host that sorts first wins.

A site may have many owners (forks, blogs, forums), so its pages are compared by age, too: the page that had the text
first wins. Only variants of one URL share an age, the age of the oldest variant. Two URLs are variants if a URL rule
maps one to the other, and if they do not name different canonical URLs. Among variants, the first rule that makes a
difference decides:

1. A page that names another page as its canonical URL (`<link rel="canonical">`) loses.
2. The shorter URL wins.
3. The page with more pages linking to it wins.
4. The page that was seen first wins.
5. The URL that sorts first wins, so that the result is the same everywhere.

Neither the length of a URL nor the number of links counts between owners: anyone can copy a page to a shorter URL, and
make pages that link to the copy.

A page that names another page of the group as its canonical URL gives the named page its age. A page of another
registrable domain must say so, too: it names itself as its canonical URL. So a page that says nothing neither takes an
identity of another domain nor loses its own. Within a domain the named page may be silent, but may not name another
host. A page gains nothing by the page that it names.

A page inherits an age only if its text is similar to the text that earned the age (`first_sight`). So a page that
replaces an older variant, or that its site has in place of an older page, is not younger than the copies of the older
one, and no chain of similar pages makes a new text old.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from uuid import UUID

from streams.crawl.domains import may_be_one_owner
from streams.crawl.url_rules import explain_alias, rewrite, without_variation
from streams.crawl.urls import host_of
from streams.dedup.first_sight import inherit, of_site, own_sight, site_sight
from streams.stores.protocols import Fingerprint, Sight

Rank = tuple[bool, bool, int, int, int, str]


def order_by_preference(pages: Iterable[Fingerprint]) -> list[Fingerprint]:
    """Return the pages with the ages that they inherit from each other, the representative first.

    Raises ValueError if there are none.
    """
    candidates = list(pages)
    if not candidates:
        raise ValueError("an election needs a page")
    by_url = {page.url: page for page in candidates}
    named = {page.page_id: other for page in candidates if (other := _find_named(page, by_url))}
    heirs = _share_ages_of_sites(_share_ages_of_variants(_give_ages_to_named(candidates, named)))

    return sorted(heirs, key=_preference)


def _preference(page: Fingerprint) -> tuple[int, bool, str, int, Rank]:
    """Return the page's place in an election. It depends on no other page of the group, so elections have no cycles."""
    return site_sight(page).at, _names_another_site(page), host_of(page.url), own_sight(page).at, rank(page)


def oldest_first(pages: Iterable[Fingerprint]) -> list[Fingerprint]:
    """Return the pages in the order of their decisions: the first page of a text is rarely replaced afterwards."""
    return sorted(pages, key=lambda page: (site_sight(page).at, own_sight(page).at, rank(page)))


def rank(page: Fingerprint) -> Rank:
    """Return the page's place among the variants of its URL. The lowest rank wins."""
    names_another = page.canonical_url is not None and page.canonical_url != page.url
    return (_names_another_site(page), names_another, len(page.url), -page.in_links, page.first_seen, page.url)


def are_variants(one: Fingerprint, other: Fingerprint) -> bool:
    """Return whether a URL rule maps one URL to the other, and the longer one names no other page as canonical."""
    longer, shorter = sorted((one, other), key=lambda page: (-len(page.url), page.url))
    if host_of(one.url) != host_of(other.url):
        return False
    if longer.canonical_url not in (None, shorter.url, shorter.canonical_url):
        return False
    return _maps(longer.url, shorter.url) or _maps(shorter.url, longer.url)


def _maps(url: str, other: str) -> bool:
    """Return whether URL rules map the URL to the other one. Two values of one parameter may be two pages (`?id=`)."""
    rules = explain_alias(url, other)
    return bool(rules) and rewrite(url, rules) == other


def _find_named(page: Fingerprint, by_url: Mapping[str, Fingerprint]) -> Fingerprint | None:
    """Return the page of the group that the page names as canonical, if both agree or are of one domain."""
    named = by_url.get(page.canonical_url or "")
    if named is None or named.page_id == page.page_id:
        return None
    if not may_be_one_owner(host_of(page.url), host_of(named.url)):
        return named if named.canonical_url == named.url else None
    return None if _names_another_site(page) and _names_another_site(named) else named


def _names_another_site(page: Fingerprint) -> bool:
    return page.canonical_url is not None and host_of(page.canonical_url) != host_of(page.url)


def _give_ages_to_named(pages: Sequence[Fingerprint], named: Mapping[UUID, Fingerprint]) -> list[Fingerprint]:
    given: dict[UUID, list[Sight]] = {page.page_id: [] for page in pages}
    for page in pages:
        if page.page_id in named:
            given[named[page.page_id].page_id] += [own_sight(page), of_site(site_sight(page))]
    return [inherit(page, given[page.page_id]) for page in pages]


def _share_ages_of_variants(pages: Sequence[Fingerprint]) -> list[Fingerprint]:
    heirs: list[Fingerprint] = []
    for group in _group_variants(pages):
        sights = {own_sight(page) for page in group}
        heirs += (inherit(page, sights) for page in group)
    return heirs


def _group_variants(pages: Sequence[Fingerprint]) -> list[list[Fingerprint]]:
    """Return the pages, grouped by `are_variants` and by variants of variants."""
    groups: dict[str, list[list[Fingerprint]]] = {}
    for page in pages:
        similar = groups.get(without_variation(page.url), [])
        joined = [group for group in similar if any(are_variants(page, other) for other in group)]
        rest = [group for group in similar if group not in joined]
        groups[without_variation(page.url)] = [*rest, [page, *chain.from_iterable(joined)]]
    return list(chain.from_iterable(groups.values()))


def _share_ages_of_sites(pages: Sequence[Fingerprint]) -> list[Fingerprint]:
    sites: dict[str, list[Fingerprint]] = {}
    for page in pages:
        sites.setdefault(host_of(page.url), []).append(page)
    heirs: list[Fingerprint] = []
    for group in sites.values():
        sights = {of_site(site_sight(page)) for page in group}
        heirs += (inherit(page, sights) for page in group)
    return heirs
