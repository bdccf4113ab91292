"""Chrome by repetition: text that stands on most of a host's pages is the host's, not the page's.

Pure: who keeps the counts is another question. Only whole segments count, and short ones as well as long ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import xxhash

MIN_PAGES = 4
"""Pages of the host that must have been seen before repetition means anything."""
MIN_SHARE = 0.6
"""Of the host's pages that hold the text."""
MAX_REMOVED = 0.5
"""Of a page's words: if repetition would remove more, it removes nothing (a page fetched twice under two URLs)."""


@dataclass(frozen=True, slots=True)
class HostBlocks:
    """What was seen on a host's other pages."""

    pages: int = 0
    counts: Mapping[int, int] = field(default_factory=dict)
    """`block_hash` of a text -> the number of pages that hold it."""

    def is_template(self, text: str) -> bool:
        return self.pages >= MIN_PAGES and self.counts.get(block_hash(text), 0) >= MIN_SHARE * self.pages


def block_hash(text: str) -> int:
    """64 bits of the text in lower case."""
    return xxhash.xxh3_64_intdigest(text.lower().encode("utf-8", "replace"))


def without_template(texts: list[str], kept: list[int], host: HostBlocks) -> list[int]:
    """`kept` without what is the host's, unless that would be most of it. `texts`: of all segments."""
    if host.pages < MIN_PAGES:
        return kept
    own = [index for index in kept if not host.is_template(texts[index])]
    before, after = (sum(len(texts[index]) for index in indices) for indices in (kept, own))
    return own if after >= before * (1 - MAX_REMOVED) else kept
