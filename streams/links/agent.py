"""The links stage: collects which hosts link to a host, and which pages link to a page.

The events are keyed by the linked host, so one worker counts the domains that link to it. A link counts once, however
many pages and hosts of a registrable domain have it: one owner can make any number of subdomains. Platforms, where each
subdomain has its own owner, have suffixes of their own in the public suffix list. Links within a domain and links
marked nofollow don't count. A redelivery finds its row, and writes nothing.

The count is written before the row. So after a crash between the two, the same link gets the same number again.

The links of a page to other domains are also stored under the page. When the page is removed (but for a duplicate,
which is still there), the worker that gets the removal emits them as lost, and the worker of each linked host takes
them back: the row of the two hosts goes on with another page of the linking host that links to the same page, or is
deleted. All rows have the generation of the linking page as write time, so an event that comes late changes nothing.
A link that its page dropped stays until the page is gone.
"""

from collections.abc import Mapping, Sequence

from schemas import Event, LinkFound, PageRemoved
from schemas.ids import page_id
from schemas.links import MoreLink
from streams.crawl.domains import registrable_domain, same_domain
from streams.crawl.urls import host_of
from streams.errors import PoisonError
from streams.links.known_sources import MAX_SOURCES, KnownSources
from streams.links.page_links import PAGES_PER_DOMAIN, first_place_of, links_to_store
from streams.runtime.agent import Agent, Delivery
from streams.settings import Settings
from streams.stores.opener import Stores
from streams.stores.protocols import HostLinks, Pages


class LinksAgent(Agent):
    """Stores the link between two hosts that an event has, if it is new; and takes it back when its page is gone."""

    def __init__(self, links: HostLinks, pages: Pages, max_sources: int = MAX_SOURCES) -> None:
        self._links = links
        self._pages = pages
        self._max_sources = max_sources
        self._known = KnownSources(max_sources)

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        """Store or take back links. Returns the lost links of a removed page. Raises PoisonError for another event."""
        match delivery.event:
            case PageRemoved(reason="duplicate"):
                return ()
            case PageRemoved() as event:
                return [_lost(event, urls) for urls in await self._links.links_of(event.page_id)]
            case LinkFound(lost=True) as event:
                await self._take_back(event)
            case LinkFound() as event:
                await self._store(event)
            case event:
                raise PoisonError(f"{type(event).__name__} is not about links")
        return ()

    async def _store(self, event: LinkFound) -> None:
        if links := list(links_to_store(event)):
            # First: what is stored of a page is found when it is removed.
            urls = [link.target_url for link in event.each()]
            await self._links.put_links_of(event.source_page_id, urls, event.generation)
            await self._links.put_page_links(links, event.generation)
        host, source = event.target_host or host_of(event.target_url), host_of(event.source_url)
        if all(link.nofollow for link in event.each()) or same_domain(host, source):
            return
        if not self._known.knows(host):
            sources = await self._links.sources(host, self._max_sources)
            self._known.load(host, map(registrable_domain, sources))
        domain = registrable_domain(source)
        number = self._known.number_of(host, domain)
        if number is not None and not await self._is_gone(event):
            if is_written(number):
                await self._links.put_in_links(host, number)
            await self._links.add(host, source, event.source_url, event.generation)
            self._known.add(host, domain)

    async def _is_gone(self, event: LinkFound) -> bool:
        """Return whether the page was removed since it had the links. Such an event comes late."""
        removed = (await self._pages.get(event.source_page_id)).removed
        return removed.generation >= event.generation and removed.reason != "duplicate"

    async def _take_back(self, event: LinkFound) -> None:
        """Delete the rows of the links of a page that is gone. The count of the host is written before its row."""
        host, source, at = host_of(event.target_url), host_of(event.source_url), event.generation
        other = await self._take_back_page_links(event, source)
        behind = None if same_domain(host, source) else await self._links.source_page(host, source)
        if behind and behind[0] == event.source_url and behind[1] <= at:
            if other:
                await self._links.add(host, source, other, behind[1] + 1)  # it replaces only this row
            else:
                await self._remove_source(host, source, at)
        await self._links.remove_links_of(event.source_page_id, event.target_url, at)

    async def _take_back_page_links(self, event: LinkFound, source: str) -> str:
        """Delete the links to pages. Returns another page of the host `source` with one of these links, or ""."""
        other, first = "", first_place_of(event.source_url)
        for link in event.each():
            for row in await self._links.page_links(link.target_page_id, PAGES_PER_DOMAIN, first):
                if row.source_url == event.source_url:
                    await self._links.remove_page_link(row, event.generation)
                elif host_of(row.source_url) == source and not row.nofollow:
                    other = row.source_url
        return other

    async def _remove_source(self, host: str, source: str, at: int) -> None:
        sources = await self._links.sources(host, self._max_sources)
        domains = {registrable_domain(other) for other in sources if other != source}
        await self._links.put_in_links(host, round_down(len(domains)))
        if not domains:  # without links to it, the host is in no further computation of ranks
            await self._links.put_ranks({host: 1.0})
        await self._links.remove(host, source, at)
        self._known.load(host, domains)

    async def assigned(self, partitions: frozenset[int]) -> None:
        self._known.clear()

    def measurements(self) -> Mapping[str, float]:
        return {"links_hosts_in_memory": len(self._known)}


def _lost(event: PageRemoved, urls: Sequence[str]) -> LinkFound:
    """Return the event that says that these links of a removed page, all to one host, are lost."""
    return LinkFound(
        target_page_id=page_id(urls[0]),
        target_url=urls[0],
        target_host=host_of(urls[0]),
        source_page_id=event.page_id,
        source_url=event.url,
        generation=event.generation,
        more=tuple(MoreLink(target_url=url) for url in urls[1:]),
        lost=True,
    )


def is_written(number: int) -> bool:
    """Return whether a count is written: only its first digit is not 0, as in 7, 30 and 4,000.

    Authority is read on a logarithmic scale, so nothing finer is needed.
    """
    return number == round_down(number)


def round_down(number: int) -> int:
    """Return the last count up to this number that is written."""
    digits = str(number)
    return int(digits[0].ljust(len(digits), "0"))


async def build(settings: Settings, stores: Stores) -> LinksAgent:
    return LinksAgent(stores.host_links, stores.pages)
