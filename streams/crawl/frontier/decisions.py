"""The frontier's decisions: what is queued, when a host may be asked, what an answer changes. Pure.

A URL is `queued` or `done`. A queued URL is in its host's queue or held by a lease of its host; the lease ends with an
answer, or runs out and the URL is queued again with one attempt more. All times are microseconds since 1970 UTC, and
time and randomness are arguments.
"""

from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal
from uuid import UUID, uuid5

from schemas.crawl import Outcome, PageDiscovered, PageFetched, PageSettled
from streams.crawl.urls import crawlable
from streams.settings import CrawlSettings
from streams.stores.protocols import CrawlState, FrontierHost, FrontierUrl, QueueEntry

SECOND = 1_000_000
JITTER = 0.2
"""Delays are lengthened by up to a fifth, at random, so that many hosts behind one server are not asked in step."""
BACKOFF_SECONDS = 1.0
MAX_BACKOFF_SECONDS = 3_600.0
BLOCKED_AFTER_FAILURES = 5
"""In a row: from then on the host counts as blocked until its backoff ends."""
UNREACHABLE_SECONDS = 1_800.0
"""How long a host whose robots.txt can't be read is left alone, after the attempts."""
MAX_REDIRECTS = 5
MAX_CRAWLS_REMEMBERED = 64
VERSION_STEP = 2
"""Between two write times of a URL; the odd one between is the lease's mark in the crawl."""

RobotsStatus = Literal["unknown", "allowed", "rules", "unreachable"]
_TROUBLE: frozenset[Outcome] = frozenset({"network_error", "timeout", "server_error", "rate_limited"})
_NOT_FINAL = frozenset({"over_budget"})
"""Ends that another crawl may undo."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The crawl's settings, as the frontier uses them."""

    delay_seconds: float
    host_concurrency: int
    max_depth: int
    max_pages_per_host: int
    lease_seconds: float
    max_attempts: int
    robots_ttl_seconds: float

    @classmethod
    def of(cls, settings: CrawlSettings) -> "Policy":
        return cls(
            settings.delay_seconds,
            settings.host_concurrency,
            settings.max_depth,
            settings.max_pages_per_host,
            settings.lease_seconds,
            settings.max_attempts,
            settings.robots_ttl_seconds,
        )


@dataclass(frozen=True, slots=True)
class Lease:
    """A page that was given to the fetchers."""

    lease_id: UUID
    page_id: UUID
    until: int
    attempt: int
    robots: bool = False


@dataclass(slots=True)
class Share:
    """One crawl's part of a host."""

    seeded: bool = False
    scheduled: int = 0


@dataclass(slots=True)
class Robots:
    """What is known of the host's robots.txt."""

    status: RobotsStatus = "unknown"
    ref: str | None = None
    fetched_at: int = 0
    delay_seconds: float = 0.0
    failures: int = 0
    redirects: int = 0
    url: str = ""
    """Where a redirect led; empty: the host's own /robots.txt."""
    detail: str = ""


