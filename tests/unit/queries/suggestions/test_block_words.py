"""The block list: what looks like a blocked word to a reader is one, and what only has its letters is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.queries.suggestions.block_words import BlockedWords, _looks, _skeleton

BLOCKED = BlockedWords(["thief", "kill yourself", "gamer", "1488"])

# Text -> whether it is blocked, and why.
TEXTS = [
    ("jane doe is a thief", True, "a word"),
    ("„Thief“!", True, "marks around it"),
    ("kill  yourself", True, "a phrase"),
    ("thïef", True, "an accent"),
    ("ｔｈｉｅｆ", True, "wide letters (NFKC)"),
    ("ⓣⓗⓘⓔⓕ", True, "letters in circles (NFKC)"),
    ("thіef", True, "a Cyrillic i (UTS 39)"),
    ("tһιеf", True, "letters of two scripts (UTS 39)"),
    ("tħief", True, "a stroke"),
    ("gamer", True, "a letter that looks like two: m and rn"),
    ("garner", True, "and the other way round, as the standard has it"),
    ("thi\u00adef", True, "a soft hyphen"),
    ("thi\u200bef", True, "spaces without width"),
    ("thi\u034fef", True, "a grapheme joiner"),
    ("t\u200dhief", True, "a joiner"),
    ("thi\ufe0fef", True, "a variation selector"),
    ("th1ef", True, "a digit that looks like another letter"),
    ("th13f", True, "digits for letters"),
    ("k1ll yours3lf", True, "in a phrase"),
    ("1488", True, "a number is itself"),
    ("t.h.i.e.f", True, "dots"),
    ("th_ief", True, "marks inside the word"),
    ("a t h i e f b", False, "single letters that are another word together"),
    ("is he t h i e f", True, "single letters"),
    ("kill-yourself", True, "a hyphen for a space"),
    ("kill your self", True, "a phrase with another space"),
    ("killyourself", True, "and with none"),
    ("thieves", False, "another word"),
    ("skill yourself", False, "a longer word"),
    ("they kill you", False, "a part of a phrase"),
    ("th ief", False, "a word is not found across words: `the rapist`, `pen is`"),
    ("1489", False, "another number"),
    ("t1489f", False, "more digits than letters"),
    ("covid19 b2b mp3 h264", False, "names with digits"),
    ("thieff", False, "a misspelling that looks like one"),
    ("", False, "nothing"),
]


@pytest.mark.parametrize(("text", "is_blocked", "why"), TEXTS, ids=[row[-1] for row in TEXTS])
def test_what_is_blocked(text: str, is_blocked: bool, why: str) -> None:
    assert BLOCKED.blocks(text) is is_blocked, why


def test_an_empty_list_blocks_nothing() -> None:
    assert not BlockedWords(["# a comment", ""]).blocks("thief")


def test_what_a_character_looks_like_looks_like_nothing_else() -> None:
    assert all(_skeleton(looks) == looks for looks in _looks().values())


@given(st.text(max_size=40))
def test_each_text_blocks_itself_and_ends(text: str) -> None:
    words = BlockedWords([text.replace("#", "")])
    assert not len(words) or words.blocks(text.replace("#", ""))


def test_a_long_list_is_read_in_no_time() -> None:
    """The phrases are found by their first or last letter: no text is compared with all of them."""
    words = BlockedWords([f"{first}{number}x{last}" for number in range(2_000) for first, last in ("ab", "cd")])
    assert not any(words.blocks(f"how to c0nfigur3 {number} l0gs") for number in range(200))
