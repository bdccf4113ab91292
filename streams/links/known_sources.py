"""The known linking hosts of each host: a bounded memory in front of the store. Pure.

A host with more linking hosts than MAX_SOURCES is full: it has enough authority, and no further rows are written.
"""

from collections.abc import Iterable

import xxhash

from streams.caches import SizedCache

MAX_SOURCES = 10_000
"""Maximum number of linking hosts of one host."""
MAX_REMEMBERED = 300_000
"""Maximum number of linking hosts in memory, of all hosts together: about 30 MB."""


class KnownSources:
    """The linking hosts of the hosts that were linked lately, as hashes."""

    def __init__(self, max_sources: int = MAX_SOURCES, max_remembered: int = MAX_REMEMBERED) -> None:
        self._max_sources = max_sources
        self._hosts = SizedCache[str, set[int] | None](max_remembered, lambda known: len(known or ()) + 1)
        """None: the host is full."""

    def knows(self, host: str) -> bool:
        """Return whether the host was loaded and not forgotten since."""
        return host in self._hosts

    def load(self, host: str, sources: Iterable[str]) -> None:
        """Replace the known linking hosts of a host by those in the store."""
        self._keep(host, {_hash(source) for source in sources})

    def number_of(self, host: str, source: str) -> int | None:
        """Return the number of a new source of a loaded host, from 1.

        None if it is known, or the host is full.
        """
        known = self._hosts.get(host)
        return None if known is None or _hash(source) in known else len(known) + 1

    def add(self, host: str, source: str) -> None:
        """Remember a source that was stored."""
        known = self._hosts.get(host)
        if known is not None:
            known.add(_hash(source))
            self._keep(host, known)

    def clear(self) -> None:
        """Forget everything: another worker may have stored sources meanwhile."""
        self._hosts.clear()

    def _keep(self, host: str, known: set[int]) -> None:
        self._hosts.put(host, None if len(known) >= self._max_sources else known)


def _hash(source: str) -> int:
    return xxhash.xxh3_64_intdigest(source.encode("utf-8", "replace"))
