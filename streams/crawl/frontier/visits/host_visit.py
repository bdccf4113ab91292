"""One visit of a host that is due: expired leases end, and URLs that may be fetched now are scheduled.

A visit holds the host's lock, so that an event of the same host waits for it.
"""

from dataclasses import replace

from streams.crawl.cancelled import WHY
from streams.crawl.frontier import decisions, outputs
from streams.crawl.frontier.host_caches import BLOCKED_MICROS
from streams.crawl.frontier.hosts.host_state import Lease
from streams.crawl.frontier.hosts.live_host import LiveHost
from streams.crawl.frontier.outputs import url_refused
from streams.crawl.frontier.scheduling.ordering import strangers_budget
from streams.crawl.frontier.scheduling.purposes import PURPOSES, purpose_of
from streams.crawl.frontier.scheduling.recrawl import begin_visit, waits_for_visit
from streams.crawl.frontier.state import FrontierState
from streams.crawl.frontier.visits.host_files import (
    content_signal,
    emit_host_file,
    has_robots_rules,
    is_reserved,
    schedule_due_file,
    schedule_host_file,
)
from streams.stores.protocols import FrontierUrl

STEPS_PER_VISIT = 64
"""Maximum number of queue entries in one visit. Then the host's lock is released, so that its events wait briefly."""


async def visit(frontier: FrontierState, name: str, partition: int, in_flight: int) -> None:
    """Visit a host: do all that is due for it."""
    hosts = frontier.hosts
    async with hosts.lock(name, partition) as live:
        await _follow_order(frontier, live)
        await _send_again(frontier, live)
        await _expire_leases(frontier, live)
        await _note_rank(frontier, live)
        for _ in range(STEPS_PER_VISIT):
            if not _may_request(frontier, live, in_flight) or not await _handle_first_entry(frontier, live):
                break
        if hosts.is_stored_early(live) or (live.has_ended_lease and not live.is_written_soon(frontier.now())):
            await hosts.persist(live)  # nothing waits any more, or not for long, or the next entry was passed over
        if live.rows and not live.rows.waiting:
            await hosts.write(live)
        await hosts.trim(live)


async def _follow_order(frontier: FrontierState, live: LiveHost) -> None:
    """Follow the operator's order for the host. A blocked or paused host keeps its queue, and is asked for nothing."""
    order = await frontier.orders.of(live.name)
    live.host.order = order
    if order.blocked or order.paused:
        live.host.next_at = max(live.host.next_at, frontier.now() + BLOCKED_MICROS)


async def _note_rank(frontier: FrontierState, live: LiveHost) -> None:
    """Note the host's rank by links. The next write of the host makes it durable."""
    record = live.host.record
    if (rank := await frontier.ranks.of(live.name)) != record.rank:
        live.host.record = replace(record, rank=rank)


def _may_request(frontier: FrontierState, live: LiveHost, in_flight: int) -> bool:
    host, hosts = live.host, frontier.hosts
    return (
        hosts.may_schedule(live.partition)
        and host.next_at <= frontier.now()
        and not host.leases
        and hosts.leased - live.leased < in_flight
    )


async def _handle_first_entry(frontier: FrontierState, live: LiveHost) -> bool:
    """Handle the first entry of the queue. Return False if no entry can be handled now."""
    hosts, now = frontier.hosts, frontier.now()
    await hosts.fill(live)
    entry = live.head.first()
    if entry is None or entry.position > now:
        return False
    if live.host.robots_due(frontier.policy, now):
        await schedule_host_file(frontier, live, "robots")
        return False
    if closed := live.host.closed_for(now):
        live.host.next_at = now + closed
        return False
    if await schedule_due_file(frontier, live):
        return False
    url = await hosts.first_url(live, entry)
    if url is None or url.position != entry.position or live.host.is_leased(url.page_id):
        hosts.take(live)  # a stale entry
    elif waits_for_visit(url):
        await _begin_visit(frontier, live, url)
    elif url.state == "done":
        await _announce_end(frontier, url)  # again, after a crash
        hosts.take(live)
    elif not await has_robots_rules(frontier, live):
        return False
    elif end := await _end_reason(frontier, live, url):
        await _end_url(frontier, live, url, *end)
    else:
        await _schedule(frontier, live, url)
    return True


async def _begin_visit(frontier: FrontierState, live: LiveHost, url: FrontierUrl) -> None:
    """Queue a done URL for its next visit, at the place that it has. The next step schedules it."""
    if not frontier.policy.recrawl:
        frontier.hosts.take(live)
        return
    frontier.hosts.put_url(live, begin_visit(url, frontier.now()))


async def _end_reason(frontier: FrontierState, live: LiveHost, url: FrontierUrl) -> tuple[str, str] | None:
    """Return outcome and reason of a URL that may not be fetched, or None. Further visits cost no budget."""
    known = live.host.robots
    if url.at < live.host.order.purged_at and not url.attempt:
        return "over_budget", "an operator dropped the host's queue"
    if url.crawl_id and not url.revisit and await frontier.cancelled.has(url.crawl_id):
        return "over_budget", WHY
    if not url.attempt and _costs_budget(url) and (reason := await _spent_budget(frontier, live, url)):
        return "over_budget", f"{reason} were fetched in this crawl, and no more are wanted"
    if known.ref and not (await frontier.robots.get(known.ref)).allowed(url.url):
        return disallowed_outcome(url.host)
    return None


