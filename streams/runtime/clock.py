"""The check of a worker's clock, at its start.

Riffle compares clocks of different machines in three places: leases, retry times, and Cassandra's write times. Each
stays right while any two clocks differ by less than `RIFFLE_CRAWL__CLOCK_BOUND_SECONDS`. The check compares with
Cassandra's clock, so the clocks of two workers may differ by up to twice the bound. Then some leases end early and
their URLs are fetched later. Nothing is lost.
"""

from collections.abc import Awaitable, Callable

from streams.errors import UsageError


async def require_clock(clock_ahead: Callable[[], Awaitable[float]], bound_seconds: float) -> float:
    """Return how far this clock is ahead of Cassandra's (seconds). Raises UsageError if that is beyond the bound."""
    ahead = await clock_ahead()
    if abs(ahead) > bound_seconds:
        direction = "ahead of" if ahead > 0 else "behind"
        raise UsageError(
            f"the clock of this machine is {abs(ahead):.1f} s {direction} Cassandra's clock, "
            f"and {bound_seconds:g} s are allowed. Synchronize both clocks (NTP), "
            "or raise RIFFLE_CRAWL__CLOCK_BOUND_SECONDS on all workers"
        )
    return ahead
