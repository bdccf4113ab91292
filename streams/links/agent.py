"""The links stage: collects which hosts link to a host, and which pages link to a page.

The events are keyed by the linked host, so one worker counts the domains that link to it. A link counts once, however
many pages and hosts of a domain have it: one owner can make any number of subdomains. A platform that gives names below
its own is one domain here, since such names cost nothing. Links within a domain and links marked nofollow don't count.
A redelivery finds its row, and writes nothing.

The count and the row are one write. So after a crash the same link gets the same number again, or is known.

The links of a page to other domains are also stored under the page. When the page is removed (but for a duplicate,
which is still there), or read again, the worker of the page emits them as lost, and the worker of each linked host
takes them back: the row of the two hosts goes on with another page of the linking domain that links to the same page
(below another host, if only that one has such a page), or is deleted. All rows have the generation of the linking page
as write time. So links that a page still has when it is read again, and all that comes late, stay as they are: links
are lost with the generation before the one that was read.

Links of a generation of a page that is no longer the last one are not stored. Their group is stored first: with the
record by the stage that reads the page, or here if they are of an archive. The page's record is read afterwards. So the
worker of the page sees the group, or the record tells that it came late. Groups of one page that were stored together
share one read, also with the look for its former links (`stored_links`).
"""

import time
from collections.abc import Callable, Sequence

from schemas import Event, LinkFound, PageNormalized, PageRemoved
from schemas.ids import page_id
from schemas.links import MoreLink
from streams.crawl.domains import may_be_one_owner, witness_of
from streams.crawl.urls import host_of
from streams.errors import PoisonError
from streams.links.known_sources import MAX_SOURCES, KnownSources
from streams.links.page_links import PAGES_PER_DOMAIN, first_place_of, links_to_store, witnesses_of
from streams.links.stored_links import StoredLinks
from streams.runtime.agent import Agent, Delivery
from streams.settings import Settings
from streams.stores.opener import Stores
from streams.stores.protocols import HostLinks, LinkGroup, Pages


