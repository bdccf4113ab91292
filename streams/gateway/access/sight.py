"""The pages that a client may see: the pages of its site, or all but the pages of private sites. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from streams.crawl.domains import is_below, is_page_below
from streams.search.errors import invalid_parameter
from streams.search.query_language.operator_values import ascii_host
from streams.search.request import Parameters
from streams.stores.protocols import Site, private_hosts


@dataclass(frozen=True, slots=True)
class Sight:
    """The domains of the pages that a client may see."""

    only: tuple[str, ...] = ()
    """Only these domains and their subdomains. Empty: all."""
    private: tuple[str, ...] = ()
    """Not these domains, nor their subdomains."""

    def shows(self, url: str) -> bool:
        """Return True if the client may see a page with this URL."""
        return (not self.only or is_page_below(url, self.only)) and not is_page_below(url, self.private)

    def limit(self, given: Parameters) -> Parameters:
        """Return the parameters of a search that finds only these pages. Raises InvalidQuery for a foreign domain."""
        if not self.only:
            return replace(given, private=self.private)
        wanted = [ascii_host(domain.strip().removeprefix("*.")) or domain for domain in given.include]
        if foreign := [domain for domain in wanted if not is_below(domain, self.only)]:
            detail = f"{foreign[0]} is not a domain of this site."
            raise invalid_parameter("include", detail, f"Its domains are {', '.join(self.only)}.")
        return replace(given, include=tuple(wanted) or self.only)


def sight_of(site: Site | None, sites: Mapping[str, Site]) -> Sight:
    """Return what a client of this site may see, or a client of none."""
    if site is not None:
        return Sight(only=site.hosts)
    return Sight(private=private_hosts(sites.values()))
