"""Rows: dataclasses as the maps and the bytes that are stored, the same for the real stores and the fakes.

A row has the fields of a dataclass by their names, without those that have their defaults. So a default is a part of
the stored form: it never changes. `COLUMNS` of the class names the fields that are not in the row, such as its key.

    type                 in the row               missing or unreadable in a lenient row
    str, bytes           the same                 "", b""
    int, float, bool     the same                 0, 0.0, False (`Missing` names another number)
    UUID                 the same                 -
    X | None             the same                 None
    tuple[X, ...]        list                     ()
    Mapping[str, X]      map                      empty
    Mapping[K, X], dict  list of pairs, in order  -
    dataclass            its row                  None

Rows of other releases are read: a missing field has its default. A class whose rows are read and written again has the
field `stored`: it keeps what the fields don't say, so an older worker writes back what a newer one has written.

A class that says `LENIENT`, such as a part of a page's record, reads rows that may lack each field, and that may have
values of other types: these are written back, too, until the field is changed. Its fields have no defaults in Python,
so that mypy names the code that forgets one.
"""

import types
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints
from uuid import UUID

import msgpack

from streams.errors import PoisonError
from streams.stores.packing import pack, unpack

Row = Mapping[str, Any]
Kind = TypeVar("Kind")
_Convert = Callable[[Any], Any]
_REQUIRED: Any = object()
"""In place of the default of a field that has none."""


class InvalidRow(PoisonError):
    """A stored row lacks a field that every release has written."""


@dataclass(frozen=True, slots=True)
class Missing:
    """The value of a number that is missing in a lenient row, for `Annotated`."""

    value: int


@dataclass(frozen=True, slots=True)
class _Form:
    """The form of the rows of a class. It is found once."""

    defaults: Mapping[str, Any]
    """The values that are left out, by field: only of fields that are in the row."""
    names: Collection[str]
    """All fields but `stored`."""
    writers: Mapping[str, _Convert]
    """Functions that make the value in the row, by field: only for those where it is another one."""
    readers: Mapping[str, _Convert]
    keeps_unknown: bool
    is_lenient: bool


def row_of(value: Any) -> dict[str, Any]:
    form = _form_of(cast(Any, type(value)))  # mypy takes classes of dataclasses for unhashable
    row = {}
    for name, default in form.defaults.items():
        if (own := getattr(value, name)) != default:
            row[name] = own
    for name, write in form.writers.items():
        if name in row:
            row[name] = write(row[name])
    if form.keeps_unknown and value.stored:
        for name, stored in value.stored.items():
            if name not in form.defaults or form.readers[name](stored) == getattr(value, name):
                row[name] = stored
    return row


def read_row(kind: type[Kind], row: Row) -> Kind:
    """Return the value of a row of any release. `row` may have the other columns, too.

    Raises InvalidRow for a strict row without a field that has no default.
    """
    form = _form_of(cast(Any, kind))
    if form.is_lenient:
        facts = {name: form.readers[name](row[name]) if name in row else fact for name, fact in form.defaults.items()}
        return kind(**facts, stored=row)  # type: ignore[call-arg]  # a lenient class has the field
    found = {name: row[name] for name in form.names if name in row}
    if form.keeps_unknown and len(found) != len(row):
        found["stored"] = {name: value for name, value in row.items() if name not in found}
    for name, read in form.readers.items():
        if name in found:
            found[name] = read(found[name])
    try:
        return kind(**found)
    except TypeError as error:
        missing = sorted(form.names - found.keys())
        raise InvalidRow(f"a stored {kind.__name__} lacks some of {', '.join(missing)}") from error


def pack_row(value: Any) -> bytes:
    return pack(row_of(value))


def unpack_row(kind: type[Kind], packed: bytes, **columns: Any) -> Kind:
    """Return the value of a packed row and of its other columns. Raises InvalidRow."""
    return read_row(kind, {**unpack(packed), **columns})


def pack_list(values: Iterable[Any]) -> bytes:
    """Return dataclasses of one class as bytes: each is a list of its fields. Without values, the bytes are empty.

    It is for many small values in one place: they have no names. Fields that a later
    release appends are ignored.
    """
    rows = [[getattr(value, each.name) for each in fields(value)] for value in values]
    packed: bytes = msgpack.packb(rows) if rows else b""
    return packed


def unpack_list(kind: type[Kind], packed: bytes | None) -> tuple[Kind, ...]:
    """Return the dataclasses of `pack_list`."""
    count = len(fields(cast(Any, kind)))
    return tuple(kind(*row[:count]) for row in msgpack.unpackb(packed)) if packed else ()


