"""The hosts of the frontier as operators see them: read from its store, and changed by orders."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from schemas.envelope import utc_from_micros
from schemas.ids import page_id
from streams.allowed_origins import EVERY_ORIGIN
from streams.crawl.frontier.host_caches import RobotsCache
from streams.crawl.frontier.hosts.host_state import Host
from streams.crawl.frontier.scheduling.traps import Traps
from streams.crawl.frontier.visits.host_visit import disallowed_outcome
from streams.crawl.host_quality import HostQuality, budget_factor, host_quality, judge_host
from streams.crawl.urls import host_of, reason_not_to_crawl
from streams.errors import MissingBlob
from streams.plain_text import DateText, clean_line, message
from streams.robot_name import ProductToken
from streams.stores.host_buckets import BUCKETS, bucket_of
from streams.stores.protocols import (
    ALL_HOSTS,
    Blobs,
    FrontierHost,
    FrontierStore,
    FrontierUrl,
    HostOrder,
    QueueEntry,
)

COUNTED_URLS = 10_000
"""Maximum number of waiting URLs that are counted."""
PAGE = 1_000
LONG_MICROS = 60 * 1_000_000
"""Minimum time until a host is asked again that is worth a word (microseconds)."""


@dataclass(frozen=True, slots=True)
class HostView:
    """One host: its row, its order, and how many URLs wait."""

    host: str
    state: str
    """`ready`, `waiting`, `deferred`, `blocked`, `paused` or `idle`."""
    waiting: int
    """Number of URLs that wait, further visits included. COUNTED_URLS means that many or more."""
    leases: int
    next_at: int | None
    """Time of the next request at the earliest, microseconds since 1970 UTC. None: nothing may be requested."""
    delay_seconds: float
    robots: str
    failures: int
    detail: str
    scheduled: int
    """Pages that all crawls have scheduled."""
    order: HostOrder
    quality: HostQuality
    left_out: dict[str, int] = field(default_factory=dict)
    """Number of URLs that were left out as traps, by the name of the trap."""
    daily_visits: int = 0
    """Maximum number of further visits of its known pages in a day, without fronts and hints."""

    def to_json(self) -> dict[str, Any]:
        """Return the fields for a program."""
        fields = asdict(self)
        del fields["order"]["stored"]
        return fields


async def due_hosts(store: FrontierStore) -> list[tuple[str, int]]:
    """Return all hosts that wait for something, by the time at which they are due."""
    found = await store.active_hosts(range(BUCKETS))
    return sorted(found, key=lambda entry: (entry[1], entry[0]))


async def paused_until(store: FrontierStore, name: str, now: int) -> int | None:
    """Return when a host may be asked for URLs that wait for it, microseconds since 1970 UTC.

    None: none waits, or its robots.txt can't be read. While the answer to a request is awaited, it is `now`: the host's
    state is about to change. Further visits of pages, at their own times, are nothing that waits for the host.
    """
    row = await store.host(name)
    host = Host.from_row(row) if row else Host(bucket_of(name), name)
    if host.leases:
        return now
    first = None if host.is_deferred else next(iter(await store.queued(name, host.cursor, 1)), None)
    until = max(host.next_at, now + host.closed_for(now))
    return until if first and first.position <= until else None


async def view_host(store: FrontierStore, name: str, now: int) -> HostView | None:
    """Return the view of one host, or None if the frontier doesn't know it and has no order for it."""
    row = await store.host(name)
    order = await store.order(name)
    if row is None and order is None:
        return None
    host = Host.from_row(row) if row else Host(bucket_of(name), name)
    waiting, first = await _read_queue(store, host)
    next_at = _next_at(host, order, first)
    return HostView(
        host=name,
        state=_state(host, order, next_at, now),
        waiting=waiting,
        leases=len(host.leases),
        next_at=next_at,
        delay_seconds=max(host.robots.delay_seconds, order.delay_seconds if order else 0.0),
        robots=host.robots.status,
        failures=host.failures,
        detail=host.robots.detail,
        scheduled=sum(share.scheduled for share in host.crawls.values()),
        order=order or HostOrder(name),
        quality=judge_host(host.record),
        left_out=dict(host.traps.left_out),
        daily_visits=round(host.visits.daily_visits(budget_factor(host_quality(host.record)))),
    )


@dataclass(frozen=True, slots=True)
class InFrontier:
    """The answer of the frontier about a URL."""

    host: FrontierHost | None = None
    """The row of its host."""
    left_out: str = ""
    """Why no crawl follows a link to it. Empty: crawls do."""
    waits: str = ""
    """Why it waits, in a sentence. Empty: it does not wait for a crawl."""
    is_asked_for: bool = True
    """False if no crawl has asked for the URL: it is known by links."""


NOT_READ = InFrontier()


async def read_in_frontier(store: FrontierStore, blobs: Blobs, robot: ProductToken, url: str, now: int) -> InFrontier:
    """Return what the frontier says of a URL; nothing of an empty one."""
    if not url:
        return NOT_READ
    known, host = await store.url(host_of(url), page_id(url)), await store.host(host_of(url))
    if known is None:
        left_out = reason_left_out(url, host, now) or await why_disallowed(blobs, robot, url, host)
        waits = "" if left_out else message("Known by links only: no crawl has asked for it")
        return InFrontier(host, left_out, waits, is_asked_for=False)
    if known.state != "queued":
        return InFrontier(host)
    orders = [await store.order(name) for name in (known.host, ALL_HOSTS)]
    return InFrontier(host, waits=describe_wait(known, host, [order for order in orders if order], now))


