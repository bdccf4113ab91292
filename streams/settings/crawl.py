"""The settings of the crawl and of the rendering of pages."""

import re
from functools import cached_property
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, GetPydanticSchema, StringConstraints, field_validator, model_validator
from pydantic_core import core_schema

from streams.allowed_origins import AllowedOrigins, parse_networks, parse_origins
from streams.robot_name import ROBOT, ProductToken, user_agent_of
from streams.settings.groups import SettingsGroup

_Region = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]{0,15}$")]
_HostSuffix = Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63}){0,9}$")]

_PROXY = re.compile(r"http://(?:[A-Za-z0-9.-]{1,253}|\[[0-9a-fA-F:]{2,45}\]):[0-9]{1,5}/?")
_RobotName = Annotated[
    ProductToken,
    GetPydanticSchema(
        lambda _, __: core_schema.no_info_after_validator_function(ProductToken, core_schema.str_schema())
    ),
]


class CrawlSettings(SettingsGroup):
    robot_name: _RobotName = ROBOT
    """The crawler's name: letters, `-` and `_`. Sites use it in robots.txt, in metas and in `X-Robots-Tag`."""
    user_agent: str = ""
    """User agent of the crawler, with its name, as servers see it. Empty: the name and the contact."""
    contact_url: str = ""
    """A page that names the operator of the crawler and a contact. Required in production. Part of the user agent."""
    delay_seconds: float = Field(1.0, ge=0)
    """Time between two fetches of one host, unless its robots.txt sets a delay."""
    requests_per_domain: int = Field(4, ge=0)
    """Maximum number of requests to all hosts of a registrable domain within the delay. 0: only hosts are bounded."""
    requests_per_address: int = Field(8, ge=0)
    """Maximum number of requests to all hosts of an address within the delay. 0: only hosts and
    domains are bounded."""
    max_depth: int = Field(16, ge=0)
    """Maximum number of hops from the seed, unless the crawl sets it."""
    max_pages_per_host: int = Field(100_000, ge=1)
    """Maximum number of pages of one host in a crawl, unless the crawl sets it."""
    max_body_bytes: int = 10 * 1024 * 1024
    """Maximum size of a response body after decompression. A larger body is refused."""
    timeout_seconds: float = 30.0
    """Maximum duration of one fetch, from the connection to the last byte."""
    clock_bound_seconds: float = Field(5.0, ge=0)
    """Maximum difference between the clocks of two machines. Neither a worker nor a command that writes starts
    if its clock differs by more from Cassandra's."""
    lease_seconds: float = 120.0
    """Time after which a scheduled URL without an answer is scheduled again."""
    recrawl: bool = True
    """Visit pages again, by how often each one changes, between 5 minutes and 30 days. False: only when a person
    asks for it."""
    sitemaps: bool = True
    """Read the sitemaps that robots.txt of hosts in a crawl names, and the feeds that pages name. Crawls with a
    depth of 0 read none."""
    rights_files: bool = True
    """Read the reservations of text and data mining in each host's /.well-known/tdmrep.json, once a day: one more
    request for each host."""
    soft_404_probes: bool = True
    """Ask each host with 20 pages or more for a name that can't exist, once in 30 days. Pages like an answer with
    status 200 count as gone."""
    in_flight: int = Field(64, ge=1)
    """Maximum number of scheduled URLs without an answer, per frontier worker."""
    min_free_bytes: int = Field(1_000_000_000, ge=0)
    """Minimum free space on the disk of the local stack (bytes). While less is free, nothing is scheduled, and imports
    and replays wait."""
    max_stage_lag_events: int = Field(100_000, ge=1)
    """Maximum number of events that a later stage may be behind. While a stage is further behind, nothing is
    scheduled."""
    regions: dict[_Region, tuple[_HostSuffix, ...]] = Field(default_factory=dict)
    """REGION -> suffixes of the hosts that its fetchers crawl, for the frontier: `{"eu": ["de", "fr"], "us": []}`.
    The longest suffix decides; other hosts are spread over all regions. Empty: no regions."""
    sign_ins_file: Path | None = None
    """JSON file with secrets by origin: `{"https://wiki.example.com": {"basic": "USER:PASSWORD"}}`, also `headers` and
    `cookies`. What is read with them is private, unless the entry says `public`."""
    proxy: str = ""
    """Egress proxy through which the crawler asks the public web (CONNECT): `http://proxy.corp.example:3128`. Names are
    looked up here, and the proxy is asked for addresses."""
    region: str = ""
    """The region of this fetcher, a name from `regions`."""

    @cached_property
    def origins(self) -> AllowedOrigins:
        """The origins that may be crawled though they are not public."""
        return AllowedOrigins(frozenset(self.allowed_origins), self.allow_loopback)

    @model_validator(mode="after")
    def _user_agent_has_the_name(self) -> Self:
        user_agent_of(self.robot_name, self.user_agent, self.contact_url)
        return self

    @field_validator("allowed_origins")
    @classmethod
    def _are_origins(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(sorted(parse_origins(names)))

    @field_validator("proxy")
    @classmethod
    def _is_proxy(cls, proxy: str) -> str:
        if proxy and not _PROXY.fullmatch(proxy):
            raise ValueError("crawl.proxy is no address like http://proxy.corp.example:3128, without a password")
        return proxy

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
    """Origins that are crawled though they are not public or have no TLS: `["http://wiki.corp.example",
    "https://docs.example:8443", "http://*.lab.example"]`. Their pages keep scheme and port."""
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
    memory_mb: int = Field(1_500, ge=200)
    """Maximum memory of all processes of a page's browser (MiB)."""