@cache
def _form_of(kind: Any) -> _Form:
    is_lenient = getattr(kind, "LENIENT", False)
    hints = get_type_hints(kind, include_extras=True)
    all_fields = {field.name: field for field in fields(kind)}
    keeps_unknown = all_fields.pop("stored", None) is not None
    stored = {name: field for name, field in all_fields.items() if name not in getattr(kind, "COLUMNS", ())}
    writers = {name: write for name in stored if (write := _writer(hints[name]))}
    reader_of = _lenient_reader if is_lenient else _reader
    readers = {name: read for name in stored if (read := reader_of(hints[name]))}
    empty = {name: read(None) for name, read in readers.items()} if is_lenient else {}
    defaults = {name: _default_of(field, empty.get(name, _REQUIRED)) for name, field in stored.items()}
    return _Form(defaults, frozenset(all_fields), writers, readers, keeps_unknown, is_lenient)


def _default_of(field: Any, otherwise: Any) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return otherwise if field.default is MISSING else field.default


def _optional_of(hint: Any) -> Any:
    """Return X of `X | None`, and None for another type."""
    if get_origin(hint) not in (Union, types.UnionType):
        return None
    kinds = [kind for kind in get_args(hint) if kind is not type(None)]
    return kinds[0] if len(kinds) == 1 else None


def _optional(convert: _Convert | None) -> _Convert | None:
    return convert and (lambda value: None if value is None else convert(value))


def _writer(hint: Any) -> _Convert | None:
    """Return what makes a field's value the one in the row; None if it is the same."""
    if optional := _optional_of(hint):
        return _optional(_writer(optional))
    if is_dataclass(hint):
        return row_of
    kinds = get_args(hint)
    if get_origin(hint) is tuple and kinds[1:] == (...,) and (write := _writer(kinds[0])):
        return lambda value: [write(each) for each in value]
    if get_origin(hint) is dict or (get_origin(hint) is Mapping and kinds[0] is not str):
        write_value = _writer(kinds[1]) or _same
        return lambda value: [[key, write_value(each)] for key, each in value.items()]
    return None


def _reader(hint: Any) -> _Convert | None:
    """Return what makes the value in a strict row the field's one; None if it is the same."""
    if optional := _optional_of(hint):
        return _optional(_reader(optional))
    if is_dataclass(hint):
        kind = cast(type[Any], hint)
        return lambda value: read_row(kind, value) if isinstance(value, Mapping) else value
    kinds = get_args(hint)
    if get_origin(hint) is tuple:
        read = _reader(kinds[0]) if kinds[1:] == (...,) else None
        return (lambda value: tuple(map(read, value))) if read else tuple
    if get_origin(hint) is dict or (get_origin(hint) is Mapping and kinds[0] is not str):
        read_value = _reader(kinds[1]) or _same
        return lambda value: {key: read_value(each) for key, each in value}
    return None


def _same(value: Any) -> Any:
    return value


def _lenient_reader(hint: Any) -> _Convert:
    if get_origin(hint) is Annotated:
        kind, missing = get_args(hint)
        return _number(kind, missing.value)
    if (reader := _LENIENT.get(hint)) is not None:
        return reader
    optional, origin, kinds = _optional_of(hint), get_origin(hint), get_args(hint)
    if is_dataclass(optional):
        row_kind = cast(type[Any], optional)
        return lambda value: read_row(row_kind, value) if isinstance(value, Mapping) else None
    if optional:
        read = _lenient_reader(optional)
        return lambda value: None if value is None else read(value)
    read = _lenient_reader(kinds[-1] if origin is Mapping else kinds[0])
    if origin is Mapping:
        return lambda value: _map(read, value)
    return lambda value: tuple(map(read, value)) if isinstance(value, list | tuple) else ()


def _map(read: _Convert, value: Any) -> Row:
    return {str(name): read(each) for name, each in value.items()} if isinstance(value, Mapping) else {}


def _number(kind: type[int] | type[float], missing: float) -> _Convert:
    return lambda value: value if isinstance(value, kind) else missing


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _id(value: Any) -> UUID:
    return value if isinstance(value, UUID) else UUID(str(value))


def _id_or_none(value: Any) -> UUID | None:
    try:
        return _id(value) if value else None
    except ValueError:
        return None


def _share(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


_LENIENT: Mapping[Any, _Convert] = {
    str: _text,
    int: _number(int, 0),
    float: _share,
    bool: bool,
    UUID: _id,
    UUID | None: _id_or_none,
}
