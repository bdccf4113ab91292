"""Bounded caches: by the number of values, by their size together, of values that grow old, and of a function's results
for short texts.

Pure: the clock is an argument. The values that were used least lately go first.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, ItemsView, Iterator
from functools import lru_cache, wraps
from itertools import takewhile
from math import inf
from typing import Generic, NamedTuple, TypeVar, TypeVarTuple, cast

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
Rest = TypeVarTuple("Rest")


class RecentCache(Generic[Key, Value]):
    """A cache of at most `max_values` values."""

    def __init__(self, max_values: int) -> None:
        self._max = max_values
        self._values: OrderedDict[Key, Value] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: Key) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[Key]:
        """Yield the keys, the least recently used first."""
        return iter(self._values)

    def get(self, key: Key) -> Value | None:
        """Return the value, or None."""
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)

    def put(self, key: Key, value: Value) -> None:
        """Keep a value in place of the former one."""
        self._values[key] = value
        self._values.move_to_end(key)
        while len(self._values) > self._max:
            self._values.popitem(last=False)

    def take(self, key: Key) -> Value | None:
        """Remove and return a value, or None."""
        return self._values.pop(key, None)

    def items(self) -> ItemsView[Key, Value]:
        """Return all keys and values, the least recently used first."""
        return self._values.items()

    def drop_if(self, condition: Callable[[Key, Value], bool]) -> None:
        """Forget the values that meet a condition."""
        for key, value in list(self.items()):
            if condition(key, value):
                del self._values[key]

    def clear(self) -> None:
        """Forget all values."""
        self._values.clear()


class Kept(NamedTuple, Generic[Value]):
    """A value of a cache."""

    value: Value
    is_fresh: bool
    """The value is used as it is. An old one is read again, if it can be."""


class TimedCache(Generic[Key, Value]):
    """A cache of values that are read again after some time: at most `max_values`, each fresh for a time in the unit of
    the clock.

    An old value stays until it is replaced, so that it can be used while its store is down. With `kept_for`, it stays
    for that time at most, and leaves the memory soon after it. With `size_of`, all values have `max_size` together at
    most, as in a `SizedCache`.
    """

    def __init__(
        self,
        fresh_for: float,
        max_values: int,
        clock: Callable[[], float],
        *,
        kept_for: float = inf,
        max_size: float = inf,
        size_of: Callable[[Value], int] = lambda _: 0,
    ) -> None:
        self._fresh_for, self._kept_for, self._clock = fresh_for, kept_for, clock
        self._values: SizedCache[Key, tuple[float, Value]] = SizedCache(
            max_size, lambda kept: size_of(kept[1]), max_values=max_values
        )
        """Each value with the time when it was read."""

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Key]:
        """Yield the keys, the least recently used first."""
        return iter(self._values)

    @property
    def size(self) -> int:
        """The size of all values."""
        return self._values.size

    def find(self, key: Key) -> Kept[Value] | None:
        """Return the value, also an old one; None if there is none."""
        found, now = self._values.get(key), self._clock()
        if found is None or now - found[0] > self._kept_for:
            return None
        return Kept(found[1], now < found[0] + self._fresh_for)

    def fresh(self, key: Key) -> Value | None:
        """Return the value, or None if there is none or it is old."""
        kept = self.find(key)
        return kept.value if kept is not None and kept.is_fresh else None

    def keep(self, key: Key, value: Value) -> None:
        """Keep a value that was read now."""
        now = self._clock()
        self._values.put(key, (now, value))
        old = takewhile(lambda kept: now - kept[1][0] > self._kept_for, self._values.items())
        for each in [each for each, _ in old]:
            self._values.drop(each)

    def measure(self, key: Key) -> None:
        """Measure a value that may have grown, if there is one. It is no fresher than before."""
        if (kept := self._values.get(key)) is not None:
            self._values.put(key, kept)

    def drop(self, key: Key) -> None:
        """Forget a value, if there is one."""
        self._values.drop(key)


class SizedCache(Generic[Key, Value]):
    """A cache whose values have at most a given size together. `size_of` returns a value's, in the unit of `max_size`.

    Values from the web are as large as their authors like, so their number says nothing about the memory they take. A
    value that has grown is put again.
    """

    def __init__(self, max_size: float, size_of: Callable[[Value], int], *, max_values: int | None = None) -> None:
        self._max_size, self._size_of, self._max_values = max_size, size_of, max_values
        self._values: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self.size = 0
        """The size of all values."""

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: Key) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[Key]:
        """Yield the keys, the least recently used first."""
        return iter(self._values)

    def items(self) -> Iterator[tuple[Key, Value]]:
        """Yield all keys and values, the least recently used first."""
        return ((key, value) for key, (value, _) in self._values.items())

    def get(self, key: Key) -> Value | None:
        """Return the value, or None."""
        if key not in self._values:
            return None
        self._values.move_to_end(key)
        return self._values[key][0]

    def put(self, key: Key, value: Value) -> None:
        """Keep a value in place of the former one. A value larger than the whole cache is not kept."""
        self.drop(key)
        size = self._size_of(value)
        if size > self._max_size:
            return
        self._values[key] = value, size
        self.size += size
        while self.size > self._max_size or (self._max_values is not None and len(self._values) > self._max_values):
            self.drop(next(iter(self._values)))

    def drop(self, key: Key) -> None:
        """Forget a value, if there is one."""
        if key in self._values:
            self.size -= self._values.pop(key)[1]

    def clear(self) -> None:
        """Forget all values."""
        self._values.clear()
        self.size = 0


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
