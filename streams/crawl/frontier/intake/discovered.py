"""Intake of discovered URLs. Their path: known already? -> lock their host -> decide on each -> write all together.

Only `_decide` decides on a URL: it is repeated, skipped, refused, held as an alias,
queued, or visited earlier.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from schemas import Event, PageDiscovered, PageRemoved
from schemas.ids import page_id as page_id_of
from streams.allowed_origins import NO_ORIGINS, Origins
from streams.crawl.domains import owner_of
from streams.crawl.frontier import decisions, outputs
from streams.crawl.frontier.hosts.host_state import CrawlShare
from streams.crawl.frontier.hosts.live_host import LiveHost
from streams.crawl.frontier.intake.url_batch import UrlBatch
from streams.crawl.frontier.outputs import url_refused
from streams.crawl.frontier.policy import SECOND
from streams.crawl.frontier.scheduling.change_hints import MAX_FEEDS, MAX_SITEMAPS
from streams.crawl.frontier.scheduling.ordering import as_of_finder, finder_of
from streams.crawl.frontier.scheduling.recrawl import hurry_visit, is_news, waits_for_visit
from streams.crawl.frontier.state import FrontierState
from streams.crawl.frontier.url_aliases import AliasTarget, alias_target, may_be_alias, may_replace
from streams.crawl.frontier.visits.host_visit import disallowed_outcome
from streams.crawl.scope import CrawlScope
from streams.crawl.urls import InvalidUrl, canonicalize, host_of
from streams.errors import MissingBlob, PoisonError
from streams.runtime.agent import Delivery
from streams.stores.protocols import FrontierUrl, QueueEntry
from streams.topology import is_urgent_topic

OF_OTHERS_ARE_READ = f"{MAX_SITEMAPS} sitemaps and feeds of a host are read if other hosts name them"


@dataclass(frozen=True, slots=True)
class Repeat:
    """A redelivery of the event that queued the URL. The first delivery may have been cut short."""

    url: FrontierUrl


@dataclass(frozen=True, slots=True)
class Skip:
    """The URL is not fetched because of the event."""

    reason: str
    known: FrontierUrl | None


@dataclass(frozen=True, slots=True)
class Refuse:
    """The host's known robots.txt disallows the URL. It ends without a place in the queue.

    A new one has only its state in the crawl. A site may forbid more URLs than it has pages, and why no crawl follows a
    link to such a URL is read from the host's robots.txt (`why_disallowed`).
    """

    known: FrontierUrl | None


@dataclass(frozen=True, slots=True)
class Hold:
    """The URL is an alias. Its target is queued instead, if it is unknown."""

    target: AliasTarget
    known_target: FrontierUrl | None


@dataclass(frozen=True, slots=True)
class Queue:
    """The URL is to be fetched."""

    known: FrontierUrl | None


@dataclass(frozen=True, slots=True)
class Hurry:
    """A sitemap tells of a change: the next visit of the page comes at once."""

    known: FrontierUrl
    modified: int


Decision = Hurry | Repeat | Skip | Refuse | Hold | Queue


async def take_discovered(frontier: FrontierState, event: PageDiscovered, delivery: Delivery) -> Sequence[Event]:
    """Decide on the discovered URLs, store the decisions, and return the events that follow."""
    cause = str(delivery.envelope.id)
    news = [one for one in event.each() if not _is_seen(frontier, one)]
    for one in news:
        require_canonical(one, frontier.policy.origins)
    news = [one for one in news if not await frontier.aliases.is_held(one, cause)]
    if not news:
        return []
    async with frontier.hosts.lock_for_event(event.host, delivery.partition) as live:
        batch = UrlBatch(frontier, live, cause, delivery.at, is_urgent_topic(delivery.topic))
        batch.finder = finder_of(event, live.host.robots.speakers, frontier.policy.origins)
        if batch.is_of_stranger:
            batch.finder_rank = await frontier.ranks.of(batch.finder)
        await batch.read([one.page_id for one in news])
        outputs_: list[Event] = []
        for one in (as_of_finder(each, batch.finder) for each in news):
            await _note_seed(frontier, one, live)
            outputs_ += await _carry_out(batch, await _decide(batch, one), one)
        if batch.writes or batch.refused or batch.is_trapped:
            refused = {event.crawl_id: batch.refused}
            await frontier.urls.write(list(batch.writes.values()), live, persist=batch.is_trapped, refused=refused)
            if batch.is_urgent:
                if live.host.is_deferred:  # a person asks, so its robots.txt is tried now
                    live.host.next_at = min(live.host.next_at, frontier.now())
                frontier.hosts.due.hurry(live.name, batch.queued())
                await frontier.hosts.write(live)  # a person waits
    for page_id in batch.seen:
        frontier.seen.put(event.crawl_id, page_id)
    return outputs_


def _is_seen(frontier: FrontierState, event: PageDiscovered) -> bool:
    must_be_read = event.force or decisions.is_seed(event) or any(event.modified) or event.purpose != "page"
    return not must_be_read and frontier.seen.get(event.crawl_id, event.page_id) is not None


def require_canonical(event: PageDiscovered, allowed: Origins = NO_ORIGINS) -> None:
    """Raise PoisonError unless URL, host and page id agree.

    A producer that skips the URL rules would make two pages of one page, or send a host's events to another partition.
    """
    try:
        canonical = canonicalize(event.url, allowed)
    except InvalidUrl as error:
        raise PoisonError(f"discovered {event.url[:200]!r}: {error}") from None
    if (canonical, host_of(canonical), page_id_of(canonical)) != (event.url, event.host, event.page_id):
        raise PoisonError(f"discovered {event.url[:200]!r} is not canonical, or its host or page id is of another URL")


async def _note_seed(frontier: FrontierState, event: PageDiscovered, live: LiveHost) -> None:
    share = await frontier.hosts.share(live, event.crawl_id) if decisions.opens_host(event) else None
    if share and not share.seeded:
        share.seeded = True
        live.must_be_written = True


async def _decide(batch: UrlBatch, event: PageDiscovered) -> Decision:
    frontier, live = batch.frontier, batch.live
    known = await batch.row(event.page_id, event.host)
    if known and known.cause == batch.cause:
        return Repeat(known)
    if known and _is_hint(batch, event, known):
        return Hurry(known, event.modified[0])
    share = await frontier.hosts.find_share(live, event.crawl_id) or CrawlShare()
    limit = live.host.page_limit(event.max_pages, frontier.policy)
    queued = live.host.queued
    policy, now = frontier.policy, frontier.now()
    if reason := decisions.reason_to_skip(event, share, known, policy, now, limit, queued, finder=batch.finder):
        return Skip(reason, known)
    if reason := _reason_against_source(batch, event, known, is_seeded=share.seeded):
        return Skip(reason, known)
    if known is None and (trap := live.host.traps.find(event, now // SECOND, batch.finder)):
        batch.is_trapped = True
        return Skip(trap, None)
    may_wait = known is None and may_be_alias(event)
    target = alias_target(event, await batch.alias_rules()) if may_wait else None
    if target is not None:
        known_target = await batch.row(target.page_id, target.host)
        if may_replace(event, target, known_target):
            return Hold(target, known_target)
    if await _is_disallowed(frontier, event, live):
        return Refuse(known)
    return Queue(known) if batch.may_begin_host(event) else Skip(f"{owner_of(event.host)} has enough new hosts", None)


def _is_hint(batch: UrlBatch, event: PageDiscovered, known: FrontierUrl) -> bool:
    """Return whether a sitemap tells of a change of a known page, and the host's hints count. The record notes it."""
    now = batch.frontier.now()
    is_new = event.why == "sitemap" and any(event.modified) and is_news(known, event.modified[0], now)
    batch.live.is_changed = batch.live.is_changed or is_new
    return is_new and batch.live.host.hints.take(known.page_id.int, now // SECOND)


def _reason_against_source(
    batch: UrlBatch, event: PageDiscovered, known: FrontierUrl | None, *, is_seeded: bool
) -> str | None:
    """Return why a feed or sitemap is not read, or a new page that a sitemap names is not taken. All are counted."""
    frontier, hints = batch.frontier, batch.live.host.hints
    is_counted = known is not None and known.purpose == "sitemap"
    if event.purpose == "sitemap" and event.why == "link":
        if not frontier.policy.sitemaps or batch.is_of_stranger:
            return "feeds of pages are not read, or only if their own site names them"
        batch.live.is_changed = True
        if batch.finder:
            return None if is_counted or hints.take_of_other() else OF_OTHERS_ARE_READ
        return None if is_counted or hints.take_feed() else f"the host has {MAX_FEEDS} feeds"
    is_only_linked = bool(CrawlScope.of(event).asked_at) and not is_seeded
    if event.purpose == "sitemap" and batch.finder:
        batch.live.is_changed = True
        if not (is_counted or hints.take_of_other()):
            return OF_OTHERS_ARE_READ
    elif event.purpose == "sitemap" and is_only_linked:
        batch.live.is_changed = True
        if not (is_counted or hints.take_sitemap()):
            return f"{MAX_SITEMAPS} sitemaps of a host are read if only links lead to it"
    if known is None and event.why == "sitemap" and event.purpose == "page" and event.max_pages is None:
        batch.live.is_changed = True
        limit = frontier.policy.sitemap_pages
        if not hints.take_new_page(frontier.now() // SECOND, limit):
            return f"{limit} new pages of the host's sitemaps were taken today"
    return None


async def _is_disallowed(frontier: FrontierState, event: PageDiscovered, live: LiveHost) -> bool:
    """Return whether the host's robots.txt disallows the URL. False if the file is unknown or due to be fetched."""
    robots = live.host.robots
    if event.force or not robots.ref or live.host.robots_due(frontier.policy, frontier.now()):
        return False
    try:
        return not (await frontier.robots.get(robots.ref)).allowed(event.url)
    except MissingBlob:
        return False


async def _carry_out(batch: UrlBatch, decision: Decision, event: PageDiscovered) -> Sequence[Event]:
    match decision:
        case Repeat(url):
            batch.write(_with_place(batch, url, event))
            return _removal_events(url)
        case Hurry(known, modified):
            host, now = batch.live.host, batch.frontier.now()
            batch.write(hurry_visit(known, modified, batch.cause, host.position(now), now))
            return []
        case Skip():
            return await _skip(batch, decision, event)
        case Refuse(known):
            _count(batch, event, known)
            return await _refuse(batch, event, known)
        case Hold():
            _count(batch, event, None)
            return await _hold(batch, decision, event)
        case Queue(known):
            if await _queue(batch, event, known):
                batch.note_place(event)
                _count(batch, event, known)
                _note_front(batch, event, known)
            return []


def _count(batch: UrlBatch, event: PageDiscovered, known: FrontierUrl | None) -> None:
    """Let the traps of the host count a URL that is taken for the first time."""
    if known is None and batch.live.host.traps.count(event, batch.finder):
        batch.live.is_changed = True


def _note_front(batch: UrlBatch, event: PageDiscovered, known: FrontierUrl | None) -> None:
    """Note that a further visit of a page of the host led to a new page. Only a page that is in memory counts."""
    if known is None and event.why == "link" and event.purpose == "page" and event.referrer:
        front = batch.live.urls.get(page_id_of(event.referrer))
        if front and front.revisit:
            batch.live.host.visits.note_new_page(front.page_id, front.generation)
            batch.live.is_changed = True


def _with_place(batch: UrlBatch, url: FrontierUrl, event: PageDiscovered) -> FrontierUrl:
    """Return the URL with a new place in the queue if the host passed its place.

    The first delivery wrote the URL and ended before the queue had it. Then the host went on with other URLs.
    """
    host, entry = batch.live.host, QueueEntry(url.position, url.page_id)
    is_passed = host.cursor is not None and entry <= host.cursor
    is_hurried = url.is_hinted and waits_for_visit(url)
    if not (url.state == "queued" or is_hurried) or not is_passed or host.is_leased(url.page_id):
        return url
    now = batch.frontier.now()
    if is_hurried:
        return hurry_visit(url, url.hinted_at, url.cause, host.position(now), now)
    position = batch.position(event) or host.position(now)
    return replace(url, position=position, at=decisions.next_version(url, now))


async def _skip(batch: UrlBatch, decision: Skip, event: PageDiscovered) -> Sequence[Event]:
    """Skip a link without a trace, or mark a seed in its crawl and return the reason as an event."""
    frontier, known = batch.frontier, decision.known
    if (batch.live.must_be_written or batch.live.listed_due is None) and decisions.is_seed(event):
        await frontier.hosts.persist(batch.live)
    if known and not decisions.is_unanswered(known) and not decisions.may_be_promoted(known):
        batch.seen.append(event.page_id)
    if not decisions.is_seed(event) or not event.crawl_id or (known and known.crawl_id == event.crawl_id):
        return []
    frontier.urls.mark_in(event.crawl_id, event.page_id, "seen" if known else "refused", batch.live)
    return [] if known else [outputs.seed_removal(event, batch.at, decision.reason)]


async def _refuse(batch: UrlBatch, event: PageDiscovered, known: FrontierUrl | None) -> Sequence[Event]:
    """End a URL that robots.txt disallows, without a place in the queue."""
    batch.seen.append(event.page_id)
    if known is None and not decisions.is_seed(event):
        batch.refused.append(event.page_id)
        return []
    frontier = batch.frontier
    now = frontier.now()
    queued = decisions.queue_url(event, known, batch.cause, 0, now, finder=batch.finder)
    ended = decisions.end_url(queued, *disallowed_outcome(event.host), now)
    await _leave_other_crawl(batch, event, known)
    batch.write(ended)
    return _removal_events(ended)


def _removal_events(url: FrontierUrl) -> Sequence[Event]:
    return [url_refused(url)] if url.state == "done" and decisions.emits_removal(url) else []


async def _hold(batch: UrlBatch, decision: Hold, event: PageDiscovered) -> Sequence[Event]:
    target, known = decision.target, decision.known_target
    held = batch.frontier.held
    await held.hold(event, target.host, target.page_id, target.rules.believed, batch.cause, batch.at)
    if known is None:
        await _queue(batch, event.model_copy(update={"url": target.url, "page_id": target.page_id}), None)
    elif known.cause == batch.cause:
        batch.write(known)
    batch.seen.append(target.page_id)
    return [_alias_removal(event, target, batch.at)]


async def _queue(batch: UrlBatch, event: PageDiscovered, known: FrontierUrl | None) -> bool:
    """Queue the URL. Returns False if there is no place for it."""
    live = batch.live
    leased = known if known and live.host.is_leased(known.page_id) else None
    position = leased.position if leased else batch.position(event, known)
    if position is None:
        return False  # no trace of the URL: it is discovered again, by its own site or when fewer wait
    url = decisions.queue_url(event, known, batch.cause, position, batch.frontier.now(), finder=batch.finder)
    if leased:
        url = replace(url, attempt=leased.attempt)  # the answer to the lease counts for this event, too
    await _leave_other_crawl(batch, event, known)
    batch.write(url)
    if not url.stranger:  # else its own site may lead to it, too
        batch.seen.append(event.page_id)
    return True


async def _leave_other_crawl(batch: UrlBatch, event: PageDiscovered, known: FrontierUrl | None) -> None:
    """Mark a URL that still waited in another crawl as seen in that crawl."""
    if known and known.state == "queued" and known.crawl_id != event.crawl_id:
        batch.frontier.urls.mark_in(known.crawl_id, known.page_id, "seen", batch.live)


def _alias_removal(event: PageDiscovered, target: AliasTarget, generation: int) -> PageRemoved:
    rules = ", ".join(target.applied)
    return PageRemoved.following(
        event,
        generation=generation,
        reason="duplicate",
        canonical_page_id=target.page_id,
        detail=f"not fetched: an alias of it, by rules learned from duplicates of {event.host} ({rules})",
    )
