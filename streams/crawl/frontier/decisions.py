"""The frontier's decisions about URLs. Pure: time and randomness are arguments.

A URL is `queued` or `done`. A queued URL is in its host's queue or has a lease. An answer ends the lease. If no answer
comes in time, the URL is queued again. That costs no attempt, since no fetcher may have received the lease.
"""

from dataclasses import replace
from uuid import UUID, uuid5

from schemas.crawl import Outcome, PageDiscovered, PageFetched, PageSettled, Purpose
from streams.allowed_origins import is_public
from streams.crawl.domains import are_twins, has_public_suffix
from streams.crawl.frontier.hosts.host_state import CrawlShare, Host, Lease
from streams.crawl.frontier.policy import SECOND, UNREACHABLE_SECONDS, Policy
from streams.crawl.frontier.scheduling.purposes import LeasePurpose
from streams.crawl.robots import robots_access
from streams.crawl.scope import CrawlScope, belongs
from streams.crawl.urls import host_of, reason_not_to_crawl
from streams.stores.protocols import CrawlState, FrontierUrl

MAX_REDIRECTS = 5
"""Maximum number of redirects in a row that lead to a URL."""
MAX_QUEUED = 2_000_000
"""Maximum number of entries in a host's queue, next visits included: 70 MB in one partition of Cassandra."""
VERSION_STEP = 1
"""Minimum distance of two write times of a URL."""

_NO_ANSWER = frozenset({"unreachable", "timeout", "network_error"})
"""Outcomes of a URL if its host did not answer."""
_TROUBLE: frozenset[Outcome] = frozenset({"network_error", "timeout", "server_error", "rate_limited"})
"""Outcomes that slow a host down."""
_LEFT: frozenset[Outcome] = frozenset({"gone", "redirect"})
"""Outcomes of a page that leaves the index."""
_MAY_RETURN = _NO_ANSWER | {"over_budget"}
"""Outcomes of a done URL that another crawl may queue again."""


def is_seed(event: PageDiscovered) -> bool:
    """Return whether the event is a seed, or a seed was redirected to it."""
    return event.why == "seed" or (event.why == "redirect" and event.depth == 0)


def opens_host(event: PageDiscovered) -> bool:
    """Return whether the crawl stays on this host: it is a seed's, or its twin's with or without `www.`.

    A page of a crawl that stays on its hosts is on one of them, so its link to the twin stays on the site.
    """
    return is_seed(event) or (event.same_host and are_twins(host_of(event.referrer or ""), event.host))


def reason_to_skip(
    event: PageDiscovered,
    share: CrawlShare,
    known: FrontierUrl | None,
    policy: Policy,
    now: int,
    limit: int | None = None,
    queued: int = 0,
    *,
    finder: str,
) -> str | None:
    """Return why a discovered URL is not queued, or None if it may be. The usual reason is `seen`.

    `share` is the crawl's share of the URL's host, `limit` its budget there (None: by crawl and setting), `queued` the
    number of entries in the host's queue, `finder` who led to the URL (`ordering.finder_of`).
    """
    if known and not (event.force or _may_return(known, event, now) or _is_promoted(known, finder)):
        return "seen"
    is_page = event.purpose == "page"
    if is_page and (reason := reason_not_to_crawl(event.url, policy.origins)):
        return reason
    if event.why != "seed" and policy.origins.names_origin_of(event.url) and not _may_lead_inside(event, policy):
        return "an origin of the operator's own, to which only seeds and its own pages lead"
    is_known_place = is_seed(event) or share.seeded or not is_public(event.url)
    if not (is_known_place or has_public_suffix(event.host)):
        return f"host: .{event.host.rpartition('.')[2]} is no public suffix"
    if queued >= MAX_QUEUED and not is_seed(event):
        return f"{MAX_QUEUED:,} URLs of the host wait"
    if event.redirects > MAX_REDIRECTS:
        return f"more than {MAX_REDIRECTS} redirects in a row"
    if event.depth > min(policy.max_depth, policy.max_depth if event.max_depth is None else event.max_depth):
        return f"depth {event.depth} is beyond the crawl's"
    if is_page and not is_seed(event) and not belongs(event.url, event.patterns):  # a sitemap may be anywhere
        return "the crawl's patterns leave it out"
    is_named = event.purpose == "sitemap" and event.why == "sitemap"  # robots.txt may name a sitemap on any host
    if event.same_host and not (opens_host(event) or share.seeded or is_named):
        return "another host than the seeds'"
    if is_page and share.scheduled >= (limit or event.max_pages or policy.max_pages_per_host):
        return "the host's budget in this crawl is spent"
    return None


