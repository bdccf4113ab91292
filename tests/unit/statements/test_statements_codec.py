"""The bytes of statements: this release's, a later one's, and foreign bytes."""

from typing import Any
from uuid import UUID

import msgpack
import pytest

from streams.statements.statement import (
    InvalidStatements,
    PageStatements,
    Statement,
    decode_statements,
    encode_statements,
)

PAGE = UUID("5f0c7a4e-6f43-5f5c-9a3c-2f9f0a3f5b10")
ID = UUID("0a4f6f3e-2f11-5a4b-8c77-0f2f7a9d1c22")
STATEMENT = Statement(ID, 0, "The log is copied back.", ("Guide",), "item", 3, 0, 23)
ROW = [ID.bytes, "The log is copied back.", ["Guide"], "item", 3, 0, 23, [], 0, 100]
EXPECTED = PageStatements(PAGE, "https://a.test/", "Guide", "en", (STATEMENT,))


def test_the_layout_byte_by_byte() -> None:
    """The bytes hold no generation: a page with unchanged statements has the same bytes at each fetch."""
    packed = bytes.fromhex(
        "96"  # an array of 6
        "01"  # layout 1
        "c4105f0c7a4e6f435f5c9a3c2f9f0a3f5b10"  # the page's id
        "af68747470733a2f2f612e746573742f"  # https://a.test/
        "a54775696465"  # Guide
        "a2656e"  # en
        "919a"  # one statement of 10 fields
        "c4100a4f6f3e2f115a4b8c770f2f7a9d1c22"
        "b7546865206c6f6720697320636f70696564206261636b2e"
        "91a54775696465"
        "a46974656d"
        "030017"  # block 3, characters 0 to 23
        "90"  # no chain
        "0064"  # need 0 and leaf 100, in hundredths
    )
    assert encode_statements(EXPECTED) == packed
    assert decode_statements(packed) == EXPECTED


@pytest.mark.parametrize(
    ("layout", "why"),
    [
        ([1, PAGE.bytes, "https://a.test/", "Guide", "en", [ROW], "new"], "a later release appended a field"),
        ([1, PAGE.bytes, "https://a.test/", "Guide", "en", [[*ROW, 0, "", False, "new"]]], "and one to the statements"),
    ],
)
def test_fields_of_other_releases(layout: list[Any], why: str) -> None:
    assert decode_statements(msgpack.packb(layout)) == EXPECTED, why


def test_a_statement_that_lacks_a_field_is_refused() -> None:
    with pytest.raises(InvalidStatements):
        decode_statements(msgpack.packb([1, PAGE.bytes, "https://a.test/", "Guide", "en", [ROW[:2]]]))


@pytest.mark.parametrize(("page", "anchor"), [(0, ""), (7, ""), (0, "checkpoints"), (7, "überblick")])
def test_the_place_of_a_statement_survives(page: int, anchor: str) -> None:
    placed = Statement(ID, 0, "It is copied back.", page=page, anchor=anchor)
    of_page = PageStatements(PAGE, "https://a.test/", "Guide", "en", (placed,))
    assert decode_statements(encode_statements(of_page)) == of_page


def test_a_chain_and_its_probabilities_survive() -> None:
    chained = Statement(ID, 0, "It is copied back.", ("Guide",), "sentence", 3, 0, 18, (4, 7), 0.93, 0.04)
    page = PageStatements(PAGE, "https://a.test/", "Guide", "en", (chained,))
    assert decode_statements(encode_statements(page)) == page


def test_a_layout_of_the_future_is_refused_by_its_number() -> None:
    with pytest.raises(InvalidStatements, match="layout 2"):
        decode_statements(msgpack.packb([2, PAGE.bytes]))
