"""The frontier's durable state."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple, Protocol
from uuid import UUID

from streams.stores.rows import Row

CrawlState = Literal[
    "queued", "deferred", "fetched", "settled", "redirected", "failed", "refused", "seen", "gone", "disallowed"
]
"""The state of a URL in one crawl. Queued and fetched URLs are on their way. Deferred URLs wait until the host answers
again. All other states are final."""


CRAWL_BUCKETS = 64
"""Number of buckets with the URLs of one crawl, by host. It is part of the stored rows' keys."""
FIRST_URLS = 131_072
"""Number of URLs of a host that are stored together, about 50 MB. Later ones are in further parts."""
ROWS_TOGETHER = 500
"""Maximum number of rows in one write of a host that is done as a whole or not at all."""
FURTHER_PARTS = 1_024
"""Number of further parts of a host, by a hash of the URL. It is part of the stored rows' keys: with ten million URLs a
part has about 4 MB."""


@dataclass(frozen=True, slots=True)
class CrawlCounts:
    """The number of URLs in each state, as one owner of hosts has counted them. Only the sum over all owners is never
    negative, since hosts get another owner when the number of partitions changes."""

    urls: Mapping[CrawlState, int] = field(default_factory=dict)
    at: int = 0
    """The write time: greater with every write."""
    stored: Row | None = field(default=None, repr=False, compare=False)


def total(counts: Iterable[CrawlCounts]) -> dict[CrawlState, int]:
    """Return the sum of the counts of all owners, without states that no URL has."""
    found: dict[CrawlState, int] = {}
    for of_owner in counts:
        for state, number in of_owner.urls.items():
            found[state] = found.get(state, 0) + number
    return {state: number for state, number in found.items() if number}


@dataclass(frozen=True, slots=True)
class FrontierHost:
    """The frontier's row of a host. Only the agent that owns the host's Kafka partition writes it."""

    bucket: int
    """0..4095, from the host's name (`streams.stores.host_buckets`)."""
    host: str
    due: int | None
    """When the host is due at the earliest, microseconds since 1970 UTC. None: nothing waits."""
    state: Mapping[str, Any]
    at: int
    """The write time: greater with every write of this host, whatever the clocks say."""


class HostShare(NamedTuple):
    """A crawl's share of a host."""

    seeded: bool
    """True if a seed of the crawl is on this host."""
    scheduled: int
    """Number of scheduled pages."""
    strangers: int = 0
    """Number of pages among them that other sites led to first."""


@dataclass(frozen=True, slots=True, order=True)
class QueueEntry:
    """A place in a host's queue. Entries are ordered by their fields."""

    position: int
    """When the URL is due, microseconds since 1970 UTC."""
    page_id: UUID


@dataclass(frozen=True, slots=True)
class UnreadLimits:
    """The limits of a URL whose patterns are not stored, as its row has them."""

    patterns_id: bytes
    max_depth: int | None


