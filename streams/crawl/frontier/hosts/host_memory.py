"""Hosts that are new, and hosts that nobody uses at this moment, in the bounded memory of a worker. Pure.

- New hosts: the worker itself stored their first URL, so it knows all their URLs without a read. A row of a host is
  written before the first row of a URL. So a host without a row has no URL, and from then on only its owner adds URLs.
  Most hosts of a crawl are small, and most of their URLs are first asked for while the host is new.
- Idle hosts: an event or a visit of one that comes soon costs no read. Their number is bounded, and so is the number of
  their URLs and queue entries: a crawl may have a hundred thousand hosts that are due, each with a few hundred of them.
  The host that was used longest ago goes first. One with changes that the store lacks is written before
  (`Hosts.put_away`).
"""

from itertools import islice
from uuid import UUID

from streams.caches import SizedCache
from streams.crawl.frontier.hosts.live_host import LiveHost

MAX_NEW = 50_000
"""Maximum number of hosts and URLs in memory, about 6 MB."""
_KEPT_BITS = (1 << 60) - 1
"""The bits of a page id that are kept: two URLs of a host with the same ones are both read from the store."""
MAX_HOSTS = 1_024
"""Maximum number of idle hosts in memory."""
MAX_SIZE = 16_384
"""Maximum number of their URLs and queue entries in memory, about 12 MB."""


class NewHosts:
    """A bounded memory of the URLs of new hosts. It forgets the least recently used host."""

    def __init__(self, most: int = MAX_NEW) -> None:
        self._hosts = SizedCache[str, set[int]](most, lambda urls: 1 + len(urls))
        """A host counts, too: it may stay without a URL, if all are refused."""

    def begin(self, host: str) -> None:
        """Note that the host has no URL."""
        self._hosts.put(host, set())

    def has_no(self, host: str, page_id: UUID) -> bool:
        """Return whether the store certainly lacks the URL."""
        urls = self._hosts.get(host)
        return urls is not None and page_id.int & _KEPT_BITS not in urls

    def add(self, host: str, page_id: UUID) -> None:
        """Note that a URL will be written. Call it before the write."""
        urls = self._hosts.get(host)
        if urls is not None:
            urls.add(page_id.int & _KEPT_BITS)
            self._hosts.put(host, urls)

    def forget(self, host: str) -> None:
        """Forget a host, so that its URLs are read from the store."""
        self._hosts.drop(host)

    def clear(self) -> None:
        """Forget all hosts, after another worker may have changed the store."""
        self._hosts.clear()


class IdleHosts:
    """A bounded cache of hosts."""

    def __init__(self, max_hosts: int = MAX_HOSTS, max_size: int = MAX_SIZE) -> None:
        self._max_hosts = max_hosts
        self._max_size = max_size
        self._hosts: dict[str, tuple[LiveHost, int]] = {}
        """Each host with its size."""
        self._size = 0

    def __len__(self) -> int:
        return len(self._hosts)

    def hosts(self) -> list[LiveHost]:
        """Return all hosts, the one first that was used longest ago."""
        return [live for live, _ in self._hosts.values()]

    def put(self, live: LiveHost) -> None:
        """Add a host that nobody uses. Unchanged hosts that are too many are forgotten."""
        self._hosts[live.name] = live, live.size
        self._size += live.size
        while (first := self._surplus()) and not first.is_unsaved:
            self.take(first.name)

    def take(self, name: str) -> LiveHost | None:
        """Remove and return a host, or None if it is not here."""
        live, size = self._hosts.pop(name, (None, 0))
        self._size -= size
        return live

    def surplus(self, most: int) -> list[LiveHost]:
        """Return the first hosts, at most N, if there are too many: they are to be written and forgotten."""
        return [live for live, _ in islice(self._hosts.values(), min(most, self._count_surplus()))]

    def _surplus(self) -> LiveHost | None:
        return next(iter(self._hosts.values()))[0] if self._count_surplus() else None

    def _count_surplus(self) -> int:
        """Return how many hosts are too many: at least one if they are too large."""
        return max(len(self._hosts) - self._max_hosts, int(self._size > self._max_size))

    def clear(self) -> None:
        """Forget all hosts, after another worker may have changed them."""
        self._hosts.clear()
        self._size = 0
