"""The language of a query in its vector: which queries lose a share of it, and come nearer to English ones."""

import numpy as np
import pytest

from streams.language.function_words import FUNCTION_WORDS
from streams.models.inference.encoder import SentenceEncoder
from streams.models.inference.repository import parameters_of, read_config
from streams.models.inference.runtimes import resolve_runtime
from streams.search.ranking.other_languages import UNSURE, AskedIn, asked_in
from streams.search.retrieval.query_embedder import OFFSETS, without_language
from streams.settings import Settings

E5, PAIR, MINILM = "multilingual-e5-small", "minilm-and-e5", "all-minilm-l6-v2"
LOCAL = Settings().models_path / "local"
OWN = 384
"""Dimensions of e5."""
CHINESE, HAN = AskedIn("zh", "Hani"), AskedIn("", "Hani")


def unit(values: list[float]) -> list[float]:
    return [float(value) for value in np.asarray(values, np.float32) / np.linalg.norm(values)]


PLAIN = unit([1.0 + place % 7 for place in range(OWN)])
BOTH = unit([*(1.0 + place % 5 for place in range(OWN)), *PLAIN])


@pytest.mark.parametrize("model", [E5, PAIR, MINILM, "unknown"])
@pytest.mark.parametrize("asked", [UNSURE, AskedIn("en", "Latn"), AskedIn("", "Latn"), AskedIn("", ""), AskedIn("xx")])
def test_a_query_in_english_or_of_unsure_language_stays_as_it_is(model: str, asked: AskedIn) -> None:
    assert without_language(PLAIN, asked, model) == PLAIN


def test_a_model_that_was_not_measured_stays_as_it_is() -> None:
    assert without_language(PLAIN, CHINESE, MINILM) == PLAIN


@pytest.mark.parametrize("asked", [CHINESE, HAN, AskedIn("de", "Latn"), AskedIn("", "Cyrl")])
def test_a_moved_vector_has_unit_length(asked: AskedIn) -> None:
    moved = without_language(PLAIN, asked, E5)
    assert moved != PLAIN
    assert np.linalg.norm(moved) == pytest.approx(1, abs=1e-6)


def test_the_pairs_english_half_of_a_query_in_another_language_is_left_out() -> None:
    """Whatever the first encoder has read there, the vector is e5's behind zeros."""
    moved = without_language(BOTH, CHINESE, PAIR)
    assert not any(moved[:OWN])
    assert moved[OWN:] == pytest.approx(without_language(BOTH[OWN:], CHINESE, E5), abs=1e-6)


def test_a_zero_vector_is_no_error() -> None:
    assert np.isfinite(without_language([0.0] * OWN, CHINESE, E5)).all()


def test_each_language_with_a_table_of_function_words_has_an_offset() -> None:
    with np.load(OFFSETS, allow_pickle=False) as offsets:
        assert set(FUNCTION_WORDS) - {"en"} <= set(offsets.files)
        lengths = [float(np.linalg.norm(offsets[language].astype(np.float32))) for language in offsets.files]
    assert min(lengths) > 0.2
    assert max(lengths) < 0.9


QUESTIONS = {
    "Who won the second battle, and in which year was it?": (
        "谁赢得了第二次战役，是在哪一年？",
        "Кто выиграл второе сражение и в каком году это было?",
        "Wer hat die zweite Schlacht gewonnen, und in welchem Jahr war das?",
        "Ποιος κέρδισε τη δεύτερη μάχη και σε ποιο έτος έγινε;",
        "İkinci savaşı kim kazandı ve bu hangi yılda oldu?",
        "दूसरी लड़ाई किसने जीती और यह किस वर्ष हुई थी?",
        "ใครชนะการรบครั้งที่สอง และเกิดขึ้นในปีใด?",
        "من الذي فاز بالمعركة الثانية، وفي أي عام كان ذلك؟",
        "Ai đã thắng trận đánh thứ hai, và đó là vào năm nào?",
    )
}


@pytest.fixture(scope="module")
def encoder() -> SentenceEncoder:
    return SentenceEncoder(resolve_runtime(parameters_of(read_config(LOCAL / "e5"))), LOCAL / "e5" / "1")


@pytest.mark.parametrize("english", QUESTIONS)
def test_a_question_comes_nearer_to_the_same_one_in_english(encoder: SentenceEncoder, english: str) -> None:
    plain, *others = encoder.embed([f"query: {text}" for text in (english, *QUESTIONS[english])])
    for text, vector in zip(QUESTIONS[english], others, strict=True):
        moved = without_language(vector.tolist(), asked_in(text), E5)
        assert np.asarray(moved, np.float32) @ plain > vector @ plain + 0.01, text
