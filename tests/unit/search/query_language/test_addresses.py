"""Queries that are addresses of pages, and queries that only look like it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.crawl.urls import canonicalize
from streams.search.query_language.query import MAX_ADDRESS_CHARS, find_addresses

ADDRESSES = [
    ("sqlite.org", "https://sqlite.org/"),
    ("www.sqlite.org", "https://sqlite.org/"),
    ("SQLite.org/wal.html", "https://www.sqlite.org/wal.html"),
    ("http://sqlite.org/wal.html#intro", "https://sqlite.org/wal.html"),
    ("docs.python.test/3/?q=x", "https://docs.python.test/3/?q=x"),
]


@pytest.mark.parametrize(("query", "url"), ADDRESSES)
def test_an_address_may_be_typed_in_several_ways(query: str, url: str) -> None:
    assert url in find_addresses(query)


@pytest.mark.parametrize(
    "query",
    [
        "",
        "sqlite",
        "node.js",
        "3.11.4",
        "std::vector",
        "a.b",
        "sqlite.org wal",
        "e.g.",
        "me@example.org",
        "x" * MAX_ADDRESS_CHARS + ".org",
    ],
)
def test_other_queries_are_no_addresses(query: str) -> None:
    assert find_addresses(query) == ()


@given(st.text(max_size=60))
def test_addresses_are_canonical(query: str) -> None:
    assert all(canonicalize(url) == url for url in find_addresses(query) if url.startswith("https://"))
