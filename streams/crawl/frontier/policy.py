"""The frontier's policy: limits and waiting times of a crawl, from the settings, and the region of a host. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import xxhash

from streams.allowed_origins import NO_ORIGINS, AllowedOrigins
from streams.crawl.robots import ROBOTS_TTL_SECONDS
from streams.settings import CrawlSettings

SECOND = 1_000_000
"""Microseconds. All times of the frontier are microseconds since 1970 UTC."""
JITTER = 0.2
"""Maximum random increase of a delay (as a share), so that hosts behind one server are not asked in step."""
BACKOFF_SECONDS = 1.0
"""Backoff after the first failure (seconds). Each further failure doubles it."""
MAX_BACKOFF_SECONDS = 3_600.0
"""Maximum backoff (seconds)."""
UNREACHABLE_SECONDS = 1_800.0
"""Time that a host waits after its robots.txt was unreachable (seconds). Each further outage in a row doubles it."""
MAX_UNREACHABLE_SECONDS = 86_400.0
"""Maximum time that an unreachable host waits (seconds)."""
MAX_ATTEMPTS = 5
"""Maximum number of attempts for a URL if its fetch fails with a transient error: about half a minute of backoff."""
SITEMAP_PAGES = 1_000
"""Maximum number of new pages of a host in a day that come from sitemaps and feeds: twenty minutes at the default
delay."""


class Regions:
    """The rules of the settings: region -> suffixes of its hosts."""

    def __init__(self, suffixes: Mapping[str, Sequence[str]]) -> None:
        self._names = sorted(suffixes)
        self._by_suffix = {suffix: name for name, listed in suffixes.items() for suffix in listed}

    def of(self, host: str) -> str:
        """Return the region of a host. Empty if there are no regions."""
        labels = host.split(".")
        for start in range(len(labels)):
            if region := self._by_suffix.get(".".join(labels[start:])):
                return region
        return max(self._names, key=lambda name: xxhash.xxh3_64_intdigest(f"{name}/{host}".encode()), default="")


@dataclass(frozen=True, slots=True)
class Policy:
    """The crawl's settings, as the frontier uses them, and constants of which only tests have others."""

    delay_seconds: float
    max_depth: int
    max_pages_per_host: int
    lease_seconds: float
    clock_bound_seconds: float
    recrawl: bool
    sitemaps: bool
    rights_files: bool
    soft_404_probes: bool
    regions: Regions
    origins: AllowedOrigins = NO_ORIGINS
    """The origins that may be crawled though they are not public."""
    max_attempts: int = MAX_ATTEMPTS
    robots_ttl_seconds: float = ROBOTS_TTL_SECONDS
    sitemap_pages: int = SITEMAP_PAGES

    @classmethod
    def of(cls, settings: CrawlSettings) -> "Policy":
        return cls(
            delay_seconds=settings.delay_seconds,
            max_depth=settings.max_depth,
            max_pages_per_host=settings.max_pages_per_host,
            lease_seconds=settings.lease_seconds,
            clock_bound_seconds=settings.clock_bound_seconds,
            recrawl=settings.recrawl,
            sitemaps=settings.sitemaps,
            rights_files=settings.rights_files,
            soft_404_probes=settings.soft_404_probes,
            regions=Regions(settings.regions),
            origins=settings.origins,
        )

    def lease_times(self, now: int) -> tuple[int, int]:
        """Return the last time for a fetcher to begin, and the time when the lease expires.

        A fetcher drops a lease once its own clock is past the first time plus the clock bound. The frontier waits twice
        the bound. So no fetcher begins after the lease expired, while the clocks differ by less than the bound.
        """
        begin_by = now + round(self.lease_seconds * SECOND)
        return begin_by, begin_by + round(2 * self.clock_bound_seconds * SECOND)


def backoff_micros(failures: int, random: float) -> int:
    """Return how long a host waits after N failures in a row (microseconds): doubled each time, jittered, bounded."""
    seconds = min(BACKOFF_SECONDS * 2.0 ** min(failures - 1, 32), MAX_BACKOFF_SECONDS)
    return round(seconds * (1 + JITTER * random) * SECOND)


def deferral_micros(outages: int, random: float) -> int:
    """Return how long a host waits after N outages in a row (microseconds): doubled each time, with jitter, bounded."""
    seconds = min(UNREACHABLE_SECONDS * 2.0 ** min(outages - 1, 32), MAX_UNREACHABLE_SECONDS)
    return round(seconds * (1 + JITTER * random) * SECOND)
