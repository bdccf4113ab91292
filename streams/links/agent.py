"""The links stage: collects which hosts link to a host, and which pages link to a page. It emits nothing.

The events are keyed by the linked host, so one worker counts the domains that link to it. A link counts once, however
many pages and hosts of a registrable domain have it: one owner can make any number of subdomains. Platforms, where each
subdomain has its own owner, have suffixes of their own in the public suffix list. Links within a domain and links
marked nofollow don't count. A redelivery finds its row, and
writes nothing. A link stays after its page has gone or has dropped the link; `riffle remove` takes back the links of
the pages that it erases (`taking_back`).

The count is written before the row. So after a crash between the two, the same link gets the same number again.
"""

from collections.abc import Mapping, Sequence

from schemas import Event, LinkFound
from streams.crawl.domains import registrable_domain, same_domain
from streams.crawl.urls import host_of
from streams.errors import PoisonError
from streams.links.known_sources import MAX_SOURCES, KnownSources
from streams.links.page_links import links_to_store
from streams.runtime.agent import Agent, Delivery
from streams.settings import Settings
from streams.stores.opener import Stores
from streams.stores.protocols import HostLinks


class LinksAgent(Agent):
    """Stores the link between two hosts that an event has, if it is new."""

    def __init__(self, links: HostLinks, max_sources: int = MAX_SOURCES) -> None:
        self._links = links
        self._max_sources = max_sources
        self._known = KnownSources(max_sources)

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        """Store the link between two hosts, if it is new. Raises PoisonError for another event."""
        if not isinstance(delivery.event, LinkFound):
            raise PoisonError(f"{type(delivery.event).__name__} is not about links")
        event = delivery.event
        if links := list(links_to_store(event)):
            await self._links.put_page_links(links)
        host, source = event.target_host or host_of(event.target_url), host_of(event.source_url)
        if all(link.nofollow for link in event.each()) or same_domain(host, source):
            return ()
        if not self._known.knows(host):
            sources = await self._links.sources(host, self._max_sources)
            self._known.load(host, map(registrable_domain, sources))
        domain = registrable_domain(source)
        number = self._known.number_of(host, domain)
        if number is not None:
            if is_written(number):
                await self._links.put_in_links(host, number)
            await self._links.add(host, source, event.source_url)
            self._known.add(host, domain)
        return ()

    async def assigned(self, partitions: frozenset[int]) -> None:
        self._known.clear()

    def measurements(self) -> Mapping[str, float]:
        return {"links_hosts_in_memory": len(self._known)}


def is_written(number: int) -> bool:
    """Return whether a count is written: only its first digit is not 0, as in 7, 30 and 4,000.

    Authority is read on a logarithmic scale, so nothing finer is needed.
    """
    return not int(str(number)[1:] or 0)


async def build(settings: Settings, stores: Stores) -> LinksAgent:
    return LinksAgent(stores.host_links)
