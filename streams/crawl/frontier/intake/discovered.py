"""Intake of discovered URLs. Their path: known already? -> lock their host -> decide on each -> write all together.

Only `_decide` decides on a URL: it is repeated, skipped, refused, held as an alias, or queued.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from schemas import Event, PageDiscovered, PageRemoved
from schemas.ids import page_id as page_id_of
from streams.allowed_origins import NO_ORIGINS, Origins
from streams.crawl.domains import registrable_domain
from streams.crawl.frontier import decisions, outputs
from streams.crawl.frontier.host_state import CrawlShare
from streams.crawl.frontier.host_visit import disallowed_outcome
from streams.crawl.frontier.hosts import LiveHost
from streams.crawl.frontier.policy import SECOND
from streams.crawl.frontier.refused_urls import url_refused
from streams.crawl.frontier.scheduling.ordering import finder_of, head_start, turn_gap
from streams.crawl.frontier.state import FrontierState
from streams.crawl.frontier.url_aliases import AliasTarget, HostRules, alias_target, may_be_alias, may_replace
from streams.crawl.urls import InvalidUrl, canonicalize, host_of
from streams.errors import MissingBlob, PoisonError
from streams.runtime.agent import Delivery
from streams.stores.protocols import FrontierUrl, QueueEntry
from streams.topology import is_urgent_topic


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
    """The host's known robots.txt disallows the URL. It ends without a place in the queue."""

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


Decision = Repeat | Skip | Refuse | Hold | Queue


@dataclass(slots=True)
class _Intake:
    """The URLs of one event, all of one host, during the decisions on them."""

    frontier: FrontierState
    live: LiveHost
    cause: str
    at: int
    is_urgent: bool
    """True if the URLs come before all others of their host: a person gave them as seeds."""
    known: dict[UUID, FrontierUrl | None] = field(default_factory=dict)
    """The rows of the event's URLs, as stored or about to be stored."""
    writes: dict[UUID, FrontierUrl] = field(default_factory=dict)
    """Rows to write, by page."""
    finder_rank: float = 1.0
    """The rank by links of the host that led to the URLs, if it is a stranger's."""
    rules: HostRules | None = None
    """The alias rules of the event's host, read for the first decision that needs them."""
    is_trapped: bool = False
    """True if a URL was left out as a trap. The host's row counts it."""
    seen: list[UUID] = field(default_factory=list)
    """Pages with a row that needs no further read, once all is written."""

    async def read(self, page_ids: Sequence[UUID]) -> None:
        self.known.update(await self.frontier.hosts.urls(self.live, page_ids))

    async def alias_rules(self) -> HostRules:
        if self.rules is None:
            self.rules = await self.frontier.aliases.rules_for(self.live.name)
        return self.rules

    async def row(self, page_id: UUID, host: str) -> FrontierUrl | None:
        if page_id not in self.known:
            own = host == self.live.name
            store = self.frontier.store
            self.known[page_id] = await (self.frontier.hosts.url(self.live, page_id) if own else store.url(page_id))
        return self.known[page_id]

    def write(self, url: FrontierUrl) -> None:
        self.known[url.page_id] = self.writes[url.page_id] = url

    def queued(self) -> list[UUID]:
        """Return the pages of this event that wait in the queue."""
        return [page_id for page_id, url in self.writes.items() if url.state == "queued"]

    def position(self, event: PageDiscovered) -> int | None:
        """Return the URL's place in the queue: the own URLs of an event are queued in their order. None: no place."""
        host, now = self.live.host, self.frontier.now()
        if self.is_urgent:
            return host.position_ahead()
        if finder := finder_of(event):
            gap = turn_gap(host.gap(self.frontier.policy), self.finder_rank)
            place = host.turns.next(registrable_domain(finder), now, gap)
            return None if place is None else host.position(place)
        return host.position(now - head_start(event.depth)) + len(self.writes)


