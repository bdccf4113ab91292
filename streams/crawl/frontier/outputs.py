"""The events that the frontier sends. Pure."""

from schemas import Event, OriginChanged, PageDiscovered, PageFetched, PageRemoved, PageScheduled
from schemas.envelope import utc_from_micros
from schemas.ids import page_id as page_id_of
from schemas.pages import RefusedBy
from streams.allowed_origins import origin_of
from streams.crawl.frontier import decisions
from streams.crawl.frontier.hosts.host_state import Host, Lease
from streams.crawl.frontier.policy import Policy
from streams.crawl.frontier.scheduling.purposes import PURPOSES, event_purpose_of
from streams.crawl.scope import CrawlScope
from streams.crawl.urls import host_of
from streams.stores.protocols import FrontierUrl

BLOCKED_AFTER_FAILURES = 5
"""Minimum number of failures in a row of a host that counts as blocked until its backoff ends."""
_REFUSED_BY: dict[str, RefusedBy] = {"disallowed": "robots", "over_budget": "budget"}
"""The rule that refused a URL, by its outcome in the frontier's row."""


def page_scheduled(
    url: FrontierUrl,
    lease: Lease,
    region: str,
    delay_seconds: float,
    content_signal: str = "",
    *,
    tdm_reserved: bool = False,
    not_found_ref: str | None = None,
) -> PageScheduled:
    """Return the event that gives a page to the fetchers of a region."""
    return PageScheduled(
        page_id=url.page_id,
        url=url.url,
        host=url.host,
        purpose=event_purpose_of(url),
        lease_id=lease.lease_id,
        lease_until=utc_from_micros(lease.begin_by or lease.until),
        generation=lease.generation or None,
        attempt=lease.attempt,
        content_signal=content_signal,
        tdm_reserved=tdm_reserved,
        not_found_ref=not_found_ref,
        region=region,
        delay_seconds=delay_seconds,
        etag=url.etag if url.ok_generation else None,
        last_modified=url.last_modified if url.ok_generation else None,
        redirects=url.redirects,
        **CrawlScope.of(url).fields(),
    )


def host_file_scheduled(host: Host, lease: Lease, policy: Policy, region: str) -> PageScheduled:
    """Return the event that gives a file of a host to the fetchers of a region."""
    url = host.file_url(lease.purpose, policy)
    return PageScheduled(
        page_id=lease.page_id,
        url=host.robots.url or url if lease.purpose == "robots" else url,
        host=host.name,
        purpose=PURPOSES[lease.purpose].event,
        lease_id=lease.lease_id,
        lease_until=utc_from_micros(lease.begin_by or lease.until),
        generation=lease.generation or None,
        attempt=lease.attempt,
        region=region,
        delay_seconds=host.delay_seconds(policy),
    )


def seed_removal(event: PageDiscovered, generation: int, reason: str) -> PageRemoved:
    return PageRemoved.following(event, generation=generation, reason="refused", detail=reason, refused_by="address")


def fetch_outputs(event: PageFetched, url: FrontierUrl) -> list[Event]:
    """Return the events after an answer: a page that left is removed, the target of a redirect is discovered."""
    events: list[Event] = []
    if decisions.has_left(event) and url.ok_generation and event.purpose == "page":
        events.append(_gone_removal(event, url))
    if event.redirect_to and event.redirect_to != url.url and event.source == "crawl":
        events.append(_redirect_discovered(event.redirect_to, url))
    return events


def _gone_removal(event: PageFetched, url: FrontierUrl) -> PageRemoved:
    return PageRemoved(
        page_id=url.page_id,
        url=url.url,
        generation=event.generation,
        crawl_id=url.crawl_id,
        reason="gone",
        detail=f"moved to {event.redirect_to}" if event.redirect_to else event.error,
    )


def sitemap_discovered(target: str, url: FrontierUrl) -> PageDiscovered:
    """Return the event for a sitemap that the robots.txt of a page's host names."""
    return PageDiscovered(
        page_id=page_id_of(target),
        url=target,
        host=host_of(target),
        why="sitemap",
        purpose="sitemap",
        referrer=f"{origin_of(url.url)}/robots.txt",
        **CrawlScope.of(url).at_depth(url.depth, sitemap_level=0).fields(),
    )


def _redirect_discovered(target: str, url: FrontierUrl) -> PageDiscovered:
    return PageDiscovered(
        page_id=page_id_of(target),
        url=target,
        host=host_of(target),
        why="redirect",
        purpose=event_purpose_of(url),
        referrer=url.url,
        force=url.forced,
        redirects=url.redirects + 1,
        **CrawlScope.of(url).fields(),
    )


def origin_changed(host: Host) -> OriginChanged:
    """Return the event for a host after the answer to its robots.txt."""
    robots = host.robots
    blocked = host.failures >= BLOCKED_AFTER_FAILURES or robots.status == "unreachable"
    return OriginChanged(
        host=host.name,
        robots="allowed" if robots.status == "unknown" else robots.status,
        robots_ref=robots.ref,
        robots_fetched_at=utc_from_micros(robots.fetched_at),
        crawl_delay_seconds=robots.delay_seconds,
        failures_in_a_row=host.failures,
        blocked_until=utc_from_micros(host.next_at) if blocked else None,
        reason=robots.detail or None,
    )


def url_refused(url: FrontierUrl) -> PageRemoved:
    """Return the event for a queued URL that ended without a fetch.

    The frontier sends it for some of these URLs. For all others the ledger shows it as if it had been sent.
    """
    return PageRemoved(
        page_id=url.page_id,
        url=url.url,
        generation=url.at,
        crawl_id=url.crawl_id,
        reason="refused",
        detail=url.detail,
        refused_by=_REFUSED_BY.get(url.outcome),
    )
