"""Bytes of rows, the same for the real stores and the fakes."""

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar, cast
from uuid import UUID

from streams.errors import PoisonError
from streams.stores.packing import pack, unpack
from streams.stores.protocols import Fingerprint, FrontierUrl, HostOrder, Sight, Transition

Row = TypeVar("Row")


class InvalidRow(PoisonError):
    """A stored row lacks a field that every release has written."""


def pack_fields(value: Any, leave_out: Collection[str] = ()) -> bytes:
    """Return the row of a flat dataclass, without the fields that are left out: those of its key."""
    return pack(
        {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.name not in leave_out}
    )


def read_fields(kind: type[Row], packed: bytes, **key: Any) -> Row:
    """Return the value of a row that any release wrote, and of its key. Raises InvalidRow."""
    return _read(kind, {**unpack(packed), **key})


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
    fields = ((field.name, field.default, getattr(url, field.name)) for field in dataclasses.fields(url))
    row = {
        name: list(value) if isinstance(value, tuple) else value
        for name, default, value in fields
        if name not in apart and value != default
    }
    return pack({**row, "patterns_id": patterns_id} if patterns_id else row)


def read_frontier_url(page_id: UUID, at: int, row: Mapping[str, Any]) -> FrontierUrl:
    """Return the URL of an unpacked row, to which its patterns were added. Raises InvalidRow."""
    return _read(FrontierUrl, {**row, "patterns": tuple(row.get("patterns", ())), "page_id": page_id, "at": at})


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


def _read(kind: type[Row], row: dict[str, Any]) -> Row:
    """Return a row that any release wrote: unknown fields are ignored, and missing fields have their defaults.

    Raises InvalidRow for a row without a field that every release has written.
    """
    fields = dataclasses.fields(cast(Any, kind))
    found = {field.name: row[field.name] for field in fields if field.name in row}
    try:
        return kind(**found)
    except TypeError as error:
        missing = sorted(field.name for field in fields if field.name not in row)
        raise InvalidRow(f"a stored {kind.__name__} lacks some of {', '.join(missing)}") from error