@dataclass(frozen=True, slots=True)
class FrontierUrl:
    """The frontier's row of a URL. The row decides: a queue entry with another position is stale."""

    COLUMNS: ClassVar = frozenset({"page_id", "at", "unread_limits", "part"})

    page_id: UUID
    url: str
    host: str
    state: Literal["queued", "done"]
    at: int
    """The write time: greater with every write of this URL."""
    position: int = 0
    attempt: int = 0
    """Number of failed fetches since the URL was queued."""
    depth: int = 0
    max_depth: int | None = None
    max_pages: int | None = None
    same_host: bool = False
    patterns: tuple[str, ...] = ()
    unread_limits: UnreadLimits | None = None
    """The limits that are written back if the patterns could not be read. `max_depth` is 0 meanwhile."""
    crawl_id: str = ""
    redirects: int = 0
    """Number of redirects that led to the URL."""
    forced: bool = False
    cause: str = ""
    """Id of the event that queued the URL last. A redelivery of the event changes nothing."""
    generation: int = 0
    """Generation of the last answer that was applied."""
    ok_generation: int = 0
    """Generation of the last answer with content. 0: no answer had content."""
    settled_generation: int = 0
    """Generation of the last answer that is settled."""
    lease_generation: int = 0
    """Highest generation of a lease that ended. The next lease has a higher generation."""
    outcome: str = ""
    detail: str = ""
    etag: str | None = None
    last_modified: str | None = None
    why: str = ""
    """Why the URL was discovered first, as in `pages.discovered`."""
    referrer: str = ""
    """The page that led to the URL first."""
    purpose: str = "page"
    """The purpose of the fetch, as in `pages.scheduled`."""
    sitemap_level: int | None = None
    """Level of a sitemap, as in `pages.discovered`."""
    revisit: bool = False
    """True if the URL was queued for another visit, by the frontier itself. It counts in no crawl."""
    next_visit: int = 0
    """When a done URL is visited again, microseconds since 1970 UTC. 0: it is not."""
    mean_seconds: int = 0
    """Mean time between two changes, as the visits so far let expect (seconds). 0: no visit is planned."""
    visit_failures: int = 0
    """Number of visits in a row that failed."""
    planned_at: int = 0
    """The visit after which `next_visit` was planned: its generation."""
    hinted_at: int = 0
    """The last change that a sitemap told of this page and that counted, seconds since 1970 UTC."""
    is_hinted: bool = False
    """True if such a hint brought the next visit forward."""
    change_seconds: int = 0
    """Time between two changes as a sitemap states it (seconds). 0: none does."""
    priority: int = 50
    """Priority among the URLs of the site as a sitemap states it (percent)."""
    verdict: str = ""
    """The verdict of the last settled answer (`pages.settled`), or `sign_in` if that was a sign-in page."""
    stranger: str = ""
    """The host of another registrable domain that led to the URL, if its own site has not. Empty: an own URL."""
    discovered_at: int = 0
    """When the URL was discovered first, microseconds since 1970 UTC."""
    part: int | None = field(default=None, compare=False)
    """The part of its host in which the URL is stored (`further_part_of`, or 0). None: it is not stored yet."""
    stored: Row | None = field(default=None, repr=False, compare=False)


def further_part_of(page_id: UUID) -> int:
    """Return the part with a URL that was discovered after FIRST_URLS others of its host."""
    return 1 + page_id.int % FURTHER_PARTS


@dataclass(frozen=True, slots=True)
class HostRows:
    """Rows of a host that are written together."""

    host: str
    state: FrontierHost | None = None
    """The host itself. None: it is left as it is."""
    urls: Sequence[FrontierUrl] = ()
    entries: Sequence[QueueEntry] = ()
    """Entries of the queue."""
    at: int = 0
    """The write time of the entries."""

    def steps(self) -> "list[list[HostRows]]":
        """Return the rows in lists that are written one after the other. Each item is of one part of the host.

        A place in the queue comes before its URL: without it, a URL that waits would be lost. The host comes last: its
        next owner must find the URLs of its leases.
        """
        further: dict[int, list[FrontierUrl]] = {}
        for url in self.urls:
            if url.part:
                further.setdefault(url.part, []).append(url)
        if not further:
            return [[self]]
        first = [url for url in self.urls if not url.part]
        steps = [[replace(self, state=None, urls=first)] if first or self.entries else []]
        steps.append([replace(self, state=None, urls=urls, entries=()) for urls in further.values()])
        steps.append([replace(self, urls=(), entries=())] if self.state else [])
        return [step for step in steps if step]


@dataclass(frozen=True, slots=True)
class HeldUrl:
    """An alias that waits beside its target, in case the alias rule turns out to be wrong.

    A target has 16 slots, so a host has at most 16 held URLs for each of its pages.
    """

    host: str
    """Host of the target."""
    target: UUID
    """The page that is fetched instead."""
    slot: int
    """0..15."""
    discovered: str
    """The event that discovered the alias, as JSON: enough to fetch the alias later."""
    at: int
    """The write time."""


ALL_HOSTS = "*"
"""The name of the order that holds for all hosts: only its `paused` counts."""


@dataclass(frozen=True, slots=True)
class HostOrder:
    """The order of an operator for a host, or for ALL_HOSTS."""

    COLUMNS: ClassVar = frozenset({"host"})

    host: str
    blocked: bool = False
    """Nothing is requested from the host. Its queue is kept."""
    paused: bool = False
    """Nothing is requested from the host for now. Its queue is kept, and its pages stay in the index."""
    delay_seconds: float = 0.0
    """Minimum delay between two fetches (seconds)."""
    max_pages: int = 0
    """Maximum pages in a crawl, in place of the crawl's own number. 0: the crawl's number holds."""
    purged_at: int = 0
    """URLs that were queued before this time are dropped, microseconds since 1970 UTC."""
    note: str = ""
    at: int = 0
    """The write time."""
    stored: Row | None = field(default=None, repr=False, compare=False)

    @property
    def block_reason(self) -> str:
        """Why pages of a blocked host are not in the index."""
        return f"the host is blocked{f': {self.note}' if self.note else ''}"


