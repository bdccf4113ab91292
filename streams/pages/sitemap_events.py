"""The events of a sitemap: the pages and further sitemaps that it names, of its own registrable domain. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import urlsplit

from schemas import PageDiscovered, PageFetched
from schemas.crawl import Purpose
from schemas.ids import page_id
from streams.allowed_origins import NO_ORIGINS, AllowedOrigins
from streams.crawl.domains import same_domain
from streams.crawl.scope import CrawlScope
from streams.crawl.sitemaps import DEFAULT_PATH, ROBOTS_PATH, Sitemap
from streams.crawl.urls import InvalidUrl, host_of, reason_not_to_crawl, resolve

MAX_URLS_PER_EVENT = 200
"""Maximum number of URLs in one event."""
NEWS_SECONDS = 3 * 86_400
"""Time before a sitemap was read in which a change of a page is news (seconds): it is read once a day or more often."""
NO_TIMES: Mapping[str, int] = {}
PAGE_DEPTH = 1
"""Depth of a page that a sitemap names: as if the seed linked to it."""


def sitemap_events(
    event: PageFetched, found: Sitemap, allowed: AllowedOrigins = NO_ORIGINS
) -> Iterator[PageDiscovered]:
    """Yield the discoveries of a fetched sitemap. An index within an index is ignored, as sitemaps.org has it."""
    if event.max_depth is not None and event.max_depth < PAGE_DEPTH:
        return
    if urlsplit(event.url).path == ROBOTS_PATH:  # it names sitemaps, and they may be indexes
        named = list(_own(event, found.sitemaps or (DEFAULT_PATH,), allowed))
        yield from _events(event, named, "sitemap", depth=event.depth)
        return
    if not event.depth:
        yield from _events(event, _own(event, found.sitemaps, allowed), "sitemap")
    news_since = event.generation // 1_000_000 - NEWS_SECONDS
    pages = {
        canonical: at if at >= news_since else 0
        for url, at in zip(found.pages, found.modified or (0,) * len(found.pages), strict=True)
        for canonical in _own(event, [url], allowed)
        if reason_not_to_crawl(canonical, allowed) is None
    }
    yield from _events(event, pages, "page", modified=pages)


def _own(event: PageFetched, urls: Iterable[str], allowed: AllowedOrigins) -> Iterator[str]:
    """Yield the canonical URLs of the sitemap's own domain."""
    for url in urls:
        try:
            canonical = allowed.place(resolve(event.url, url))
        except InvalidUrl:
            continue
        if same_domain(host_of(canonical), event.host):
            yield canonical


def _events(
    event: PageFetched,
    urls: Iterable[str],
    purpose: Purpose,
    depth: int = PAGE_DEPTH,
    modified: Mapping[str, int] = NO_TIMES,
) -> Iterator[PageDiscovered]:
    hosts: dict[str, dict[str, None]] = {}
    for url in urls:
        hosts.setdefault(host_of(url), {})[url] = None
    for host, of_host in hosts.items():
        listed = list(of_host)
        for start in range(0, len(listed), MAX_URLS_PER_EVENT):
            first, *more = listed[start : start + MAX_URLS_PER_EVENT]
            times = tuple(modified.get(url, 0) for url in (first, *more))
            yield PageDiscovered(
                page_id=page_id(first),
                url=first,
                more_urls=tuple(more),
                modified=times if any(times) else (),
                host=host,
                why="sitemap",
                purpose=purpose,
                referrer=event.url,
                **CrawlScope.of(event).at_depth(depth).fields(),
            )
