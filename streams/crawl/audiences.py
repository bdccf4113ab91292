"""The audience of a page: everybody, or those who have a key of a private site (`riffle sites add --private`).

A stage reads the sites at most each few seconds. What it makes of a page for all readers, such as groups of duplicates
and links, stays within the audience of the page.
"""

from collections.abc import Callable, Iterable, Sequence

from streams.crawl.domains import is_below, is_page_below
from streams.stores.protocols import ApiKeys, Site, VectorIndex, private_hosts

EVERYBODY = ""
SITES_SECONDS = 5.0
"""Maximum age of the sites that a process follows (seconds)."""


def audience_of(url: str, sites: Iterable[Site]) -> str:
    """Return the names of the private sites whose keys find a page, or EVERYBODY.

    Of sites within one another, the page is of the one that names the longest domain. Two sites may name one domain.
    """
    named = {
        (len(host), site.name) for site in sites if site.is_private for host in site.hosts if is_page_below(url, [host])
    }
    longest = max((length for length, _ in named), default=0)
    return " ".join(sorted(name for length, name in named if length == longest)) or EVERYBODY


async def change_audiences(index: VectorIndex, domains: Iterable[str], sites: Sequence[Site]) -> None:
    """Give the indexed pages of these domains the audience that they have by the sites as they are now.

    A domain comes after those above it, since its own audience counts.
    """
    changed = set(domains)
    changed |= {host for host in private_hosts(sites) if is_below(host, changed)}
    for collection in await index.collections():
        for domain in sorted(changed, key=lambda domain: (domain.count("."), domain)):
            await index.set_audience(collection, domain, audience_of(f"https://{domain}/", sites))


class Audiences:
    """The audiences of pages, by the sites as they were at most SITES_SECONDS ago."""

    def __init__(self, keys: ApiKeys, has_private_sites: bool, monotonic: Callable[[], float]) -> None:
        """Without private sites every page is for everybody, and nothing is read."""
        self._keys, self._has_private_sites, self._monotonic = keys, has_private_sites, monotonic
        self._sites: list[Site] = []
        self._until = float("-inf")

    async def of(self, url: str) -> str:
        """Return the audience of a page. Raises StoreUnavailable."""
        if not self._has_private_sites:
            return EVERYBODY
        now = self._monotonic()
        if now >= self._until:
            self._sites = await self._keys.sites()
            self._until = now + SITES_SECONDS
        return audience_of(url, self._sites)
