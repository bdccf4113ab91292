"""Records as bytes: what comes back is what was put, and bytes never depend on the order of fields."""

from contextlib import suppress
from datetime import UTC, datetime, timezone
from typing import Any
from uuid import UUID

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.stores.packing import FIELDS, pack, unpack

names = st.one_of(
    st.sampled_from(FIELDS), st.text(max_size=12), st.integers(0, 200).map(str), st.integers(0, 200).map("#{}".format)
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=40),
    st.binary(max_size=40),
    st.uuids(),
    st.datetimes(timezones=st.just(UTC)),
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4), max_leaves=12
)
records = st.dictionaries(names, values, max_size=8)


@given(records)
def test_a_record_comes_back_as_it_was(record: dict[str, Any]) -> None:
    assert unpack(pack(record)) == record


@given(records)
def test_the_order_of_fields_changes_no_byte(record: dict[str, Any]) -> None:
    assert pack(dict(reversed(record.items()))) == pack(record)


@given(st.binary(max_size=60) | st.binary(min_size=8, max_size=8).map(lambda time: b"\x81\x01\xd7\x02" + time))
def test_foreign_bytes_are_refused_or_read_but_nothing_else(packed: bytes) -> None:
    with suppress(ValueError):
        assert isinstance(unpack(packed), dict)


def test_a_known_name_costs_one_byte_and_an_unknown_one_its_letters() -> None:
    assert len(pack({"statements_ref": 1})) == 3  # the map, the number, the value
    assert b"made_up_name" in pack({"made_up_name": 1})


def test_the_numbers_on_disk_stay_what_they_are() -> None:
    """A changed number would rename the fields of every stored record: FIELDS only grows at its end."""
    known = {"page_id": 0, "outcome": 6, "document_ref": 22, "statements_ref": 36, "collection": 42, "data": 54}
    assert {name: FIELDS.index(name) for name in known} == known
    assert len(FIELDS) == len(set(FIELDS))


HELD: dict[str, tuple[Any, Any]] = {
    "a tuple comes back as a list": ((1, (2, 3)), [1, [2, 3]]),
    "a page id": (UUID(int=7), UUID(int=7)),
    "a time elsewhere comes back in UTC": (
        datetime(2024, 5, 1, 12, tzinfo=timezone.max),
        datetime(2024, 5, 1, 12, tzinfo=timezone.max).astimezone(UTC),
    ),
    "the last microsecond": (
        datetime(9999, 12, 31, 23, 59, 59, 999999, UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999999, UTC),
    ),
    "an unsigned 64-bit hash": (2**64 - 1, 2**64 - 1),
    "a wider integer": (-(2**80), -(2**80)),
}


@pytest.mark.parametrize(("given_value", "kept"), HELD.values(), ids=HELD.keys())
def test_kinds_of_values(given_value: Any, kept: Any) -> None:
    assert unpack(pack({"value": given_value})) == {"value": kept}


def deep(levels: int) -> dict[str, Any]:
    return {"below": deep(levels - 1)} if levels else {}


NOT_HELD: dict[str, Any] = {
    "a name that is a number": {1: "x"},
    "an object": {"value": object()},
    "a set, which has no order": {"value": {1, 2}},
    "a time without its zone": {"value": datetime(2024, 5, 1)},
    "nested without end": deep(100),
}


@pytest.mark.parametrize("record", NOT_HELD.values(), ids=NOT_HELD.keys())
def test_what_a_record_cannot_hold_is_refused_by_name(record: Any) -> None:
    with pytest.raises(TypeError, match=r"record|time without its zone"):
        pack(record)


def test_an_absurd_field_number_is_no_record() -> None:
    with pytest.raises(ValueError, match="no field"):
        unpack(msgpack.packb({1_000_000: 1}))
