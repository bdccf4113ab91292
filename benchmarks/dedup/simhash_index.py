"""An index of SimHashes in memory, for comparison: the pipeline uses tables in Cassandra (`streams.stores`).

It finds exactly the SimHashes that differ from a query in at most three bits, for many queries at once.

Each table has a sorted copy of the SimHashes with its chosen bits moved to the front (Manku, Jain and Das Sarma, WWW
2007). A query reads the run with its own chosen bits and compares. SimHashes are kept in segments that double in size
(Bentley and Saxe's logarithmic method), so that adding is cheap and few segments are searched.

Memory: a table needs 8 bytes per SimHash, 4 per row number, and the starts of its runs. Four tables need 50 bytes per
SimHash at a million, and twice as much while SimHashes are added. Only one thread may change an index.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streams.sketches.simhash import BITS, DEFAULT_TABLES, MAX_DISTANCE, Table, tables

Simhashes = NDArray[np.uint64]
Rows = NDArray[np.uint32]

QUERIES_AT_ONCE = 8_192
"""Number of queries in a batch, so that its candidates (some hundred thousand) stay in the processor's cache."""


class Matches(NamedTuple):
    """Pairs that are near, by query and then by row."""

    queries: NDArray[np.int64]
    """Index into the queries."""
    rows: Rows
    """Row numbers, from 0 in the order in which fingerprints were added."""
    distances: NDArray[np.uint8]


class SimHashIndex:
    """Near fingerprints by row number."""

    def __init__(self, table_count: int = DEFAULT_TABLES) -> None:
        self._tables = tables(table_count)
        self._segments: list[_Segment] = []
        self._removed: NDArray[np.bool_] = np.zeros(0, np.bool_)

    def __len__(self) -> int:
        return len(self._removed) - int(self._removed.sum())

    @property
    def bytes_used(self) -> int:
        return self._removed.nbytes + sum(segment.bytes_used for segment in self._segments)

    def add(self, simhashes: ArrayLike) -> range:
        """Add fingerprints and return their rows. One at a time works, and costs more: O(log n) sorts of each."""
        added = np.atleast_1d(np.asarray(simhashes, np.uint64))
        first = len(self._removed)
        rows = np.arange(first, first + len(added), dtype=np.uint32)
        self._removed = np.concatenate([self._removed, np.zeros(len(added), np.bool_)])
        while self._segments and len(self._segments[-1]) <= 2 * len(added):
            smaller = self._segments.pop()
            added, rows = np.concatenate([smaller.simhashes(), added]), np.concatenate([smaller.rows(), rows])
        if len(added):
            self._segments.append(_Segment(added, rows, self._tables))
        return range(first, len(self._removed))

    def remove(self, row: int) -> None:
        """Remove a row from all answers. Raises IndexError for a row that was never added."""
        self._removed[row] = True

    def near(self, simhash: int, distance: int = MAX_DISTANCE) -> list[tuple[int, int]]:
        """Rows within the distance of one fingerprint, each with its distance, by row.

        It uses Python's integers: for one query, each call of numpy costs as much as ten comparisons. It is one
        function because a function call per table would add a tenth of the time.
        """
        _check(distance)
        found: dict[int, int] = {}
        for segment in self._segments:
            for places, shift, begins, permuted, rows in segment.plain:
                query = 0
                for low, mask, after in places:
                    query |= (simhash >> low & mask) << after
                first, last = begins[query >> shift], begins[(query >> shift) + 1]
                for place, other in enumerate(permuted[first:last].tolist(), first):
                    if (other ^ query).bit_count() <= distance:
                        found[rows[place]] = (other ^ query).bit_count()
        return sorted((row, bits) for row, bits in found.items() if not self._removed[row]) if found else []

    def near_many(self, simhashes: ArrayLike, distance: int = MAX_DISTANCE) -> Matches:
        """All pairs of a query and a row that differ in at most `distance` bits. Raises ValueError above three."""
        _check(distance)
        queries = np.atleast_1d(np.asarray(simhashes, np.uint64))
        starts = range(0, len(queries), QUERIES_AT_ONCE)
        parts = [self._near(queries[start : start + QUERIES_AT_ONCE], start, distance) for start in starts]
        if not parts:
            return Matches(np.zeros(0, np.int64), np.zeros(0, np.uint32), np.zeros(0, np.uint8))
        return Matches(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def _near(self, queries: Simhashes, first: int, distance: int) -> Matches:
        pairs, distances = [np.zeros(0, np.uint64)], [np.zeros(0, np.uint64)]
        for segment in self._segments:
            for numbers, rows, differences in segment.near(queries, distance):
                kept = ~self._removed[rows]
                pairs.append((numbers[kept].astype(np.uint64) << np.uint64(32)) | rows[kept])
                distances.append(differences[kept])
        # A pair that is near in several tables was found in each.
        found, where = np.unique(np.concatenate(pairs), return_index=True)
        numbers = (found >> np.uint64(32)).astype(np.int64) + first
        return Matches(numbers, found.astype(np.uint32), popcount(np.concatenate(distances)[where]))


def _check(distance: int) -> None:
    if not 0 <= distance <= MAX_DISTANCE:
        raise ValueError(f"a distance of {distance} bits can't be looked up: 0 to {MAX_DISTANCE} can")


class _Plain(NamedTuple):
    """Views of a table for Python without numpy."""

    places: tuple[tuple[int, int, int], ...]
    """Moves of a query's bits: (shift right, mask, shift left)."""
    shift: int
    """Shift of a permuted query that gives the number of its run."""
    begins: memoryview
    permuted: memoryview
    rows: memoryview


class _Segment:
    """Some SimHashes in all tables."""

    def __init__(self, simhashes: Simhashes, rows: Rows, chosen: tuple[Table, ...]) -> None:
        self._sorted = [_SortedTable.of(simhashes, rows, table) for table in chosen]
        self.plain = [table.plain() for table in self._sorted]

    def __len__(self) -> int:
        return len(self._sorted[0].rows)

    @property
    def bytes_used(self) -> int:
        return sum(table.bytes_used for table in self._sorted)

    def simhashes(self) -> Simhashes:
        return _restored(self._sorted[0].permuted, self._sorted[0].table)

    def rows(self) -> Rows:
        return self._sorted[0].rows

    def near(self, queries: Simhashes, distance: int) -> list[tuple[NDArray[np.int64], Rows, Simhashes]]:
        """For each table: query numbers, rows, and the bits in which they differ."""
        return [table.near(queries, distance) for table in self._sorted]


@dataclass(frozen=True, slots=True)
class _SortedTable:
    table: Table
    permuted: Simhashes
    rows: Rows
    bits: int
    """Bits of the key that number the runs. Of long keys not all, so that a run has about one SimHash."""
    begins: NDArray[np.uint32]
    """The start of each run, and the end of the last one."""

    @classmethod
    def of(cls, simhashes: Simhashes, rows: Rows, table: Table) -> "_SortedTable":
        permuted = _permuted(simhashes, table)
        order = np.argsort(permuted, kind="stable")
        permuted = permuted[order]
        bits = min(table.key_bits, len(permuted).bit_length())
        return cls(table, permuted, rows[order], bits, _begins(permuted, bits))

    @property
    def bytes_used(self) -> int:
        return self.permuted.nbytes + self.rows.nbytes + self.begins.nbytes

    def plain(self) -> _Plain:
        places = tuple((shift, (1 << width) - 1, after) for shift, width, after in _places(self.table))
        return _Plain(places, BITS - self.bits, self.begins.data, self.permuted.data, self.rows.data)

    def near(self, queries: Simhashes, distance: int) -> tuple[NDArray[np.int64], Rows, Simhashes]:
        permuted = _permuted(queries, self.table)
        runs = permuted >> np.uint64(BITS - self.bits)
        first, last = self.begins[runs].astype(np.int64), self.begins[runs + np.uint64(1)].astype(np.int64)
        lengths = last - first
        numbers = np.repeat(np.arange(len(queries)), lengths)
        # Places 0, 1, 2, ... of all runs behind each other, moved to where each run begins.
        places = np.arange(len(numbers)) + np.repeat(first - np.cumsum(lengths) + lengths, lengths)
        differences = self.permuted[places] ^ np.repeat(permuted, lengths)
        close = np.flatnonzero(_at_most(differences, distance))
        return numbers[close], self.rows[places[close]], differences[close]


def _begins(permuted: Simhashes, bits: int) -> NDArray[np.uint32]:
    counts = np.bincount((permuted >> np.uint64(BITS - bits)).astype(np.int64), minlength=1 << bits)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)


