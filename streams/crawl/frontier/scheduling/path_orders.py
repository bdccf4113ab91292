"""Parts of a path that a site puts in any order, such as facets: `/shop/red/cotton` and `/shop/cotton/red`. Pure.

Eight facets make 109,600 paths and 255 pages. A site shows by its own links that its parts have no order: among a
sample of its paths, sets of parts come in several orders. From then on a set with two such parts is one page, in the
order that came first. A host has at most MAX_SETS sets of nothing else (`/shop/red/cotton`). A path that goes on with
other parts (`/shop/red/cotton/product-7`) is a page: it is left out only beside the same set in another order.

- Two parts that change places are no evidence: `/usd/eur` and `/eur/usd`, `/en/de/house` and `/de/en/house` are two
  pages each. Three or more parts in another order are some.
- A site that moved its pages once shows the same as a shop. So a part loses its mark after WORD_PAGES further pages
  without a second order, and each URL in another order gives it its full time again.
- A part without a letter keeps its place: `/2024/05/06` and `/2024/06/05` are two days.

The sample is those sets whose hashes are the smallest, so each set has the same chance, whenever it comes. It is only
in memory: a host without such parts has no row of them.
"""

from collections.abc import Iterable, Mapping
from itertools import takewhile

import xxhash

from streams.caches import RecentCache

SAMPLED_SETS = 64
"""Maximum number of sets of parts of a host in the sample, about 10 KB."""
MIN_PARTS = 3
"""Minimum number of parts that change places together in a set with evidence."""
MIN_EVIDENCE = 3
"""Minimum number of sets with evidence, before the parts of a host have no order."""
MAX_WORDS = 256
"""Maximum number of parts without an order of a host."""
MAX_SETS = 500
"""Maximum number of pages of a host with only such parts: 5 KB in its row. As many sets with others are in memory."""
WORD_PAGES = 200
"""Number of pages with two parts without an order, none beside its set in another order, that end their marks."""
_BYTES = 4
"""Size of the hash of a part (bytes)."""


class PathOrders:
    """The memory of a host's parts without an order."""

    def __init__(self, words: Mapping[str, int], sets: Mapping[str, int]) -> None:
        self.words: dict[str, int] = dict(words)
        """The number of pages after which a part without an order loses its mark, by the hash of the part."""
        self.sets: dict[str, int] = dict(sets)
        """The sets of only such parts of which a page was taken, by their hash."""
        self._mixed = RecentCache[str, None](MAX_SETS)
        """The sets with other parts, too, of which a page was taken."""
        self._sample: dict[int, list[bytes]] = {}
        """The orders of the sampled sets, by the hash of the set."""
        self._evidence: dict[int, set[str]] = {}
        """The parts that changed places, by the hash of the set."""

    def find(self, path: str, query: str, *, is_own: bool) -> str | None:
        """Return why a path is left out, or None. `is_own`: a page of the same host leads to it."""
        parts = _parts(path)
        free = self._free(parts)
        if len(free) < 2:
            return None
        key = _key_of(parts, query)
        if key in self.sets or key in self._mixed:
            self.words.update(dict.fromkeys(free, WORD_PAGES))
            return "the same parts of the path in another order"
        if not self._is_free_alone(parts, free):
            return None
        if len(free) != len(set(free)):
            return "a part of the path comes twice"
        if not is_own or len(self.sets) >= MAX_SETS:
            return "too many combinations of parts of the path" if is_own else "a link of another site to such parts"
        return None

    def count(self, path: str, query: str) -> bool:
        """Count a path that the frontier takes, by a link of the same host. Return whether what is stored changed."""
        parts = _parts(path)
        if len(parts) < 2:
            return False
        has_learned = len(parts) >= MIN_PARTS and self._learn(_set_of(parts, query), parts)
        free = self._free(parts)
        if len(free) < 2:
            return has_learned
        key = _key_of(parts, query)
        if self._is_free_alone(parts, free):
            if len(self.sets) < MAX_SETS:
                self.sets[key] = 1
            return True
        self._mixed.put(key, None)
        return has_learned or self._age(free)

    def _free(self, parts: list[bytes]) -> list[str]:
        """Return the hashes of the parts without an order."""
        return [part.hex() for part in parts if part.hex() in self.words] if self.words else []

    def _is_free_alone(self, parts: list[bytes], free: list[str]) -> bool:
        """Return whether the parts without an order are the whole path after a folder."""
        return [part.hex() for part in parts[-len(free) :]] == free

    def _age(self, free: list[str]) -> bool:
        """Count a page against the marks of its parts. Return whether a part has lost its own."""
        for word in free:
            self.words[word] = self.words.get(word, 1) - 1
        ended = {word for word in free if self.words[word] <= 0}
        for word in ended:
            del self.words[word]
        if ended:  # only what is seen from now on gives it again
            self._evidence.clear()
        return bool(ended)

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
                self.words.setdefault(word, WORD_PAGES)
        self._evidence = dict(list(self._evidence.items())[-SAMPLED_SETS:])
        return len(self.words) > known


def _parts(path: str) -> list[bytes]:
    """Return the hashes of the parts of a path. A part without a letter has its place in its hash."""
    found = [part for part in path.split("/") if part]
    named = (part if any(map(str.isalpha, part)) else f"{place}/{part}" for place, part in enumerate(found))
    return [xxhash.xxh3_64_digest(part.encode())[:_BYTES] for part in named]


def _set_of(parts: Iterable[bytes], query: str) -> int:
    return xxhash.xxh3_64_intdigest(b"".join(sorted(parts)) + query.encode())


def _key_of(parts: Iterable[bytes], query: str) -> str:
    return f"{_set_of(parts, query):016x}"[:8]


def _split(order: bytes) -> list[bytes]:
    return [order[at : at + _BYTES] for at in range(0, len(order), _BYTES)]


def _moved(one: list[bytes], other: list[bytes]) -> list[bytes]:
    """Return the parts between the common begin and the common end of two orders."""
    begin = _count_common(one, other)
    end = _count_common(one[::-1], other[::-1])
    return one[begin : len(one) - end]


def _count_common(one: Iterable[bytes], other: Iterable[bytes]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=True)))
