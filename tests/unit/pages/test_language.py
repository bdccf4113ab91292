"""Languages of short texts, by script, letters and model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.pages.document.model import Identified
from streams.pages.text.language import identify, read_accepted
from streams.pages.text.scripts import FEW_CHARS, dominant_script, script_counts, script_of

CASES = [
    # (text, language, script)
    ("Autonomous cars shift insurance liability toward manufacturers", "en", "Latn"),
    ("Die ganze Stadt ist ein Startup: Shenzhen", "de", "Latn"),
    ("Où est le bureau de poste, s'il vous plaît ?", "fr", "Latn"),
    ("San Francisco analiza prohibir los robots repartidores", "es", "Latn"),
    ("Szukają samochodów i kupują mieszkania", "pl", "Latn"),
    ("Bạn đang ở đâu vậy?", "vi", "Latn"),
    ("Де ти зараз? Я вдома.", "uk", "Cyrl"),
    ("Где ты сейчас? Я дома.", "ru", "Cyrl"),
    ("Тонан кантип барсам болот? Мен үйдөмүн, сен үчүн күтөм", "ky", "Cyrl"),
    ("ΑΘΗΝΑ", "el", "Grek"),
    ("საქართველო", "ka", "Geor"),
    ("สวัสดีครับ", "th", "Thai"),
    ("北京是中国的首都", "zh", "Hani"),
    ("東京は日本の首都です", "ja", "Kana"),
    ("서울은 대한민국의 수도이다", "ko", "Hang"),
    ("القاهرة هي عاصمة مصر", "ar", "Arab"),
    ("تهران پایتخت ایران است", "fa", "Arab"),
    ("ירושלים", "he", "Hebr"),
    ("दिल्ली भारत की राजधानी है", "hi", "Deva"),
]


@pytest.mark.parametrize(("text", "language", "script"), CASES, ids=[case[1] for case in CASES])
def test_language_of_a_sentence(text: str, language: str, script: str) -> None:
    found = identify(text)
    assert (found.language, found.script) == (language, script)
    assert 0 < found.confidence <= 1


@pytest.mark.parametrize("text", ["", "   \n", "12 345", "https://example.com/der/die/das", "… — !"])
def test_a_text_without_letters_has_no_language(text: str) -> None:
    assert identify(text) == Identified()


def test_a_declared_language_decides_between_close_ones_but_not_against_the_script() -> None:
    assert identify("Gatot Subroto", declared="ms-MY").language == "ms"
    assert identify("Где ты сейчас?", declared="en").language == "ru"


def test_a_text_with_many_function_words_of_its_declared_language_needs_no_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def predict(text: str) -> list[tuple[str, float]]:
        asked.append(text)
        return [("en", 0.9)]

    monkeypatch.setattr("streams.pages.text.language._predict", predict)
    english = "You will find more about this in their guide, which has been written by people who know it. " * 3
    assert identify(english, "en") == Identified("en", 0.99, "Latn")
    assert not asked
    dutch = "Of in een huis waar niemand woont, en dat van de man was die er met zijn vrouw of alleen in is. " * 3
    identify(dutch, "en")
    assert asked, "words of both: the model is asked"


@given(st.text())
def test_any_text_is_identified_without_error(text: str) -> None:
    found = identify(text)
    assert 0.0 <= found.confidence <= 1.0
    assert bool(found.language) <= bool(found.script)
    assert found == identify(text)


@given(st.characters())
def test_script_of_agrees_with_the_counts(char: str) -> None:
    assert script_counts(char) == ({script_of(char): 1} if script_of(char) else {})


@given(st.text())
def test_scripts_count_letters_alone(text: str) -> None:
    counts = script_counts(text)
    assert sum(counts.values()) <= len(text)
    assert dominant_script(counts) in {"", *counts, "Hani"}


@given(st.text(max_size=FEW_CHARS))
def test_short_and_long_texts_are_counted_alike(text: str) -> None:
    many = script_counts(text * (FEW_CHARS + 1))
    assert script_counts(text) == {name: count // (FEW_CHARS + 1) for name, count in many.items()}


@pytest.mark.parametrize(
    ("header", "languages"),
    [
        ("", ()),
        ("de-AT,de;q=0.9,en;q=0.8", ("de", "en")),
        ("en;q=0.2, pt-BR ; q=0.7", ("pt", "en")),
        ("*, fr;q=0", ()),
        ("x" * 10_000, ()),
        (";;;,,,q=1,\x00", ()),
    ],
)
def test_the_languages_that_a_browser_accepts(header: str, languages: tuple[str, ...]) -> None:
    assert read_accepted(header) == languages