def _may_lead_inside(event: PageDiscovered, policy: Policy) -> bool:
    """Return whether the page that leads to a URL is of an origin that the operator named itself.

    No public page leads a crawl into a network that the operator opened for it, as no browser lets it there (Private
    Network Access, WICG): a link, redirect, canonical link, sitemap or feed may name any path and query.
    """
    return event.referrer is not None and policy.origins.names_origin_of(event.referrer)


def _may_return(known: FrontierUrl, event: PageDiscovered, now: int) -> bool:
    """Return whether a done URL may be queued again: by another crawl, or some time after its host did not answer."""
    if event.purpose == "sitemap":
        return known.state == "done" and (known.crawl_id != event.crawl_id or known.purpose != "sitemap")
    if known.state != "done" or known.outcome not in _MAY_RETURN:
        return False
    rested = now - known.at >= UNREACHABLE_SECONDS * SECOND
    return known.crawl_id != event.crawl_id or (rested and is_unanswered(known))


def _is_promoted(known: FrontierUrl, finder: str) -> bool:
    """Return whether the site itself leads to a URL that waits, or was refused, as a stranger's."""
    return may_be_promoted(known) and not finder


def may_be_promoted(known: FrontierUrl) -> bool:
    """Return whether the URL would get another place if its own site led to it."""
    waits = known.state == "queued" and not known.attempt
    return bool(known.stranger) and (waits or (known.state == "done" and known.outcome == "over_budget"))


def is_unanswered(url: FrontierUrl) -> bool:
    """Return whether the URL is done because its host did not answer. It may return when it is discovered again."""
    return url.state == "done" and url.outcome in _NO_ANSWER


def queue_url(
    event: PageDiscovered, known: FrontierUrl | None, cause: str, position: int, now: int, *, finder: str = ""
) -> FrontierUrl:
    """Return the URL as it is queued. Answers of earlier fetches are kept. `finder`: who led to it, if no owner did."""
    base = known or _new_url(event, now)
    return replace(
        base,
        state="queued",
        at=next_version(base, now),
        position=position,
        attempt=0,
        redirects=event.redirects,
        forced=event.force,
        cause=cause,
        purpose=event.purpose,
        outcome="",
        detail="",
        stranger=finder,
        revisit=False,
        next_visit=0,
        hinted_at=max((base.hinted_at, *event.modified[:1])),
        change_seconds=next(iter(event.change_seconds), base.change_seconds),
        priority=next(iter(event.priorities), base.priority),
        is_hinted=False,
        unread_limits=None,
        **CrawlScope.of(event).fields(),
    )


def _new_url(event: PageDiscovered, now: int) -> FrontierUrl:
    return FrontierUrl(
        event.page_id,
        event.url,
        event.host,
        "queued",
        at=0,
        why=event.why,
        referrer=event.referrer or "",
        purpose=event.purpose,
        discovered_at=now,
    )


def next_version(url: FrontierUrl, now: int) -> int:
    """Return the write time for a change of the URL: greater than its last one, even if the clock was set back."""
    return max(now, url.at + VERSION_STEP)


def lease_of(url: FrontierUrl, policy: Policy, now: int) -> Lease:
    """Return the lease of the next attempt. Its generation is higher than all earlier ones, whatever the clock does."""
    begin_by, until = policy.lease_times(now)
    generation = max(now, url.generation + 1, url.lease_generation + 1)
    return Lease(lease_id_of(url), url.page_id, until, url.attempt + 1, begin_by=begin_by, generation=generation)


def host_lease_of(host: Host, purpose: LeasePurpose, page_id: UUID, policy: Policy, now: int) -> Lease:
    attempt = host.robots.failures + 1 if purpose == "robots" else 1
    known = host.files.get(purpose, host.robots)
    begin_by, until = policy.lease_times(now)
    generation = max(now, known.fetched_at + 1)
    lease_id = uuid5(page_id, f"{now}/{attempt}")
    return Lease(lease_id, page_id, until, attempt, purpose=purpose, begin_by=begin_by, generation=generation)


def lease_id_of(url: FrontierUrl) -> UUID:
    """Return the id of the URL's next lease, by the URL's place in the queue: no two leases have the same id."""
    return uuid5(url.page_id, f"{url.position}/{url.attempt + 1}")


def awaits_answer(lease_id: UUID | None, url: FrontierUrl) -> bool:
    """Return whether the URL still waits for the answer to this lease."""
    return url.state == "queued" and lease_id_of(url) == lease_id