async def take_discovered(frontier: FrontierState, event: PageDiscovered, delivery: Delivery) -> Sequence[Event]:
    """Decide on the discovered URLs, store the decisions, and return the events that follow."""
    cause = str(delivery.envelope.id)
    news = [one for one in event.each() if not _is_seen(frontier, one)]
    for one in news:
        require_canonical(one, frontier.policy.origins)
    news = [one for one in news if not await frontier.aliases.is_held(one, cause)]
    if not news:
        return []
    async with frontier.hosts.lock(event.host, delivery.partition) as live:
        intake = _Intake(frontier, live, cause, delivery.at, is_urgent_topic(delivery.topic))
        if frontier.policy.rank_priority and (finder := finder_of(event)):
            intake.finder_rank = await frontier.ranks.of(finder)
        await intake.read([one.page_id for one in news])
        outputs_: list[Event] = []
        for one in news:
            await _note_seed(frontier, one, live)
            outputs_ += await _carry_out(intake, await _decide(intake, one), one)
        if intake.writes or intake.is_trapped:
            await frontier.urls.write(list(intake.writes.values()), live, persist=intake.is_trapped)
            if intake.is_urgent:
                if live.host.is_deferred:  # a person asks, so its robots.txt is tried now
                    live.host.next_at = min(live.host.next_at, frontier.now())
                frontier.hosts.due.hurry(live.name, intake.queued())
    for page_id in intake.seen:
        frontier.seen.add(event.crawl_id, page_id)
    return outputs_


def _is_seen(frontier: FrontierState, event: PageDiscovered) -> bool:
    must_be_read = event.force or decisions.is_seed(event)
    return not must_be_read and frontier.seen.has(event.crawl_id, event.page_id)


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
    share = await frontier.hosts.share(live, event.crawl_id) if decisions.is_seed(event) else None
    if share and not share.seeded:
        share.seeded = True
        live.persisted_due = None  # the host is written together with the URLs