def _places(table: Table) -> list[tuple[int, int, int]]:
    """Moves of bits: (shift before, width, shift after). The table's runs go to the front, the rest follows."""
    chosen = list(table.runs)
    edges = sorted({0, BITS, *(shift for shift, _ in chosen), *(shift + width for shift, width in chosen)})
    rest = [(low, high - low) for low, high in reversed(list(pairwise(edges))) if (low, high - low) not in chosen]
    places, after = [], BITS
    for shift, width in (*chosen, *rest):
        after -= width
        places.append((shift, width, after))
    return places


def _permuted(simhashes: Simhashes, table: Table) -> Simhashes:
    return _moved(simhashes, [(shift, width, after) for shift, width, after in _places(table)])


def _restored(permuted: Simhashes, table: Table) -> Simhashes:
    return _moved(permuted, [(after, width, shift) for shift, width, after in _places(table)])


def _moved(values: Simhashes, places: list[tuple[int, int, int]]) -> Simhashes:
    moved = np.zeros_like(values)
    for shift, width, after in places:
        mask = np.uint64((1 << width) - 1)
        moved |= ((values >> np.uint64(shift)) & mask) << np.uint64(after)
    return moved


def _at_most(differences: Simhashes, distance: int) -> NDArray[np.bool_]:
    """True if at most `distance` bits are set. The lowest set bit is cleared that often; then none must be left."""
    left = differences.copy()
    for _ in range(distance):
        left &= left - np.uint64(1)
    return np.equal(left, np.uint64(0))


def popcount(values: Simhashes) -> NDArray[np.uint8]:
    """The number of set bits (Hacker's Delight, section 5-1)."""
    counts = values - ((values >> np.uint64(1)) & np.uint64(0x5555555555555555))
    counts = (counts & np.uint64(0x3333333333333333)) + ((counts >> np.uint64(2)) & np.uint64(0x3333333333333333))
    counts = (counts + (counts >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    sums: Simhashes = (counts * np.uint64(0x0101010101010101)) >> np.uint64(56)
    return sums.astype(np.uint8)