def expire_lease(url: FrontierUrl, lease: Lease, position: int, now: int) -> FrontierUrl:
    """Return the URL after a lease without an answer: queued again."""
    generation = max(url.lease_generation, lease.generation)
    return replace(url, at=next_version(url, now), position=position, lease_generation=generation)


def end_url(url: FrontierUrl, outcome: str, detail: str, now: int) -> FrontierUrl:
    """Return the URL as it ends without a fetch."""
    ended = replace(url, state="done", at=next_version(url, now), outcome=outcome, detail=detail)
    return without_validators(ended) if outcome == "disallowed" else ended


def without_validators(url: FrontierUrl) -> FrontierUrl:
    """Return the URL of a page that is not in the index: its next request is not conditional.

    After a 304 the page would not come back, since the stages get no content.
    """
    return replace(url, etag=None, last_modified=None)


def apply_fetch(url: FrontierUrl, event: PageFetched, position: int, policy: Policy, now: int) -> FrontierUrl:
    """Return the URL after an answer; the same object if the answer was applied before or is outdated.

    The answer to the URL's own lease always counts, whatever its generation is. Any other answer counts if it is final
    and newer than the last answer.
    """
    if not awaits_answer(event.lease_id, url) and (event.retryable or event.generation <= url.generation):
        return url
    answered = replace(
        url,
        at=next_version(url, now),
        generation=event.generation,
        lease_generation=max(url.lease_generation, url.generation),
        outcome="removed" if event.removed_on_request else event.outcome,
        detail=event.error or "",
    )
    if event.retryable and event.attempt < policy.max_attempts:
        return replace(answered, attempt=event.attempt, position=position)
    if event.outcome == "ok":
        answered = replace(
            answered,
            ok_generation=event.generation,
            etag=event.headers.get("etag"),
            last_modified=event.headers.get("last-modified"),
        )
    elif event.removed_on_request or has_left(event):
        answered = without_validators(answered)
    return replace(answered, state="done", attempt=event.attempt)


def has_left(event: PageFetched) -> bool:
    """Return whether the answer takes the page out of the index. A temporary redirect comes with the last content."""
    return event.outcome in _LEFT and not event.body_ref


def url_of_import(event: PageFetched, now: int) -> FrontierUrl:
    """Return the URL of an imported page: it is new to the frontier, but already has content."""
    return FrontierUrl(event.page_id, event.url, event.host, "queued", now, depth=event.depth, crawl_id=event.crawl_id)


def url_of_settled(event: PageSettled) -> FrontierUrl:
    """Return a URL with a settled event that arrived before its content, as may happen in an import."""
    return FrontierUrl(event.page_id, event.url, event.host, "done", at=0, crawl_id=event.crawl_id)


def crawl_state(url: FrontierUrl, host: Host) -> CrawlState:
    """Return the state of the URL in its crawl. Further visits leave it as it is, unless the page is there no more."""
    if url.revisit and (url.state == "queued" or url.outcome in ("ok", "not_modified")):
        return "settled"
    if url.state == "queued":
        return "deferred" if host.is_deferred else "queued"
    match url.outcome:
        case "ok":
            return "settled" if url.settled_generation >= url.generation else "fetched"
        case "not_modified":
            return "settled"
        case "redirect":
            return "redirected"
        case "gone" | "disallowed":
            return url.outcome
        case "refused" | "guarded" | "over_budget" | "removed":
            return "refused"
    return "failed"


def is_silent(host: Host, event: PageFetched, policy: Policy) -> bool:
    """Return whether the last attempt failed, and the host answered no other fetch either.

    Such a failure is no verdict on the page. The host's robots.txt is requested first.
    """
    last = event.attempt >= policy.max_attempts
    failures = host.failures + 1
    return event.retryable and last and event.outcome in _NO_ANSWER and failures >= max(policy.max_attempts, 2)


def emits_removal(url: FrontierUrl) -> bool:
    """Return whether a PageRemoved is sent for a URL that ended without a fetch.

    A refusal by robots.txt removes a page that may be indexed, and a spent budget does not. A URL that was never
    fetched is in no store that answers searches, so its row is enough. The refusal of a seed is always sent.
    """
    if url.outcome == "disallowed":
        return bool(url.ok_generation) or url.forced
    return url.outcome == "over_budget" and url.forced and not url.ok_generation


def is_trouble(outcome: str | None) -> bool:
    """Return whether an outcome slows its host down."""
    return outcome in _TROUBLE


def slows_host(outcome: Outcome, purpose: Purpose) -> bool:
    """Return whether an answer slows its host down. A robots.txt that is unreachable does, whatever the failure is."""
    return is_trouble(outcome) or (purpose == "robots" and robots_access(outcome, 0) == "unreachable")