def describe_wait(url: FrontierUrl, row: FrontierHost | None, orders: Iterable[HostOrder], now: int) -> str:
    """Return why a queued URL waits, in a sentence. Pure. `orders`: for its host, and for all hosts."""
    host = Host.from_row(row) if row else None
    for order in orders:
        if order.blocked or order.paused:
            return _describe_order(order, url.host)
    next_at = host.next_at if host else 0
    waits = _describe_host(url, host, now)
    if next_at - now < LONG_MICROS:
        return waits
    at = utc_from_micros(next_at)
    day = DateText(f"{at:%Y-%m-%d}", f"{at:%Y-%m-%d}")
    return message("%(waits)s. It is asked again at %(day)s %(time)s UTC", waits=waits, day=day, time=f"{at:%H:%M}")


def _describe_order(order: HostOrder, host: str) -> str:
    if order.host == ALL_HOSTS:
        return (
            message("Waiting: an operator has blocked all hosts")
            if order.blocked
            else message("Waiting: an operator has paused all hosts")
        )
    if order.blocked:
        return message("Waiting: an operator has blocked %(host)s", host=host)
    return message("Waiting: an operator has paused %(host)s", host=host)


def _describe_host(url: FrontierUrl, host: Host | None, now: int) -> str:
    if url.outcome == "rate_limited":
        detail = clean_line(url.detail)
        return message("Waiting: %(host)s asks for fewer requests (%(detail)s)", host=url.host, detail=detail)
    if host and host.is_deferred:
        if detail := clean_line(host.robots.detail):
            return message(
                "Waiting: the robots.txt of %(host)s can't be read (%(detail)s), so nothing else is requested",
                host=url.host,
                detail=detail,
            )
        return message("Waiting: the robots.txt of %(host)s can't be read, so nothing else is requested", host=url.host)
    why = message("Waiting for %(host)s", host=url.host)
    detail = clean_line(url.detail) or (_why_closed(host, now) if host else "")
    return message("%(sentence)s (%(detail)s)", sentence=why, detail=detail) if detail else why


def _why_closed(host: Host, now: int) -> str:
    """Return why robots.txt lets nobody ask the host now; empty if it does."""
    if host.closed_for(now) >= LONG_MICROS:
        return message("its robots.txt allows visits only at some times of day")
    if host.robots.delay_seconds * 1_000_000 >= LONG_MICROS:
        seconds = round(host.robots.delay_seconds)
        return message("its robots.txt asks for %(seconds)s s between two requests", seconds=seconds)
    return ""


def reason_left_out(url: str, host: FrontierHost | None, now: int) -> str:
    """Return why links to a URL that the frontier does not have are left out. Pure. `host`: the row of its host."""
    if reason := reason_not_to_crawl(url, EVERY_ORIGIN):  # the origins are the crawler's matter
        return reason
    traps = Host.from_row(host).traps if host else Traps()
    return traps.reason(url, now // 1_000_000) or ""


async def why_disallowed(blobs: Blobs, robot: ProductToken, url: str, host: FrontierHost | None) -> str:
    """Return why robots.txt keeps crawls from a URL, by the file that the frontier has of its host. Empty if it does
    not, or is not known. `robot` is the product token of the crawler; `host` the row of the URL's host."""
    ref = Host.from_row(host).robots.ref if host else None
    try:
        rules = await RobotsCache(blobs, robot).get(ref) if ref else None
    except MissingBlob:
        return ""
    return "" if rules is None or rules.allowed(url) else disallowed_outcome(host_of(url))[1]


async def change_order(store: FrontierStore, name: str, now: int, **changes: Any) -> HostOrder:
    """Change the order for a host, and return it. The frontier follows it within some seconds."""
    former = await store.order(name) or HostOrder(name)
    order = replace(former, at=max(now, former.at + 1), **changes)
    await store.put_order(order)
    return order


async def count_waiting(store: FrontierStore, name: str, limit: int) -> int:
    """Return the number of URLs of a host that wait, further visits included: `limit` at most."""
    row = await store.host(name)
    return len(await store.queued(name, Host.from_row(row).cursor, limit)) if row else 0


def describe_order(order: HostOrder | None) -> str:
    """Return an operator's order for people; an empty text if there is none."""
    if order is None:
        return ""
    parts = [
        "blocked" if order.blocked else "",
        "paused" if order.paused else "",
        f"delay {order.delay_seconds:g} s" if order.delay_seconds else "",
        f"at most {order.max_pages:,} pages" if order.max_pages else "",
        order.note,
    ]
    return ", ".join(filter(None, parts))


async def _read_queue(store: FrontierStore, host: Host) -> tuple[int, QueueEntry | None]:
    """Return the number of waiting URLs, COUNTED_URLS at most, and the first of them."""
    count, after, first = 0, host.cursor, None
    while count < COUNTED_URLS and (entries := await store.queued(host.name, after, PAGE)):
        first = first or entries[0]
        count, after = count + len(entries), entries[-1]
    return min(count, COUNTED_URLS), first


def _next_at(host: Host, order: HostOrder | None, first: QueueEntry | None) -> int | None:
    """Return when the first waiting URL is requested at the earliest. Its place in the queue is a time, too."""
    if first is None or (order and (order.blocked or order.paused)):
        return None
    return max(host.next_at, first.position)


def _state(host: Host, order: HostOrder | None, next_at: int | None, now: int) -> str:
    if order and order.blocked:
        return "blocked"
    if order and order.paused:
        return "paused"
    if host.is_deferred:
        return "deferred"
    if next_at is None:
        return "waiting" if host.leases else "idle"
    return "waiting" if next_at > now else "ready"
