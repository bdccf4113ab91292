"""Normal forms: as in Unicode's own, except for runs of combining marks that no language has."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.pages.text.normal_forms import MAX_MARKS, nfkc, stream_safe
from tests.cpu_guard import cpu_guard

SURROGATES = range(0xD800, 0xE000)


@given(st.text())
def test_ordinary_text_has_its_normal_forms(text: str) -> None:
    assert nfkc(text) == unicodedata.normalize("NFKC", text)


def test_no_character_that_is_sorted_is_missed() -> None:
    """Each character whose decomposition begins with a combining mark counts as one."""
    for code in range(0x110000):
        if code not in SURROGATES and unicodedata.combining(unicodedata.normalize("NFKD", chr(code))[0]):
            assert len(stream_safe(chr(code) * 100)) == MAX_MARKS, f"U+{code:04X}"


@pytest.mark.parametrize("marks", ["\u0301\u0323", "\u093c\u094d", "\uff9e\u0301", "\u0f71\u0f72"])
def test_a_megabyte_of_marks_is_normalized(marks: str) -> None:
    with cpu_guard(30):
        assert nfkc("a" + marks * 500_000 + "b").endswith("b")
