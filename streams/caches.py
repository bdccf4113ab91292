"""Bounded caches: of values that grow old, of values that have a size, and of a function's results for short texts.

Pure: the clock is an argument. The values that were used least lately go first.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import lru_cache, wraps
from typing import Generic, NamedTuple, TypeVar, TypeVarTuple, cast

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
Rest = TypeVarTuple("Rest")


class Kept(NamedTuple, Generic[Value]):
    """A value of a cache."""

    value: Value
    is_fresh: bool
    """The value is used as it is. An old one is read again, if it can be."""


class TimedCache(Generic[Key, Value]):
    """A cache of values that are read again after some time: at most `max_values`, each fresh for a time in the unit of
    the clock.

    An old value stays until it is replaced, so that it can be used while its store is down.
    """

    def __init__(self, fresh_for: float, max_values: int, clock: Callable[[], float]) -> None:
        self._fresh_for, self._max, self._clock = fresh_for, max_values, clock
        self._values: OrderedDict[Key, tuple[float, Value]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def find(self, key: Key) -> Kept[Value] | None:
        """Return the value, also an old one; None if there is none."""
        found = self._values.get(key)
        if found is None:
            return None
        self._values.move_to_end(key)
        return Kept(found[1], self._clock() < found[0])

    def fresh(self, key: Key) -> Value | None:
        """Return the value, or None if there is none or it is old."""
        kept = self.find(key)
        return kept.value if kept is not None and kept.is_fresh else None

    def keep(self, key: Key, value: Value) -> None:
        """Keep a value that was read now."""
        self._values[key] = self._clock() + self._fresh_for, value
        self._values.move_to_end(key)
        if len(self._values) > self._max:
            self._values.popitem(last=False)


class SizedCache(Generic[Key, Value]):
    """A cache whose values have at most a given size together. `size_of` returns a value's, in the unit of `max_size`.

    Values from the web are as large as their authors like, so their number says nothing about the memory they take.
    """

    def __init__(self, max_size: int, size_of: Callable[[Value], int], *, max_values: int | None = None) -> None:
        self._max_size, self._size_of, self._max_values = max_size, size_of, max_values
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self.size = 0
        """The size of all values."""

    def get(self, key: Key) -> Value | None:
        """Return the value, or None."""
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)

    def put(self, key: Key, value: Value) -> None:
        """Keep a value in place of the former one. A value larger than the whole cache is not kept."""
        self.drop(key)
        size = self._size_of(value)
        if size > self._max_size:
            return
        self._values[key] = value
        self.size += size
        while self.size > self._max_size or (self._max_values is not None and len(self._values) > self._max_values):
            self.drop(next(iter(self._values)))

    def drop(self, key: Key) -> None:
        """Forget a value, if there is one."""
        if key in self._values:
            self.size -= self._size_of(self._values.pop(key))


def cached_if_short(
    max_values: int, max_chars: int
) -> Callable[[Callable[[str, *Rest], Value]], Callable[[str, *Rest], Value]]:
    """Decorate a function whose first argument is a text: results for texts of at most `max_chars` are kept.

    So the cache has a bound in memory: a stranger may write longer texts than any word or sentence.
    """

    def decorate(function: Callable[[str, *Rest], Value]) -> Callable[[str, *Rest], Value]:
        kept = cast(Callable[[str, *Rest], Value], lru_cache(max_values)(function))

        @wraps(function)
        def call(text: str, *rest: *Rest) -> Value:
            return (kept if len(text) <= max_chars else function)(text, *rest)

        return call

    return decorate
