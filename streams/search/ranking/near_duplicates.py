"""Near-duplicates among results: pages whose shown texts have nearly the same trigrams. Pure."""

from collections.abc import Iterable, Iterator
from uuid import UUID

import numpy as np
import numpy.typing as npt

from streams.search.ranking.matching import fold
from streams.stores.protocols import PageHits

DUPLICATE_SIMILARITY = 0.8
"""Minimum Jaccard similarity of the trigrams of two results' texts that makes them near-duplicates."""
MIN_DUPLICATE_CHARS = 40
"""Minimum length of a text that is compared (characters). Shorter ones are alike by chance."""
_CODE_BITS, _TWO_CODES_BITS = np.uint64(21), np.uint64(42)
_FEW_BITS = np.uint64(3)
"""The bits of the first letter by which a third of the trigrams is chosen: those where they are 0."""


def deduplicate_results(pages: Iterable[PageHits], similar: dict[UUID, list[PageHits]]) -> Iterator[PageHits]:
    """Yield the pages that are no near-duplicates of better ones. The others go to `similar`, under the better page."""
    kept: list[tuple[UUID, frozenset[int], frozenset[int]]] = []
    for page in pages:
        codes = _codes(_shown_text(page))
        own, few = frozenset(codes.tolist()), frozenset(codes[codes & _FEW_BITS == 0].tolist())
        original = next(
            (
                other
                for other, theirs, few_of_theirs in kept
                if _may_be_near(own, theirs, few, few_of_theirs) and similarity(own, theirs) >= DUPLICATE_SIMILARITY
            ),
            None,
        )
        if original is None:
            kept.append((page.page_id, own, few))
            yield page
        else:
            similar.setdefault(original, []).append(page)


def trigrams(text: str) -> frozenset[int]:
    """All runs of three characters of a text, each as one number; none of a short text."""
    return frozenset(_codes(text).tolist())


def _codes(text: str) -> npt.NDArray[np.uint64]:
    """The number of each run of three characters; none of a short text."""
    folded = fold(text)
    if len(folded) < MIN_DUPLICATE_CHARS:
        return np.empty(0, dtype=np.uint64)
    # A code point has 21 bits. NumPy makes the numbers in a third of the time that slices of the text take.
    codes = np.frombuffer(folded.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint64)
    runs: npt.NDArray[np.uint64] = codes[:-2] | codes[1:-1] << _CODE_BITS | codes[2:] << _TWO_CODES_BITS
    return runs


def similarity(first: frozenset[int], second: frozenset[int]) -> float:
    """The Jaccard similarity: the share of the common trigrams in all. 0 without trigrams."""
    small, large = (first, second) if len(first) < len(second) else (second, first)
    if len(small) < DUPLICATE_SIMILARITY * len(large) or not small:  # it can't be reached
        return 0.0
    common = len(first & second)
    return common / (len(first) + len(second) - common)


def _may_be_near(
    first: frozenset[int], second: frozenset[int], few_of_first: frozenset[int], few_of_second: frozenset[int]
) -> bool:
    """False if the sets can't be near-duplicates, by a third of their members: that takes a third of the time."""
    others = min(len(first) - len(few_of_first), len(second) - len(few_of_second))
    # The Jaccard similarity is at least s where s / (1 + s) of both numbers together are common members.
    needed = (len(first) + len(second)) * DUPLICATE_SIMILARITY / (1 + DUPLICATE_SIMILARITY)
    return others + min(len(few_of_first), len(few_of_second)) >= needed and (
        others + len(few_of_first & few_of_second) >= needed
    )


def _shown_text(page: PageHits) -> str:
    payload = page.hits[0].payload
    return " ".join([payload.title, *(hit.payload.text for hit in page.hits[:3])])
