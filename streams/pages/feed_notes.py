"""The notes about feeds, in the record of each feed; and for each host a list of the feeds that name WebSub hubs.

The list is in the record of the host's robots.txt, so operators find a feed wherever it was named: in robots.txt, in a
sitemap index, or by a person. All answers of a host come to one worker, which changes the list under a lock.
"""

import asyncio
from hashlib import sha256

from schemas import PageFetched
from schemas.ids import page_id
from streams.allowed_origins import AllowedOrigins
from streams.crawl.hubs import hubs_of
from streams.crawl.sitemaps import Sitemap
from streams.stores.page_record import Feed, HostFeeds
from streams.stores.protocols import Pages

MAX_FEEDS = 64
"""Maximum number of feeds in the list of a host. The one that was noted first leaves it."""


def _hash_entries(found: Sitemap) -> str:
    """Return a hash of the entries: the date of the feed itself may change with each request."""
    return sha256(repr((found.pages, found.modified)).encode()).hexdigest()


class FeedNotes:
    """Notes feeds as they are read."""

    def __init__(self, pages: Pages, allowed: AllowedOrigins) -> None:
        self._pages = pages
        self._allowed = allowed
        self._lock = asyncio.Lock()

    async def note(self, event: PageFetched, found: Sitemap, at: int) -> bool:
        """Note the feed that the event brought, with its hubs. Return whether its entries changed.

        A redelivery of the event has the same answer.
        """
        known, entries = (await self._pages.get(event.page_id)).feed, _hash_entries(found)
        is_repeated = known.generation == event.generation
        changed = bool(known.is_changed) if is_repeated else known.entries_hash != entries
        hubs = hubs_of(event.url, found, event.headers.get("link", ""), self._allowed)
        feed = Feed(
            url=event.url,
            generation=event.generation,
            hubs=hubs.hubs,
            topic=hubs.topic,
            entries_hash=entries,
            is_changed=changed,
        )
        await self._pages.put(event.page_id, feed, at)
        if hubs.hubs:
            async with self._lock:
                await self._list(event, at)
        return changed

    async def _list(self, event: PageFetched, at: int) -> None:
        url = f"{self._allowed.origin_of_host(event.host)}/robots.txt"
        known = (await self._pages.get(page_id(url))).host_feeds
        if str(event.page_id) not in known.pages:
            pages = (*known.pages, str(event.page_id))[-MAX_FEEDS:]
            await self._pages.put(page_id(url), HostFeeds(url=url, generation=event.generation, pages=pages), at)
