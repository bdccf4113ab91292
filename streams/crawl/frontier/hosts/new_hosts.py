"""New hosts: this worker itself stored their first URL, so it knows all their URLs without a read. Pure.

A host's row is written before the first row of a URL. So a host without a row has no URL, and from then on only its
owner adds URLs. Most hosts of a crawl are small, and most of their URLs are first asked for while the host is new.
"""

from uuid import UUID

from streams.caches import SizedCache

MAX_KEPT = 50_000
"""Maximum number of hosts and URLs in memory, about 6 MB."""
_KEPT_BITS = (1 << 60) - 1
"""The bits of a page id that are kept: two URLs of a host with the same ones are both read from the store."""


class NewHosts:
    """A bounded memory of the URLs of new hosts. It forgets the least recently used host."""

    def __init__(self, most: int = MAX_KEPT) -> None:
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
