"""The last seen URLs, in memory: most links lead to known pages, and cost no read of the store. Pure."""

from collections import OrderedDict
from uuid import UUID

MAX_SEEN = 200_000
"""Maximum URLs in memory, about 30 MB. Any other URL costs one read of the store."""


class SeenCache:
    """A bounded set of URLs that are in the store. It forgets the URL with the oldest question."""

    def __init__(self, size: int = MAX_SEEN) -> None:
        self._size = size
        self._seen: OrderedDict[tuple[str, UUID], None] = OrderedDict()

    def has(self, crawl_id: str, page_id: UUID) -> bool:
        key = (crawl_id, page_id)
        if key not in self._seen:
            return False
        self._seen.move_to_end(key)
        return True

    def add(self, crawl_id: str, page_id: UUID) -> None:
        self._seen[crawl_id, page_id] = None
        if len(self._seen) > self._size:
            self._seen.popitem(last=False)

    def discard(self, crawl_id: str, page_id: UUID) -> None:
        """Forget a URL, so that the store is asked when it is discovered again."""
        self._seen.pop((crawl_id, page_id), None)
