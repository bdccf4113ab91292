"""A table of URLs of crawls with a small number each, in memory of a fixed size: 8 bytes a URL. Pure.

A URL is found by the bits of its page id, mixed with its crawl's: some choose its row, and 59 stand in the row.
So two URLs are taken for one with a probability of 1 in 10^17 a look-up, and nobody can make such a URL, since a page
id is a hash (SHA-1). A row has four places. The URL of a row that was used longest ago is forgotten.
"""

from array import array
from functools import lru_cache
from hashlib import blake2b
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from uuid import UUID

WAYS = 4
"""Number of places in a row."""
_NUMBER_BITS = 4
NUMBERS = 1 << _NUMBER_BITS
"""The numbers of URLs are 0 to 15."""
_USED = 1 << _NUMBER_BITS
"""The bit of a place that is not empty."""
_TAG = (1 << 64) - (_USED << 1)
"""The other bits of a place: the last 59 of a page id, mixed with its crawl's."""


class UrlTable:
    """A bounded memory of URLs, each with a number."""

    def __init__(self, size: int) -> None:
        """`size` is the maximum number of URLs, a multiple of WAYS."""
        self._rows = size // WAYS
        self._places = _empty_places(WAYS * self._rows)

    def get(self, crawl_id: str, page_id: UUID) -> int | None:
        """Return the number of a URL, or None if it is unknown."""
        start, tag = self._find(crawl_id, page_id)
        places = self._places
        for at in range(start, start + WAYS):
            place = places[at]
            if place & _TAG == tag and place & _USED:
                if at > start:  # the first one is the last one that was used
                    places[start + 1 : at + 1] = places[start:at]
                    places[start] = place
                return place & (NUMBERS - 1)
        return None

    def put(self, crawl_id: str, page_id: UUID, number: int = 0) -> None:
        """Set the number of a URL."""
        start, tag = self._find(crawl_id, page_id)
        place = tag | _USED | number
        if self.get(crawl_id, page_id) is None:
            self._places[start + 1 : start + WAYS] = self._places[start : start + WAYS - 1]
        self._places[start] = place

    def discard(self, crawl_id: str, page_id: UUID) -> None:
        """Forget a URL."""
        if self.get(crawl_id, page_id) is not None:
            start, _ = self._find(crawl_id, page_id)
            self._places[start : start + WAYS] = array("Q", [*self._places[start + 1 : start + WAYS], 0])

    def clear(self) -> None:
        """Forget all URLs."""
        self._places = _empty_places(len(self._places))

    def _find(self, crawl_id: str, page_id: UUID) -> tuple[int, int]:
        """Return the first place of the URL's row, and what stands in the row for it."""
        key = page_id.int ^ _mask_of(crawl_id)
        return ((key >> 96) ^ key) % self._rows * WAYS, (key << (_NUMBER_BITS + 1)) & _TAG


def _empty_places(count: int) -> memoryview:
    """Return `count` empty places. The system gives a page of memory when its first place is filled."""
    return memoryview(mmap(-1, 8 * count, MAP_PRIVATE | MAP_ANONYMOUS)).cast("Q")


@lru_cache(maxsize=256)
def _mask_of(crawl_id: str) -> int:
    """Return the bits of a crawl (128)."""
    return int.from_bytes(blake2b(crawl_id.encode(), digest_size=16).digest())
