"""Near-duplicates among results: pages whose shown texts have nearly the same trigrams. Pure."""

from uuid import UUID

import numpy as np
import numpy.typing as npt

from streams.search.query_language.matching import fold
from streams.stores.protocols import PageHits

DUPLICATE_SIMILARITY = 0.8
"""Minimum Jaccard similarity of the trigrams of two results' texts that makes them near-duplicates."""
MIN_DUPLICATE_CHARS = 40
"""Minimum length of a text that is compared (characters). Shorter texts are alike by chance."""
_CODE_BITS, _TWO_CODES_BITS = np.uint64(21), np.uint64(42)
_FEW_BITS = np.uint64(3)
"""Bits of a trigram's first letter. About a third of the trigrams have 0 in all these bits, and are chosen."""


class KeptPages:
    """The pages that are kept of a list, to find the near-duplicates among the later pages."""

    def __init__(self) -> None:
        self._kept: list[tuple[UUID, frozenset[int], frozenset[int]]] = []
        """Each page with all of its trigrams, and with a third of its trigrams."""

    def original_of(self, page: PageHits) -> UUID | None:
        """Return the kept page that this page nearly repeats, or None: then this page is kept."""
        codes = trigrams(_shown_text(page))
        own, few = frozenset(codes.tolist()), frozenset(codes[codes & _FEW_BITS == 0].tolist())
        for other, theirs, few_of_theirs in self._kept:
            if _may_be_near(own, theirs, few, few_of_theirs) and similarity(own, theirs) >= DUPLICATE_SIMILARITY:
                return other
        self._kept.append((page.page_id, own, few))
        return None


def trigrams(text: str) -> npt.NDArray[np.uint64]:
    """Return a number for each run of three characters; no numbers for a short text."""
    folded = fold(text)
    if len(folded) < MIN_DUPLICATE_CHARS:
        return np.empty(0, dtype=np.uint64)
    # A code point has 21 bits. NumPy makes the numbers in a third of the time that slices of the text take.
    codes = np.frombuffer(folded.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint64)
    runs: npt.NDArray[np.uint64] = codes[:-2] | codes[1:-1] << _CODE_BITS | codes[2:] << _TWO_CODES_BITS
    return runs


def similarity(first: frozenset[int], second: frozenset[int]) -> float:
    """Return the Jaccard similarity: the share of the common trigrams in all trigrams. 0 without trigrams."""
    small, large = (first, second) if len(first) < len(second) else (second, first)
    if len(small) < DUPLICATE_SIMILARITY * len(large) or not small:  # DUPLICATE_SIMILARITY can't be reached
        return 0.0
    return _jaccard(len(first & second), len(first) + len(second))


def _may_be_near(
    first: frozenset[int], second: frozenset[int], few_of_first: frozenset[int], few_of_second: frozenset[int]
) -> bool:
    """Return False if a third of the members shows that the sets can't be near-duplicates, in a third of the time."""
    others = min(len(first) - len(few_of_first), len(second) - len(few_of_second))
    total = len(first) + len(second)
    few = min(len(few_of_first), len(few_of_second))
    return _jaccard(others + few, total) >= DUPLICATE_SIMILARITY and (
        _jaccard(others + len(few_of_first & few_of_second), total) >= DUPLICATE_SIMILARITY
    )


def _jaccard(common: int, total: int) -> float:
    """Return the Jaccard similarity of two sets: by their common members, and the sum of their sizes.

    Both checks divide here: the bound of the quick check is never below the similarity, not even by a rounding error.
    """
    union = total - common
    return common / union if union else 0.0


def _shown_text(page: PageHits) -> str:
    payload = page.hits[0].payload
    return " ".join([payload.title, *(hit.payload.text for hit in page.hits[:3])])
