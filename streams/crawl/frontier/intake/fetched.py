"""Intake of the answer to a page's fetch, and of an imported page."""

from collections.abc import Sequence

from schemas import Event, PageFetched
from schemas.envelope import utc_from_micros
from streams.crawl.domains import same_domain
from streams.crawl.fetch.outcomes import retry_after_seconds
from streams.crawl.frontier import decisions, outputs
from streams.crawl.frontier.hosts import host_answers
from streams.crawl.frontier.hosts.host_state import Robots
from streams.crawl.frontier.hosts.live_host import LiveHost
from streams.crawl.frontier.policy import JITTER, SECOND, backoff_micros
from streams.crawl.frontier.state import FrontierState
from streams.crawl.frontier.visits.host_visit import end_unanswered
from streams.crawl.urls import InvalidUrl, host_of, resolve
from streams.errors import MissingBlob
from streams.stores.protocols import FrontierUrl


async def take_fetched(frontier: FrontierState, event: PageFetched, partition: int) -> Sequence[Event]:
    """Apply an answer to its URL, end its lease, and return the events that follow."""
    if event.lease_expired or event.postponed_seconds is not None:
        await take_unrequested(frontier, event, partition)
        return []
    async with frontier.hosts.lock(event.host, partition) as live:
        now = frontier.now()
        url = await frontier.hosts.url(live, event.page_id) or decisions.url_of_import(event, now)
        position = live.host.position(now + backoff_micros(event.attempt, frontier.random()))
        lease = live.host.leases.get(event.lease_id) if event.lease_id else None
        silent = decisions.awaits_answer(event.lease_id, url) and decisions.is_silent(live.host, event, frontier.policy)
        if lease and silent:
            live.host.robots = Robots()
            later = decisions.expire_lease(url, lease, position, now)
        else:
            later = decisions.apply_fetch(url, event, position, frontier.policy, now)
            later = frontier.plan_visit(later, live.host)
        ended = end_lease(frontier, live, event)
        robots = live.host.robots  # read under the lock: outside of it the host may be gone from memory
        applied = bool(lease and silent) or later.generation == event.generation
        if applied:
            await frontier.urls.write([later], live, persist=ended and not _may_write_later(frontier, live, event))
        elif ended:
            await frontier.hosts.persist(live)
    if decisions.is_unanswered(later):
        frontier.seen.discard(later.crawl_id, later.page_id)
    else:
        frontier.seen.add(later.crawl_id, later.page_id)
    if later.state == "done" and later.outcome not in ("ok", "not_modified", "removed"):
        await frontier.held.release_for(later.host, later.page_id)
    if not applied:
        return []
    return [*outputs.fetch_outputs(event, later), *await _sitemaps(frontier, later, robots)]


def _may_write_later(frontier: FrontierState, live: LiveHost, event: PageFetched) -> bool:
    """Return whether the host may be written with its next lease. Time that a server asks for is written at once.

    Until then the stored row has the ended lease. After a crash the next owner drops it (`host_visit`).
    """
    live.has_ended_lease = True
    return "retry-after" not in event.headers and live.is_written_soon(frontier.now())


async def _sitemaps(frontier: FrontierState, url: FrontierUrl, known: Robots) -> list[Event]:
    """Return the discoveries of the sitemaps in robots.txt, once a seed of the host has been fetched."""
    is_first = url.outcome == "ok" and url.purpose == "page" and not url.depth and not url.revisit
    if not is_first or not frontier.policy.sitemaps or not known.ref or url.max_depth == 0:
        return []
    try:
        rules = await frontier.robots.get(known.ref)
    except MissingBlob:  # the file is fetched again before the next page
        return []
    found: dict[str, None] = {}
    for named in rules.sitemaps:
        try:
            target = frontier.policy.origins.place(resolve(url.url, named))
        except InvalidUrl:
            continue
        if same_domain(host_of(target), url.host):
            found[target] = None
    return [outputs.sitemap_discovered(target, url) for target in found]


async def take_unrequested(frontier: FrontierState, event: PageFetched, partition: int) -> None:
    """End a lease without a request, if it has not ended already: it expired, or would have come too soon.

    If an expired lease has not expired here, the clocks differ by more than the bound. The host then waits for as long
    as the lease, so that such a fetcher gets no stream of leases.
    """
    async with frontier.hosts.lock(event.host, partition) as live:
        lease = live.host.leases.get(event.lease_id) if event.lease_id else None
        if lease:
            await end_unanswered(frontier, live, lease)
            if event.postponed_seconds is None:
                live.host.next_at = max(live.host.next_at, lease.begin_by)
                frontier.counts.leases_expired += 1
            else:
                # With jitter: else a host may always come when another worker has the turn.
                wait = event.postponed_seconds * (1 + JITTER * frontier.random())
                live.host.next_at = max(live.host.next_at, frontier.now() + round(wait * SECOND))
                frontier.counts.leases_postponed += 1
            await frontier.hosts.persist(live)


def end_lease(frontier: FrontierState, live: LiveHost, event: PageFetched) -> bool:
    """End the answered lease and set the host's pace. Return whether the lease was still there."""
    lease = live.host.leases.pop(event.lease_id, None) if event.lease_id else None
    if lease is None:
        return False
    live.unsent.discard(lease.lease_id)
    now = frontier.now()
    retry_after = retry_after_seconds(event.headers.get("retry-after"), utc_from_micros(now))
    host_answers.update_pace(live.host, event, frontier.policy, now, frontier.random(), retry_after)
    return True
