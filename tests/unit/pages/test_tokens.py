"""Words by script, and the properties that the index and queries rely on."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streams.pages.text.tokens import words
from tests.cpu_guard import cpu_guard

CASES = [
    # (text, language, words, why)
    ("The Quick  brown-fox.", "en", ["the", "quick", "brown", "fox"], "case and hyphen"),
    ("don't stop the dog's", "en", ["don't", "stop", "the", "dog"], "apostrophe joins, possessive goes"),
    ("Don’t", "en", ["don't"], "the typographic apostrophe is the plain one"),
    ("l'homme d'aujourd'hui", "fr", ["homme", "aujourd'hui"], "elision"),
    ("l'homme", "de", ["l'homme"], "no elision in German"),
    ("l'homme", "", ["homme"], "unknown language: as an index needs it"),
    ("o'clock", "en", ["o'clock"], "not an elision"),
    ("pi is 3.14, and 1,000.", "en", ["pi", "is", "3.14", "and", "1,000"], "UAX 29 WB11, WB12: a point joins digits"),
    ("os.path.join", "en", ["os", "path", "join"], "a point doesn't join letters"),
    ("max_connections = 10", "en", ["max_connections", "10"], "UAX 29 WB13a: an underscore joins"),
    ("____ __init__", "en", ["__init__"], "a rule of underscores is no word"),
    ("C++ and C# or c.", "en", ["c++", "and", "c#", "or", "c"], "names of languages"),
    ("Straße STRASSE", "de", ["strasse", "strasse"], "full case folding"),
    ("Σίσυφος ΣΊΣΥΦΟΣ", "el", ["σίσυφοσ", "σίσυφοσ"], "final sigma folds"),
    ("ﬁne km² Ａ", "en", ["fine", "km2", "a"], "NFKC"),
    ("H₂O, 10⁶ m⁻¹", "en", ["h2o", "106", "m", "1"], "superscripts are plain characters"),
    ("cafe\u0301 café", "fr", ["café", "café"], "composed and decomposed"),
    ("soft\u00adhyphen", "en", ["softhyphen"], "invisible inside a word"),
    ("می\u200cخواهم", "fa", ["میخواهم"], "the non-joiner is no boundary"),
    ("हिन्दी में", "hi", ["हिन्दी", "में"], "vowel signs are marks, and part of the word"),
    ("手机壳很好", "zh", ["手机", "机壳", "壳很", "很好"], "overlapping bigrams"),
    ("猫", "ja", ["猫"], "one character alone stays"),
    ("iPhone手机", "zh", ["iphone", "手机"], "scripts part"),
    ("ラーメン", "ja", ["ラー", "ーメ", "メン"], "kana with its length mark"),
    ("한국어 문장", "ko", ["한국", "국어", "문장"], "Hangul bigrams within spaces"),
    ("ผม", "th", ["ผม"], "Thai"),
    ("สวัสดี", "th", ["สวั", "วัส", "สดี"], "a Thai vowel stays with its consonant"),
    ("", "", [], "nothing"),
    ("… — !", "", [], "no words"),
]


@pytest.mark.parametrize(("text", "language", "expected", "why"), CASES, ids=[case[3] for case in CASES])
def test_words(text: str, language: str, expected: list[str], why: str) -> None:
    assert words(text, language) == expected, why


def test_every_combining_mark_stays_inside_its_word() -> None:
    spaceless = ("THAI", "LAO", "MYANMAR", "KHMER", "HANGUL", "COMBINING KATAKANA-HIRAGANA")
    marks = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) in ("Mn", "Mc")]
    cut = [mark for mark in marks if len(words(f"a{mark}b")) != 1]
    assert [f"U+{ord(mark):04X}" for mark in cut if not unicodedata.name(mark).startswith(spaceless)] == []


@example("\u0149")  # is an apostrophe and an n, when folded
@example("0'S𠀀")  # a word that was cut off ends like a possessive
@example("ก#中'n_a\u0e31b")  # what is left between runs without spaces need be no word
@given(st.text())
def test_words_of_words_are_the_same_words(text: str) -> None:
    once = words(text)
    assert words(" ".join(once)) == once


@given(st.text())
def test_case_and_width_do_not_matter_to_ascii(text: str) -> None:
    ascii_text = "".join(char for char in text if char.isascii())
    wide = "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in ascii_text)
    assert words(wide.upper()) == words(ascii_text)


@given(st.lists(st.sampled_from(["alpha", "beta2", "don't", "手", "x"])))
def test_spaces_part_words(parts: list[str]) -> None:
    assert words(" ".join(parts)) == parts


HOSTILE = {
    "underscores": "_" * 1_000_000,
    "underscores behind a letter": "é" + "_" * 1_000_000,
    "underscores and a point": "_." * 500_000,
    "possessives": "a" + "'s" * 500_000,
    "possessives without an end": "a" + "'s" * 500_000 + "x",
    "elisions": "l'" * 500_000,
    "points between digits": "1." * 500_000 + "a",
    "digits": "1" * 1_000_000 + "a",
    "combining marks to sort": "é" + "\u0301\u0323" * 100_000,
    "Han and apostrophes": "'中" * 200_000,
    "Thai marks": "é" + "\u0e31" * 1_000_000,
    "half-width marks": "\uff9e\u0301" * 100_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_words_of_a_hostile_text_take_linear_time(text: str) -> None:
    with cpu_guard(30):
        found = words(text)
    assert all(found), "a word has characters"
