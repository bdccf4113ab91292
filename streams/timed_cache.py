"""A bounded cache of values that are read again after some time. Pure: the clock is an argument.

An old value stays until it is replaced, so that it can be used while its store is down. What was asked for longest ago
goes first.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Kept(NamedTuple, Generic[Value]):
    """A value of a cache."""

    value: Value
    is_fresh: bool
    """The value is used as it is. An old one is read again, if it can be."""


class TimedCache(Generic[Key, Value]):
    """The cache: at most `max_values` values, each fresh for a time in the unit of the clock."""

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
