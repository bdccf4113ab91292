"""A set of page ids that only counts them: 8 bytes a page, since an archive may have millions. Pure."""

from uuid import UUID

import numpy as np
from numpy.typing import NDArray

MAX_RECENT = 1 << 16
"""Number of ids that are kept as they come, before they are merged into the sorted ones."""
_BITS = (1 << 64) - 1
"""The bits of an id that count. A page id is a hash, so ten million pages have two alike in one of 300,000 archives."""


class PageIds:
    """The distinct ids that were added."""

    def __init__(self) -> None:
        self._sorted: NDArray[np.uint64] = np.empty(0, np.uint64)
        self._recent: set[int] = set()

    def add(self, page_id: UUID) -> None:
        """Add an id, perhaps again."""
        self._recent.add(page_id.int & _BITS)
        if len(self._recent) >= MAX_RECENT:
            self._merge()

    def __len__(self) -> int:
        self._merge()
        return len(self._sorted)

    def _merge(self) -> None:
        if self._recent:
            recent = np.fromiter(self._recent, np.uint64, len(self._recent))
            self._sorted = np.union1d(self._sorted, recent)
            self._recent.clear()
