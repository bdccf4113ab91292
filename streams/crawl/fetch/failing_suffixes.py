"""Memory of domains whose name servers don't answer: their names are refused for a while, without a lookup. Pure.

An owner of a domain can make any number of host names with dead name servers. Each lookup would hold one of the fetch
stage's slots for some seconds.
"""

from dataclasses import dataclass

from streams.caches import RecentCache

FAILURES = 6
"""Number of failures in a row, without an answer between them, until a domain is refused."""
REFUSED_SECONDS = 60.0
"""Time that a domain is refused (seconds). Then one lookup is tried."""
MAX_SUFFIXES = 10_000
"""Maximum number of domains that are remembered; the oldest ones are forgotten."""

_SHARED = frozenset({"ac", "co", "com", "edu", "go", "gov", "ne", "net", "or", "org"})
"""Second-level labels of country registries that sell domains below them, such as co.uk."""


@dataclass(slots=True)
class _Failures:
    count: int
    refused_until: float = 0.0


class FailingSuffixes:
    """The domains that fail. Times are seconds of any steady clock."""

    def __init__(self) -> None:
        self._failures: RecentCache[str, _Failures] = RecentCache(MAX_SUFFIXES)

    def refuses(self, host: str, now: float) -> bool:
        """Return whether the host's domain fails now. Regularly the answer is False, so that one lookup is tried."""
        failures = self._failures.get(suffix(host))
        if failures is None or failures.count < FAILURES:
            return False
        if now < failures.refused_until:
            return True
        failures.refused_until = now + REFUSED_SECONDS
        return False

    def note_failure(self, host: str, now: float) -> None:
        """Note a lookup without an answer."""
        failures = self._failures.get(suffix(host)) or _Failures(0)
        failures.count += 1
        failures.refused_until = now + REFUSED_SECONDS
        self._failures.put(suffix(host), failures)

    def note_answer(self, host: str) -> None:
        """Note an answer: the domain's name servers work."""
        self._failures.take(suffix(host))


def suffix(host: str) -> str:
    """Return the domain of a host name: its last two labels, or three below a registry's second level."""
    labels = host.split(".")
    registry = len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SHARED
    return ".".join(labels[-3:] if registry else labels[-2:])
