"""Intake of a discovered URL. Its path: known already? -> lock its host -> decide -> carry the decision out.

`_decide` is the one place where it is decided what the URL becomes: repeated, skipped, held as an alias, or queued.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from schemas import Event, PageDiscovered, PageRemoved
from schemas.ids import page_id as page_id_of
from streams.crawl.frontier import decisions, outputs
from streams.crawl.frontier.hosts import LiveHost
from streams.crawl.frontier.state import FrontierState
from streams.crawl.frontier.url_aliases import AliasTarget, may_replace
from streams.crawl.urls import InvalidUrl, canonicalize, host_of
from streams.errors import PoisonError
from streams.runtime.agent import Delivery
from streams.stores.protocols import FrontierUrl


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
class Hold:
    """The URL is an alias. Its target is queued instead, if it is unknown."""

    target: AliasTarget
    known_target: FrontierUrl | None


@dataclass(frozen=True, slots=True)
class Queue:
    """The URL is to be fetched."""

    known: FrontierUrl | None


Decision = Repeat | Skip | Hold | Queue


async def take_discovered(frontier: FrontierState, event: PageDiscovered, delivery: Delivery) -> Sequence[Event]:
    """Decide what becomes of a discovered URL, store it, and return the events that follow."""
    if not event.force and not decisions.is_seed(event) and frontier.seen.has(event.crawl_id, event.page_id):
        return []
    require_canonical(event)
    cause = str(delivery.envelope.id)
    if await frontier.aliases.is_held(event, cause):
        return []
    async with frontier.hosts.holding(event.host, delivery.partition) as live:
        _note_seed(event, live)
        decision = await _decide(frontier, event, live, cause)
        return await _carry_out(frontier, decision, event, live, delivery)


def require_canonical(event: PageDiscovered) -> None:
    """Raise PoisonError unless URL, host and page id agree.

    A producer that skips the URL rules would make two pages of one, or send a host's events to another partition.
    """
    try:
        canonical = canonicalize(event.url)
    except InvalidUrl as error:
        raise PoisonError(f"discovered {event.url[:200]!r}: {error}") from None
    if (canonical, host_of(canonical), page_id_of(canonical)) != (event.url, event.host, event.page_id):
        raise PoisonError(f"discovered {event.url[:200]!r} is not canonical, or its host or page id is of another URL")


def _note_seed(event: PageDiscovered, live: LiveHost) -> None:
    share = live.host.share(event.crawl_id) if decisions.is_seed(event) else None
    if share and not share.seeded:
        share.seeded = True
        live.persisted_due = None  # the host is written with what follows


async def _decide(frontier: FrontierState, event: PageDiscovered, live: LiveHost, cause: str) -> Decision:
    known = await frontier.hosts.url(live, event.page_id)
    if known and known.cause == cause:
        return Repeat(known)
    if reason := decisions.reason_to_skip(event, live.host, known, frontier.policy, frontier.now()):
        return Skip(reason, known)
    target = None if known else await frontier.aliases.alias_target(event)
    if target is None:
        return Queue(known)
    own_host = target.host == event.host
    known_target = await (frontier.hosts.url(live, target.page_id) if own_host else frontier.store.url(target.page_id))
    return Hold(target, known_target) if may_replace(event, target, known_target) else Queue(None)


async def _carry_out(
    frontier: FrontierState, decision: Decision, event: PageDiscovered, live: LiveHost, delivery: Delivery
) -> Sequence[Event]:
    cause = str(delivery.envelope.id)
    match decision:
        case Repeat(url):
            await frontier.urls.write(url, live)
            return []
        case Skip():
            return await _skip(frontier, decision, event, live, delivery)
        case Hold():
            return await _hold(frontier, decision, event, live, delivery)
        case Queue(known):
            await _queue(frontier, event, known, live, cause)
            return []


async def _skip(
    frontier: FrontierState, decision: Skip, event: PageDiscovered, live: LiveHost, delivery: Delivery
) -> Sequence[Event]:
    """Skip a link without a trace. A seed is marked in its crawl, and the reason is sent as an event."""
    known = decision.known
    if live.persisted_due is None and decisions.is_seed(event):
        await frontier.hosts.persist(live)
    if known and not decisions.ended_without_answer(known):
        frontier.seen.add(event.crawl_id, event.page_id)
    if not decisions.is_seed(event) or not event.crawl_id or (known and known.crawl_id == event.crawl_id):
        return []
    await frontier.store.mark(event.crawl_id, event.page_id, "seen" if known else "refused", delivery.at)
    return [] if known else [outputs.seed_refused(event, delivery.at, decision.reason)]


async def _hold(
    frontier: FrontierState, decision: Hold, event: PageDiscovered, live: LiveHost, delivery: Delivery
) -> Sequence[Event]:
    cause, target, known = str(delivery.envelope.id), decision.target, decision.known_target
    await frontier.held.hold(event, target.host, target.page_id, target.rules.believed, cause, delivery.at)
    if known is None:
        instead = event.model_copy(update={"url": target.url, "page_id": target.page_id})
        await _queue(frontier, instead, None, live, cause)
    elif known.cause == cause:
        await frontier.urls.write(known, live)
    frontier.seen.add(event.crawl_id, target.page_id)
    return [_alias_removed(event, target, delivery.at)]


async def _queue(
    frontier: FrontierState, event: PageDiscovered, known: FrontierUrl | None, live: LiveHost, cause: str
) -> None:
    now = frontier.now()
    leased = known if known and live.host.is_leased(known.page_id) else None
    position = leased.position if leased else live.host.position(now)
    url = decisions.queue_url(event, known, cause, position, now)
    if leased:
        url = replace(url, attempt=leased.attempt)  # the answer to the lease will serve
    if known and known.state == "queued" and known.crawl_id != event.crawl_id:
        await frontier.urls.mark_in(known.crawl_id, known, "seen", url.at)
    await frontier.urls.write(url, live)
    frontier.seen.add(event.crawl_id, event.page_id)


def _alias_removed(event: PageDiscovered, target: AliasTarget, generation: int) -> PageRemoved:
    """Return the event that names the page under which the alias's content is found."""
    rules = ", ".join(target.applied)
    return PageRemoved(
        page_id=event.page_id,
        url=event.url,
        generation=generation,
        crawl_id=event.crawl_id,
        reason="duplicate",
        canonical_page_id=target.page_id,
        detail=f"not fetched: an alias of it, by rules learned from duplicates of {event.host} ({rules})",
    )
