"""The choice of the few links to a page that the ledger stores: half a site may link to a page. Pure.

Links are stored together: at 3, 12 and 48 linking pages one row is written with all links since the last row. A second
link from the same page costs nothing. So a page has at most three rows of links, and the number of linking pages is
known within a factor of four, up to 48. The link that led to the first discovery of the page is in the frontier's row
of the page.

The memory is a cache. After a restart, or when other pages have displaced a page, its rows are written again from the
first one: the history then names other linking pages, never more rows.
"""

from dataclasses import dataclass, field
from uuid import UUID

import xxhash

from streams.caches import RecentCache

THRESHOLDS = (3, 12, 48)
"""Numbers of linking pages that lead to a row."""
MAX_PAGES = 20_000
"""Maximum number of linked pages in memory: about 100 MB when all of them have many links."""


@dataclass(frozen=True, slots=True)
class Links:
    """Linking pages to store in one row. The row's number is the same for the same threshold."""

    row: int
    referrers: tuple[str, ...]
    """In the order of their events."""


@dataclass(slots=True)
class _Page:
    known: set[int] = field(default_factory=set)
    """Hashes of all linking pages."""
    unstored: list[str] = field(default_factory=list)


class LinkMemory:
    """The linking pages of the pages that were linked lately."""

    def __init__(self, max_pages: int = MAX_PAGES) -> None:
        self._pages: RecentCache[UUID, _Page] = RecentCache(max_pages)

    def note(self, page_id: UUID, referrer: str) -> Links | None:
        """Remember a link. Returns the links to store now, or None."""
        page = self._pages.get(page_id)
        if page is None:
            page = _Page()
            self._pages.put(page_id, page)
        key = xxhash.xxh3_64_intdigest(referrer.encode("utf-8", "replace"))
        if key in page.known or len(page.known) >= THRESHOLDS[-1]:
            return None
        page.known.add(key)
        page.unstored.append(referrer)
        if len(page.known) not in THRESHOLDS:
            return None
        referrers, page.unstored = tuple(page.unstored), []
        return Links(THRESHOLDS.index(len(page.known)), referrers)

    def forget(self, page_id: UUID) -> None:
        """Forget a page after a failed write of its row, so that its next links are stored."""
        self._pages.take(page_id)
