"""The caches: of values that are read again after some time, bounded by size, and of results for short texts."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streams.caches import Kept, SizedCache, TimedCache, cached_if_short
from streams.sketches.features import Hashes

HUNDRED = 100 * 8
"""Bytes of a hundred shingles."""


Shingles = SizedCache[str, Hashes]


def cache_of(**limits: int) -> Shingles:
    return SizedCache(HUNDRED, lambda value: value.nbytes, **limits)


def shingles(count: int) -> Hashes:
    return np.arange(count, dtype=np.uint64)


def test_a_value_is_fresh_for_a_time_and_stays_behind_it() -> None:
    now = 0.0
    cache: TimedCache[str, str | None] = TimedCache(10, 2, lambda: now)
    assert cache.find("a") is None
    cache.keep("a", None)
    assert cache.find("a") == Kept(None, True), "a value that is known to be missing is kept, too"
    cache.keep("a", "new")
    now = 9.9
    assert cache.fresh("a") == "new"
    now = 10.0
    assert (cache.fresh("a"), cache.find("a")) == (None, Kept("new", False))


def test_what_was_asked_for_longest_ago_goes_first() -> None:
    cache: TimedCache[str, int] = TimedCache(10, 2, lambda: 0)
    cache.keep("a", 1)
    cache.keep("b", 2)
    assert cache.fresh("a") == 1
    cache.keep("c", 3)
    assert (cache.find("b"), cache.fresh("a"), cache.fresh("c"), len(cache)) == (None, 1, 3, 2)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 150)), max_size=40))
def test_large_pages_never_make_the_cache_larger_than_its_bound(puts: list[tuple[str, int]]) -> None:
    cache, latest = cache_of(), {}
    for ref, count in puts:
        cache.put(ref, shingles(count))
        latest[ref] = count
        kept = {name: found for name in latest if (found := cache.get(name)) is not None}
        assert all(len(found) == latest[name] for name, found in kept.items())
        assert cache.size == sum(found.nbytes for found in kept.values()) <= HUNDRED


def test_what_was_not_used_for_longest_is_dropped_first() -> None:
    cache = cache_of()
    for ref in ("one", "other"):
        cache.put(ref, shingles(50))
    cache.get("one")
    cache.put("third", shingles(50))
    assert [ref for ref in ("one", "other", "third") if cache.get(ref) is not None] == ["one", "third"]


def test_a_value_larger_than_the_cache_drops_nothing() -> None:
    cache = cache_of()
    cache.put("one", shingles(50))
    cache.put("larger", shingles(101))
    assert cache.get("one") is not None
    assert cache.get("larger") is None


def test_a_larger_value_takes_the_place_of_none_and_ends_the_former_one() -> None:
    """A value that is not kept must not leave the one that it replaces."""
    cache = cache_of()
    cache.put("one", shingles(50))
    cache.put("one", shingles(101))
    assert cache.get("one") is None
    assert cache.size == 0


def test_the_number_of_values_may_be_bounded_too() -> None:
    cache = cache_of(max_values=2)
    for ref in ("one", "other", "third"):
        cache.put(ref, shingles(1))
    assert cache.get("one") is None
    assert cache.size == 2 * shingles(1).nbytes


def test_results_are_kept_for_short_texts_only() -> None:
    """The terms of a stranger's endless words must not fill the memory."""
    asked: list[str] = []

    @cached_if_short(2, max_chars=3)
    def repeat(text: str, times: int) -> str:
        asked.append(text)
        return text * times

    for text in ("abc", "abcd"):
        assert [repeat(text, 2), repeat(text, 2), repeat(text, 3)] == [text * 2, text * 2, text * 3]
    assert asked == ["abc", "abc", "abcd", "abcd", "abcd"]
