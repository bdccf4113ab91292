"""The number of requests in progress to each host, and the number of violations of one at a time. Pure.

The frontier decides when a host is asked, and the fetchers only obey. This module counts the real requests, so that
operators see an error of the frontier, or of two owners of one host, before the host sees it.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class HostLoad:
    """The requests in progress of one worker. Other workers never have events of the same host."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()
        self.violations = 0
        """Number of requests that began while their host had another one."""

    @contextmanager
    def request(self, host: str) -> Iterator[None]:
        """Count a request to the host while the block runs."""
        self._open[host] += 1
        if self._open[host] > 1:
            self.violations += 1
        try:
            yield
        finally:
            self._open[host] -= 1
            if not self._open[host]:
                del self._open[host]
