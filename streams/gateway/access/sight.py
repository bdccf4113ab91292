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
        given = replace(given, private=self.private)
        if not self.only:
            return given
        wanted = [ascii_host(domain.strip().removeprefix("*.")) or domain for domain in given.include]
        if foreign := [domain for domain in wanted if not is_below(domain, self.only)]:
            detail = f"{foreign[0]} is not a domain of this site."
            raise invalid_parameter("include", detail, f"Its domains are {', '.join(self.only)}.")
        return replace(given, include=tuple(wanted) or self.only)


def sight_of(site: Site | None, sites: Mapping[str, Site]) -> Sight:
    """Return what a client of this site may see, or a client of none.

    A private site below a host of this site stays private: `intern.example.org` to clients of a site `example.org`. A
    host that this site names itself, or that is below one that it names, is its own.
    """
    if site is None:
        return Sight(private=private_hosts(sites.values()))
    others = private_hosts(other for other in sites.values() if other.name != site.name)
    foreign = (host for host in others if not any(is_below(own, [host]) for own in site.hosts))
    return Sight(only=site.hosts, private=tuple(foreign))
