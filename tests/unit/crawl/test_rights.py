"""Reservations of text and data mining in /.well-known/tdmrep.json."""

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.crawl import Purpose
from streams.crawl.frontier.hosts.host_state import Lease
from streams.crawl.frontier.scheduling.purposes import PURPOSES, LeasePurpose
from streams.crawl.rights import MAX_BYTES, parse_rights
from streams.stores.rows import read_row, row_of

FILE = [
    {"location": "/*", "tdm-reservation": 1, "tdm-policy": "https://a.example/policy.json"},
    {"location": "/free/", "tdm-reservation": 0},
    {"location": "/free/books/*.html$", "tdm-reservation": "1"},
    {"location": 7},
    "what",
]


@pytest.mark.parametrize(
    ("path", "is_reserved"),
    [
        ("/", True),
        ("/a?b=c", True),
        ("/free/", False),
        ("/free/a", False),
        ("/free/books/one.html", True),
        ("/free/books/one.html?page=2", False),
    ],
)
def test_the_longest_location_decides(path: str, is_reserved: bool) -> None:
    assert parse_rights(json.dumps(FILE).encode()).reserves(path) is is_reserved


@pytest.mark.parametrize(
    ("file", "path", "is_reserved"),
    [
        # An index file is no folder here, as it is in robots.txt.
        ([{"location": "/a/index.html", "tdm-reservation": 0}, {"location": "/", "tdm-reservation": 1}], "/a/", True),
        ([{"location": "/a/index.html", "tdm-reservation": 0}, {"location": "/", "tdm-reservation": 1}],
         "/a/index.html", False),
        # Other forms of the same.
        ([{"location": "/", "tdm-reservation": True}], "/x", True),
        ([{"location": "/", "tdm-reservation": 1.0}], "/x", True),
        ([{"location": "/", "tdm-reservation": " True"}], "/x", True),
        ([{"location": "/", "tdm-reservation": False}], "/x", False),
        ([{"location": "/", "tdm-reservation": 2}], "/x", False),
        ({"location": "/a", "tdm-reservation": 1}, "/a/b", True),
        ({"location": "/a", "tdm-reservation": 1}, "/b", False),
        ([{"location": "a/b", "tdm-reservation": 1}], "/a/b", True),
        ([{"location": "https://a.example/x", "tdm-reservation": 1}], "/x/y", True),
        ([{"location": "https://a.example/x", "tdm-reservation": 1}], "/z", False),
        ([{"location": "https://a.example", "tdm-reservation": 1}], "/z", True),
        # A reservation without a path is for all of the host, and a permission without one for nothing.
        ([{"tdm-reservation": 1}], "/x", True),
        ([{"location": "", "tdm-reservation": 1}, {"tdm-reservation": 0}], "/x", True),
        ([{"location": ["/a"], "tdm-reservation": 1}], "/x", True),
    ],
)  # fmt: skip
def test_a_reservation_in_any_form_holds(file: Any, path: str, is_reserved: bool) -> None:
    for encoding in ("utf-8", "utf-8-sig"):
        assert parse_rights(json.dumps(file).encode(encoding)).reserves(path) is is_reserved


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"[]", b"<html>", b"[" * 50_000, b"[1, null]", b"\xff", b" " * MAX_BYTES + b"[]"]
)
def test_a_file_that_is_none_reserves_nothing(body: bytes) -> None:
    assert not parse_rights(body).reserves("/")


JSON = st.recursive(
    st.none() | st.integers() | st.text(), lambda part: st.lists(part) | st.dictionaries(st.text(), part)
)


@given(st.lists(st.fixed_dictionaries({"location": JSON | st.just("/*"), "tdm-reservation": JSON})), st.text())
def test_any_file_can_be_read(rules: Any, path: str) -> None:
    assert isinstance(parse_rights(json.dumps(rules).encode()).reserves(f"/{path}"), bool)


def test_each_purpose_has_a_rule() -> None:
    assert set(PURPOSES) == set(get_args(LeasePurpose))
    assert {rule.event for rule in PURPOSES.values()} == set(get_args(get_args(Purpose)[0]))


@pytest.mark.parametrize("purpose", PURPOSES)
def test_a_lease_is_read_as_it_was_stored(purpose: Any) -> None:
    lease = Lease(page_id=None, lease_id=None, until=3, attempt=1, purpose=purpose)  # type: ignore[arg-type] # not used
    assert read_row(Lease, row_of(lease)) == lease
