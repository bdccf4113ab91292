"""Chrome by repetition: a paragraph that stands on nearly all of a host's pages is the host's, not the page's.

Pure: the pages of a host that are compared are kept by `host_samples`. Off by default, since measuring it
found little to remove and some content among it (docs/decisions/0014). So it is narrow: only what the model took for
content is looked at, only running text of some length, and never a heading, a cell, a term or code, which repeat
because pages of a kind have the same parts ("Synopsis", "Options", "Returns").
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import xxhash

from streams.pages.parse.elements import HEADINGS
from streams.pages.parse.segments import Walk

MIN_PAGES = 10
"""Other pages of the host that must be known before repetition means anything."""
MIN_SHARE = 0.8
"""Of those pages, how many hold the text. At 0.6, real content went: the same system requirements of many games."""
MIN_CHARS = 40
"""Shorter text repeats for many reasons: a label, an answer, a line of a specification."""
MAX_REMOVED = 0.3
"""Of a page's characters: if repetition would remove more, it removes nothing (a page under many URLs)."""
BLOCKS_PER_PAGE = 128
"""That are counted: the first and the last ones, where templates are. What isn't counted is never removed."""

_OWN_PLACES = frozenset(HEADINGS) | {"pre", "code", "table", "dl", "figure", "blockquote"}


@dataclass(frozen=True, slots=True)
class Repetition:
    """A page beside its host's others."""

    kept: list[int]
    """Its segments without those that are the host's."""
    blocks: tuple[int, ...]
    """Hashes of those that count when the host's other pages are judged."""
    removed: tuple[int, ...]
    """Hashes of those that were removed, sorted."""


def template_of(pages: Sequence[Collection[int]]) -> frozenset[int]:
    """The hashes of a host's own blocks, by those of each of its pages but the one that is judged."""
    if len(pages) < MIN_PAGES:
        return frozenset()
    counts = Counter(block for blocks in pages for block in frozenset(blocks))
    return frozenset(block for block, count in counts.items() if count >= MIN_SHARE * len(pages))


def block_hash(text: str) -> int:
    """64 bits of the text in lower case."""
    return xxhash.xxh3_64_intdigest(text.lower().encode("utf-8", "replace"))


def without_template(page: Walk, kept: list[int], template: Collection[int], url: str) -> Repetition:
    """What is left of the segments `kept`. A host's front page keeps all: so what it says everywhere is found once."""
    hashes = {index: block_hash(page.segments[index].text) for index in kept if _may_repeat(page, index)}
    blocks = list(dict.fromkeys(hashes.values()))
    if len(blocks) > BLOCKS_PER_PAGE:
        blocks = blocks[: BLOCKS_PER_PAGE // 2] + blocks[-BLOCKS_PER_PAGE // 2 :]
    own = [index for index in kept if hashes.get(index) not in template]
    before, after = (sum(len(page.segments[index].text) for index in indices) for indices in (kept, own))
    if after < before * (1 - MAX_REMOVED) or urlsplit(url).path in ("", "/"):
        own = kept
    removed = dict.fromkeys(hashes[index] for index in hashes.keys() - set(own))
    return Repetition(own, tuple(blocks), tuple(sorted(removed)))


def _may_repeat(page: Walk, index: int) -> bool:
    segment = page.segments[index]
    if len(segment.text) < MIN_CHARS:
        return False
    element = segment.element
    while element >= 0:
        if page.tags[element] in _OWN_PLACES:
            return False
        element = page.parents[element]
    return True
