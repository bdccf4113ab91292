"""The notes about feeds, in the record of each feed: whether its entries have changed since it was read last."""

from hashlib import sha256

from schemas import PageFetched
from streams.crawl.sitemaps import Sitemap
from streams.stores.page_record import Feed
from streams.stores.protocols import Pages


async def note_feed(pages: Pages, event: PageFetched, found: Sitemap, at: int) -> bool:
    """Note the feed that the event brought. Return whether its entries changed.

    A redelivery of the event has the same answer.
    """
    known, entries = (await pages.get(event.page_id)).feed, _hash_entries(found)
    is_repeated = known.generation == event.generation
    changed = bool(known.is_changed) if is_repeated else known.entries_hash != entries
    feed = Feed(url=event.url, generation=event.generation, entries_hash=entries, is_changed=changed)
    await pages.put(event.page_id, feed, at)
    return changed


def _hash_entries(found: Sitemap) -> str:
    """Return a hash of the entries: the date of the feed itself may change with each request."""
    return sha256(repr((found.pages, found.modified)).encode()).hexdigest()
