"""The words of a query in a text: in many scripts, inflected, and nothing else."""

from string import ascii_letters

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.gateway.http.highlighting import highlights, query_words, segments

HIGHLIGHTS = [
    # query, text, the words that are marked
    ("write-ahead log", "The Write-Ahead-Log or WAL", ["Write", "Ahead", "Log"]),
    ("log", "logging logs logged catalog login", ["logging", "logs", "logged"]),
    ("cafe", "Café CAFÉ", ["Café", "CAFÉ"]),
    ("Straße", "STRASSE", ["STRASSE"]),
    ("river", "the river's bed", ["river's"]),
    ("queries", "a query", ["query"]),
    ("x.y", "xy x y", ["x", "y"]),
    ("what is the journal", "the journal is what it is", ["journal"]),  # function words are everywhere
    ("to be or not to be", "to be", ["to", "be"]),  # unless there are no others
    ("(.*", "anything (.*", []),
    (
        "检索 引擎",
        "全文检索引擎是什么",
        ["检索引擎"],
    ),  # words inside a run without spaces: side by side, they are one mark
    ("检索 引擎", "引擎用于检索", ["引擎", "检索"]),
    ("引擎", "iphone引擎", ["引擎"]),
    ("iphone", "iphone引擎", ["iphone"]),
    ("如何安装数据库", "关系数据库管理系统", ["数据库"]),  # a part of the run
    ("数", "数据", ["数"]),
    ("什么是数据库", "这是什么？数据库", ["数据库"]),  # function words of the query's language
    ("wie hoch ist der Turm", "der Turm ist hoch", ["Turm", "hoch"]),
    ("most Łazienkowski", "most w Warszawie", ["most"]),  # a bridge: no language's function words but the query's
    # signs that are written or left out, and digits of any script
    ("كتاب", "كِتَابٌ جديد", ["كِتَابٌ"]),
    ("الإسلام", "الاسلام", ["الاسلام"]),
    ("سلام", "ســـلام", ["ســـلام"]),
    ("ـــ سلام", "ـ سلام", ["سلام"]),  # a word of such signs alone is none
    ("ـ", "ـ سلام", []),
    ("שלום", "שָׁלוֹם לכולם", ["שָׁלוֹם"]),
    ("2024", "سنة ٢٠٢٤", ["٢٠٢٤"]),
    ("2567", "ปี ๒๕๖๗", ["๒๕๖๗"]),
    ("１２３ＡＢＣ", "123abc", ["123abc"]),
    ("데이터베이스", "데이터베이스를 설치한다", ["데이터베이스"]),  # Korean words have endings
    ("데이터베이스를", "데이터베이스는 빠르다", ["데이터베이스"]),
    ("서울에서", "부산에서 서울까지", ["서울"]),  # an ending by itself is no word
    ("データベース", "データベースを設定する。", ["データベース"]),
    ("データベースを設定", "リリースを急ぐ。設定する。", ["設定"]),  # neither a half of a word nor a particle
    ("ログ ガイド", "ガイドのログ", ["ガイド", "ログ"]),
    ("ฐานข้อมูล", "ระบบฐานข้อมูลใช้บันทึก", ["ฐานข้อมูล"]),
    # marks belong to their word
    ("हिन्दी", "हम न दिल में नहीं हैं", []),
    ("दिल", "हम न दिल में", ["दिल"]),
    ("தமிழ்", "तमिल தமிழ் மொழி", ["தமிழ்"]),
    ("می‌خواهم", "من می‌خواهم بروم", ["می‌خواهم"]),  # with a joiner
    # versions and names are whole
    ("3.11.4", "version 3.11.4 of 11 or 4", ["3.11.4"]),
    ("SQLITE_BUSY", "SQLITE_BUSY, not busy", ["SQLITE_BUSY"]),
    ("c++", "C++ and C", ["C++"]),
]


@pytest.mark.parametrize(("query", "text", "marked"), HIGHLIGHTS)
def test_highlights(query: str, text: str, marked: list[str]) -> None:
    ranges = highlights(text, query_words(query))
    assert [text[start:end] for start, end in ranges] == marked


def test_inflected_words_are_marked_in_the_language_of_the_text() -> None:
    text = "Die Häuser am Fluss"
    assert [text[start:end] for start, end in highlights(text, ["haus"], "de")] == ["Häuser"]
    assert highlights(text, ["haus"]) == []


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("the write-ahead log, written", ["write-ahead log"]),
        ("write, ahead", ["write", "ahead"]),
        ("log  ahead", ["log", "ahead"]),
        ("write the log", ["write", "log"]),
    ],
)
def test_words_side_by_side_are_one_mark(text: str, marked: list[str]) -> None:
    pieces = segments(text, highlights(text, query_words("write-ahead log")))
    assert [piece for piece, is_marked in pieces if is_marked] == marked


@given(st.text(max_size=200), st.text(max_size=50))
def test_segments_are_the_text_again(text: str, query: str) -> None:
    pieces = segments(text, highlights(text, query_words(query)))
    assert "".join(piece for piece, _ in pieces) == text


@given(st.text(max_size=200), st.text(max_size=50))
def test_ranges_are_in_order_and_inside_the_text(text: str, query: str) -> None:
    ranges = highlights(text, query_words(query))
    ends = [place for each in ranges for place in each]
    assert ends == sorted(ends)
    assert all(0 <= start < end <= len(text) for start, end in ranges)


ENGLISH_WORDS = st.sampled_from(
    ["Log", "logs", "logging", "log's", "_log", "ferry's", "Ferries", "ferry", "c++", "3.11", "utf8", "ies", "sses"]
)
ENGLISH = st.lists(ENGLISH_WORDS | st.text(alphabet=f"{ascii_letters} '_-.9", max_size=12), max_size=12).map(" ".join)


@given(ENGLISH, ENGLISH, st.sampled_from(["", "en", "en-GB"]))
def test_what_is_marked_in_plain_english_does_not_depend_on_the_rest_of_the_text(
    text: str, query: str, language: str
) -> None:
    words = [word for word in query_words(query) if word]
    assert highlights(text, words, language) == highlights(f"{text} \N{HORSE}", words, language)


FUNCTION_WORDS_OF_TEXTS = [
    ("die Höhe der Mauer", "Die Höhe und der Preis der Mauer", "de", ["Höhe", "Mauer"]),
    ("в журнале и на диске", "Запись в журнале и на диске.", "ru", ["журнале", "диске"]),
    ("la hauteur et le mur", "La hauteur et le mur", "fr", ["hauteur", "mur"]),
]


@pytest.mark.parametrize(("query", "text", "language", "marked"), FUNCTION_WORDS_OF_TEXTS)
def test_function_words_of_a_query_in_its_language_are_not_marked(
    query: str, text: str, language: str, marked: list[str]
) -> None:
    assert [text[start:end] for start, end in highlights(text, query_words(query), language)] == marked


@pytest.mark.parametrize(
    ("query", "text", "language", "marked"),
    [
        ("Protokoll einer Messung", "Eine Messung hat ein Protokoll.", "de", ["Messung", "Protokoll"]),
        ("cold war", "Es war der cold war.", "de", ["cold"]),  # in a German text it is "was"
        ("cold war", "The cold war was long.", "en", ["cold", "war"]),
        ("einer", "Es war einer.", "de", ["einer"]),  # the query has no other word
    ],
)
def test_function_words_of_the_text_are_not_marked(query: str, text: str, language: str, marked: list[str]) -> None:
    found = highlights(text, query_words(query), language)
    assert [text[start:end] for start, end in found] == marked