async def _decide(intake: _Intake, event: PageDiscovered) -> Decision:
    frontier, live = intake.frontier, intake.live
    known = await intake.row(event.page_id, event.host)
    if known and known.cause == intake.cause:
        return Repeat(known)
    share = await frontier.hosts.find_share(live, event.crawl_id) or CrawlShare()
    limit = live.host.page_limit(event.max_pages, frontier.policy)
    if reason := decisions.reason_to_skip(event, share, known, frontier.policy, frontier.now(), limit):
        return Skip(reason, known)
    if known is None and (trap := live.host.traps.take(event, frontier.now() // SECOND)):
        intake.is_trapped = True
        return Skip(trap, None)
    may_wait = known is None and may_be_alias(event)
    target = alias_target(event, await intake.alias_rules()) if may_wait else None
    if target is not None:
        known_target = await intake.row(target.page_id, target.host)
        if may_replace(event, target, known_target):
            return Hold(target, known_target)
    return Refuse(known) if await _is_disallowed(frontier, event, live) else Queue(known)


async def _is_disallowed(frontier: FrontierState, event: PageDiscovered, live: LiveHost) -> bool:
    """Return whether the host's robots.txt disallows the URL. False if the file is unknown or due to be fetched."""
    robots = live.host.robots
    if event.force or not robots.ref or live.host.robots_due(frontier.policy, frontier.now()):
        return False
    try:
        return not (await frontier.robots.get(robots.ref)).allowed(event.url)
    except MissingBlob:
        return False


async def _carry_out(intake: _Intake, decision: Decision, event: PageDiscovered) -> Sequence[Event]:
    match decision:
        case Repeat(url):
            intake.write(_with_place(intake, url, event))
            return _removal_events(url)
        case Skip():
            return await _skip(intake, decision, event)
        case Refuse(known):
            return await _refuse(intake, event, known)
        case Hold():
            return await _hold(intake, decision, event)
        case Queue(known):
            await _queue(intake, event, known)
            return []


def _with_place(intake: _Intake, url: FrontierUrl, event: PageDiscovered) -> FrontierUrl:
    """Return the URL with a new place in the queue if the host passed its place.

    The first delivery wrote the URL and ended before the queue had it. Then the host went on with other URLs.
    """
    host, entry = intake.live.host, QueueEntry(url.position, url.page_id)
    is_passed = host.cursor is not None and entry <= host.cursor
    if url.state != "queued" or not is_passed or host.is_leased(url.page_id):
        return url
    now = intake.frontier.now()
    position = intake.position(event) or host.position(now)
    return replace(url, position=position, at=decisions.next_version(url, now))


async def _skip(intake: _Intake, decision: Skip, event: PageDiscovered) -> Sequence[Event]:
    """Skip a link without a trace, or mark a seed in its crawl and return the reason as an event."""
    frontier, known = intake.frontier, decision.known
    if intake.live.persisted_due is None and decisions.is_seed(event):
        await frontier.hosts.persist(intake.live)
    if known and not decisions.is_unanswered(known) and not decisions.may_be_promoted(known):
        intake.seen.append(event.page_id)
    if not decisions.is_seed(event) or not event.crawl_id or (known and known.crawl_id == event.crawl_id):
        return []
    await frontier.urls.mark_in(event.crawl_id, event.page_id, "seen" if known else "refused", intake.live)
    return [] if known else [outputs.seed_removal(event, intake.at, decision.reason)]


async def _refuse(intake: _Intake, event: PageDiscovered, known: FrontierUrl | None) -> Sequence[Event]:
    """End a URL that robots.txt disallows, without a place in the queue."""
    frontier = intake.frontier
    now = frontier.now()
    queued = decisions.queue_url(event, known, intake.cause, 0, now)
    ended = decisions.end_url(queued, *disallowed_outcome(event.host), now)
    await _leave_other_crawl(intake, event, known)
    intake.write(ended)
    intake.seen.append(event.page_id)
    return _removal_events(ended)


def _removal_events(url: FrontierUrl) -> Sequence[Event]:
    return [url_refused(url)] if url.state == "done" and decisions.emits_removal(url) else []


async def _hold(intake: _Intake, decision: Hold, event: PageDiscovered) -> Sequence[Event]:
    target, known = decision.target, decision.known_target
    held = intake.frontier.held
    await held.hold(event, target.host, target.page_id, target.rules.believed, intake.cause, intake.at)
    if known is None:
        await _queue(intake, event.model_copy(update={"url": target.url, "page_id": target.page_id}), None)
    elif known.cause == intake.cause:
        intake.write(known)
    intake.seen.append(target.page_id)
    return [_alias_removal(event, target, intake.at)]


async def _queue(intake: _Intake, event: PageDiscovered, known: FrontierUrl | None) -> None:
    live = intake.live
    leased = known if known and live.host.is_leased(known.page_id) else None
    position = leased.position if leased else intake.position(event)
    if position is None:
        return  # no trace of the URL: it is discovered again, by its own site or when fewer wait
    url = decisions.queue_url(event, known, intake.cause, position, intake.frontier.now())
    if leased:
        url = replace(url, attempt=leased.attempt)  # the answer to the lease counts for this event, too
    await _leave_other_crawl(intake, event, known)
    intake.write(url)
    if not url.stranger:  # else its own site may lead to it, too
        intake.seen.append(event.page_id)


async def _leave_other_crawl(intake: _Intake, event: PageDiscovered, known: FrontierUrl | None) -> None:
    """Mark a URL that still waited in another crawl as seen in that crawl."""
    if known and known.state == "queued" and known.crawl_id != event.crawl_id:
        await intake.frontier.urls.mark_in(known.crawl_id, known.page_id, "seen", intake.live)


def _alias_removal(event: PageDiscovered, target: AliasTarget, generation: int) -> PageRemoved:
    """Return the removal of an alias, with its target as the canonical page."""
    rules = ", ".join(target.applied)
    return PageRemoved.following(
        event,
        generation=generation,
        reason="duplicate",
        canonical_page_id=target.page_id,
        detail=f"not fetched: an alias of it, by rules learned from duplicates of {event.host} ({rules})",
    )
