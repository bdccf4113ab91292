"""Frames of statements: a label, a question, an exclamation or an obscured word is part of what is said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.answers.support.check import Source, check_support
from streams.answers.support.framing import exclamation_of, label_of, obscured_words, without_questions

CYRILLIC_O, GREEK_O = "\u043e", "\u03bf"
FRAMED = [
    # statement, a sentence that leaves its frame out
    ("Refuted: Acme is bankrupt.", "Acme is bankrupt."),
    ("Fake news: Acme is bankrupt.", "Acme is bankrupt."),
    ("Not true: Acme is bankrupt.", "Acme is bankrupt."),
    ("Satire: the mayor has resigned.", "The mayor has resigned."),
    ("Common mistake: the moon has its own light.", "The moon has its own light."),
    ("Faux : Acme est en faillite.", "Acme est en faillite."),
    ("Falsch: Acme ist bankrott.", "Acme ist bankrott."),
    ("Acme is bankrupt? No.", "Acme is bankrupt."),
    ("Acme is bankrupt? Rivals say so.", "Acme is bankrupt."),
    ("Was Acme bankrupt in 1912?", "Acme was bankrupt in 1912."),
    ("The moon is made of cheese？ No.", "The moon is made of cheese."),
    ("Acme is bankrupt – April fool!", "Acme is bankrupt."),
    ("Acme is bankrupt (just kidding!)!", "Acme is bankrupt."),
    ("Acme is bankrupt. What nonsense!", "Acme is bankrupt."),
    ("Acme is bankrupt; as if!", "Acme is bankrupt."),
    (f"Acme is n{CYRILLIC_O}t bankrupt.", "Acme is bankrupt."),
    (f"Acme is n{GREEK_O}t bankrupt.", "Acme is bankrupt."),
    (f"N{CYRILLIC_O}body should drink bleach.", "Drink bleach."),
    (f"It is unt{GREEK_O}ld that Acme is bankrupt.", "Acme is bankrupt."),
    ("Refuted：Acme is bankrupt.", "Acme is bankrupt."),
    ("辟谣：Acme 公司 已经 破产。", "Acme 公司 已经 破产。"),
    ("謠言﹕Acme 公司 已經 破產。", "Acme 公司 已經 破產。"),
    ("デマ：Acme は 倒産 した。", "Acme は 倒産 した。"),
    ("Acme 公司 已经 破产？不。", "Acme 公司 已经 破产。"),
    ("Acme は 倒産 した？いいえ。", "Acme は 倒産 した。"),
    ("Acme is bankrupt？No.", "Acme is bankrupt."),
    ("Acme 公司 已经 破产。愚人节！", "Acme 公司 已经 破产。"),
    ("Acme 公司 已经 破产（愚人节！）！", "Acme 公司 已经 破产。"),
    ("Acme 公司 已经 破产；愚人节﹗", "Acme 公司 已经 破产。"),
    ("Acme is n o t bankrupt.", "Acme is bankrupt."),
    ("Acme is n e v e r bankrupt.", "Acme is bankrupt."),
]
WHOLE = [
    # statement, a sentence that has its frame, or needs none
    ("Refuted: Acme is bankrupt.", "Refuted: Acme is bankrupt."),
    ("Acme: the company is bankrupt.", "Acme: the company is bankrupt."),
    ("辟谣：Acme 公司 已经 破产。", "辟谣：Acme 公司 已经 破产。"),
    ("What is WAL? WAL is a log.", "WAL is a log."),
    ("Acme 公司 已经 破产！", "Acme 公司 已经 破产。"),
    ("Is Acme bankrupt?", "Is Acme bankrupt?"),
    ("The log grows fast!", "The log grows fast."),
    ("The points x y z are equal.", "The points x y z are equal."),
    ("The pipe has 5 μm of rust.", "The pipe has 5 μm of rust."),
]


@pytest.mark.parametrize(("statement", "sentence"), FRAMED)
def test_a_sentence_without_its_frame_is_not_supported(statement: str, sentence: str) -> None:
    assert not check_support(sentence, Source(statement)).is_supported


@pytest.mark.parametrize(("statement", "sentence"), WHOLE)
def test_a_sentence_with_its_frame_is_supported(statement: str, sentence: str) -> None:
    assert check_support(sentence, Source(statement)).is_supported


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("At 10:30 it rains.", ""),
        ("https://a.example/ is a page.", ""),
        ("A clause of more than four words: it is compared.", ""),
        ("Not so fast. Note: it rains.", ""),
        ("Note: it rains.", "Note"),
        ("注意：下雨了。", "注意"),
        ("謠言﹕下雨了。", "謠言"),
        ("Refuted：Acme is bankrupt.", "Refuted"),
        ("下雨了。注意：下雨了。", ""),
        ("Note:", ""),
    ],
)
def test_labels(text: str, label: str) -> None:
    assert label_of(text) == label


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("Is it? No. It was.", "No. It was."),
        ("Acme公司破产了吗？不。", "不。"),
        ("これは何ですか？ ログです。大きい。", "ログです。大きい。"),
        ("ログです。大きいですか？", "ログです。"),
        ("Is it 3.5？No.", "No."),
    ],
)
def test_questions_state_nothing(text: str, stated: str) -> None:
    assert without_questions(text) == stated


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("It rains. Nonsense!", "Nonsense!"),
        ("公司破产。愚人节！", "愚人节"),
        ("公司破产；愚人节﹗", "愚人节﹗"),
        ("公司破产（愚人节！）！", "愚人节"),
        ("愚人节！公司破产。", ""),
    ],
)
def test_exclamations(text: str, call: str) -> None:
    assert exclamation_of(text) == call


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Plain words, a b.", []),
        ("Смешанные слова, и Latin", []),
        ("Tシャツ and ＡＢＣ", []),
        (f"bl{CYRILLIC_O}ck", [f"bl{CYRILLIC_O}ck"]),
        ("a n d", ["a n d"]),
    ],
)
def test_obscured_words(text: str, words: list[str]) -> None:
    assert obscured_words(text) == words


@given(st.text(max_size=300))
def test_any_text_has_a_frame_or_none(text: str) -> None:
    assert len(without_questions(text)) <= len(text)
    assert len(exclamation_of(text)) <= len(text)
    assert label_of(text) in text