@dataclass(frozen=True, slots=True)
class PartitionOwner:
    """The frontier worker that owns a partition."""

    partition: int
    worker: str
    epoch: int
    """Number that grows with each owner of the partition."""


class FrontierStore(Protocol):
    """The frontier's durable state: hosts, the time-ordered queue of each, and URLs.

    Every call reads or writes by key. A queue is read from a cursor, so entries already taken are never read again.
    """

    async def active_hosts(self, buckets: Sequence[int]) -> list[tuple[str, int]]:
        """Return name and due time of every host in these buckets that is due at some time."""

    async def owners(self) -> dict[int, PartitionOwner]:
        """Return the owner of each partition: the one with the highest epoch."""

    async def put_owner(self, owner: PartitionOwner) -> None:
        """Write the owner, unless an owner with a higher epoch is stored."""

    async def orders(self) -> list[HostOrder]:
        """Return the orders of operators, by host. They are few."""

    async def order(self, host: str) -> HostOrder | None:
        """Return the order for a host."""

    async def put_order(self, order: HostOrder) -> None:
        """Write an order in place of the host's former one."""

    async def put_due(self, host: FrontierHost) -> None:
        """Write when a host is due, for `active_hosts`."""

    async def host(self, host: str) -> FrontierHost | None: ...

    async def write(self, rows: HostRows) -> None:
        """Write rows of a host: all or none of them, if they are at most ROWS_TOGETHER, all of its first part.

        Otherwise they are written in the order of `HostRows.steps`. `put_due` is another write.
        """

    async def share(self, host: str, crawl_id: str) -> HostShare | None:
        """Return a crawl's share of a host, if it has a row of its own."""

    async def put_share(self, host: str, crawl_id: str, share: HostShare, at: int) -> None:
        """Write a crawl's share of a host in a row of its own. It is kept for some months."""

    async def queued(self, host: str, after: QueueEntry | None, limit: int) -> list[QueueEntry]:
        """Return the next entries after the cursor `after` (None: from the start), in order, due or not."""

    async def trim(self, host: str, upto: QueueEntry, at: int) -> None:
        """Delete the entries that the cursor has passed: up to `upto`, included."""

    async def url(self, host: str, page_id: UUID) -> FrontierUrl | None: ...

    async def urls(self, host: str, page_ids: Sequence[UUID], *, further: bool = True) -> dict[UUID, FrontierUrl]:
        """Return what is known of some URLs of a host. `further`: also read the further parts of the host."""

    async def urls_of_part(self, host: str, part: int, after: UUID, limit: int) -> list[FrontierUrl]:
        """Return the URLs of one part of a host (0, or a further one), by page id, after this id."""

    async def states(self, crawl_id: str, bucket: int, page_ids: Sequence[UUID]) -> dict[UUID, CrawlState]:
        """Return the states of some URLs in this crawl. URLs without a state are left out."""

    async def states_after(self, crawl_id: str, bucket: int, after: UUID, limit: int) -> list[tuple[UUID, CrawlState]]:
        """Return the next URLs of a crawl's bucket with their states, by page id, after this id."""

    async def put_states(
        self, crawl_id: str, bucket: int, states: Mapping[UUID, CrawlState], owner: str, counts: CrawlCounts
    ) -> None:
        """Write states of URLs together with the counts of their owner: all or nothing."""

    async def owner_counts(self, crawl_id: str, bucket: int, owner: str) -> CrawlCounts:
        """Return the counts of one owner. They are empty if none are stored."""

    async def crawl_counts(self, crawl_id: str) -> dict[CrawlState, int]:
        """Return the number of the crawl's URLs in each state, over all buckets and owners."""

    async def hold(self, held: HeldUrl) -> None:
        """Write the row, in place of the row in its target's slot."""

    async def held(self, host: str, after: HeldUrl | None, limit: int) -> list[HeldUrl]:
        """Return the held URLs of a host's targets after `after` (None: from the start), by target and slot."""

    async def held_for(self, host: str, target: UUID) -> list[HeldUrl]:
        """Return the held URLs of one target, by slot."""

    async def release(self, held: HeldUrl) -> None:
        """Delete the row, unless it was written again since."""
