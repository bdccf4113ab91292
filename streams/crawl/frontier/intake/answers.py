"""Intake of answers: to the fetch of a page or of a file of its host; and of settled pages.

An imported page comes as an answer, too. A file of a host is its robots.txt, its reservations of rights, or its page
for no page. A page is settled when the later stages are done with its content.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from schemas import Event, PageFetched, PageSettled
from schemas.envelope import utc_from_micros
from streams.allowed_origins import AllowedOrigins
from streams.crawl.fetch.outcomes import retry_after_seconds
from streams.crawl.frontier import decisions, outputs
from streams.crawl.frontier.hosts.host_state import Host, HostFile
from streams.crawl.frontier.hosts.live_host import LiveHost
from streams.crawl.frontier.hosts.robots_state import Robots, RobotsAnswer, robots_after
from streams.crawl.frontier.hosts.unwritten import will_be_settled
from streams.crawl.frontier.policy import JITTER, SECOND, Policy, backoff_micros, deferral_micros
from streams.crawl.frontier.scheduling.change_hints import MAX_SITEMAPS
from streams.crawl.frontier.scheduling.ordering import speaker_of
from streams.crawl.frontier.scheduling.recrawl import SIGN_IN
from streams.crawl.frontier.state import FrontierState
from streams.crawl.frontier.visits.host_visit import end_unanswered
from streams.crawl.scope import CrawlScope
from streams.crawl.urls import InvalidUrl, host_of, resolve
from streams.errors import MissingBlob
from streams.stores.protocols import FrontierUrl

MAX_SPEAKERS = 8
"""Maximum folders and sitemaps on other hosts that speak for a host."""
MAX_SPEAKER_CHARS = 200
EXHAUSTED_SECONDS = 60.0
"""Time that a host waits after a page that used up the time or memory of its reading process (seconds). Such pages
cost several CPU seconds each: at one a second, a host would keep several cores busy."""


async def take_fetched(frontier: FrontierState, event: PageFetched, partition: int) -> Sequence[Event]:
    """Apply an answer to its URL, end its lease, and return the events that follow."""
    if event.lease_expired or event.postponed_seconds is not None:
        await _take_unrequested(frontier, event, partition)
        return []
    async with frontier.hosts.lock_for_event(event.host, partition) as live:
        now = frontier.now()
        url = await frontier.hosts.url(live, event.page_id) or decisions.url_of_import(event, now)
        position = live.host.position(now + backoff_micros(event.attempt, frontier.random()))
        lease = live.host.leases.get(event.lease_id) if event.lease_id else None
        is_repeated = False
        silent = decisions.awaits_answer(event.lease_id, url) and decisions.is_silent(live.host, event, frontier.policy)
        if lease and silent:
            live.host.robots = Robots()
            later = decisions.expire_lease(url, lease, position, now)
        else:
            later = decisions.apply_fetch(url, event, position, frontier.policy, now)
            is_repeated = later is url
            later = frontier.plan_visit(later, live.host)
        ended = _end_lease(frontier, live, event)
        applied = bool(lease and silent) or later.generation == event.generation
        sitemaps = await _sitemaps(frontier, live, event, later, is_repeated=is_repeated) if applied else None
        if applied:
            at_once = ended and not _may_write_later(frontier, live, event, later)
            await frontier.urls.write([later], live, persist=at_once)
        elif ended:
            await frontier.hosts.persist(live)
        if event.redirect_to or sitemaps:
            await frontier.hosts.write(live)  # the events that follow do not wait
        if sitemaps is not None:
            await _note_asked(frontier, live, later.crawl_id)
    if decisions.is_unanswered(later):
        frontier.seen.discard(later.crawl_id, later.page_id)
    else:
        frontier.seen.put(later.crawl_id, later.page_id)
    if later.state == "done" and later.outcome not in ("ok", "not_modified", "removed"):
        await frontier.held.release_for(later.host, later.page_id)
    if not applied:
        return []
    named = (outputs.sitemap_discovered(target, later) for target in sitemaps or ())
    return [*outputs.fetch_outputs(event, later), *named]


def _may_write_later(frontier: FrontierState, live: LiveHost, event: PageFetched, url: FrontierUrl) -> bool:
    """Return whether the host may be written with its next lease, or when its page is settled.

    Until then the stored row has the ended lease. After a crash the next owner drops it (`host_visit`). Trouble, and
    time that a server asks for, are written at once.
    """
    live.has_ended_lease, now = True, frontier.now()
    if "retry-after" in event.headers or live.host.failures:
        return False
    return live.is_written_soon(now) or (will_be_settled(url) and frontier.hosts.gathering.may_gather(live, now))


async def _sitemaps(
    frontier: FrontierState, live: LiveHost, event: PageFetched, url: FrontierUrl, *, is_repeated: bool
) -> list[str] | None:
    """Return the sitemaps that robots.txt names if the page asks for them, else None.

    The first page of the crawl that this host answered asks, and each seed. A redelivery asks again, since a crash may
    have lost the events of the first delivery: the sitemaps that are known by then are skipped.
    """
    policy, known = frontier.policy, live.host.robots
    is_first_visit = is_repeated or not url.revisit  # the next visit may have begun before the redelivery
    is_page = url.outcome == "ok" and url.purpose == "page" and is_first_visit and event.source == "crawl"
    is_deeper = CrawlScope.of(url).includes(url.depth + 1) and url.depth < policy.max_depth
    if not (is_page and is_deeper and policy.sitemaps and known.ref):
        return None
    share = await frontier.hosts.find_share(live, url.crawl_id)
    if share and share.has_asked and url.depth and not is_repeated:
        return None
    try:
        rules = await frontier.robots.get(known.ref)
    except MissingBlob:  # the file is fetched again before the next page
        return None
    is_of_seed = not url.depth or (share is not None and share.seeded)
    return _own_sitemaps(rules.sitemaps, url, policy.origins)[: None if is_of_seed else MAX_SITEMAPS]


def _own_sitemaps(named: Iterable[str], url: FrontierUrl | PageFetched, origins: AllowedOrigins) -> list[str]:
    """Return the canonical URLs of the sitemaps that the robots.txt of a URL's host names, also on other hosts."""
    found: dict[str, None] = {}
    for one in named:
        with suppress(InvalidUrl):
            found[origins.place(resolve(resolve(url.url, "/robots.txt"), one))] = None
    return list(found)


