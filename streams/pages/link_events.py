"""The events of a page's links: one for each host that the page links to, split if it would become large. Pure.

A link on most pages of a site is not announced by each of them. It counts as announced only once Kafka has the event
with it (`remember`). Until then other pages announce it, too. So a killed worker loses no link: forgotten links are
announced again, and links that only its memory held back are in Kafka already.

A link is announced again if that could change the frontier's decision: in another crawl or with other limits, with a
lower depth, or after `MAX_SECONDS`. Links to other hosts are always announced in a crawl that stays on the hosts of
its seeds, because any host may become a seed's host later.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from schemas import Event, LinkFound, PageDiscovered, PageFetched
from schemas.ids import page_id
from schemas.links import MoreLink
from streams.allowed_origins import NO_ORIGINS, AllowedOrigins
from streams.caches import RecentCache
from streams.crawl.domains import may_be_one_owner
from streams.crawl.scope import CrawlScope
from streams.crawl.urls import InvalidUrl, host_of, reason_not_to_crawl, resolve
from streams.pages.sandbox.worker_messages import OutLink, PageOutcome

MAX_LINKS_PER_EVENT = 200
"""Maximum number of links in one event."""
MAX_FEEDS = 4
"""Maximum number of feeds of a page."""
MAX_LINK_BYTES_PER_EVENT = 64 * 1024
"""Maximum size (bytes) of the URLs and anchor texts of one event. A single link is always smaller."""
MAX_LINKS = 100_000
"""Maximum number of links in memory, about 30 MB."""
MAX_SECONDS = 300.0
"""Time until a link is announced again (seconds). A URL without an answer from its host rests longer."""


def discoveries(
    event: PageFetched, outcome: PageOutcome, allowed: AllowedOrigins = NO_ORIGINS
) -> Iterator[PageDiscovered]:
    """Announce the canonical page, if it is another one, and the links that may be followed.

    A refresh of a few seconds is a redirect: its target has the depth of the page, and counts as one of the redirects
    in a row.
    """
    target = outcome.redirect_url and allowed.place(outcome.redirect_url)
    if target and event.source == "crawl" and reason_not_to_crawl(target, allowed) is None:
        hops = {"redirects": event.redirects + 1}
        yield _discovery(event, [target], "redirect", event.depth).model_copy(update=hops)
    canonical = outcome.canonical_url and allowed.place(outcome.canonical_url)
    if canonical and canonical != event.url and reason_not_to_crawl(canonical, allowed) is None:
        yield _discovery(event, [canonical], "canonical", event.depth)
    if "nofollow" in outcome.directives or not CrawlScope.of(event).includes(event.depth + 1):
        return
    placed = (replace(link, url=allowed.place(link.url)) if allowed else link for link in outcome.links)
    followed = [
        link
        for link in placed
        if not link.nofollow and link.url not in (canonical, target) and reason_not_to_crawl(link.url, allowed) is None
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
        if url != event.url and may_be_one_owner(host_of(url), event.host):
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


@dataclass(frozen=True, slots=True)
class _Announced:
    depth: int
    cause: UUID
    """Id of the event that announced the link. Its redelivery has the same outputs."""
    until: float


class AnnouncedLinks:
    """A bounded memory of announced links. It forgets the least recently used."""

    def __init__(self, monotonic: Callable[[], float], max_links: int = MAX_LINKS) -> None:
        self._monotonic = monotonic
        self._links: RecentCache[Hashable, _Announced] = RecentCache(max_links)

    def drop_announced(self, events: Iterable[PageDiscovered], cause: UUID) -> Iterator[PageDiscovered]:
        """Yield the events without the links that need no announcement. An event without any link is dropped."""
        now = self._monotonic()
        for event in events:
            kept = [one for one in event.each() if not self._is_announced(one, cause, now)]
            if kept:
                yield kept[0].model_copy(update={"more_urls": tuple(one.url for one in kept[1:])})

    def remember(self, events: Iterable[Event], cause: UUID) -> None:
        """Remember the links of events that Kafka has."""
        until = self._monotonic() + MAX_SECONDS
        for event in events:
            if isinstance(event, PageDiscovered):
                for one in event.each():
                    self._links.put(_key(one), _Announced(one.depth, cause, until))

    def _is_announced(self, event: PageDiscovered, cause: UUID, now: float) -> bool:
        if event.same_host and event.host != host_of(event.referrer or event.url):
            return False
        known = self._links.get(_key(event))
        return known is not None and known.cause != cause and known.depth <= event.depth and now < known.until


def _key(event: PageDiscovered) -> Hashable:
    limits = (event.max_depth, event.max_pages, event.same_host)
    return (event.page_id.bytes, event.crawl_id, event.why, event.purpose, *limits)
