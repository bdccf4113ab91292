"""New hosts: this worker itself stored their first URL, so it knows all their URLs without a read. Pure.

A host's row is written before the first row of a URL. So a host without a row has no URL, and from then on only its
owner adds URLs. Most hosts of a crawl are small, and most of their URLs are first asked for while the host is new.
"""

from collections import OrderedDict
from uuid import UUID

MAX_KEPT = 50_000
"""Maximum number of hosts and URLs in memory, about 6 MB."""
_KEPT_BITS = (1 << 60) - 1
"""The bits of a page id that are kept: two URLs of a host with the same ones are both read from the store."""


class NewHosts:
    """A bounded memory of the URLs of new hosts. It forgets the least recently used host."""

    def __init__(self, most: int = MAX_KEPT) -> None:
        self._most = most
        self._hosts: OrderedDict[str, set[int]] = OrderedDict()
        self._count = 0

    def begin(self, host: str) -> None:
        """Note that the host has no URL."""
        self.forget(host)
        self._hosts[host] = set()
        self._keep_one_more()

    def has_no(self, host: str, page_id: UUID) -> bool:
        """Return whether the store certainly lacks the URL."""
        urls = self._hosts.get(host)
        if urls is None:
            return False
        self._hosts.move_to_end(host)
        return page_id.int & _KEPT_BITS not in urls

    def add(self, host: str, page_id: UUID) -> None:
        """Note that a URL will be written. Call it before the write."""
        urls = self._hosts.get(host)
        if urls is None or page_id.int & _KEPT_BITS in urls:
            return
        urls.add(page_id.int & _KEPT_BITS)
        self._hosts.move_to_end(host)
        self._keep_one_more()

    def forget(self, host: str) -> None:
        """Forget a host, so that its URLs are read from the store."""
        urls = self._hosts.pop(host, None)
        if urls is not None:
            self._count -= 1 + len(urls)

    def _keep_one_more(self) -> None:
        """Count a host or a URL that was added. A host counts, too: it may stay without a URL, if all are refused."""
        self._count += 1
        while self._count > self._most:
            self.forget(next(iter(self._hosts)))

    def clear(self) -> None:
        """Forget all hosts, after another worker may have changed the store."""
        self._hosts.clear()
        self._count = 0