async def _note_asked(frontier: FrontierState, live: LiveHost, crawl_id: str) -> None:
    """Note that the crawl asked for the host's sitemaps, after the page is written: until then a redelivery asks.

    The next write of the host makes it durable.
    """
    share = await frontier.hosts.share(live, crawl_id)
    if not share.has_asked:
        share.has_asked = True
        live.is_changed = True


async def _take_unrequested(frontier: FrontierState, event: PageFetched, partition: int) -> None:
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
            await frontier.hosts.persist(live)


def _end_lease(frontier: FrontierState, live: LiveHost, event: PageFetched) -> bool:
    """End the answered lease and set the host's pace. Return whether the lease was still there."""
    lease = live.host.leases.pop(event.lease_id, None) if event.lease_id else None
    if lease is None:
        return False
    live.unsent.discard(lease.lease_id)
    now = frontier.now()
    retry_after = retry_after_seconds(event.headers.get("retry-after"), utc_from_micros(now))
    _update_pace(live.host, event, frontier.policy, now, frontier.random(), retry_after)
    return True


async def take_host_file(frontier: FrontierState, event: PageFetched, partition: int) -> Sequence[Event]:
    """Apply the answer to the host, and return `origins.changed` if the answer is the newest."""
    if event.lease_expired or event.postponed_seconds is not None:
        await _take_unrequested(frontier, event, partition)
        return []
    async with frontier.hosts.lock(event.host, partition) as live:
        lease = live.host.leases.get(event.lease_id) if event.lease_id else None
        if lease and (file := live.host.files.get(lease.purpose)):
            _apply_file(file, event)
            _end_lease(frontier, live, event)
            live.has_ended_lease = True
            if "retry-after" in event.headers or not live.is_written_soon(frontier.now()):
                await frontier.hosts.persist(live)
            return []
        if lease:
            was_deferred = live.host.is_deferred
            live.host.robots = await _apply_answer(frontier, event, live.host.robots)
            _end_lease(frontier, live, event)
            if live.host.is_deferred:
                wait = deferral_micros(live.host.robots.outages, frontier.random())
                live.host.next_at = max(live.host.next_at, frontier.now() + wait)  # its queue stays as it is
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
    answer = RobotsAnswer(
        outcome=event.outcome,
        at=event.generation,
        detail=event.error or event.outcome,
        redirect_to=event.redirect_to,
        ref=event.body_ref,
    )
    rules = await frontier.robots.get(event.body_ref) if event.body_ref else None
    after = robots_after(before, answer, rules, frontier.policy.max_attempts)
    if rules is None or after.status != "rules":
        return after
    named = _own_sitemaps(rules.sitemaps, event, frontier.policy.origins)
    return replace(after, speakers=_speakers(named, event.host))


