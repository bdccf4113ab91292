"""The marks of sentences, against Unicode and in sentences of many scripts."""

import re
import sys
import unicodedata

import pytest

from streams.gateway.http.presentation import split_context
from streams.language.marks import CLOSERS, MARKS, OPENERS, asks, ends_sentence, is_closed
from streams.statements.sentences.reading_alone import is_sentence
from streams.statements.sentences.splitter import choose_starts, find_endings, spans_between

UNICODE = "".join(map(chr, range(sys.maxunicode + 1)))
SENTENCES = [
    ("Latin", "The ferry leaves at nine.", "It is late."),
    ("Greek", "Το πλοίο φεύγει στις εννέα.", "Είναι αργά."),
    ("Cyrillic", "Паром отходит в девять.", "Уже поздно."),
    ("Armenian", "Լաստանավը մեկնում է ժամը իննին։", "Արդեն ուշ է։"),
    ("Arabic", "متى تغادر العبارة؟", "تغادر في التاسعة."),
    ("Urdu", "کشتی نو بجے روانہ ہوتی ہے۔", "اب دیر ہو گئی ہے۔"),
    ("Devanagari", "नाव नौ बजे निकलती है।", "अब देर हो चुकी है।"),
    ("Bengali", "ফেরি নয়টায় ছাড়ে।", "এখন দেরি হয়ে গেছে।"),
    ("Ethiopic", "ጀልባው በሦስት ሰዓት ይነሳል።", "አሁን መሽቷል።"),
    ("Burmese", "ကူးတို့သည် ကိုးနာရီတွင် ထွက်သည်။", "နောက်ကျနေပြီ။"),
    ("Khmer", "សាឡាងចេញនៅម៉ោងប្រាំបួន។", "វាយឺតហើយ។"),
    ("Chinese", "渡船九点出发。", "已经很晚了。"),
    ("Japanese", "フェリーは九時に出る。", "もう遅い。"),
]


@pytest.mark.parametrize(("script", "first", "second"), SENTENCES, ids=[script for script, *_ in SENTENCES])
def test_a_sentence_ends_in_every_script(script: str, first: str, second: str) -> None:
    text = first + ("" if script in {"Chinese", "Japanese"} else " ") + second
    found = spans_between(text, choose_starts(text, find_endings(text)))
    assert [text[start:end] for start, end in found] == [first, second]
    for sentence in (first, second):
        assert ends_sentence(sentence)
        assert is_closed(sentence)
        assert is_sentence(sentence)
        assert split_context([sentence]) == ((), (sentence,))


@pytest.mark.parametrize(
    "text",
    [
        "The captain said: “the ferry leaves at nine.”",
        "(It does not leave on Sundays.)",
        "Der Kapitän sagte: „Die Fähre fährt um neun.“",
        "Le capitaine a dit : « Le bac part à neuf heures. »",
        "Er sagte: »Die Fähre fährt um neun.«",
        "船长说：“渡船九点出发。”",
        "船長は言った。「フェリーは九時に出る。」",
        "Why wait?!",
        "It waits…",
        "He asked (“why?”).",
    ],
)
def test_quotation_marks_and_brackets_close_a_sentence(text: str) -> None:
    assert ends_sentence(text)
    assert split_context([text]) == ((), (text,))


@pytest.mark.parametrize("text", ["", "Ferries", "Ferries (old)", "The “Gull”", "see the", "ferries,", "fare;"])
def test_a_heading_ends_no_sentence(text: str) -> None:
    assert not ends_sentence(text)
    assert not is_closed(text)


@pytest.mark.parametrize("text", ["The ports are:", "港は："])
def test_a_colon_closes_a_lead_in(text: str) -> None:
    assert is_closed(text)
    assert not ends_sentence(text)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Er sagte: „Sie fährt um neun.“ Dann ging er an Land.", 2),
        ("Il a dit : « Le bac part à neuf heures. » Puis il est parti.", 2),
        ("Es ist spät. »Die Fähre fährt um neun«, sagte er.", 2),
        ("他说。“渡船九点出发。”他走了。", 3),
    ],
)
def test_quotation_marks_belong_to_their_sentence(text: str, count: int) -> None:
    spans = [text[start:end] for start, end in spans_between(text, choose_starts(text, find_endings(text)))]
    assert len(spans) == count
    assert not any(span.startswith(("»", "”", "“ ")) and not span.startswith("»Die") for span in spans)


@pytest.mark.parametrize("text", ["When?", "متى؟", "何时？", "መቼ፧"])
def test_a_question_ends_with_its_mark(text: str) -> None:
    assert asks(text)
    assert ends_sentence(text)


@pytest.mark.parametrize(("members", "categories"), [(CLOSERS, {"Pe", "Pf"}), (OPENERS, {"Ps", "Pi"})])
def test_closing_and_opening_marks_are_those_of_unicode(members: str, categories: set[str]) -> None:
    others = set("\"'¿¡")
    found = set(re.findall(f"[{members}]", UNICODE)) - others
    assert found == {char for char in UNICODE if unicodedata.category(char) in categories} - others


def test_no_letter_or_digit_ends_a_sentence() -> None:
    categories = set(map(unicodedata.category, re.findall(f"[{MARKS}]", UNICODE)))
    assert categories <= {"Po", "Cn"}
