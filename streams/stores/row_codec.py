"""Bytes of rows, the same for the real stores and the fakes."""

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import Any, TypeVar, cast
from uuid import UUID

from streams.errors import PoisonError
from streams.stores.packing import pack, unpack
from streams.stores.protocols import Fingerprint, FrontierUrl, HostOrder, Sight, Transition

Row = TypeVar("Row")


class InvalidRow(PoisonError):
    """A stored row lacks a field that every release has written."""


def row_of(value: Any, leave_out: Collection[str] = ()) -> dict[str, Any]:
    """Return the fields of a flat dataclass, without those that are left out, such as its key."""
    return {name: getattr(value, name) for name in _defaults_of(cast(Any, type(value))) if name not in leave_out}


def read_row(kind: type[Row], row: Mapping[str, Any]) -> Row:
    """Return a row that any release wrote: unknown fields are ignored, and missing fields have their defaults.

    Raises InvalidRow for a row without a field that every release has written.
    """
    names = _defaults_of(cast(Any, kind))  # mypy takes classes of dataclasses for unhashable
    try:
        return kind(**{name: row[name] for name in names if name in row})
    except TypeError as error:
        missing = sorted(name for name in names if name not in row)
        raise InvalidRow(f"a stored {kind.__name__} lacks some of {', '.join(missing)}") from error


def pack_fields(value: Any, leave_out: Collection[str] = ()) -> bytes:
    """Return `row_of` as bytes."""
    return pack(row_of(value, leave_out))


def read_fields(kind: type[Row], packed: bytes, **key: Any) -> Row:
    """Return the value of a packed row and of its key. Raises InvalidRow."""
    return read_row(kind, {**unpack(packed), **key})


@cache
def _defaults_of(kind: Any) -> Mapping[str, Any]:
    """Return the names of a dataclass's fields, with their defaults."""
    return {field.name: field.default for field in dataclasses.fields(kind)}


def pack_transition(transition: Transition) -> bytes:
    """Return the row of a transition, without its key (page and event)."""
    return pack_fields(transition, ("page_id", "event_id"))


def unpack_transition(page_id: UUID, event_id: UUID, packed: bytes) -> Transition:
    return read_fields(Transition, packed, page_id=page_id, event_id=event_id)


def pack_host_order(order: HostOrder) -> bytes:
    """Return the row of an order, without its host."""
    return pack_fields(order, ("host",))


def unpack_host_order(host: str, packed: bytes) -> HostOrder:
    return read_fields(HostOrder, packed, host=host)


_NOT_IN_URL_ROWS = frozenset({"page_id", "at", "unread_limits"})


def pack_frontier_url(url: FrontierUrl, patterns_id: bytes | None = None) -> bytes:
    """Return the row of a URL, without its key, its write time, and the fields that have their defaults.

    With an id, the patterns have a row of their own (`streams.stores.crawl_patterns`).
    """
    apart = _NOT_IN_URL_ROWS | {"patterns"} if patterns_id else _NOT_IN_URL_ROWS
    defaults = _defaults_of(FrontierUrl)
    row = {name: value for name, value in row_of(url, apart).items() if value != defaults[name]}
    return pack({**row, "patterns_id": patterns_id} if patterns_id else row)


def read_frontier_url(page_id: UUID, at: int, row: Mapping[str, Any]) -> FrontierUrl:
    """Return the URL of an unpacked row, to which its patterns were added. Raises InvalidRow."""
    return read_row(FrontierUrl, {**row, "patterns": tuple(row.get("patterns", ())), "page_id": page_id, "at": at})


_OTHER_COLUMNS = frozenset(
    ("page_id", "representative", "decided_at", "sights", "inherited", "written_at", "group", "is_hidden")
)


def pack_fingerprint(fingerprint: Fingerprint) -> bytes:
    """Return the row of a fingerprint, without its key, its write time and the decision about it."""
    return pack_fields(fingerprint, _OTHER_COLUMNS)


def unpack_fingerprint(page_id: UUID, packed: bytes) -> Fingerprint:
    return read_fields(Fingerprint, packed, page_id=page_id)


def pack_sights(sights: Iterable[Sight]) -> bytes:
    """Return the column of first sights. Without sights, the column is empty."""
    rows = [[sight.sketch, sight.at, sight.is_own] for sight in sights]
    return pack({"sights": rows}) if rows else b""


def unpack_sights(packed: bytes | None) -> tuple[Sight, ...]:
    return tuple(Sight(*row[:3]) for row in unpack(packed)["sights"]) if packed else ()
