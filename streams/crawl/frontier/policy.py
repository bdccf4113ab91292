"""The frontier's policy: limits and waiting times of a crawl, from the settings. Pure."""

from dataclasses import dataclass

from streams.crawl.regions import Regions
from streams.settings import CrawlSettings

SECOND = 1_000_000
"""Microseconds. All times of the frontier are microseconds since 1970 UTC."""
JITTER = 0.2
"""Maximum share by which a delay is lengthened at random, so that hosts behind one server are not asked in step."""
BACKOFF_SECONDS = 1.0
"""Seconds of backoff after the first failure. Each further failure doubles them."""
MAX_BACKOFF_SECONDS = 3_600.0
"""Maximum backoff (seconds)."""
UNREACHABLE_SECONDS = 1_800.0
"""Seconds for which a host is deferred when its robots.txt is unreachable. Each further time in a row doubles them."""
MAX_UNREACHABLE_SECONDS = 86_400.0
"""Maximum seconds for which an unreachable host is deferred."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The crawl's settings, as the frontier uses them."""

    delay_seconds: float
    host_concurrency: int
    max_depth: int
    max_pages_per_host: int
    lease_seconds: float
    clock_bound_seconds: float
    max_attempts: int
    robots_ttl_seconds: float
    regions: Regions

    @classmethod
    def of(cls, settings: CrawlSettings) -> "Policy":
        return cls(
            delay_seconds=settings.delay_seconds,
            host_concurrency=settings.host_concurrency,
            max_depth=settings.max_depth,
            max_pages_per_host=settings.max_pages_per_host,
            lease_seconds=settings.lease_seconds,
            clock_bound_seconds=settings.clock_bound_seconds,
            max_attempts=settings.max_attempts,
            robots_ttl_seconds=settings.robots_ttl_seconds,
            regions=Regions(settings.regions),
        )

    def region_of(self, host: str) -> str:
        """Return the region whose fetchers ask a host, or an empty string if there are no regions."""
        return self.regions.of(host)

    def lease_times(self, now: int) -> tuple[int, int]:
        """Return until when a fetcher may begin, and when the lease expires.

        A fetcher drops a lease once its own clock is past the first time by the clock bound. The frontier waits twice
        the bound. So no fetcher begins after the lease expired, while the clocks differ by less than the bound.
        """
        begin_by = now + round(self.lease_seconds * SECOND)
        return begin_by, begin_by + round(2 * self.clock_bound_seconds * SECOND)


def backoff(failures: int, random: float) -> int:
    """Return the microseconds to wait after so many failures in a row: doubled each time, with jitter, bounded."""
    seconds = min(BACKOFF_SECONDS * 2.0 ** min(failures - 1, 32), MAX_BACKOFF_SECONDS)
    return round(seconds * (1 + JITTER * random) * SECOND)


def deferral(outages: int, random: float) -> int:
    """Return the microseconds for which a host is deferred that was unreachable so many times in a row."""
    seconds = min(UNREACHABLE_SECONDS * 2.0 ** min(outages - 1, 32), MAX_UNREACHABLE_SECONDS)
    return round(seconds * (1 + JITTER * random) * SECOND)
