"""The cache of values that are read again after some time."""

from streams.timed_cache import Kept, TimedCache


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
