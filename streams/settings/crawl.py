"""The settings of the crawl and of the rendering of pages."""

from functools import cached_property
from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints, field_validator

from streams.allowed_origins import AllowedOrigins, parse_networks, parse_origins
from streams.settings.groups import SettingsGroup

_Region = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]{0,15}$")]
_HostSuffix = Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63}){0,9}$")]


class CrawlSettings(SettingsGroup):
    user_agent: str = "RiffleBot/0.1 (+https://github.com/riffle-search/riffle; crawler)"
    """User agent, as servers and robots.txt files see it."""
    contact_url: str = ""
    """A page that names the operator of the crawler and a contact. Required in production. Part of the user agent."""
    delay_seconds: float = Field(1.0, ge=0)
    """Time between two fetches of one host, unless its robots.txt sets a delay."""
    requests_per_domain: int = Field(4, ge=0)
    """Maximum number of requests to all hosts of a registrable domain within the delay. 0: only hosts are bounded."""
    requests_per_address: int = Field(8, ge=0)
    """Maximum number of requests to all hosts of an address within the delay. 0: only hosts and
    domains are bounded."""
    host_concurrency: int = Field(1, ge=1)
    """Maximum number of concurrent fetches of one host."""
    max_depth: int = Field(16, ge=0)
    """Maximum number of hops from the seed, unless the crawl sets it."""
    max_pages_per_host: int = Field(100_000, ge=1)
    """Maximum number of pages of one host in a crawl, unless the crawl sets it."""
    max_body_bytes: int = 10 * 1024 * 1024
    """Maximum size of a response body after decompression. A larger body is refused."""
    max_header_bytes: int = 64 * 1024
    """Maximum size of all headers of a response."""
    keep_exchanges: bool = True
    """Keep both heads of each exchange, the server's address, and the body as it was received. `riffle export`
    writes them."""
    timeout_seconds: float = 30.0
    """Maximum duration of one fetch, from the connection to the last byte."""
    min_bytes_per_second: int = 500
    """Minimum rate of a response. A slower response is aborted."""
    clock_bound_seconds: float = Field(5.0, ge=0)
    """Maximum difference between the clocks of two machines. A worker does not start if its clock differs by more from
    Cassandra's clock."""
    lease_seconds: float = 120.0
    """Time after which a scheduled URL without an answer is scheduled again."""
    max_attempts: int = Field(5, ge=1)
    """Maximum number of attempts for a URL if its fetch fails with a transient error."""
    recrawl: bool = True
    """Visit pages again: after an hour, then by how often each one changes, between 5 minutes and 30 days. False: a
    page is fetched again only when a person asks for it."""
    sitemaps: bool = True
    """Read the sitemaps that the robots.txt of each host with a page of a crawl names, and the feeds that pages name.
    Their pages count as links of the page that led to them. Crawls with a depth of 0 read none."""
    sitemap_pages: int = Field(1_000, ge=0)
    """Maximum number of new pages of a host in a day that come from sitemaps and feeds. A crawl with a number of pages
    of its own (`--max-pages`, or `--sitemap-only`) is bounded by that number instead."""
    rank_priority: bool = True
    """Prefer hosts of high quality, to which well-linked sites link, where more hosts are due than may be asked at
    once; and give more turns to the URLs that a well-linked site among strangers links to. False: all by chance and in
    equal turns."""
    quality_budgets: bool = True
    """Multiply a host's budget of pages by a factor of its quality: 0.1 for duplicates and made pages, 2.5 for unique
    and good ones. False: every host has the same budget."""
    rights_files: bool = True
    """Read the reservations of text and data mining in each host's /.well-known/tdmrep.json, once a day before its
    pages: one more request for each host. False: only headers and meta elements reserve a page."""
    soft_404_probes: bool = True
    """Ask each host with 20 pages or more for a name that can't exist, once in 30 days. If the answer is a page with
    status 200, the host's pages that are like it count as gone."""
    robots_ttl_seconds: float = 86_400.0
    """Time until a host's robots.txt is fetched again. RFC 9309 section 2.4: at most 24 hours."""
    in_flight: int = Field(64, ge=1)
    """Maximum number of scheduled URLs without an answer, per frontier worker."""
    min_free_bytes: int = Field(1_000_000_000, ge=0)
    """Minimum free space on the disk of the local stack (bytes). While less is free, nothing is scheduled, and imports
    and replays wait."""
    max_stage_lag_events: int = Field(100_000, ge=1)
    """Maximum number of events that a later stage may be behind. While a stage is further behind, nothing is
    scheduled."""
    regions: dict[_Region, tuple[_HostSuffix, ...]] = Field(default_factory=dict)
    """REGION -> suffixes of the hosts that its fetchers crawl, for the frontier: `{"eu": ["de", "fr"], "us": []}`. The
    longest suffix decides. Hosts without a suffix here are spread over all regions. Empty: one crawl, without
    regions."""
    region: str = ""
    """The region of this fetcher, a name from `regions`."""

    @cached_property
    def origins(self) -> AllowedOrigins:
        """The origins that may be crawled though they are not public."""
        return AllowedOrigins(frozenset(self.allowed_origins), self.allow_loopback)

    @field_validator("allowed_origins")
    @classmethod
    def _are_origins(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(sorted(parse_origins(names)))

    @field_validator("allowed_networks")
    @classmethod
    def _are_private(cls, networks: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(str, parse_networks(networks)))

    @field_validator("regions")
    @classmethod
    def _each_suffix_once(cls, regions: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        suffixes = [suffix for listed in regions.values() for suffix in listed]
        if twice := sorted({suffix for suffix in suffixes if suffixes.count(suffix) > 1}):
            raise ValueError(f"a suffix belongs to one region, and {', '.join(twice)} is listed twice")
        return regions

    allowed_origins: tuple[str, ...] = ()
    """Origins that are crawled though they are not public, as `["http://wiki.corp.example", "https://docs.example:8443",
    "http://*.lab.example"]`. Their pages keep scheme and port. A site without TLS is crawled if its origin is here."""
    allowed_networks: tuple[str, ...] = ()
    """Private networks whose addresses `allowed_origins` may have: `["10.20.0.0/16"]`. No other host may have them."""
    allowed_ca_file: Path | None = None
    """PEM file with the authority that signed the certificates of `allowed_origins`, beside the system's
    authorities."""
    allow_loopback: bool = False
    """Crawl servers on this machine, such as `http://localhost:8000/`. `riffle up` sets it for its own stack. Refused
    in production."""
    local_hosts: dict[str, str] = Field(default_factory=dict)
    """HOST -> ADDRESS:PORT of the hosts of `riffle web`, reached on loopback. Refused in production."""
    local_ca_file: Path | None = None
    """PEM file with the authority that signed the certificates of `local_hosts`. Refused in production."""


class RenderSettings(SettingsGroup):
    enabled: bool = False
    """Render pages in headless Chromium if scripts make their text. Costs about a second of CPU time a page."""
    chromium: str = ""
    """Path of Chromium. Empty: `chromium`, `chromium-browser` or `google-chrome`."""
    timeout_seconds: float = Field(60.0, gt=0)
    """Maximum duration of rendering a page, with the start of the browser. Its requests wait for the pace meanwhile."""
    cpu_seconds: float = Field(10.0, gt=0)
    """Maximum CPU time of all processes of a page's browser."""
    memory_mb: int = Field(1_500, ge=200)
    """Maximum memory of all processes of a page's browser (MiB)."""
    max_requests: int = Field(60, ge=0)
    """Maximum requests of a page's scripts."""
    max_bytes: int = Field(8 * 1024 * 1024, ge=0)
    """Maximum bytes of all answers to a page's scripts."""