def _speakers(sitemaps: Iterable[str], host: str) -> tuple[str, ...]:
    """Return what speaks for the host (`speaker_of`), by its sitemaps that are on other hosts."""
    others = (speaker_of(url) for url in sitemaps if host_of(url) != host)
    return tuple(one for one in dict.fromkeys(others) if len(one) <= MAX_SPEAKER_CHARS)[:MAX_SPEAKERS]


async def take_settled(frontier: FrontierState, event: PageSettled, partition: int) -> None:
    """Note that the page is settled, and test the host's alias rules with dedup's new evidence.

    Both happen under the host's lock, so that no URL is held by outdated rules meanwhile. The event may come before the
    answer itself, since both are on their way at once.
    """
    async with frontier.hosts.lock_for_event(event.host, partition) as live:
        await _write_settled(frontier, event, live)
        rules = await frontier.aliases.rules_for(event.host, fresh=True)
        if rules.believed:
            await frontier.held.release_probes(event.host, event.page_id, rules.is_probe)


async def _write_settled(frontier: FrontierState, event: PageSettled, live: LiveHost) -> None:
    url = await frontier.hosts.url(live, event.page_id) or decisions.url_of_settled(event)
    live.is_changed = True
    if event.purpose == "page" and not url.settled_generation:
        if url.stranger:  # anybody can lead to copies of a page: they say nothing about the site
            live.host.count_settled_of_stranger()
        else:
            live.host.count_settled(is_unique=event.verdict in ("changed", "unchanged"), quality=event.quality)
    if url.settled_generation < event.generation:
        verdict = SIGN_IN if event.in_place == "sign_in" else event.verdict
        at = decisions.next_version(url, frontier.now())
        url = replace(url, at=at, settled_generation=event.generation, verdict=verdict)
        # Refused: such as a page that asks not to be indexed. What came in place of the content has other validators.
        if url.verdict in ("refused", "soft_404") or event.in_place:
            url = decisions.without_validators(url)
        if event.exhausting:
            live.host.next_at = max(live.host.next_at, frontier.now() + round(EXHAUSTED_SECONDS * SECOND))
    if url.settled_generation == event.generation:
        url = frontier.plan_visit(url, live.host)
        if url.next_visit:
            await frontier.urls.write([url], live)
        else:
            frontier.urls.write_settled([url], live)


def _update_pace(host: Host, event: PageFetched, policy: Policy, now: int, random: float, retry_after: float) -> None:
    """Set when the host may be asked again: after its delay, the time that it asks for, or a backoff in trouble.

    A server may ask for time with any answer, as with a redirect (RFC 9110, section 10.2.3).
    """
    host.failures = host.failures + 1 if decisions.slows_host(event.outcome, event.purpose) else 0
    wait = max(host.delay(policy, random), round(retry_after * SECOND))
    if host.failures:
        wait = max(wait, backoff_micros(host.failures, random))
    host.next_at = max(host.next_at, now + wait)
