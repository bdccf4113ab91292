"""Rows that another release wrote, older or newer: read, and written back without losing what is unknown here."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import msgpack
import pytest

from streams.stores.packing import FIELDS, pack, unpack
from streams.stores.protocols import Fingerprint, FrontierUrl, Transition
from streams.stores.row_codec import (
    InvalidRow,
    pack_fingerprint,
    pack_frontier_url,
    pack_transition,
    unpack_fingerprint,
    unpack_frontier_url,
    unpack_transition,
)

PAGE, EVENT = UUID(int=7), UUID(int=8)
TRANSITION = Transition(PAGE, EVENT, "pages.fetched", "fetch", 5, "200 OK", {"status": 200})
URL = FrontierUrl(PAGE, "https://a.test/", "a.test", "queued", 9, position=4, attempt=1)
FINGERPRINT = Fingerprint(PAGE, "ab" * 32, 2**63, "https://a.test/", 5, sketch=b"\x01", bands=(1, 2))
Unpack = Callable[[bytes], Any]
ROWS: dict[str, tuple[Any, bytes, Unpack]] = {
    "transition": (TRANSITION, pack_transition(TRANSITION), lambda packed: unpack_transition(PAGE, EVENT, packed)),
    "frontier URL": (URL, pack_frontier_url(URL), lambda packed: unpack_frontier_url(PAGE, 9, packed)),
    "fingerprint": (FINGERPRINT, pack_fingerprint(FINGERPRINT), lambda packed: unpack_fingerprint(PAGE, packed)),
}
REQUIRED = {"topic", "source", "at", "url", "host", "state", "content_hash", "simhash", "generation"}
"""Fields that every release has written, since the first."""


@pytest.mark.parametrize(("value", "packed", "read"), ROWS.values(), ids=ROWS.keys())
def test_a_field_more_is_ignored(value: Any, packed: bytes, read: Unpack) -> None:
    assert read(pack({**unpack(packed), "of_a_newer_release": [1, {"a": 2}]})) == value


@pytest.mark.parametrize(("value", "packed", "read"), ROWS.values(), ids=ROWS.keys())
def test_a_field_fewer_has_its_default_or_is_named(value: Any, packed: bytes, read: Unpack) -> None:
    row = unpack(packed)
    for name in row:
        rest = pack({other: row[other] for other in row if other != name})
        if name in REQUIRED:
            with pytest.raises(InvalidRow, match=name):
                read(rest)
        else:
            assert type(read(rest)) is type(value), name


def test_an_unknown_state_is_read_as_it_is() -> None:
    row = {**unpack(pack_frontier_url(URL)), "state": "parked"}
    assert unpack_frontier_url(PAGE, 9, pack(row)).state == row["state"]


@pytest.mark.parametrize(
    "packed",
    [
        msgpack.packb({1: "https://a.test/", len(FIELDS) + 50: [1, 2]}),
        msgpack.packb({1: "https://a.test/", "id": msgpack.ExtType(99, EVENT.bytes)}),
        msgpack.packb({1: "https://a.test/", "below": [{len(FIELDS): {len(FIELDS) + 1: True}}]}),
    ],
    ids=["a field number", "a kind of value", "both below"],
)
def test_a_record_of_a_newer_release_is_read_and_written_back_whole(packed: bytes) -> None:
    record = unpack(packed)
    assert record["url"] == "https://a.test/"
    assert pack(record) == packed
