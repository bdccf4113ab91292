"""Intake of the answer to a file of a host: its robots.txt, its reservations of rights, or its page for no page."""

from collections.abc import Sequence
from dataclasses import replace

from schemas import Event, PageFetched
from streams.crawl import robots
from streams.crawl.frontier import outputs
from streams.crawl.frontier.hosts import host_answers
from streams.crawl.frontier.hosts.host_state import HostFile, Robots
from streams.crawl.frontier.intake.fetched import end_lease, take_unrequested
from streams.crawl.frontier.state import FrontierState


async def take_robots_answer(frontier: FrontierState, event: PageFetched, partition: int) -> Sequence[Event]:
    """Apply the answer to the host, and return `origins.changed` if the answer is the newest."""
    if event.lease_expired or event.postponed_seconds is not None:
        await take_unrequested(frontier, event, partition)
        return []
    async with frontier.hosts.lock(event.host, partition) as live:
        lease = live.host.leases.get(event.lease_id) if event.lease_id else None
        if lease and (file := live.host.files.get(lease.purpose)):
            _apply_file(file, event)
            end_lease(frontier, live, event)
            await frontier.hosts.persist(live)
            return []
        if lease:
            was_deferred = live.host.is_deferred
            live.host.robots = await _apply_answer(frontier, event, live.host.robots)
            end_lease(frontier, live, event)
            if live.host.is_deferred:
                host_answers.defer(live.host, frontier.now(), frontier.random())
            if was_deferred != live.host.is_deferred:
                await frontier.urls.mark_queue(live)
            await frontier.hosts.persist(live)
        newest = live.host.robots.fetched_at == event.generation
        return [outputs.origin_changed(live.host)] if newest else []


def _apply_file(file: HostFile, event: PageFetched) -> None:
    """Note what the answer says about a file. A failure that may pass keeps the last content."""
    kept = file.ref if event.retryable else None
    file.note(event.body_ref if event.outcome == "ok" else kept, event.generation)


async def _apply_answer(frontier: FrontierState, event: PageFetched, before: Robots) -> Robots:
    match robots.robots_access(event.outcome, before.redirects):
        case "rules" if event.body_ref:
            rules = await frontier.robots.get(event.body_ref)
            return Robots("rules", event.body_ref, event.generation, rules.delay_seconds, windows=rules.windows)
        case "redirect" if event.redirect_to:
            target, redirects = event.redirect_to, before.redirects + 1
            return replace(before, url=target, redirects=redirects, fetched_at=0, status="unknown")
        case "unreachable":
            detail, final = event.error or event.outcome, not event.retryable
            return host_answers.apply_robots_failure(before, event.generation, detail, frontier.policy, final=final)
    return Robots("allowed", fetched_at=event.generation)
