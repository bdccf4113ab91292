"""The events of a sitemap: the pages and further sitemaps that it names, of its own registrable domain.

The record of a feed has a note: whether its entries have changed since it was read last.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from types import MappingProxyType
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from schemas import PageDiscovered, PageFetched
from schemas.crawl import Purpose
from schemas.ids import page_id
from streams.allowed_origins import NO_ORIGINS, AllowedOrigins
from streams.crawl.domains import may_be_one_owner
from streams.crawl.scope import CrawlScope
from streams.crawl.sitemap_entries import MIDDLE_PRIORITY
from streams.crawl.sitemaps import DEFAULT_PATH, ROBOTS_PATH, Sitemap
from streams.crawl.urls import InvalidUrl, host_of, reason_not_to_crawl, resolve
from streams.stores.page_record import Feed
from streams.stores.protocols import Pages

MAX_LINKS = 1_000
"""Maximum number of pages on other domains of a sitemap that names none on its own."""
MAX_URLS_PER_EVENT = 200
"""Maximum number of URLs in one event."""
NEWS_SECONDS = 3 * 86_400
"""Time before a sitemap was read in which a change of a page is news (seconds): it is read once a day or more often."""


def sitemap_events(
    event: PageFetched, found: Sitemap, allowed: AllowedOrigins = NO_ORIGINS
) -> Iterator[PageDiscovered]:
    """Yield the discoveries of a fetched sitemap. An index within an index is ignored, as sitemaps.org has it."""
    scope = CrawlScope.of(event)
    if not scope.includes(scope.depth_of_pages):
        return
    if urlsplit(event.url).path == ROBOTS_PATH:  # it names sitemaps, and they may be indexes
        named = list(_canonical(event, found.sitemaps or [DEFAULT_PATH], allowed))
        yield from _events(event, named, "sitemap", scope.at_depth(event.depth, sitemap_level=scope.sitemap_level))
        return
    if not scope.sitemap_level:
        parts = scope.at_depth(scope.depth_of_pages, sitemap_level=1)
        yield from _events(event, _own(event, found.sitemaps, allowed), "sitemap", parts)
    news_since = event.generation // 1_000_000 - NEWS_SECONDS
    pages: dict[str, _Listed] = {}
    for n, url in enumerate(found.pages):
        for canonical in _own(event, [url], allowed):
            if reason_not_to_crawl(canonical, allowed) is None:
                pages[canonical] = _Listed.at(found, n, news_since)
    yield from _events(event, pages, "page", scope.at_depth(scope.depth_of_pages), listed=pages)
    if (
        not pages and not found.is_feed
    ):  # another host keeps the sitemaps of a site (sitemaps.org, cross submits): its word is a stranger's
        named = [url for url in _canonical(event, found.pages, allowed) if reason_not_to_crawl(url, allowed) is None]
        links = dict.fromkeys(named[:MAX_LINKS])
        yield from _events(event, links, "page", scope.at_depth(scope.depth_of_pages), why="link")


class _Listed(NamedTuple):
    """The properties of a page by its sitemap, as in `pages.discovered`."""

    modified: int = 0
    change_seconds: int = 0
    priority: int = MIDDLE_PRIORITY

    @classmethod
    def at(cls, found: Sitemap, n: int, news_since: int) -> "_Listed":
        """Return the properties of page N of a sitemap. A change before `news_since` is no news."""
        modified = found.modified[n] if found.modified else 0
        return cls(
            modified if modified >= news_since else 0,
            found.change_seconds[n] if found.change_seconds else 0,
            found.priorities[n] if found.priorities else MIDDLE_PRIORITY,
        )


_NOT_LISTED = _Listed()


def _own(event: PageFetched, urls: Iterable[str], allowed: AllowedOrigins) -> Iterator[str]:
    """Yield the canonical URLs of the sitemap's own domain."""
    return (url for url in _canonical(event, urls, allowed) if may_be_one_owner(host_of(url), event.host))


def _canonical(event: PageFetched, urls: Iterable[str], allowed: AllowedOrigins) -> Iterator[str]:
    for url in urls:
        with suppress(InvalidUrl):
            yield allowed.place(resolve(event.url, url))


def _events(
    event: PageFetched,
    urls: Iterable[str],
    purpose: Purpose,
    scope: CrawlScope,
    listed: Mapping[str, _Listed] = MappingProxyType({}),
    why: Literal["sitemap", "link"] = "sitemap",
) -> Iterator[PageDiscovered]:
    hosts: dict[str, dict[str, None]] = {}
    for url in urls:
        hosts.setdefault(host_of(url), {})[url] = None
    for host, of_host in hosts.items():
        ordered = list(of_host)
        for start in range(0, len(ordered), MAX_URLS_PER_EVENT):
            first, *more = ordered[start : start + MAX_URLS_PER_EVENT]
            modified, changes, priorities = zip(*(listed.get(url, _NOT_LISTED) for url in (first, *more)), strict=True)
            yield PageDiscovered(
                page_id=page_id(first),
                url=first,
                more_urls=tuple(more),
                modified=modified if any(modified) else (),
                change_seconds=changes if any(changes) else (),
                priorities=priorities if set(priorities) != {MIDDLE_PRIORITY} else (),
                host=host,
                why=why,
                purpose=purpose,
                referrer=event.url,
                **scope.fields(),
            )


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
