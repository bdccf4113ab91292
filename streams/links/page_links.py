"""The links to a page from other registrable domains: which are stored, and how they are counted. Pure.

A page keeps at most DOMAINS * PAGES_PER_DOMAIN links. The place of a link follows from the hash of its domain and of
its page: so a worker writes without reading, and a redelivery writes the same row. Two domains with one place share it,
and the last one stays: of 100 linking domains with one page each, 98 are kept, of 500 some 454, of 1,000 some 847. So
the number of linking domains that is shown is a lower bound. The count of the host (`agent`) is exact in its first
digit.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import xxhash

from schemas import LinkFound
from streams.crawl.domains import surely_independent, witness_of
from streams.crawl.urls import host_of
from streams.stores.protocols import PageLink

DOMAINS = 1_024
"""Number of places for linking domains of one page."""
PAGES_PER_DOMAIN = 3
"""Number of links of one domain to one page that are kept."""
MAX_ANCHOR_CHARS = 200


@dataclass(frozen=True, slots=True)
class LinkingDomain:
    """A registrable domain that links to a page, with some of its pages."""

    domain: str
    links: tuple[PageLink, ...]

    @property
    def nofollow(self) -> bool:
        """True if the domain vouches for none of its links."""
        return all(link.nofollow for link in self.links)


def witnesses_of(host: str, sources: Iterable[str]) -> list[str]:
    """Return the witnesses among the hosts that link to a host: a host's own is none."""
    own = witness_of(host)
    return [witness for witness in map(witness_of, sources) if witness != own]


def links_to_store(event: LinkFound) -> Iterator[PageLink]:
    """Yield the links of an event that are stored: those from another registrable domain."""
    source = host_of(event.source_url)
    for link in event.each():
        host = host_of(link.target_url)
        if surely_independent(host, source):
            anchor = link.anchor[:MAX_ANCHOR_CHARS]
            place = place_of(event.source_url)
            yield PageLink(host, link.target_page_id, place, event.source_url, anchor, link.nofollow)


def place_of(source_url: str) -> int:
    """Return the place of a link from this page: by its witness, then by the page."""
    return first_place_of(source_url) + _hash(source_url) % PAGES_PER_DOMAIN


def first_place_of(source_url: str) -> int:
    """Return the first place of the links of a page's witness."""
    return _hash(witness_of(host_of(source_url))) % DOMAINS * PAGES_PER_DOMAIN


def group_by_domain(links: Iterable[PageLink]) -> list[LinkingDomain]:
    """Return the linking domains, first those that vouch for a link, then those with more links."""
    found: dict[str, list[PageLink]] = {}
    for link in links:
        found.setdefault(witness_of(host_of(link.source_url)), []).append(link)
    domains = [LinkingDomain(domain, tuple(of_domain)) for domain, of_domain in found.items()]
    return sorted(domains, key=lambda one: (one.nofollow, -len(one.links), one.domain))


def _hash(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "replace"))
