"""The links to each page, of which the ledger stores a few: a page that half a site links to has a short history. Pure.

Links are stored together: at 3, 12 and 48 linking pages one row is written with all that came since the last one. A
link from a page that is known already costs nothing. So a page has at most three rows of links, and the number of
linking pages is known within a factor of four, up to 48. The link by which the page was discovered first is in the
frontier's row of the page.

The memory is a cache. After a restart, or when other pages have displaced a page, its rows are written again from the
first one: the history then names other linking pages, never more rows.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from uuid import UUID

import xxhash

THRESHOLDS = (3, 12, 48)
"""Numbers of linking pages at which a row is written."""
MAX_PAGES = 20_000
"""Maximum pages whose links are remembered: about 100 MB when all of them have many."""


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
        self._max_pages = max_pages
        self._pages: OrderedDict[UUID, _Page] = OrderedDict()

    def note(self, page_id: UUID, referrer: str) -> Links | None:
        """Remember a link. Returns what is to be stored now, if anything."""
        page = self._page(page_id)
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
        """Forget a page whose row could not be written, so that its next links are stored."""
        self._pages.pop(page_id, None)

    def _page(self, page_id: UUID) -> _Page:
        page = self._pages.setdefault(page_id, _Page())
        self._pages.move_to_end(page_id)
        if len(self._pages) > self._max_pages:
            self._pages.popitem(last=False)
        return page
