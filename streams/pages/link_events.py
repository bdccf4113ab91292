"""The events of a page's links: one for each host that the page links to, split if it would become large. Pure.

The event says of each link whether it is in the main content (an edge of the link graph) and whether the crawl may
follow it. A link that is neither is in no event.

The frontier need not be asked to follow a link on most pages of a site by each of them: such a link is announced. It
counts as announced only once Kafka has the event with it (`remember`). Until then other pages ask, too. So a killed
worker loses no link: forgotten links are announced again, and links that only its memory held back are in Kafka
already. An announced link of the main content is still sent as an edge.

A link is announced again if that could change the frontier's decision: in another crawl or with other limits, with a
lower depth, or after `MAX_SECONDS`. Links to other hosts are always announced in a crawl that stays on the hosts of
its seeds, because any host may become a seed's host later.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from schemas import Event, LinkFound, PageDiscovered, PageFetched
from schemas.ids import page_id
from schemas.links import MoreLink
from streams.allowed_origins import NO_ORIGINS, AllowedOrigins
from streams.caches import RecentCache
from streams.crawl.domains import may_be_one_owner, surely_independent
from streams.crawl.scope import CrawlScope
from streams.crawl.urls import InvalidUrl, host_of, reason_not_to_crawl, resolve
from streams.pages.sandbox.worker_messages import PageOutcome
from streams.stores.protocols import LinkGroup

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
    """Announce the pages that replace this page: the target of its refresh, and the canonical page.

    A refresh of a few seconds is a redirect: its target has the depth of the page, and counts as one of the redirects
    in a row.
    """
    target, canonical = _replacements(event, outcome, allowed)
    if target and event.source == "crawl" and reason_not_to_crawl(target, allowed) is None:
        hops = {"redirects": event.redirects + 1}
        yield _discovery(event, target, "redirect", event.depth).model_copy(update=hops)
    if canonical and canonical != event.url and reason_not_to_crawl(canonical, allowed) is None:
        yield _discovery(event, canonical, "canonical", event.depth)


def _replacements(event: PageFetched, outcome: PageOutcome, allowed: AllowedOrigins) -> tuple[str | None, str | None]:
    """Return the URLs of the page's refresh and of its canonical page, as far as it names them."""
    target, canonical = outcome.redirect_url, outcome.canonical_url
    return target and allowed.place(target), canonical and allowed.place(canonical)


def found_links(
    event: PageFetched, outcome: PageOutcome, allowed: AllowedOrigins = NO_ORIGINS, *, has_edges: bool = True
) -> Iterator[LinkFound]:
    """Yield the links of the page: those that the crawl may follow, and the edges of the link graph.

    Edges are only links of the main content, since boilerplate repeats on each page. `has_edges`: False for a page that
    is not indexed.
    """
    nofollow = "nofollow" in outcome.directives
    scope = CrawlScope.of(event).at_depth(event.depth + 1)
    is_followed = not nofollow and scope.includes(scope.depth)
    announced = _replacements(event, outcome, allowed)
    links = []
    for link in outcome.links:
        url = allowed.place(link.url)
        may_follow = is_followed and not link.nofollow and url not in announced
        made = MoreLink(
            target_url=url,
            anchor=link.text if has_edges and link.in_content else "",
            nofollow=link.nofollow or nofollow,
            in_content=has_edges and link.in_content,
            follow=may_follow and reason_not_to_crawl(url, allowed) is None,
        )
        if made.in_content or made.follow:
            links.append(made)
    for group in group_by_host(links):
        yield _found(event, group, scope)


def _found(event: PageFetched, links: Sequence[MoreLink], scope: CrawlScope) -> LinkFound:
    first, *more = links
    host = host_of(first.target_url)
    return LinkFound.model_validate(
        {
            "target_page_id": page_id(first.target_url),
            "target_host": host,
            "is_recorded": any(link.in_content for link in links) and surely_independent(host, event.host),
            "source_page_id": event.page_id,
            "source_url": event.url,
            "generation": event.generation,
            "more": tuple(more),
            **scope.fields(),
            **first.model_dump(),
        }
    )


def link_groups(found: Iterable[LinkFound]) -> list[LinkGroup]:
    """Return the groups of links that are stored with the record of the page: edges to other registrable domains."""
    edges = (event.edges() for event in found if event.is_recorded)
    return [LinkGroup.of(event) for event in edges if event]


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
        yield _discovery(event, url, "link", event.depth + 1).model_copy(update=limits)


def group_by_host(links: Iterable[MoreLink]) -> Iterator[Sequence[MoreLink]]:
    """Group links by target host, in the order of their first link, into groups that fit one event."""
    hosts: dict[str, list[MoreLink]] = {}
    for link in links:
        hosts.setdefault(host_of(link.target_url), []).append(link)
    for of_host in hosts.values():
        yield from _split_links(of_host)


def _split_links(links: Sequence[MoreLink]) -> Iterator[Sequence[MoreLink]]:
    group: list[MoreLink] = []
    size = 0
    for link in links:
        bytes_ = len(link.target_url.encode()) + len(link.anchor.encode("utf-8", "replace"))
        if group and (len(group) == MAX_LINKS_PER_EVENT or size + bytes_ > MAX_LINK_BYTES_PER_EVENT):
            yield group
            group, size = [], 0
        group.append(link)
        size += bytes_
    if group:
        yield group


def _discovery(event: PageFetched, url: str, why: str, depth: int) -> PageDiscovered:
    return PageDiscovered.model_validate(
        {
            "page_id": page_id(url),
            "url": url,
            "host": host_of(url),
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

    def drop_announced(
        self, events: Iterable[PageDiscovered | LinkFound], cause: UUID
    ) -> Iterator[PageDiscovered | LinkFound]:
        """Yield the events without what needs no announcement. An event without anything else is dropped."""
        now = self._monotonic()
        for event in events:
            if isinstance(event, LinkFound):
                kept = event.with_links(list(self._kept_links(event, cause, now)))
                if kept:
                    yield kept
            elif not self._is_announced(event, page_id(event.url), cause, now):
                yield event

    def _kept_links(self, event: LinkFound, cause: UUID, now: float) -> Iterator[MoreLink]:
        found = event.followed()
        for link in event.links():
            if not link.follow or not found or not self._is_announced(found, page_id(link.target_url), cause, now):
                yield link
            elif link.in_content:
                yield link.model_copy(update={"follow": False})

    def remember(self, events: Iterable[Event], cause: UUID) -> None:
        """Remember the links of events that Kafka has."""
        until = self._monotonic() + MAX_SECONDS
        for event in events:
            found = event.followed() if isinstance(event, LinkFound) else event
            if isinstance(found, PageDiscovered):
                for url in (found.url, *found.more_urls):
                    self._links.put(_key(found, page_id(url)), _Announced(found.depth, cause, until))

    def _is_announced(self, event: PageDiscovered, of_url: UUID, cause: UUID, now: float) -> bool:
        if event.same_host and event.host != host_of(event.referrer or event.url):
            return False
        known = self._links.get(_key(event, of_url))
        return known is not None and known.cause != cause and known.depth <= event.depth and now < known.until


def _key(event: PageDiscovered, of_url: UUID) -> Hashable:
    limits = (event.max_depth, event.max_pages, event.same_host)
    return (of_url.bytes, event.crawl_id, event.why, event.purpose, *limits)
