"""The caches: of values that are read again after some time, bounded by size, and of results for short texts."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streams.caches import Kept, RecentCache, SizedCache, TimedCache, cached_if_short
from streams.sketches import Hashes

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


def test_a_value_that_nobody_may_use_any_more_leaves_the_memory() -> None:
    now = 0.0
    cache: TimedCache[str, int] = TimedCache(10, 9, lambda: now, kept_for=20)
    cache.keep("a", 1)
    now = 20.0
    assert cache.find("a") == Kept(1, False)
    now = 20.5
    assert (cache.find("a"), len(cache)) == (None, 1)
    cache.keep("b", 2)
    assert list(cache) == ["b"]
    cache.drop("b")
    assert cache.find("b") is None


def test_values_that_grow_old_may_have_a_size_too() -> None:
    now = 0.0
    cache: TimedCache[str, list[int]] = TimedCache(10, 9, lambda: now, max_size=3, size_of=len)
    cache.keep("a", grown := [1])
    cache.keep("b", [1, 2])
    assert (list(cache), cache.size) == (["a", "b"], 3)
    now = 5.0
    grown.append(2)
    cache.measure("a")
    cache.measure("c")
    assert (list(cache), cache.size) == (["a"], 2), "a value that has grown takes the place of the others"
    now = 10.0
    assert (cache.fresh("a"), cache.find("a")) == (None, Kept([1, 2], False)), "it is no fresher than before"
    grown += [3, 4]
    cache.measure("a")
    assert (list(cache), cache.size) == ([], 0)


def test_a_number_of_values_is_kept() -> None:
    cache: RecentCache[str, int] = RecentCache(3)
    for number, key in enumerate("abcd"):
        cache.put(key, number)
    assert (cache.get("a"), cache.get("b"), list(cache)) == (None, 1, ["c", "d", "b"])
    cache.put("c", 7)
    assert list(cache.items()) == [("d", 3), ("b", 1), ("c", 7)]
    cache.drop_if(lambda key, value: key == "d" or value == 7)
    assert (cache.take("b"), cache.take("b"), len(cache), "b" in cache) == (1, None, 0, False)


def test_a_value_that_has_grown_is_measured_again_when_it_is_put() -> None:
    cache = SizedCache[str, list[int]](3, len)
    cache.put("a", first := [1])
    cache.put("b", [1])
    first.append(2)
    cache.put("a", first)
    assert (cache.size, cache.get("b")) == (3, [1])
    first.append(3)
    cache.put("a", first)
    assert (cache.size, cache.get("a"), "b" in cache, len(cache)) == (3, [1, 2, 3], False, 1)
    cache.clear()
    assert (cache.size, len(cache)) == (0, 0)


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
