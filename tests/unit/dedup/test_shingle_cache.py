"""The cache of shingles is bounded in bytes, whatever the pages are."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streams.dedup.shingle_cache import ShingleCache
from streams.sketches.features import Hashes

HUNDRED = 100 * 8
"""Bytes of a hundred shingles."""


def shingles(count: int) -> Hashes:
    return np.arange(count, dtype=np.uint64)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 150)), max_size=40))
def test_large_pages_never_make_the_cache_larger_than_its_bound(puts: list[tuple[str, int]]) -> None:
    cache, latest = ShingleCache(HUNDRED), {}
    for ref, count in puts:
        cache.put(ref, shingles(count))
        latest[ref] = count
        kept = {name: found for name in latest if (found := cache.get(name)) is not None}
        assert all(len(found) == latest[name] for name, found in kept.items())
        assert cache.bytes == sum(found.nbytes for found in kept.values()) <= HUNDRED


def test_what_was_not_used_for_longest_is_dropped_first() -> None:
    cache = ShingleCache(HUNDRED)
    for ref in ("one", "other"):
        cache.put(ref, shingles(50))
    cache.get("one")
    cache.put("third", shingles(50))
    assert [ref for ref in ("one", "other", "third") if cache.get(ref) is not None] == ["one", "third"]


def test_shingles_larger_than_the_cache_drop_nothing() -> None:
    cache = ShingleCache(HUNDRED)
    cache.put("one", shingles(50))
    cache.put("larger", shingles(101))
    assert cache.get("one") is not None
    assert cache.get("larger") is None