@dataclass(slots=True)
class Host:
    """All that is known of a host, but its queue."""

    partition: int
    name: str
    version: int = 0
    cursor: QueueEntry | None = None
    next_at: int = 0
    """Not before then is it asked for anything."""
    failures: int = 0
    """In a row."""
    banned: bool = False
    trimmed: int = 0
    """Entries taken since the queue was trimmed."""
    leases: dict[UUID, Lease] = field(default_factory=dict)
    crawls: dict[str, Share] = field(default_factory=dict)
    robots: Robots = field(default_factory=Robots)

    def share(self, crawl_id: str) -> Share:
        """The crawl's part; the oldest crawls are forgotten."""
        if crawl_id not in self.crawls:
            self.crawls[crawl_id] = Share()
            if len(self.crawls) > MAX_CRAWLS_REMEMBERED:
                del self.crawls[next(iter(self.crawls))]
        return self.crawls[crawl_id]

    def position(self, when: int) -> int:
        """A place in the queue for `when`, never before the cursor, even if the clock went back."""
        return max(when, self.cursor.position + 1) if self.cursor else when

    def concurrency(self, policy: Policy) -> int:
        return (
            1
            if self.robots.delay_seconds or any(lease.robots for lease in self.leases.values())
            else (policy.host_concurrency)
        )

    def delay(self, policy: Policy, random: float) -> int:
        # What the host itself asks for stands in the place of our default, be it more or less.
        seconds = self.robots.delay_seconds or policy.delay_seconds
        return round(seconds * (1 + JITTER * random) * SECOND)

    def robots_due(self, policy: Policy, now: int) -> bool:
        """Whether robots.txt is to be fetched before any page."""
        if self.robots.status == "unknown":
            return True
        ttl = policy.robots_ttl_seconds
        if self.robots.status == "unreachable":
            ttl = min(ttl, UNREACHABLE_SECONDS)
        return now >= self.robots.fetched_at + round(ttl * SECOND)

    def robots_url(self) -> str:
        return self.robots.url or f"https://{self.name}/robots.txt"

    def to_row(self, due: int | None, now: int) -> FrontierHost:
        """The row to write; its write time is greater than that of the last one."""
        self.version = max(now, self.version + 1)
        state: dict[str, Any] = {
            "cursor": [self.cursor.position, self.cursor.page_id] if self.cursor else None,
            "next_at": self.next_at,
            "failures": self.failures,
            "banned": self.banned,
            "trimmed": self.trimmed,
            "leases": [asdict(lease) for lease in self.leases.values()],
            "crawls": {crawl_id: [share.seeded, share.scheduled] for crawl_id, share in self.crawls.items()},
            "robots": asdict(self.robots),
        }
        return FrontierHost(self.partition, self.name, due, state, self.version)

    @classmethod
    def from_row(cls, row: FrontierHost) -> "Host":
        state = row.state
        leases = [Lease(**lease) for lease in state["leases"]]
        return cls(
            partition=row.partition,
            name=row.host,
            version=row.at,
            cursor=QueueEntry(*state["cursor"]) if state["cursor"] else None,
            next_at=state["next_at"],
            failures=state["failures"],
            banned=state["banned"],
            trimmed=state["trimmed"],
            leases={lease.lease_id: lease for lease in leases},
            crawls={crawl_id: Share(*share) for crawl_id, share in state["crawls"].items()},
            robots=Robots(**state["robots"]),
        )


def seeds(event: PageDiscovered) -> bool:
    """Whether it makes its host one of those that the crawl stays on: a seed, or where a seed was redirected to."""
    return event.why == "seed" or (event.why == "redirect" and event.depth == 0)


def reason_to_skip(
    event: PageDiscovered, host: Host, known: FrontierUrl | None, policy: Policy, cause: str
) -> str | None:
    """Why a discovered URL is not queued, or None when it is. `seen` is the usual one."""
    if known and (known.cause == cause or not (event.force or _may_return(known, event))):
        return "seen"
    if reason := crawlable(event.url):
        return reason
    if event.redirects > MAX_REDIRECTS:
        return f"more than {MAX_REDIRECTS} redirects in a row"
    if event.depth > min(policy.max_depth, policy.max_depth if event.max_depth is None else event.max_depth):
        return f"depth {event.depth} is beyond the crawl's"
    share = host.crawls.get(event.crawl_id, Share())
    if event.same_host and not (seeds(event) or share.seeded):
        return "another host than the seeds'"
    if share.scheduled >= (event.max_pages or policy.max_pages_per_host):
        return "the host's budget in this crawl is spent"
    return None


def _may_return(known: FrontierUrl, event: PageDiscovered) -> bool:
    return known.outcome in _NOT_FINAL and known.state == "done" and known.crawl_id != event.crawl_id


def queue_url(event: PageDiscovered, known: FrontierUrl | None, cause: str, position: int, now: int) -> FrontierUrl:
    """The URL as it is queued; what was learnt of it before stays."""
    base = known or FrontierUrl(event.page_id, event.url, event.host, "queued", at=0)
    return replace(
        base,
        state="queued",
        at=next_version(base, now),
        position=position,
        attempt=0,
        depth=event.depth,
        max_depth=event.max_depth,
        max_pages=event.max_pages,
        same_host=event.same_host,
        crawl_id=event.crawl_id,
        redirects=event.redirects,
        forced=event.force,
        cause=cause,
        outcome="",
        detail="",
    )


def next_version(url: FrontierUrl, now: int) -> int:
    return max(now, url.at + VERSION_STEP)


def lease_of(url: FrontierUrl, policy: Policy, now: int) -> Lease:
    """The lease of the next attempt. Its id follows from the URL's state, so that no two attempts share one."""
    attempt = url.attempt + 1
    lease_id = uuid5(url.page_id, f"{url.position}/{attempt}")
    return Lease(lease_id, url.page_id, now + round(policy.lease_seconds * SECOND), attempt)


