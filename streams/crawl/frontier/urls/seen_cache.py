"""The last seen URLs, in memory: most links lead to known pages, and cost no read of the store. Pure."""

from uuid import UUID

from streams.crawl.frontier.url_table import UrlTable

MAX_SEEN = 1 << 19
"""Maximum URLs in memory: 4 MB. Any other URL costs one read of the store."""


class SeenCache:
    """A bounded set of URLs that are in the store."""

    def __init__(self, size: int = MAX_SEEN) -> None:
        self._urls = UrlTable(size)

    def has(self, crawl_id: str, page_id: UUID) -> bool:
        return self._urls.get(crawl_id, page_id) is not None

    def add(self, crawl_id: str, page_id: UUID) -> None:
        self._urls.put(crawl_id, page_id)

    def discard(self, crawl_id: str, page_id: UUID) -> None:
        """Forget a URL, so that the store is asked when it is discovered again."""
        self._urls.discard(crawl_id, page_id)
