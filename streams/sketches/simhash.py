"""SimHash: 64 bits of a text. Similar texts have SimHashes that differ in few bits.

Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002: each feature votes with its weight for
or against each bit, by the bits of its hash. Features are words weighted by TF-IDF (decision 0008 compares others).

Tables find a SimHash although up to three of its bits differ. The 64 bits are cut into n blocks. If two SimHashes
differ in at most three bits, at least n - 3 of their blocks are equal. Each choice of n - 3 blocks is the key of one
table, so at least one table has both under the same key (Manku, Jain and Das Sarma, "Detecting near-duplicates for web
crawling", WWW 2007). More tables have longer keys, and so fewer candidates per look-up: docs/reference/dedup.md has the
figures.
"""

from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from streams.sketches.features import Hashes


def simhash(features: Hashes, weights: NDArray[np.float32]) -> int:
    """Return the SimHash of weighted features, unsigned. Without features it is 0. A tie gives a zero bit."""
    if len(features) == 0:
        return 0
    bits = np.unpackbits(features.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    votes = weights.astype(np.float32) @ bits.astype(np.float32)
    return int.from_bytes(np.packbits(votes * 2 > weights.sum(), bitorder="little").tobytes(), "little")


BITS = 64
MAX_DISTANCE = 3
_BLOCKS = {4: (16,) * 4, 10: (13, 13, 13, 13, 12), 20: (11, 11, 11, 11, 10, 10)}
TABLE_COUNTS = tuple(_BLOCKS)
DEFAULT_TABLES = 4
"""Number of tables. Four are enough for some tens of millions of pages."""


@dataclass(frozen=True, slots=True)
class Table:
    """A choice of bits. `runs` are the places of the bits as (shift, width), the most significant first."""

    mask: int
    runs: tuple[tuple[int, int], ...]

    @property
    def key_bits(self) -> int:
        return sum(width for _, width in self.runs)

    def key(self, simhash: int) -> int:
        """Return the chosen bits of a SimHash, in their places."""
        return simhash & self.mask


@cache
def tables(count: int = DEFAULT_TABLES) -> tuple[Table, ...]:
    """Return the tables that find distances up to three. Raises ValueError for a count other than 4, 10 or 20."""
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
    """Return the number of bits in which two SimHashes differ, 0..64."""
    return (one ^ other).bit_count()
