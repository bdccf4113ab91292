"""The tables in which a SimHash is found again although up to three of its bits differ.

Cut 64 bits into blocks. If two fingerprints differ in at most three bits, then of n blocks at least n - 3 are equal: so
under each choice of n - 3 blocks as a key, one table or another has both under the same key (Manku, Jain and Das
Sarma, "Detecting near-duplicates for web crawling", WWW 2007). More tables have longer keys, and so fewer
candidates per look-up: docs/reference/dedup.md has the arithmetic.
"""

from dataclasses import dataclass
from functools import cache
from itertools import combinations

BITS = 64
MAX_DISTANCE = 3
_BLOCKS = {4: (16,) * 4, 10: (13, 13, 13, 13, 12), 20: (11, 11, 11, 11, 10, 10)}
TABLE_COUNTS = tuple(_BLOCKS)
DEFAULT_TABLES = 4
"""Up to some tens of millions of pages; 10 or 20 beyond."""


@dataclass(frozen=True, slots=True)
class Table:
    """A choice of bits, and where they are: runs of (shift, width), the most significant first."""

    mask: int
    runs: tuple[tuple[int, int], ...]

    @property
    def key_bits(self) -> int:
        return sum(width for _, width in self.runs)

    def key(self, simhash: int) -> int:
        """The chosen bits, in their places."""
        return simhash & self.mask


@cache
def tables(count: int = DEFAULT_TABLES) -> tuple[Table, ...]:
    """The tables for distances up to three. Raises ValueError for a count other than 4, 10 or 20."""
    if count not in _BLOCKS:
        raise ValueError(f"{count} tables: a SimHash index has {', '.join(map(str, TABLE_COUNTS))} tables")
    blocks: list[tuple[int, int]] = []
    shift = BITS
    for width in _BLOCKS[count]:
        shift -= width
        blocks.append((shift, width))
    chosen = len(blocks) - MAX_DISTANCE
    return tuple(Table(_mask(runs), runs) for runs in combinations(blocks, chosen))


def _mask(runs: tuple[tuple[int, int], ...]) -> int:
    return sum(((1 << width) - 1) << shift for shift, width in runs)


def hamming(one: int, other: int) -> int:
    """In how many of their 64 bits two fingerprints differ."""
    return (one ^ other).bit_count()
