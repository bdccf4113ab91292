"""Records as bytes: MessagePack with small integers for known field names.

    map     known field name -> its number in FIELDS; any other name stays a string
    ext 1   UUID, 16 bytes, big endian (RFC 9562)
    ext 2   datetime, microseconds since 1970 UTC, signed, 8 bytes, big endian; comes back in UTC
    ext 3   integer beyond 64 bits, decimal digits

A tuple comes back as a list, and a float as the same float. The same value always packs to the same bytes, which a
replay needs: two writes with equal time and equal bytes are one write. Fields are only ever added to FIELDS, at the
end: their numbers are on disk. A record of a newer release may have numbers and extensions that are unknown here. Such
a number is kept as `#number`, and such an extension as it is, so a record that is read and written again loses nothing.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgpack

FIELDS: tuple[str, ...] = (
    "page_id", "url", "host", "generation", "crawl_id", "purpose", "outcome", "retryable", "lease_id", "attempt",
    "depth", "max_depth", "max_pages", "same_host", "status", "headers", "body_ref", "body_bytes", "redirect_to",
    "error", "elapsed_ms", "source", "document_ref", "content_hash", "title", "description", "language",
    "language_confidence", "canonical_url", "directives", "text_chars", "links", "verdict", "canonical_page_id",
    "distance", "simhash", "statements_ref", "statements", "vectors_ref", "model", "model_version", "dimensions",
    "collection", "reason", "detail", "why", "referrer", "force", "lease_until", "etag", "last_modified", "event_id",
    "topic", "at", "data", "in_links", "first_seen", "content-type", "x-robots-tag", "retry-after", "location",
    "simhash_version", "exchange_ref", "rendered", "patterns_id", "asked", "empty", "quarters", "partition",
    "offset", "pages", "shown", "clicked", "seeded", "scheduled", "strangers", "has_asked", "position",
)  # fmt: skip
"""Field names by number. Append only."""

_NAMES = dict(enumerate(FIELDS))
_NUMBERS = {name: number for number, name in _NAMES.items()}
_MAX_NUMBER = 9_999
"""Maximum number of a field, in this release and in later ones."""
_UNKNOWN = re.compile(r"#([1-9]\d{0,3})")
_UUID, _TIME, _BIG = 1, 2, 3
_PLAIN = frozenset({str, int, float, bool, bytes, type(None), UUID})
"""Types whose values are packed as they are. Looked at first: most values are of these."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_DEPTH = 64
"""Maximum number of levels of nesting, far above any record. MessagePack itself refuses 511."""


def pack(value: Mapping[str, Any]) -> bytes:
    """Return the bytes of a record. Raises TypeError for a value that MessagePack can't hold, with the value's type."""
    packed: bytes = msgpack.packb(_number_fields(value, 0), default=_make_ext, strict_types=True, use_bin_type=True)
    return packed


def unpack(packed: bytes) -> dict[str, Any]:
    """Return the record of these bytes. Raises ValueError if the bytes are no record."""
    try:
        found = msgpack.unpackb(packed, ext_hook=_read_ext, strict_map_key=False, raw=False)
    except (msgpack.UnpackException, TypeError, OverflowError) as error:
        raise ValueError(f"no MessagePack record: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"a record is a map, not {type(found).__name__}")
    named: dict[str, Any] = _name_fields(found)
    return named


def _number_fields(value: Any, depth: int) -> Any:
    """Return the value with numbers for known names at every depth, keys in order, and lists for tuples."""
    if depth > _MAX_DEPTH:
        raise TypeError(f"the record is nested deeper than {_MAX_DEPTH} levels")
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is dict or isinstance(value, Mapping):
        numbered = {_find_number(name): _number_fields(below, depth + 1) for name, below in value.items()}
        return {name: numbered[name] for name in sorted(numbered, key=lambda name: (isinstance(name, str), name))}
    if isinstance(value, msgpack.ExtType):
        return value
    if isinstance(value, list | tuple):
        return [_number_fields(below, depth + 1) for below in value]
    if isinstance(value, str | bool) and type(value) not in (str, bool):
        return str(value)  # an enumeration's member, or another kind of string
    return value


def _find_number(name: Any) -> int | str:
    # An integer as a name would come back as one of FIELDS.
    if not isinstance(name, str):
        raise TypeError(f"a record's field names are strings, not {type(name).__name__} ({name!r})")
    if (known := _NUMBERS.get(name)) is not None:
        return known
    unknown = _UNKNOWN.fullmatch(name)
    if unknown and int(unknown[1]) >= len(FIELDS):
        return int(unknown[1])
    return str(name)


def _name_fields(value: Any) -> Any:
    if isinstance(value, dict):
        # Names and plain values first, without a call: a page's journey reads hundreds of fields.
        return {
            _NAMES.get(key) or _find_name(key): below if type(below) in _PLAIN else _name_fields(below)
            for key, below in value.items()
        }
    if isinstance(value, list):
        return [_name_fields(below) for below in value]
    return value


def _find_name(key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, int) and 0 <= key <= _MAX_NUMBER:
        return f"#{key}"
    raise ValueError(f"{key!r} is no field: a name or a number up to {_MAX_NUMBER} is")


def _make_ext(value: Any) -> Any:
    if isinstance(value, UUID):
        return msgpack.ExtType(_UUID, value.bytes)
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise TypeError(f"a time without its zone can't be stored ({value!r})")
        return msgpack.ExtType(_TIME, ((value - _EPOCH) // timedelta(microseconds=1)).to_bytes(8, "big", signed=True))
    if type(value) is int:
        return msgpack.ExtType(_BIG, str(value).encode())
    raise TypeError(f"a record can't hold {type(value).__name__} ({value!r:.80})")


def _read_ext(code: int, content: bytes) -> Any:
    if code == _UUID:
        return UUID(bytes=content)
    if code == _TIME:
        return _EPOCH + timedelta(microseconds=int.from_bytes(content, "big", signed=True))
    if code == _BIG:
        return int(content)
    return msgpack.ExtType(code, content)
