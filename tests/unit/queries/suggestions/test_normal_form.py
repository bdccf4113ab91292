"""The normal form of queries and prefixes, and the keys by which prefixes find queries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.queries.suggestions.normal_form import MAX_CHARS, key_of, normalize_prefix, normalize_query


@pytest.mark.parametrize(
    ("typed", "normal", "key"),
    [
        ("  WAL \t mode ", "wal mode", "wal mode"),
        ("École", "école", "ecole"),
        ("Œuvre", "œuvre", "oeuvre"),
        ("Straße", "straße", "strasse"),
        ("ｆｕｌｌ　ｗｉｄｔｈ", "full width", "full width"),
        ("йод", "йод", "йод"),  # й is a letter of its own, not и with a mark
        ("Άθήνα", "άθήνα", "αθηνα"),
        ("日本語", "日本語", "日本語"),
        ("Donau\u00addampf\u200bschiff", "donaudampfschiff", "donaudampfschiff"),
        ("می\u200cخواهم", "می\u200cخواهم", "می\u200cخواهم"),  # a joiner of Persian
        ("a\x00b\u202ec", "a b c", "a b c"),
        ("", "", ""),
        (" \n ", "", ""),
        ("x" * 1_000, "x" * MAX_CHARS, "x" * MAX_CHARS),
    ],
)
def test_a_query_has_one_normal_form(typed: str, normal: str, key: str) -> None:
    assert (normalize_query(typed), key_of(normalize_query(typed))) == (normal, key)


def test_a_space_behind_a_word_stays_in_a_prefix() -> None:
    assert [normalize_prefix(typed) for typed in ("wal ", " wal", "wal  ", " ")] == ["wal ", "wal", "wal ", ""]


@given(st.text())
def test_the_normal_form_of_a_normal_form_is_itself(text: str) -> None:
    normal = normalize_query(text)
    assert normalize_query(normal) == normal
    assert len(normal) <= MAX_CHARS