def _costs_budget(url: FrontierUrl) -> bool:
    return PURPOSES[purpose_of(url)].costs_budget and not url.revisit


async def _spent_budget(frontier: FrontierState, live: LiveHost, url: FrontierUrl) -> str:
    """Return what the crawl has spent of the host's budget, if the URL has no part in the rest; or ""."""
    limit = live.host.page_limit(url.max_pages, frontier.policy)
    share = await frontier.hosts.find_share(live, url.crawl_id)
    if share and share.scheduled >= limit:
        return f"{limit} pages of this host"
    if share and url.stranger and share.strangers >= strangers_budget(limit):
        return f"{share.strangers} pages of this host that only other sites led to"
    return ""


def disallowed_outcome(host: str) -> tuple[str, str]:
    """Return outcome and reason of a URL that the host's robots.txt disallows."""
    return "disallowed", f"robots.txt of {host} disallows it"


async def _end_url(frontier: FrontierState, live: LiveHost, url: FrontierUrl, outcome: str, detail: str) -> None:
    """End a URL without a fetch. The cursor is written later, so a crash repeats the event."""
    ended = decisions.end_url(url, outcome, detail, frontier.now())
    planned = frontier.plan_visit(ended, live.host)
    frontier.urls.mark([ended], live)
    if planned.next_visit:
        await _announce_end(frontier, ended)  # first: the row leads nobody to the event any more
        await frontier.urls.write([planned], live)
        await frontier.hosts.write(live)
    else:
        frontier.hosts.put_url(live, ended)
        await frontier.hosts.write(live)
        await _announce_end(frontier, ended)
    if outcome == "disallowed":  # its aliases may be allowed
        await frontier.held.release_for(url.host, url.page_id)
    frontier.hosts.take(live)
    live.listed_due = live.listed_due or 0


async def _announce_end(frontier: FrontierState, url: FrontierUrl) -> None:
    if decisions.emits_removal(url):
        await frontier.emit(url_refused(url), f"{url.page_id}/{url.at}")


async def _schedule(frontier: FrontierState, live: LiveHost, url: FrontierUrl) -> None:
    now, host = frontier.now(), live.host
    lease = decisions.lease_of(url, frontier.policy, now)
    frontier.hosts.take(live)
    host.leases[lease.lease_id] = lease
    host.next_at = now + host.delay(frontier.policy, frontier.random())
    if lease.attempt == 1 and _costs_budget(url):
        share = await frontier.hosts.share(live, url.crawl_id)
        share.count(1, stranger=bool(url.stranger))
    await frontier.hosts.persist(live)
    await _emit_page(frontier, live, url, lease)


async def _emit_page(frontier: FrontierState, live: LiveHost, url: FrontierUrl, lease: Lease) -> None:
    region = frontier.policy.regions.of(url.host)
    delay = live.host.delay_seconds(frontier.policy)
    signal = await content_signal(frontier, live.host.robots, url.url)
    reserved = await is_reserved(frontier, live, url.url)
    not_found = live.host.not_found.ref if lease.purpose == "page" else None
    scheduled = outputs.page_scheduled(
        url, lease, region, delay, signal, tdm_reserved=reserved, not_found_ref=not_found
    )
    await frontier.emit(scheduled, str(lease.lease_id))


async def _send_again(frontier: FrontierState, live: LiveHost) -> None:
    """Send the events of leases that a former worker may have stored and not sent. Fetchers know answered leases."""
    for lease_id in sorted(live.unsent):
        lease = live.host.leases[lease_id]
        if lease.until > frontier.now():
            if lease.is_of_host:
                await emit_host_file(frontier, live.host, lease)
            else:
                url = await frontier.hosts.url(live, lease.page_id)
                if url and decisions.awaits_answer(lease_id, url):
                    await _emit_page(frontier, live, url, lease)
                elif url and url.state == "done" and not decisions.is_trouble(url.outcome):
                    _drop_answered(frontier, live, lease)
        live.unsent.discard(lease_id)


def _drop_answered(frontier: FrontierState, live: LiveHost, lease: Lease) -> None:
    """End a lease whose answer a former worker took. When the answer came is unknown, so the delay begins now."""
    del live.host.leases[lease.lease_id]
    live.has_ended_lease = True
    pause = live.host.delay(frontier.policy, frontier.random())
    live.host.next_at = max(live.host.next_at, frontier.now() + pause)


async def _expire_leases(frontier: FrontierState, live: LiveHost) -> None:
    """End expired leases, so that their pages can be fetched again."""
    now = frontier.now()
    expired = [lease for lease in live.host.leases.values() if lease.until <= now]
    for lease in expired:
        await end_unanswered(frontier, live, lease)
    if expired:
        frontier.counts.leases_expired += len(expired)
        await frontier.hosts.fill(live)
        await frontier.hosts.persist(live)


async def end_unanswered(frontier: FrontierState, live: LiveHost, lease: Lease) -> None:
    """End a lease without a request, in memory, and queue its page again."""
    url = None if lease.is_of_host else await frontier.hosts.url(live, lease.page_id)
    if url and decisions.awaits_answer(lease.lease_id, url):
        now = frontier.now()
        await frontier.urls.requeue(decisions.expire_lease(url, lease, live.host.position(now), now), live)
        if lease.attempt == 1 and _costs_budget(url):
            share = await frontier.hosts.share(live, url.crawl_id)
            share.count(-1, stranger=bool(url.stranger))
    del live.host.leases[lease.lease_id]
    live.unsent.discard(lease.lease_id)
