"""The events of a page's links: one for each host that the page links to, split if it would become large. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from schemas import LinkFound, PageDiscovered, PageFetched
from schemas.ids import page_id
from schemas.links import MoreLink
from streams.allowed_origins import NO_ORIGINS, AllowedOrigins
from streams.crawl.domains import same_domain
from streams.crawl.scope import CrawlScope
from streams.crawl.urls import InvalidUrl, host_of, reason_not_to_crawl, resolve
from streams.pages.sandbox.worker_messages import OutLink, PageOutcome

MAX_LINKS_PER_EVENT = 200
"""Maximum number of links in one event."""
MAX_FEEDS = 4
"""Maximum number of feeds of a page."""
MAX_LINK_BYTES_PER_EVENT = 64 * 1024
"""Maximum size (bytes) of the URLs and anchor texts of one event. A single link is always smaller."""


def discoveries(
    event: PageFetched, outcome: PageOutcome, allowed: AllowedOrigins = NO_ORIGINS
) -> Iterator[PageDiscovered]:
    """Announce the canonical page, if it is another one, and the links that may be followed."""
    canonical = outcome.canonical_url and allowed.place(outcome.canonical_url)
    if canonical and canonical != event.url and reason_not_to_crawl(canonical, allowed) is None:
        yield _discovery(event, [canonical], "canonical", event.depth)
    if "nofollow" in outcome.directives or not CrawlScope.of(event).includes(event.depth + 1):
        return
    placed = (replace(link, url=allowed.place(link.url)) if allowed else link for link in outcome.links)
    followed = [
        link
        for link in placed
        if not link.nofollow and link.url != canonical and reason_not_to_crawl(link.url, allowed) is None
    ]
    for links in group_by_host(followed):
        yield _discovery(event, [link.url for link in links], "link", event.depth + 1)


def feeds(event: PageFetched, outcome: PageOutcome, allowed: AllowedOrigins = NO_ORIGINS) -> Iterator[PageDiscovered]:
    """Announce the feeds of the page's registrable domain that the page names (`<link rel=alternate>`), some at most.

    Their pages count as links of the page. So a page whose links are not followed leads to no feed.
    """
    scope = CrawlScope.of(event)
    if "nofollow" in outcome.directives or not scope.includes(event.depth + 1):
        return
    limits = {"purpose": "sitemap", **scope.at_depth(event.depth + 1, sitemap_level=1).fields()}
    found: dict[str, None] = {}
    for named in outcome.facts.get("feeds", ()):
        try:
            url = allowed.place(resolve(event.url, named))
        except InvalidUrl:
            continue
        if url != event.url and same_domain(host_of(url), event.host):
            found[url] = None
    for url in list(found)[:MAX_FEEDS]:
        yield _discovery(event, [url], "link", event.depth + 1).model_copy(update=limits)


def anchors(event: PageFetched, outcome: PageOutcome) -> Iterator[LinkFound]:
    """Yield the edges of the link graph: only links of the main content, since boilerplate repeats on each page."""
    nofollow = "nofollow" in outcome.directives
    for links in group_by_host(link for link in outcome.links if link.in_content):
        first, *more = (
            MoreLink(target_url=link.url, anchor=link.text, nofollow=link.nofollow or nofollow) for link in links
        )
        yield LinkFound(
            target_page_id=page_id(first.target_url),
            target_host=host_of(first.target_url),
            source_page_id=event.page_id,
            source_url=event.url,
            generation=event.generation,
            more=tuple(more),
            **first.model_dump(),
        )


def group_by_host(links: Iterable[OutLink]) -> Iterator[Sequence[OutLink]]:
    """Group links by target host, in the order of their first link, into groups that fit one event."""
    hosts: dict[str, list[OutLink]] = {}
    for link in links:
        hosts.setdefault(host_of(link.url), []).append(link)
    for of_host in hosts.values():
        yield from _split_links(of_host)


def _split_links(links: Sequence[OutLink]) -> Iterator[Sequence[OutLink]]:
    group: list[OutLink] = []
    size = 0
    for link in links:
        bytes_ = len(link.url.encode()) + len(link.text.encode("utf-8", "replace"))
        if group and (len(group) == MAX_LINKS_PER_EVENT or size + bytes_ > MAX_LINK_BYTES_PER_EVENT):
            yield group
            group, size = [], 0
        group.append(link)
        size += bytes_
    if group:
        yield group


def _discovery(event: PageFetched, urls: Sequence[str], why: str, depth: int) -> PageDiscovered:
    return PageDiscovered.model_validate(
        {
            "page_id": page_id(urls[0]),
            "url": urls[0],
            "more_urls": tuple(urls[1:]),
            "host": host_of(urls[0]),
            "why": why,
            "referrer": event.url,
            **CrawlScope.of(event).at_depth(depth).fields(),
        }
    )
