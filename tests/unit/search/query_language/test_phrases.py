"""Phrases, dates and extensions as the index compares them: it leaves out nothing that results could have."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.search.query_language.matching import fold, has_phrase, keep_searchable
from streams.search.query_language.operators import meets
from streams.search.query_language.query import parse_query
from streams.stores.protocols import Hit, PageHits
from streams.stores.statement_payload import StatementPayload, day_of, extension_of
from streams.stores.vector_collection import has_words

PIECES = st.sampled_from(["SQLITE_BUSY", "3.11.4", "write-ahead", "log", "Été", "a", "'s", "—", ".", "_", "C++"])
TEXTS = st.lists(PIECES, max_size=8).map(" ".join)


@given(TEXTS, st.lists(PIECES, min_size=1, max_size=3).map(" ".join))
def test_the_index_finds_every_text_that_has_the_phrase(text: str, phrase: str) -> None:
    if keep_searchable([phrase]) and has_phrase(fold(text), phrase):
        assert has_words(text, phrase)


@pytest.mark.parametrize(
    ("phrase", "is_searchable"),
    [
        ("write-ahead log", True),
        ("été", True),
        ("Straße", False),
        ("ﬁle", False),
        ("数据库", False),
        ("ฐานข้อมูล", False),
        ("--", False),
        ("_", False),
    ],
)
def test_the_index_is_not_asked_for_phrases_that_it_might_miss(phrase: str, is_searchable: bool) -> None:
    assert bool(keep_searchable([phrase])) is is_searchable


DATES = st.lists(st.integers(1, 28).map("{:02}".format), max_size=2).map(lambda parts: "-".join(["2024", *parts]))


@given(DATES, DATES)
def test_numbers_of_days_compare_as_the_dates_of_operators_do(published: str, date: str) -> None:
    assert (day_of(published) >= day_of(date)) is (published[: len(date)] >= date)


@pytest.mark.parametrize("text", ["", "soon", "24-05-01", "2024-5-1", "2024-05-011"])
def test_other_texts_are_no_dates(text: str) -> None:
    assert day_of(text) == 0


@pytest.mark.parametrize(
    "url", ["https://a.example", "https://a.example/b.d/c", "https://a.example/x.PDF?y=z.txt#q.md"]
)
@pytest.mark.parametrize("wanted", ["html", "pdf", "txt", "md", "htm"])
def test_extensions_are_compared_as_in_results(url: str, wanted: str) -> None:
    page = PageHits(UUID(int=1), (Hit(UUID(int=1), 1.0, StatementPayload.of_row({"url": url})),), 1.0)
    found = meets(page, parse_query(f"x filetype:{wanted}").conditions)
    assert found is (extension_of(url) == extension_of(f"https://host/file.{wanted}"))
