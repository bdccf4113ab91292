"""Events of the crawl: keyed by host, so that one frontier agent owns all that is known of a host."""

from typing import ClassVar, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field

from schemas.envelope import Event

Why = Literal["seed", "link", "sitemap", "redirect", "canonical", "import"]
Purpose = Literal["page", "robots", "sitemap"]
Outcome = Literal[
    "ok",
    "not_modified",
    "redirect",
    "gone",
    "refused",
    "client_error",
    "server_error",
    "rate_limited",
    "network_error",
    "timeout",
    "too_large",
    "unsupported_type",
    "guarded",
    "invalid",
]


class PageDiscovered(Event):
    """A URL was seen. The frontier decides whether, and when, it is fetched."""

    topic: ClassVar[str] = "pages.discovered"
    key_field: ClassVar[str] = "host"

    page_id: UUID
    url: str
    """Canonical, absolute, https."""
    host: str
    why: Why
    depth: int = Field(ge=0)
    """Hops from the seed."""
    max_depth: int | None = None
    """Links of a page at this depth are not followed. None: no limit."""
    max_pages: int | None = None
    """At most so many pages of this host in this crawl. None: the setting's default."""
    same_host: bool = False
    """Follow only links that stay on hosts which the crawl was seeded with."""
    crawl_id: str = ""
    """Which `riffle crawl` led here, to report its progress."""
    referrer: str | None = None
    force: bool = False
    """Fetch again even if the URL was seen before (a seed given by a person)."""
    redirects: int = Field(ge=0, default=0)
    """Hops of redirects that led here from a URL that was not one itself."""


class PageScheduled(Event):
    """Fetch this now. If no answer comes until the lease ends, it is scheduled again."""

    topic: ClassVar[str] = "pages.scheduled"
    key_field: ClassVar[str] = "host"

    page_id: UUID
    url: str
    host: str
    purpose: Purpose = "page"
    lease_id: UUID
    lease_until: AwareDatetime
    attempt: int = Field(ge=1)
    depth: int = Field(ge=0, default=0)
    max_depth: int | None = None
    max_pages: int | None = None
    same_host: bool = False
    crawl_id: str = ""
    etag: str | None = None
    last_modified: str | None = None


class PageFetched(Event):
    """What came back, or which failure. The body is a blob; redirects are not followed but reported."""

    topic: ClassVar[str] = "pages.fetched"
    key_field: ClassVar[str] = "host"

    page_id: UUID
    url: str
    host: str
    purpose: Purpose = "page"
    outcome: Outcome
    retryable: bool = False
    generation: int
    """When it was fetched, microseconds since 1970 UTC: the version of the page's content in every later event."""
    lease_id: UUID | None = None
    attempt: int = 1
    depth: int = Field(ge=0, default=0)
    max_depth: int | None = None
    max_pages: int | None = None
    same_host: bool = False
    crawl_id: str = ""
    status: int | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    """Lower-case names; only those that a later stage reads (content-type, etag, x-robots-tag, retry-after, ...)."""
    body_ref: str | None = None
    body_bytes: int = 0
    redirect_to: str | None = None
    error: str | None = None
    elapsed_ms: float = 0.0
    source: Literal["crawl", "warc", "html"] = "crawl"


class PageSettled(Event):
    """What became of a fetch: the frontier's feedback for recrawl, budgets and host quality."""

    topic: ClassVar[str] = "pages.settled"
    key_field: ClassVar[str] = "host"

    page_id: UUID
    url: str
    host: str
    generation: int
    verdict: Literal["changed", "unchanged", "duplicate", "refused", "soft_404", "gone", "failed"]
    canonical_page_id: UUID | None = None
    crawl_id: str = ""


class OriginChanged(Event):
    """The state of a host: robots, politeness, bans. Compacted, so the last one stands."""

    topic: ClassVar[str] = "origins.changed"
    key_field: ClassVar[str] = "host"

    host: str
    robots: Literal["allowed", "rules", "unreachable", "disallowed"] = "allowed"
    robots_ref: str | None = None
    robots_fetched_at: AwareDatetime | None = None
    crawl_delay_seconds: float = 0.0
    failures_in_a_row: int = 0
    blocked_until: AwareDatetime | None = None
    banned: bool = False
    reason: str | None = None