def holds(lease: Lease, url: FrontierUrl | None) -> bool:
    """Whether the URL still waits for the answer to this lease."""
    return url is not None and url.state == "queued" and url.attempt == lease.attempt - 1


def ran_out(url: FrontierUrl, lease: Lease, position: int, policy: Policy, now: int) -> FrontierUrl:
    """The URL after a lease without an answer: queued again, or given up."""
    later = replace(url, at=next_version(url, now), attempt=lease.attempt, outcome="timeout", detail="no answer")
    return replace(later, state="done") if lease.attempt >= policy.max_attempts else replace(later, position=position)


def end_url(url: FrontierUrl, outcome: str, detail: str, now: int) -> FrontierUrl:
    """The URL as it ends without a fetch."""
    return replace(url, state="done", at=next_version(url, now), outcome=outcome, detail=detail)


def take_in(url: FrontierUrl, event: PageFetched, position: int, policy: Policy, now: int) -> FrontierUrl:
    """The URL after an answer; the same object when the answer changes nothing (it was taken in, or is outdated)."""
    if event.generation <= url.generation:
        return url
    fresh = replace(url, at=next_version(url, now), generation=event.generation, outcome=event.outcome)
    fresh = replace(fresh, detail=event.error or "")
    if event.retryable:
        if url.state == "done" or event.attempt <= url.attempt:
            return url
        if event.attempt < policy.max_attempts:
            return replace(fresh, attempt=event.attempt, position=position)
    if event.outcome == "ok":
        fresh = replace(
            fresh,
            ok_generation=event.generation,
            etag=event.headers.get("etag"),
            last_modified=event.headers.get("last-modified"),
        )
    return replace(fresh, state="done", attempt=event.attempt)


def url_of_import(event: PageFetched, now: int) -> FrontierUrl:
    """A URL whose first sign is its content: an import, or a page given by hand."""
    return FrontierUrl(event.page_id, event.url, event.host, "queued", now, depth=event.depth, crawl_id=event.crawl_id)


def url_of_settled(event: PageSettled) -> FrontierUrl:
    """A URL of which the digested content is heard of before the content itself, as may happen in an import."""
    return FrontierUrl(event.page_id, event.url, event.host, "done", at=0, crawl_id=event.crawl_id)


def crawl_state(url: FrontierUrl) -> CrawlState:
    """Where the URL stands in its crawl."""
    if url.state == "queued":
        return "queued"
    match url.outcome:
        case "ok":
            return "settled" if url.settled_generation >= url.generation else "fetched"
        case "not_modified":
            return "settled"
        case "redirect":
            return "redirected"
        case "refused" | "guarded" | "disallowed" | "over_budget":
            return "refused"
    return "failed"


def answered(host: Host, event: PageFetched, policy: Policy, now: int, random: float, retry_after: float) -> None:
    """What an answer means for the host's pace: the delay again, or backoff when the host is in trouble."""
    host.failures = host.failures + 1 if event.outcome in _TROUBLE else 0
    wait = host.delay(policy, random)
    if host.failures:
        wait = max(wait, backoff(host.failures, random), round(retry_after * SECOND))
    host.next_at = max(host.next_at, now + wait)


def backoff(failures: int, random: float) -> int:
    """Microseconds to wait after so many failures in a row: doubling, with jitter, at most an hour."""
    seconds = min(BACKOFF_SECONDS * 2.0 ** min(failures - 1, 32), MAX_BACKOFF_SECONDS)
    return round(seconds * (1 + JITTER * random) * SECOND)


def robots_failed(before: Robots, at: int, detail: str, policy: Policy, *, final: bool = False) -> Robots:
    """After an attempt at robots.txt that got no answer: to be tried again, or, after the last, unreachable."""
    failures = before.failures + 1
    if failures < policy.max_attempts and not final:
        return replace(before, status="unknown", failures=failures, detail=detail)
    return Robots("unreachable", fetched_at=at, detail=detail)


def removes(url: FrontierUrl) -> bool:
    """Whether an end without a fetch is said with an event: robots.txt counts for what is indexed already, too, but
    a host that is down or a spent budget take nothing away."""
    if url.outcome == "disallowed":
        return True
    return url.outcome in ("unreachable", "over_budget") and not url.ok_generation
