"""Events of the crawl. They are keyed by host, so that one frontier agent owns all state of a host."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from schemas.envelope import Event
from schemas.ids import page_id
from schemas.unknown_values import ReadAs, Waits

Why = Annotated[Literal["seed", "link", "sitemap", "redirect", "canonical", "import"], ReadAs("link")]
Purpose = Annotated[Literal["page", "robots", "sitemap"], Waits()]
Outcome = Annotated[
    Literal[
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
    ],
    ReadAs("invalid"),
]


class PageDiscovered(Event):
    """Seeds, URLs of a sitemap, a feed, a redirect or a canonical page. The frontier decides whether each is fetched.

    All URLs of an event are of one host. Links of pages are in `links.found`.
    """

    topic: ClassVar[str] = "pages.discovered"
    key_field: ClassVar[str] = "host"

    page_id: UUID
    url: str
    """The canonical URL: absolute, with https, or at an origin that the operator allowed."""
    host: str
    why: Why
    depth: int = Field(ge=0)
    """Number of hops from the seed."""
    max_depth: int | None = None
    """Links of a page at this depth are not followed. None: no limit."""
    max_pages: int | None = None
    """Maximum number of pages of this host in this crawl. None: the setting's default."""
    same_host: bool = False
    """Follow only links to hosts of the crawl's seeds."""
    patterns: tuple[str, ...] = Field((), max_length=64)
    """Globs of the URLs that belong to the crawl: `+GLOB` only such ones, `-GLOB` no such one. Seeds always belong."""
    crawl_id: str = ""
    """The crawl that this event belongs to, to report its progress."""
    referrer: str | None = None
    force: bool = False
    """Fetch again even if the URL was seen before (seeds of `riffle crawl`)."""
    redirects: int = Field(ge=0, default=0)
    """Number of redirects between the last URL that was not a redirect target and this one."""
    purpose: Purpose = "page"
    """`sitemap`: the URLs are sitemaps, and their answers are read as such."""
    more_urls: tuple[str, ...] = Field((), max_length=1_000)
    """Further canonical URLs of the same host. All other fields apply to them as well. `url` is the first one."""
    modified: tuple[int, ...] = Field((), max_length=1_001)
    """When each URL changed last, as a sitemap or feed says (seconds since 1970 UTC): in the order of the
    URLs. 0: it doesn't say, or long ago. Empty: it says so of no URL."""
    change_seconds: tuple[int, ...] = Field((), max_length=1_001)
    """Time between two changes of each URL by the `changefreq` of a sitemap (seconds). 0, or empty: as `modified`."""
    sitemap_level: int | None = Field(None, ge=0)
    """Level of a sitemap: 1 if an index names it, or a page (a feed); else 0. The pages of a sitemap of level 1 have
    its depth, and pages of level 0 are one hop further. None: no sitemap."""
    priorities: tuple[int, ...] = Field((), max_length=1_001)
    """Priority of each URL among the URLs of its site, as a sitemap says (percent). Empty: it says so of no URL."""

    def each(self) -> Iterator["PageDiscovered"]:
        """Yield an event with one URL for each URL, in their order."""
        if not self.more_urls:
            yield self
            return
        for n, url in enumerate((self.url, *self.more_urls)):
            listed = {name: getattr(self, name)[n : n + 1] for name in ("modified", "change_seconds", "priorities")}
            identity = page_id(url) if n else self.page_id
            yield self.model_copy(update={"page_id": identity, "url": url, "more_urls": (), **listed})


class PageScheduled(Event):
    """A fetcher should fetch this URL now. If no answer comes until the lease ends, the URL is scheduled again."""

    topic: ClassVar[str] = "pages.scheduled"
    key_field: ClassVar[str] = "host"

    page_id: UUID
    url: str
    host: str
    purpose: Purpose = "page"
    lease_id: UUID
    lease_until: AwareDatetime
    """Time until which a fetcher may begin, by the clock of the frontier."""
    attempt: int = Field(ge=1)
    depth: int = Field(ge=0, default=0)
    max_depth: int | None = None
    max_pages: int | None = None
    same_host: bool = False
    patterns: tuple[str, ...] = Field((), max_length=64)
    crawl_id: str = ""
    etag: str | None = None
    last_modified: str | None = None
    generation: int | None = None
    """Generation of the answer to this lease. None: the fetcher takes it from its own clock."""
    content_signal: str = ""
    """Signals of the host's robots.txt about uses of the page's content: `ai-train=no, search=yes`."""
    region: str = ""
    """The region of the fetchers that make the request. Empty: fetchers without a region."""
    tdm_reserved: bool = False
    """The host's /.well-known/tdmrep.json reserves the page from text and data mining."""
    not_found_ref: str | None = None
    """The page that the host sends for a name that can't exist. None: it sends none, or was not asked."""
    delay_seconds: float | None = Field(None, ge=0)
    """Minimum time between two requests to the host, by its robots.txt or an operator. None: the setting's."""
    sitemap_level: int | None = Field(None, ge=0)
    """Level of a sitemap, as in `pages.discovered`."""
    redirects: int = Field(ge=0, default=0)
    """Number of redirects that led to the URL, as in `pages.discovered`."""


