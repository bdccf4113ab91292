"""The pages that a client of a site sees, or a client of none, by the sites as they are now. Pure."""

from collections.abc import Mapping
from dataclasses import replace

from streams.crawl.audiences import EVERYBODY, audience_of
from streams.crawl.domains import is_below
from streams.seen.stores import shows
from streams.stores.protocols import Site, Visible, private_hosts


def visible_to(site: Site | None, sites: Mapping[str, Site]) -> Visible:
    """Return what a client of this site may see, or a client of none.

    A private site below a host of this site stays private: `intern.example.org` to clients of a site `example.org`. A
    host that this site names itself, or that is below one that it names, is its own.
    """
    if site is None:
        return Visible((), private_hosts(sites.values()))
    others = private_hosts(other for other in sites.values() if other.name != site.name)
    foreign = tuple(host for host in others if not any(is_below(own, [host]) for own in site.hosts))
    visible = Visible((), foreign, only=site.hosts, site=site)
    domains = (*site.hosts, *private_hosts(sites.values()))
    addresses = (address for address in (f"https://{domain}/" for domain in domains) if shows(visible, address))
    audiences = {audience_of(address, sites.values()) for address in addresses} - {EVERYBODY}
    return replace(visible, audiences=tuple(sorted(audiences)))
