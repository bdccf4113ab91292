"""Rows of a newer release: what is unknown here is ignored, and kept where a record is written back."""

from uuid import UUID

import msgpack
import pytest

from streams.stores.packing import FIELDS, pack, unpack
from streams.stores.protocols import FrontierUrl
from streams.stores.row_codec import InvalidRow, pack_frontier_url, unpack_frontier_url

PAGE = UUID(int=7)
URL = FrontierUrl(PAGE, "https://a.test/", "a.test", "queued", 9, position=4, attempt=1)


def test_an_unknown_field_is_ignored() -> None:
    row = unpack(pack_frontier_url(URL)) | {"of_a_newer_release": [1, {"a": 2}]}
    assert unpack_frontier_url(PAGE, 9, pack(row)) == URL


def test_a_missing_field_is_named_if_it_has_no_default() -> None:
    row = unpack(pack_frontier_url(URL))
    without_attempt, without_host = ({n: v for n, v in row.items() if n != name} for name in ("attempt", "host"))
    assert unpack_frontier_url(PAGE, 9, pack(without_attempt)).attempt == 0
    with pytest.raises(InvalidRow, match="host"):
        unpack_frontier_url(PAGE, 9, pack(without_host))


def test_unknown_fields_and_kinds_of_values_are_written_back() -> None:
    number = len(FIELDS) + 50
    packed: bytes = msgpack.packb({1: "https://a.test/", number: [1, 2], "id": msgpack.ExtType(99, PAGE.bytes)})
    record = unpack(packed)
    assert record["url"] == "https://a.test/"
    assert pack(record) == packed
