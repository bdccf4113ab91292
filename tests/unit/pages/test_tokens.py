"""Words by script, and the properties that the index and queries rely on."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streams.pages.text.tokens import index_words, words
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
    ("كِتَابٌ كتاب كـــتاب", "ar", ["كتاب", "كتاب", "كتاب"], "vowel signs and tatweel may be left out"),
    ("الإسلام الاسلام آب", "ar", ["الاسلام", "الاسلام", "اب"], "alef with and without its hamza"),
    ("İstanbul istanbul", "tr", ["istanbul", "istanbul"], "the dot of a Turkish capital"),
    ("și şi Țară ţară", "ro", ["şi", "şi", "ţară", "ţară"], "a comma or a cedilla below"),
    ("שָׁלוֹם שלום", "he", ["שלום", "שלום"], "Hebrew points may be left out"),
    ("٢٠٢٤ ۲۰۲۴ ๒๕๖๗ २०२४ ２０２４", "", ["2024", "2024", "2567", "2024", "2024"], "digits of any script"),
    ("في ٣٫٥ و ٣.٥", "ar", ["في", "3", "5", "و", "3.5"], "numbers of any script"),
    ("ปี๒๕๖๗นี้", "th", ["ปี", "2567", "นี้"], "digits part a run without spaces"),
    ("\u2067abc\u2069 \u202bdef", "", ["abc", "def"], "marks of writing direction"),
    ("", "", [], "nothing"),
    ("… — !", "", [], "no words"),
]


@pytest.mark.parametrize(("text", "language", "expected", "why"), CASES, ids=[case[3] for case in CASES])
def test_words(text: str, language: str, expected: list[str], why: str) -> None:
    assert words(text, language) == expected, why


INDEX_CASES = [
    # (text, words)
    ("手机壳很好", ["手机", "机壳", "壳很", "很好"]),  # bigrams of Han find more than its words
    ("情報検索を行う", ["情報", "報検", "検索", "を", "行う"]),
    ("ディレクトリの内容をリスト表示する", ["ディレクトリ", "の", "内容", "を", "リスト", "表示", "する"]),
    ("ระบบฐานข้อมูล", ["ระบบ", "ฐาน", "ข้อมูล"]),
    ("สำหรับน้ำตาล", ["สำหรับ", "น้ำตาล"]),  # the vowel AM, which normal form KC writes as two letters
    ("ສໍາລັບ ສຳລັບ", ["ສຳລັບ", "ສຳລັບ"]),  # and of Lao, where people type one letter or two
    ("한국어 문장", ["한국", "국어", "문장"]),  # Hangul has spaces, and endings
    ("iPhone手机 and 2024年", ["iphone", "手机", "and", "2024", "年"]),
    ("plain English, c++", ["plain", "english", "c++"]),
]


@pytest.mark.parametrize(("text", "expected"), INDEX_CASES)
def test_words_of_the_index(text: str, expected: list[str]) -> None:
    assert index_words(text) == expected


@given(st.text(alphabet="目录するカタฐานขอม 한국 a1", max_size=60), st.text(alphabet="するカタฐาน a1", max_size=20))
def test_a_text_and_its_parts_between_spaces_have_the_same_words(text: str, other: str) -> None:
    assert index_words(f"{text} {other}") == [*index_words(text), *index_words(other)]


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


SPACELESS_TEXTS = {
    "Han": "数据库" * 100_000,
    "kana": "カ" * 300_000,
    "Thai": "ก" * 300_000,
    "mixed": "数กア한" * 75_000,
}


@pytest.mark.parametrize("text", SPACELESS_TEXTS.values(), ids=SPACELESS_TEXTS)
def test_a_run_without_end_is_cut_in_linear_time(text: str) -> None:
    with cpu_guard(30):
        assert index_words(text)
