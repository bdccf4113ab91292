"""The pace of requests: sliding windows over hosts, domains and addresses; and the load of each host. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address

from streams.crawl.domains import owner_of
from streams.settings import CrawlSettings

MIN_KEYS = 1_000
"""Number of keys from which on those are forgotten whose time has passed. At most half of the keys wait for it."""


@dataclass(frozen=True, slots=True)
class Window:
    """At most `requests` requests begin within any `seconds`, over all URLs with this key."""

    key: str
    requests: int
    seconds: float


def windows_of(
    host: str, addresses: Iterable[str], settings: CrawlSettings, delay_seconds: float | None
) -> list[Window]:
    """Return the windows of a request. `delay_seconds` is the host's own delay; None: the setting's.

    A host that allows a shorter delay than the setting speeds up its own domain, and no address but loopback: others
    may be at the address.
    """
    delay = settings.delay_seconds if delay_seconds is None else delay_seconds
    shared = min(delay, settings.delay_seconds)
    windows = [
        Window(f"host {host}", 1, delay),
        Window(f"domain {owner_of(host)}", settings.requests_per_domain, shared),
        *(
            Window(f"address {address}", settings.requests_per_address, shared if _is_loopback(address) else each)
            for address, each in ((address, settings.delay_seconds) for address in addresses)
        ),
    ]
    return [window for window in windows if window.requests and window.seconds]


def _is_loopback(address: str) -> bool:
    return ip_address(address.partition("%")[0]).is_loopback


class Pace:
    """The last requests of each key."""

    def __init__(self) -> None:
        self._begun: dict[str, list[float]] = {}
        """The times of a key's last requests, a few. An empty deque takes 600 bytes more than such a list."""
        self._ends = EndTimes()
        """Time until which the last requests of a key matter."""

    def wait(self, windows: Sequence[Window], now: float) -> float:
        """Return how long a request must wait until each of its windows has a place (seconds)."""
        return max((self._wait(window, now) for window in windows), default=0.0)

    def _wait(self, window: Window, now: float) -> float:
        begun = self._begun.get(window.key, ())
        if len(begun) < window.requests:
            return 0.0
        return max(begun[len(begun) - window.requests] + window.seconds - now, 0.0)

    def count(self, windows: Sequence[Window], now: float) -> None:
        """Count a request that begins now."""
        for window in windows:
            begun = self._begun.setdefault(window.key, [])
            begun.append(now)
            self._ends[window.key] = max(self._ends.get(window.key, 0.0), now + window.seconds)
            del begun[: -window.requests]
        for key in self._ends.forget_past(now):
            del self._begun[key]

    def is_past(self, key: str, now: float) -> bool:
        """Return whether a request of any window of this key may begin."""
        return self._ends.is_past(key, now)


class EndTimes(dict[str, float]):
    """A table of keys with the times until which they matter."""

    def __init__(self) -> None:
        super().__init__()
        self._most = MIN_KEYS

    def is_past(self, key: str, now: float) -> bool:
        """Return whether a key no longer matters. An unknown key doesn't."""
        return self.get(key, 0.0) <= now

    def forget_past(self, now: float) -> list[str]:
        """Forget the keys whose time has passed, now and then: so that costs O(1) a request. Return these keys."""
        if len(self) <= self._most:
            return []
        past = [key for key, until in self.items() if until <= now]
        for key in past:
            del self[key]
        self._most = max(MIN_KEYS, 2 * len(self))
        return past


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
