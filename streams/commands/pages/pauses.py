"""Finds out that a crawl has nothing to do but to wait for hosts that asked for a pause, or are closed for now.

A pause is asked for by `Retry-After`, by a delay or visit times of robots.txt, or it follows failures.
"""

from collections.abc import Iterable

from streams.maintenance.frontier_hosts import paused_until
from streams.stores.protocols import FrontierStore

LONG_SECONDS = 300
"""Minimum time until a host is asked again for which no command waits (seconds)."""
QUIET_SECONDS = 12.0
"""Time without an event after which a command looks for such hosts, and between two looks (seconds)."""


async def find_pauses(store: FrontierStore, hosts: Iterable[str], now: int) -> dict[str, int]:
    """Return when the hosts with waiting URLs are asked again, if none is asked soon. All are microseconds since 1970
    UTC."""
    found: dict[str, int] = {}
    for host in hosts:
        until = await paused_until(store, host, now)
        if until is not None:
            if until - now < LONG_SECONDS * 1_000_000:
                return {}
            found[host] = until
    return found