class LastContent(BaseModel):
    """The last content of a page before an answer: its blobs and headers."""

    model_config = ConfigDict(frozen=True, extra="ignore", use_attribute_docstrings=True)

    outcome: Outcome
    """The outcome of the visit before. A visit that brought no content kept this one."""
    body_ref: str
    body_bytes: int = 0
    exchange_ref: str | None = None
    not_found_ref: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)


class PageFetched(Event):
    """The result of a fetch: a response or a failure. The body is a blob. Redirects are reported, not followed."""

    topic: ClassVar[str] = "pages.fetched"
    key_field: ClassVar[str] = "host"

    page_id: UUID
    url: str
    host: str
    purpose: Purpose = "page"
    outcome: Outcome
    retryable: bool = False
    generation: int
    """Time of the fetch, microseconds since 1970 UTC: the version of the page's content in all later events."""
    lease_id: UUID | None = None
    attempt: int = 1
    depth: int = Field(ge=0, default=0)
    max_depth: int | None = None
    max_pages: int | None = None
    same_host: bool = False
    patterns: tuple[str, ...] = Field((), max_length=64)
    crawl_id: str = ""
    status: int | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    """Headers that a later stage reads (content-type, etag, x-robots-tag, retry-after, ...), with lower-case names."""
    body_ref: str | None = None
    """The body. After a 304, a failed visit or a temporary redirect, a page stays indexed: then this is the body of the
    last content, and the headers (but `retry-after`), the size and the exchange are of the last content, too."""
    body_bytes: int = 0
    exchange_ref: str | None = None
    """The exchange as it was: both heads, the server's address, and the received body. None: it was not kept."""
    redirect_to: str | None = None
    error: str | None = None
    elapsed_ms: float = 0.0
    source: Annotated[Literal["crawl", "warc", "html"], ReadAs("html")] = "crawl"
    origin: str = Field("", max_length=200)
    """The name of the index that handed the page on: then the source is `warc`. Empty: none did."""
    brought_ref: str | None = None
    """The vectors that an index handed on with the page. None: it has none."""
    not_found_ref: str | None = None
    """The page that the host sends for a name that can't exist, as in `pages.scheduled`."""
    last_content: LastContent | None = None
    """The content before this one, if this one is new. It stays if the new one is a sign-in page."""
    rendered: bool = False
    """The body is the HTML of a page after its scripts ran in a browser."""
    lease_expired: bool = False
    """No request was made, because the lease had expired. The outcome is `timeout`, and it counts as no attempt."""
    postponed_seconds: float | None = Field(None, ge=0)
    """No request was made, because the host, its domain or its address was asked a moment ago: it can be asked after
    this time. The outcome is `rate_limited`, and it counts as no attempt."""
    removed_on_request: bool = False
    """No request was made, because the page was removed on request. The outcome is `refused`."""
    seen_at: int | None = Field(None, ge=0)
    """Time when Riffle saw an imported page first, microseconds since 1970 UTC. None: at its generation."""
    sitemap_level: int | None = Field(None, ge=0)
    """Level of a sitemap, as in `pages.discovered`."""
    redirects: int = Field(ge=0, default=0)
    """Number of redirects that led to the URL, as in `pages.discovered`."""


class PageSettled(Event):
    """The final result of a fetch that `pages.deduplicated` does not settle: feedback for the frontier."""

    topic: ClassVar[str] = "pages.settled"
    key_field: ClassVar[str] = "host"

    page_id: UUID
    url: str
    host: str
    generation: int
    verdict: Annotated[
        Literal["changed", "unchanged", "duplicate", "refused", "soft_404", "gone", "failed"], ReadAs("changed")
    ]
    purpose: Purpose = "page"
    """`sitemap`: the pages that a sitemap names were discovered."""
    canonical_page_id: UUID | None = None
    quality: float | None = Field(None, ge=0, le=1)
    """The quality of the page by its text and markup. None: not known."""
    crawl_id: str = ""
    in_place: Annotated[Literal["sign_in", "refresh"], ReadAs("refresh")] | None = None
    """The answer was a sign-in page, or a page that refreshes to another one, in place of the page: the visit failed,
    and the last content stays."""
    exhausting: bool = False
    """The page was refused because it used up the time or memory of the process that reads it: its host waits."""


class OriginChanged(Event):
    """The state of a host: robots and politeness. The topic is compacted: it keeps the last event of a host."""

    topic: ClassVar[str] = "origins.changed"
    key_field: ClassVar[str] = "host"

    host: str
    robots: Annotated[Literal["allowed", "rules", "unreachable", "disallowed"], Waits()] = "allowed"
    robots_ref: str | None = None
    robots_fetched_at: AwareDatetime | None = None
    crawl_delay_seconds: float = 0.0
    failures_in_a_row: int = 0
    blocked_until: AwareDatetime | None = None
    reason: str | None = None
