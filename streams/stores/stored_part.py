"""The row form of a part of a page's record, from its fields and their types.

A part is a frozen dataclass. Its fields have no defaults, so mypy names the code that makes a part without one of its
facts. A row is the map of names and values that is stored. Rows of other releases are read as they are: a missing fact
has the empty value of its type (`Missing` names another value), and an unknown fact stays in the row. A part that was
read and is written again has the row that was read, with the facts that were changed since.

    type                       in the row       missing
    str                        string           ""
    int, float, bool           the same         0, 0.0, False
    ... | None                 left out if None None
    UUID | None                string           None
    tuple of strings or UUIDs  list of strings  ()
    Mapping                    map              empty
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    Protocol,
    Self,
    get_args,
    get_origin,
    get_type_hints,
    runtime_checkable,
)
from uuid import UUID

Part = Literal[
    "fetched",
    "normalized",
    "deduplicated",
    "chunked",
    "embedded",
    "indexed",
    "removed",
    "feed",
    "render",
]
"""The parts of a page's record: each is written by one stage only, so no stage reads before it writes."""
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Missing:
    """The value of a fact that is missing in the row, for `Annotated`."""

    value: int


@runtime_checkable
class StoredValue(Protocol):
    """A fact with facts of its own."""

    def row(self) -> dict[str, Any]: ...


Generation = Annotated[int, Missing(-1)]
"""Time of a fetch (microseconds since 1970 UTC), or -1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPart:
    """The facts that all parts have, and their row form."""

    PART: ClassVar[Part]
    NULLS: ClassVar[frozenset[str]] = frozenset()
    """The facts that are stored as null if they are None."""

    url: str
    generation: Generation
    stored: Row | None = field(default=None, repr=False, compare=False)
    """The row that the part was read from, or None."""

    @classmethod
    def of_row(cls, row: Row) -> Self:
        """Return the part with the facts of this row. The row may lack any fact."""
        return cls(**{name: read(row.get(name)) for name, read in cls._facts().items()}, stored=row)

    def row(self) -> dict[str, Any]:
        """Return the row to be stored."""
        if self.stored is None:
            return {name: value for name, value in self._values().items() if value is not None or name in self.NULLS}
        read = self.of_row(self.stored)._values()
        changed = {name: value for name, value in self._values().items() if value != read[name]}
        return {**self.stored, **changed}

    def _values(self) -> dict[str, Any]:
        return {name: _in_row(getattr(self, name)) for name in self._facts()}

    @classmethod
    def _facts(cls) -> Mapping[str, Callable[[Any], Any]]:
        part: Any = cls  # mypy takes the class of a frozen dataclass for unhashable
        return _readers(part)


_PLAIN = (str, int, float, type(None))


def _in_row(value: Any) -> Any:
    if isinstance(value, _PLAIN):  # most facts, and the test for a Protocol below is slow
        return value
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, tuple):
        return [_in_row(each) for each in value]
    if not isinstance(value, dict) and isinstance(value, StoredValue):
        return value.row()
    if isinstance(value, Mapping):
        return {name: _in_row(each) for name, each in value.items()}
    return value


@cache
def _readers(part: type[StoredPart]) -> Mapping[str, Callable[[Any], Any]]:
    """Return the function that reads each fact's value in a row, by the fact's name."""
    hints = get_type_hints(part, include_extras=True)
    facts = {name: hint for name, hint in hints.items() if name != "stored" and get_origin(hint) is not ClassVar}
    return {name: _reader(hint) for name, hint in facts.items()}


def _reader(hint: Any) -> Callable[[Any], Any]:
    if get_origin(hint) is Annotated:
        kind, missing = get_args(hint)
        return _number(kind, missing.value)
    if (reader := _READERS.get(hint)) is not None:
        return reader
    nested, _ = get_args(hint)  # a class with `of_row`, or None
    return lambda value: nested.of_row(value) if isinstance(value, Mapping) else None


def _number(kind: type[int] | type[float], missing: float) -> Callable[[Any], Any]:
    return lambda value: value if isinstance(value, kind) else missing


def _optional(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _id(value: Any) -> UUID | None:
    try:
        return UUID(str(value)) if value else None
    except ValueError:
        return None


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(map(str, _list(value)))


def _ids(value: Any) -> tuple[UUID, ...]:
    return tuple(UUID(str(each)) for each in _list(value))


def _map(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: {str(name): read(each) for name, each in value.items()} if isinstance(value, Mapping) else {}


def _share(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


_READERS: Mapping[Any, Callable[[Any], Any]] = {
    str: _text,
    int: _number(int, 0),
    float: _share,
    bool: bool,
    float | None: _optional(_share),
    str | None: _optional(_text),
    int | None: _optional(_number(int, 0)),
    bool | None: _optional(bool),
    UUID | None: _id,
    tuple[str, ...]: _texts,
    tuple[UUID, ...]: _ids,
    Mapping[str, str]: _map(_text),
    Mapping[str, float]: _map(_share),
    tuple[UUID, ...] | None: _optional(_ids),
    Mapping[str, tuple[UUID, ...]] | None: _optional(_map(_ids)),
}
