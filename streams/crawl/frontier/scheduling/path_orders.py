"""Parts of a path that a site puts in any order, such as facets: `/shop/red/cotton` and `/shop/cotton/red`. Pure.

Eight facets make 109,600 paths and 255 pages. A site shows by its own links that its parts have no order: among a
sample of its paths, sets of parts come in several orders. From then on a set is one page, in the order that came first,
and a host has at most MAX_SETS of them.

- Two parts that change places are no evidence: `/usd/eur` and `/eur/usd`, `/en/de/house` and `/de/en/house` are two
  pages each. Three or more parts in another order are some.
- A part without a letter keeps its place: `/2024/05/06` and `/2024/06/05` are two days.

The sample is those sets whose hashes are the smallest, so each set has the same chance, whenever it comes. It is only
in memory: a host without such parts has no row of them.
"""

from collections.abc import Iterable, Mapping
from itertools import takewhile

import xxhash

SAMPLED_SETS = 64
"""Maximum number of sets of parts of a host in the sample, about 10 KB."""
MIN_PARTS = 3
"""Minimum number of parts that change places together in a set with evidence."""
MIN_EVIDENCE = 3
"""Minimum number of sets with evidence, before the parts of a host have no order."""
MAX_WORDS = 256
"""Maximum number of parts without an order of a host."""
MAX_SETS = 500
"""Maximum number of pages of a host with such parts: 5 KB in its row."""
_BYTES = 4
"""Size of the hash of a part (bytes)."""


class PathOrders:
    """The memory of a host's parts without an order."""

    def __init__(self, words: Mapping[str, int], sets: Mapping[str, int]) -> None:
        self.words: dict[str, int] = dict(words)
        """The parts without an order, by their hash."""
        self.sets: dict[str, int] = dict(sets)
        """Their sets of which a page was taken, by their hash."""
        self._sample: dict[int, list[bytes]] = {}
        """The orders of the sampled sets, by the hash of the set."""
        self._evidence: dict[int, set[str]] = {}
        """The parts that changed places, by the hash of the set."""

    def find(self, path: str, query: str, *, is_own: bool) -> str | None:
        """Return why a path is left out, or None. `is_own`: the site itself leads to it."""
        parts = _parts(path)
        free = [part for part in parts if part.hex() in self.words] if self.words else []
        if len(free) < 2:
            return None
        if len(free) != len(set(free)):
            return "a part of the path comes twice"
        if f"{_set_of(parts, query):016x}"[:8] in self.sets:
            return "the same parts of the path in another order"
        if not is_own or len(self.sets) >= MAX_SETS:
            return "too many combinations of parts of the path" if is_own else "a link of another site to such parts"
        return None

    def count(self, path: str, query: str) -> bool:
        """Count a path that the frontier takes, by a link of the site. Return whether what is stored has changed."""
        parts = _parts(path)
        if len(parts) < 2:
            return False
        key = _set_of(parts, query)
        has_learned = len(parts) >= MIN_PARTS and self._learn(key, parts)
        if len(self.sets) < MAX_SETS and sum(part.hex() in self.words for part in parts) >= 2:
            self.sets[f"{key:016x}"[:8]] = 1
            return True
        return has_learned

    def _learn(self, key: int, parts: list[bytes]) -> bool:
        """Compare the order of a sampled set with its former ones. Return whether there are further words."""
        order = b"".join(parts)
        orders = self._sample.get(key)
        if orders is None:
            self._sample[key] = [order]
            if len(self._sample) > SAMPLED_SETS:
                del self._sample[max(self._sample)]
            return False
        moved = _moved(_split(orders[0]), parts)
        if len(moved) < MIN_PARTS:
            return False
        self._evidence.setdefault(key, set()).update(part.hex() for part in moved)
        if len(self._evidence) < MIN_EVIDENCE:
            return False
        known = len(self.words)
        for word in sorted(set().union(*self._evidence.values())):
            if len(self.words) < MAX_WORDS:
                self.words.setdefault(word, 1)
        self._evidence = dict(list(self._evidence.items())[-SAMPLED_SETS:])
        return len(self.words) > known


def _parts(path: str) -> list[bytes]:
    """Return the hashes of the parts of a path. A part without a letter has its place in its hash."""
    found = [part for part in path.split("/") if part]
    named = (part if any(map(str.isalpha, part)) else f"{place}/{part}" for place, part in enumerate(found))
    return [xxhash.xxh3_64_digest(part.encode())[:_BYTES] for part in named]


def _set_of(parts: Iterable[bytes], query: str) -> int:
    return xxhash.xxh3_64_intdigest(b"".join(sorted(parts)) + query.encode())


def _split(order: bytes) -> list[bytes]:
    return [order[at : at + _BYTES] for at in range(0, len(order), _BYTES)]


def _moved(one: list[bytes], other: list[bytes]) -> list[bytes]:
    """Return the parts between the common begin and the common end of two orders."""
    begin = _count_common(one, other)
    end = _count_common(one[::-1], other[::-1])
    return one[begin : len(one) - end]


def _count_common(one: Iterable[bytes], other: Iterable[bytes]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=True)))
