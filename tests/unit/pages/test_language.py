# ruff: noqa: E501 - sentences as they come
"""Languages of short texts, by script, letters and model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.pages.language import MAX_VAIN, Identified, identify, identify_blocks
from streams.pages.scripts import dominant_script, script_counts, script_of

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
def test_without_letters_nothing_is_known(text: str) -> None:
    assert identify(text) == Identified()


def test_a_declared_language_decides_between_close_ones_but_not_against_the_script() -> None:
    assert identify("Gatot Subroto", declared="ms-MY").language == "ms"
    assert identify("Где ты сейчас?", declared="en").language == "ru"


SENTENCES = {
    "en": "The house stands at the end of the road, and nobody has lived there since the old man and his wife moved away.",
    "de": "Das Haus steht am Ende der Straße, und niemand wohnt dort, seit der alte Mann mit seiner Frau weggezogen ist.",
    "fr": "La maison se trouve au bout de la route, et personne n'y habite depuis que le vieil homme et sa femme sont partis.",
    "es": "La casa está al final del camino, y nadie ha vivido allí desde que el anciano y su mujer se marcharon a la ciudad.",
    "pl": "Dom stoi na końcu drogi i nikt w nim nie mieszka, odkąd stary człowiek i jego żona przeprowadzili się do miasta.",
    "tr": "Ev yolun sonunda duruyor ve yaşlı adamla karısı şehre taşındığından beri orada hiç kimse yaşamadı, derler.",
    "id": "Rumah itu berdiri di ujung jalan, dan tidak ada yang tinggal di sana sejak orang tua itu dan istrinya pindah.",
    "ru": "Дом стоит в конце дороги, и никто в нём не живёт с тех пор, как старик и его жена переехали в город.",
    "uk": "Будинок стоїть у кінці дороги, і ніхто в ньому не живе відтоді, як старий і його дружина переїхали до міста.",
    "el": "Το σπίτι βρίσκεται στο τέλος του δρόμου και κανείς δεν έχει ζήσει εκεί από τότε που ο γέρος έφυγε.",
    "ar": "يقع المنزل في نهاية الطريق ولم يسكنه أحد منذ أن انتقل الرجل العجوز وزوجته إلى المدينة البعيدة.",
    "zh": "房子在路的尽头，自从老人和他的妻子搬走以后，就再也没有人住在那里了。",
    "ja": "家は道の終わりに立っていて、老人とその妻が引っ越してから誰も住んでいません。",
}  # fmt: skip


@pytest.mark.parametrize("language", SENTENCES)
def test_a_sentence_in_another_language_than_the_pages_is_marked(language: str) -> None:
    page = identify(SENTENCES[language] * 4)
    assert page.language == language
    for other, text in SENTENCES.items():
        assert identify_blocks([text], page) == ["" if other == language else other]


ENGLISH = Identified("en", 0.99, "Latn")


@pytest.mark.parametrize(
    ("text", "language", "why"),
    [
        ("Где ты сейчас?", "ru", "another script is sure, even in few words"),
        ("Сербия", "", "a name says little"),
        ("Déjà vu, naïve façade, Doppelgänger, smörgåsbord and jalapeño: words that came to stay in this language", "",
         "borrowed words"),
        ("Antonín Dvořák, Leoš Janáček, Bohuslav Martinů, Bedřich Smetana, Jan Václav Stamic, Josef Suk, Pavel Haas", "",
         "names alone, of whatever country"),
        ("The Russian word приве́т, often written with здравствуйте, is what one says on meeting somebody in the street",
         "", "an English sentence about other words"),
        ("git log --oneline --graph --decorate --all --author=somebody --since=yesterday --until=today HEAD~3..HEAD", "",
         "a command is in no language"),
        ("∀α ∈ Ω: σ(α) ≤ Σβ, ψ(α) = φ(β), λ → ∞", "", "formulas borrow letters"),
        ("Zum Frühstück Brot", "", "too short to be sure"),
    ],
)  # fmt: skip
def test_only_what_is_surely_foreign_is_marked(text: str, language: str, why: str) -> None:
    assert identify_blocks([text], ENGLISH) == [language], why


def test_after_some_vain_questions_nothing_more_is_asked_and_marked_blocks_do_not_count() -> None:
    doubtful = (
        "crème brûlée, mille-feuille, pâté, croûton, purée, soufflé, smørrebrød, jalapeños, gözleme, żurek, pörkölt"
    )
    german = SENTENCES["de"]
    assert identify_blocks([german] * (2 * MAX_VAIN), ENGLISH) == ["de"] * (2 * MAX_VAIN)
    assert identify_blocks([*[doubtful] * MAX_VAIN, german], ENGLISH)[-1] == ""


def test_a_page_of_no_known_language_has_no_foreign_blocks() -> None:
    assert identify_blocks([SENTENCES["de"]], Identified()) == [""]


@given(st.text())
def test_any_text_has_an_answer(text: str) -> None:
    found = identify(text)
    assert 0.0 <= found.confidence <= 1.0
    assert bool(found.language) <= bool(found.script)
    assert found == identify(text)


@given(st.lists(st.text(min_size=1)), st.sampled_from(sorted(SENTENCES)))
def test_any_blocks_have_an_answer_each(texts: list[str], language: str) -> None:
    page = identify(SENTENCES[language])
    assert page.language not in identify_blocks(texts, page)
    assert len(identify_blocks(texts, page)) == len(texts)


@given(st.characters())
def test_a_character_has_the_script_that_it_is_counted_for(char: str) -> None:
    assert script_counts(char) == ({script_of(char): 1} if script_of(char) else {})


@given(st.text())
def test_scripts_count_letters_alone(text: str) -> None:
    counts = script_counts(text)
    assert sum(counts.values()) <= len(text)
    assert dominant_script(counts) in {"", *counts, "Hani"}
