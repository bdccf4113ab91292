"""The state of a host: pace, leases, robots.txt, and its part in each crawl. Pure.

It is stored as one row. The queue and the URLs have rows of their own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import ClassVar
from uuid import UUID

from streams.crawl.frontier.hosts.robots_state import Robots
from streams.crawl.frontier.policy import JITTER, SECOND, Policy
from streams.crawl.frontier.scheduling.change_hints import ChangeHints
from streams.crawl.frontier.scheduling.ordering import Turns
from streams.crawl.frontier.scheduling.purposes import PURPOSES, LeasePurpose
from streams.crawl.frontier.scheduling.traps import Traps
from streams.crawl.frontier.scheduling.visit_budget import VisitBudget
from streams.crawl.host_quality import MIDDLE, HostRecord, budget_factor, host_quality
from streams.crawl.rights import RIGHTS_PATH
from streams.crawl.robots import seconds_until_open
from streams.stores.protocols import FrontierHost, HostOrder, HostShare, QueueEntry
from streams.stores.rows import Row, read_row, row_of

MAX_SHARES_IN_ROW = 64
"""Maximum number of crawls with a share in a host's row. The share of any other crawl has a row of its own."""

PROBE_AFTER_PAGES = 20
"""Minimum number of settled pages of a host that is asked for a name that can't exist."""
PROBE_SECONDS = 30 * 86_400
"""Time until the host is asked for it again (seconds)."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to fetch one URL until a stated time."""

    lease_id: UUID
    page_id: UUID
    until: int
    """Time when the lease expires, by the frontier's clock."""
    attempt: int
    purpose: LeasePurpose = "page"
    begin_by: int = 0
    """The last time when a fetcher may begin."""
    generation: int = 0
    """Generation of the answer."""
    stored: Row | None = field(default=None, repr=False, compare=False)

    @property
    def is_of_host(self) -> bool:
        """True if the lease is for a file of the host, and not for a URL of its queue."""
        return PURPOSES[self.purpose].is_of_host


@dataclass(slots=True)
class CrawlShare:
    """One crawl's part of a host."""

    seeded: bool = False
    """True if a seed of the crawl is on this host."""
    scheduled: int = 0
    """Number of scheduled pages, counted against the crawl's budget."""
    strangers: int = 0
    """Number of pages among them that other sites led to first."""
    has_asked: bool = False
    """The crawl has asked for the sitemaps of the host."""
    stored: Row | None = field(default=None, repr=False, compare=False)

    def own_row(self) -> HostShare:
        """Return the share as it is stored in a row of its own: without `has_asked`.

        The crawl may ask again then. Each sitemap that it knows is skipped.
        """
        return HostShare(self.seeded, self.scheduled, self.strangers)

    def count(self, change: int, *, stranger: bool) -> None:
        """Count a scheduled page (1), or take it back (-1)."""
        self.scheduled = max(self.scheduled + change, 0)
        self.strangers = max(self.strangers + change, 0) if stranger else self.strangers


@dataclass(slots=True)
class HostFile:
    """The frontier's knowledge of a file of a host."""

    ref: str | None = None
    """The blob that holds the file. None: there is none."""
    fetched_at: int = 0
    stored: Row | None = field(default=None, repr=False, compare=False)

    def note(self, ref: str | None, at: int) -> None:
        """Note what was learned of the file at a time (microseconds since 1970)."""
        self.ref, self.fetched_at = ref, at