class LinksAgent(Agent):
    """Stores the links of pages to other domains, and takes back those that a page has no more."""

    def __init__(
        self,
        links: HostLinks,
        pages: Pages,
        max_sources: int = MAX_SOURCES,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._links = links
        self._stored = StoredLinks(pages, monotonic)
        self._max_sources = max_sources
        self._known = KnownSources(max_sources)

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        """Store or take back links. Returns the links that a page lost. Raises PoisonError for another event."""
        match delivery.event:
            case PageRemoved(reason="duplicate"):
                return ()
            case PageRemoved() as event:
                return [_lost(event, group, event.generation) for group in await self._links.links_of(event.page_id)]
            case PageNormalized() as event:
                _, groups = await self._stored.get_of(event.page_id, event.generation)
                return [_lost(event, group, event.generation - 1) for group in groups if _is_older(group, event)]
            case LinkFound(lost=True) as event:
                await self._take_back(event)
            case LinkFound() as event:
                if edges := event.edges():
                    await self._store(edges)
            case event:
                raise PoisonError(f"{type(event).__name__} is not about links")
        return ()

    async def _store(self, event: LinkFound) -> None:
        """Store the links under their page, if its record has them not, and then under their host in one write."""
        links = list(links_to_store(event))
        if not links:
            return
        if not event.is_recorded:
            await self._links.put_links_of(event.source_page_id, LinkGroup.of(event))
        if await self._is_late(event):
            await self._take_back(event)  # the page may have had the same links before
            return
        host, domain = event.target_host or host_of(event.target_url), witness_of(host_of(event.source_url))
        number = await self._number_of(host, domain) if LinkGroup.of(event).followed else None
        if number is None:
            await self._links.put_page_links(links, event.generation)
            return
        counted, source = number if is_written(number) else None, event.source_url
        await self._links.add(host, host_of(source), source, event.generation, counted, links)
        self._known.add(host, domain)

    async def _number_of(self, host: str, domain: str) -> int | None:
        """Return the number of a domain that is new among those that link to a host. None: it is known, or not kept."""
        if not self._known.knows(host):
            sources = await self._links.sources(host, self._max_sources)
            self._known.load(host, witnesses_of(host, sources))
        return self._known.number_of(host, domain)

    async def _is_late(self, event: LinkFound) -> bool:
        """Return whether the page was removed since it had the links, or read again."""
        if event.is_recorded:
            record, _ = await self._stored.get_of(event.source_page_id, event.generation)
        else:
            record, _ = await self._stored.get(event.source_page_id)
        is_gone = record.removed.generation >= event.generation and record.removed.reason != "duplicate"
        return is_gone or record.normalized.generation > event.generation

    async def _take_back(self, event: LinkFound) -> None:
        """Delete the rows of links that a page has no more. The count of the host is written before its row."""
        self._stored.forget(event.source_page_id)
        host, source, at = host_of(event.target_url), host_of(event.source_url), event.generation
        later = [
            group
            for group in await self._links.links_of(event.source_page_id)
            if group.generation > at and host_of(group.urls[0]) == host
        ]
        kept = {url for group in later for url in group.urls}
        lost = [link for link in event.each() if link.target_url not in kept]
        other = await self._take_back_page_links(lost, source, at)
        # Also the row of two names of a platform, which would not be stored now: the list of suffixes changes.
        behind = None if may_be_one_owner(host, source) else await self._links.source_page(host, source)
        is_followed = any(group.followed for group in later)
        if behind and behind[0] == event.source_url and behind[1] <= at and not is_followed:
            if other:
                await self._move_row(host, source, other, behind[1], at)
            else:
                await self._remove_source(host, source, at)
        await self._links.remove_links_of(event.source_page_id, LinkGroup.of(event))

    async def _take_back_page_links(self, lost: Sequence[LinkFound], source: str, at: int) -> str:
        """Delete the links to pages. Returns another page with one of these links, or "".

        It is a page of the registrable domain of `source`, and of this host itself if there is one.
        """
        other = ""
        for link in lost:
            first = first_place_of(link.source_url)
            host = host_of(link.target_url)
            for row in await self._links.page_links(host, link.target_page_id, PAGES_PER_DOMAIN, first):
                if row.source_url == link.source_url:
                    await self._links.remove_page_link(row, at)
                elif not row.nofollow and witness_of(host_of(row.source_url)) == witness_of(source):
                    other = other if other and host_of(other) == source else row.source_url
        return other

    async def _move_row(self, host: str, source: str, page: str, former_at: int, at: int) -> None:
        """Let the row of two hosts go on with another page of the linking domain. `former_at`: its write time.

        The row of another linking host is written before this one is deleted: the domain counts all the time.
        """
        own = host_of(page)
        if own == source:
            await self._links.add(host, source, page, former_at + 1)  # it replaces only this row
            return
        groups = await self._links.links_of(page_id(page))
        found_at = max((group.generation for group in groups if host_of(group.urls[0]) == host), default=0)
        await self._links.add(host, own, page, max(former_at + 1, found_at))
        if await self._links.source_page(host, own) is None:  # a later removal of this row hides it
            await self._links.add(host, own, page, at + 1)
        await self._links.remove(host, source, at)

    async def _remove_source(self, host: str, source: str, at: int) -> None:
        sources = await self._links.sources(host, self._max_sources)
        domains = set(witnesses_of(host, (other for other in sources if other != source)))
        await self._links.put_in_links(host, round_down(len(domains)))
        if not domains:  # without links to it, the host is in no further computation of ranks
            await self._links.put_ranks({host: 1.0})
        await self._links.remove(host, source, at)
        self._known.load(host, domains)

    async def assigned(self, partitions: frozenset[int]) -> None:
        self._known.clear()
        self._stored.forget_all()


def _is_older(group: LinkGroup, event: PageNormalized) -> bool:
    """Return whether the page had these links before it was read, and not necessarily now."""
    return group.generation < event.generation


def _lost(event: PageNormalized | PageRemoved, group: LinkGroup, generation: int) -> LinkFound:
    """Return the event that says that the page has these links, all to one host, no more."""
    urls, nofollow = group.urls, not group.followed
    return LinkFound(
        target_page_id=page_id(urls[0]),
        target_url=urls[0],
        target_host=host_of(urls[0]),
        source_page_id=event.page_id,
        source_url=event.url,
        generation=generation,
        nofollow=nofollow,
        more=tuple(MoreLink(target_url=url, nofollow=nofollow) for url in urls[1:]),
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