@dataclass(slots=True)
class Host:
    """The state of a host, without its queue."""

    COLUMNS: ClassVar = frozenset({"bucket", "name", "version", "order", "turns", "traps"})

    bucket: int
    name: str
    version: int = 0
    """Write time of the last write."""
    cursor: QueueEntry | None = None
    """The last queue entry that was taken."""
    next_at: int = 0
    """Time of the next request to the host at the earliest."""
    failures: int = 0
    """Number of failures in a row."""
    trimmed: int = 0
    """Number of entries taken since the queue was trimmed."""
    queued: int = 0
    """Number of entries of the queue that were not taken. A crash may lose some of the last changes."""
    urls: int = 0
    """Number of URLs in the host's first part. A crash may lose some of the last changes, but not that it is full."""
    leases: dict[UUID, Lease] = field(default_factory=dict)
    crawls: dict[str, CrawlShare] = field(default_factory=dict)
    """Shares by crawl, the last used one last."""
    has_other_shares: bool = False
    """True if shares of other crawls have rows of their own."""
    robots: Robots = field(default_factory=Robots)
    rights: HostFile = field(default_factory=HostFile)
    """The file /.well-known/tdmrep.json."""
    not_found: HostFile = field(default_factory=HostFile)
    """The page that the host sends for a name that can't exist."""
    turns: Turns = field(default_factory=Turns)
    traps: Traps = field(default_factory=Traps)
    hints: ChangeHints = field(default_factory=ChangeHints)
    visits: VisitBudget = field(default_factory=VisitBudget)
    """The further visits of the host. After a crash a few pages may be missing, or counted twice."""
    record: HostRecord = field(default_factory=HostRecord)
    """Counts of the pages of the host. After a crash a few pages may be missing, or counted twice."""
    order: HostOrder = field(default_factory=lambda: HostOrder(""))
    """The operator's order, as it was read last. It is not part of the row."""
    stored: Row | None = field(default=None, repr=False, compare=False)

    def use_share(self, crawl_id: str) -> CrawlShare | None:
        """Return the crawl's share if it is in the host's row, and note that it was used."""
        if crawl_id in self.crawls:
            self.crawls[crawl_id] = self.crawls.pop(crawl_id)
        return self.crawls.get(crawl_id)

    def shares_to_move(self) -> list[str]:
        """Return the crawls whose shares need rows of their own before another share is added: the first used ones."""
        return list(self.crawls)[: max(len(self.crawls) - MAX_SHARES_IN_ROW + 1, 0)]

    def next_version(self, now: int) -> int:
        """Return a write time that is greater than the last one."""
        self.version = max(now, self.version + 1)
        return self.version

    def position(self, when: int) -> int:
        """Return a place in the queue for `when`. It is never before the cursor, even if the clock was set back."""
        return max(when, self.cursor.position + 1) if self.cursor else when

    def page_limit(self, max_pages: int | None, policy: Policy) -> int:
        """Return how many pages of this host a crawl may fetch: by an order, by the crawl, or setting and quality."""
        by_quality = round(policy.max_pages_per_host * budget_factor(host_quality(self.record)))
        return self.order.max_pages or max_pages or max(by_quality, 1)

    def count_settled(self, *, is_unique: bool, quality: float | None) -> None:
        """Count a page of the site's own that is settled for the first time."""
        gained = (MIDDLE if quality is None else quality) if is_unique else 0.0
        settled, unique = self.record.settled + 1, self.record.unique + is_unique
        total = self.record.quality_sum + gained
        self.record = replace(self.record, settled=settled, unique=unique, quality_sum=total)

    def count_settled_of_stranger(self) -> None:
        """Count a settled page that only other sites led to."""
        self.record = replace(self.record, of_strangers=self.record.of_strangers + 1)

    def gap(self, policy: Policy) -> int:
        """Return the delay without jitter (microseconds)."""
        return round((self.robots.delay_seconds or policy.delay_seconds) * SECOND)

    def position_ahead(self) -> int:
        """Return a place in the queue before all URLs that wait, but for some at the very next place."""
        return self.cursor.position + 1 if self.cursor else 1

    def is_leased(self, page_id: UUID) -> bool:
        return any(lease.page_id == page_id for lease in self.leases.values())

    def delay(self, policy: Policy, random: float) -> int:
        """Return the time between two fetches (microseconds). A delay in robots.txt replaces the default."""
        return round(self.delay_seconds(policy) * (1 + JITTER * random) * SECOND)

    def delay_seconds(self, policy: Policy) -> float:
        """Return the time between two fetches without jitter (seconds): of robots.txt or the setting, or an order's."""
        return max(self.robots.delay_seconds or policy.delay_seconds, self.order.delay_seconds)

    @property
    def files(self) -> Mapping[LeasePurpose, HostFile]:
        """The files of the host other than robots.txt, by the purpose of their leases."""
        return {"rights": self.rights, "probe": self.not_found}

    def robots_due(self, policy: Policy, now: int) -> bool:
        """Return whether robots.txt must be fetched before any page."""
        return self.robots.is_due(policy.robots_ttl_seconds, now)

    def rights_due(self, policy: Policy, now: int) -> bool:
        """Return whether /.well-known/tdmrep.json must be fetched before any page."""
        return policy.rights_files and now >= self.rights.fetched_at + round(policy.robots_ttl_seconds * SECOND)

    def probe_due(self, policy: Policy, now: int) -> bool:
        """Return whether the host must be asked for a name that can't exist before any page."""
        is_known = now < self.not_found.fetched_at + PROBE_SECONDS * SECOND
        settled = self.record.settled + self.record.of_strangers
        return policy.soft_404_probes and settled >= PROBE_AFTER_PAGES and not is_known

    def closed_for(self, now: int) -> int:
        """Return how long the host may not be asked at this time of day (microseconds)."""
        return seconds_until_open(self.robots.windows, now // SECOND) * SECOND

    @property
    def is_deferred(self) -> bool:
        """True if the host is unreachable. Its queue is kept until robots.txt is answered again."""
        return self.robots.status == "unreachable"

    def file_url(self, purpose: LeasePurpose, policy: Policy) -> str:
        """Return the URL of a file of the host: of its own robots.txt, before any redirect."""
        paths = {"robots": "/robots.txt", "rights": RIGHTS_PATH, "probe": missing_path(self.name)}
        return f"{policy.origins.origin_of_host(self.name)}{paths[purpose]}"

    def to_row(self, due: int | None, now: int) -> FrontierHost:
        """Return the row to write. Its write time is greater than the last row's."""
        memories = {"turns": self.turns.row(), "traps": self.traps.row()}
        state = {**row_of(self), **{name: row for name, row in memories.items() if row}}
        return FrontierHost(self.bucket, self.name, due, state, self.next_version(now))

    @classmethod
    def from_row(cls, row: FrontierHost) -> "Host":
        memories = {"turns": Turns(row.state.get("turns")), "traps": Traps(row.state.get("traps"))}
        return read_row(cls, {**row.state, **memories, "bucket": row.bucket, "name": row.host, "version": row.at})


def missing_path(host: str) -> str:
    """Return a path that does not exist on a host, to learn what the host sends for it: a soft 404 has the status 200.

    It has 24 consonants, always the same for a host, and no word that a page may have.
    """
    digest = blake2b(host.encode(), digest_size=12, person=b"riffle soft 404").hexdigest()
    return "/" + "".join("bcdfghjklmnpqrst"[int(digit, 16)] for digit in digest)
