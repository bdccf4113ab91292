# ruff: noqa: E501 - pages as they come
"""The language and script of each block of a document: as the page declares it, else as its words show."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.pages.assemble.block_languages import MAX_ASKED, MAX_VAIN, identify_blocks, name_languages
from streams.pages.document.codec import decode_document, encode_document
from streams.pages.document.model import Block, Document, Identified
from streams.pages.document.to_html import to_html
from streams.pages.normalize import normalize
from streams.pages.text.language import identify

URL = "https://site.example/page"
ENGLISH = (
    "The house stands at the end of the road, and nobody has lived there since the old man moved away with his wife."
)
GERMAN = "Das Haus steht am Ende der Straße, und niemand wohnt dort, seit der alte Mann mit seiner Frau weggezogen ist."
PAGE = f"""<html lang=en><title>Houses</title><main><p>{ENGLISH * 8}</p><p>{GERMAN}</p><p lang=gsw>{GERMAN}</p>
<p lang=en>{GERMAN}</p><blockquote>{GERMAN}</blockquote><pre><code>{GERMAN}</code></pre><p>Где ты сейчас?</p><p>{ENGLISH}</p></main>"""


def test_blocks_in_another_language_say_so_and_what_the_page_declares_is_left() -> None:
    document = normalize(PAGE, url=URL).document
    assert document.language == "en"
    assert [(block.text[:9], block.language) for block in document.blocks] == [
        ("The house", ""),
        ("Das Haus ", "de"),
        ("Das Haus ", "gsw"),  # declared
        ("Das Haus ", ""),  # declared to be English: the page's word
        ("Das Haus ", "de"),
        ("Das Haus ", ""),  # a pre has the language of its code
        ("Где ты се", "ru"),
        ("The house", ""),
    ]


def spoken(document: Document, start: str) -> Identified:
    """The language of the block that begins so."""
    return next(document.identified(block) for block in document.blocks if block.text.startswith(start))


def test_each_block_tells_its_language_its_script_and_how_sure_that_is() -> None:
    page = f"""<html lang=en><title>Houses</title><main><p>{ENGLISH * 8}</p><p>{GERMAN}</p>
    <p lang=la>Habeas corpus ad subiiciendum.</p><p lang=nl>What is said of a house in English, under a false flag.</p>
    <p>Сербия</p><p>Где ты сейчас?</p><p>2024</p><pre><code class=language-python>print("Привет, мой дорогой мир")
    печать("и снова")</code></pre></main>"""
    document = normalize(page, url=URL).document
    assert (document.language, document.script) == ("en", "Latn")
    own = Identified("en", document.language_confidence, "Latn")
    assert own.confidence > 0.9
    assert spoken(document, "The house") == spoken(document, "2024") == own
    german = spoken(document, "Das Haus")
    assert (german.language, german.script) == ("de", "Latn")
    assert german.confidence >= 0.9
    assert spoken(document, "Habeas").language == "la"
    false = spoken(document, "What is said")
    assert (false.language, false.confidence) == ("nl", 0.0), "the page's word, which its text doesn't bear out"
    assert spoken(document, "Сербия") == Identified("", 0.0, "Cyrl"), "a script for sure, a language not"
    russian = spoken(document, "Где ты")
    assert (russian.language, russian.script) == ("ru", "Cyrl")
    assert russian.confidence > 0.6
    assert spoken(document, "print") == Identified(script="Cyrl"), "code has no language of this kind"
    assert normalize(to_html(document), url=URL).document == document
    assert decode_document(encode_document(document)) == document


def test_lines_without_kana_are_japanese_in_a_japanese_page() -> None:
    page = f"<html lang=ja><title>家</title><main><p>{SENTENCES['ja'] * 6}</p><p>東京都</p><p>Windows</p></main>"
    document = normalize(page, url=URL).document
    assert (document.language, document.script) == ("ja", "Kana")
    assert [block.script for block in document.blocks] == ["", "", "Latn"]


def test_the_languages_of_blocks_come_back_from_html() -> None:
    document = normalize(PAGE, url=URL).document
    assert normalize(to_html(document), url=URL).document == document


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

SCRIPTS = dict.fromkeys(SENTENCES, "Latn") | {
    "ru": "Cyrl", "uk": "Cyrl", "el": "Grek", "ar": "Arab", "zh": "Hani", "ja": "Kana",
}  # fmt: skip


@pytest.mark.parametrize("language", SENTENCES)
def test_a_sentence_in_another_language_than_the_pages_is_marked(language: str) -> None:
    page = identify(SENTENCES[language] * 4)
    assert page.language == language
    for other, text in SENTENCES.items():
        [found] = identify_blocks([text], page)
        assert found.language == ("" if other == language else other)
        assert bool(found.language) == (found.confidence >= 0.6)
        assert found.script == (
            "" if SCRIPTS[other] == SCRIPTS[language] or (other == "zh" and not found.language) else SCRIPTS[other]
        )


ENGLISH_PAGE = Identified("en", 0.99, "Latn")


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
    assert identify_blocks([text], ENGLISH_PAGE)[0].language == language, why


def test_after_some_vain_questions_nothing_more_is_asked_and_marked_blocks_do_not_count() -> None:
    doubtful = (
        "crème brûlée, mille-feuille, pâté, croûton, purée, soufflé, smørrebrød, jalapeños, gözleme, żurek, pörkölt"
    )
    german = SENTENCES["de"]
    assert {found.language for found in identify_blocks([german] * (2 * MAX_VAIN), ENGLISH_PAGE)} == {"de"}
    assert identify_blocks([*[doubtful] * MAX_VAIN, german], ENGLISH_PAGE)[-1].language == ""


def test_a_page_of_no_known_language_has_no_foreign_blocks() -> None:
    assert identify_blocks([SENTENCES["de"]], Identified(script="Latn")) == [Identified()]


@given(st.lists(st.text(min_size=1)), st.sampled_from(sorted(SENTENCES)))
def test_any_blocks_have_an_answer_each(texts: list[str], language: str) -> None:
    page = identify(SENTENCES[language])
    found = identify_blocks(texts, page)
    assert len(found) == len(texts)
    for block in found:
        assert block.language != page.language
        assert block.script != page.script
        assert bool(block.language) == (0.0 < block.confidence <= 1.0)


def test_a_page_of_many_languages_asks_about_some_of_its_blocks_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def ask(text: str, declared: str) -> Identified:
        asked.append(text)
        return Identified("de", 1.0, "Latn")

    monkeypatch.setattr("streams.pages.assemble.block_languages.identify", ask)
    declared = tuple(Block("p", f"лиса {number}", language="ru") for number in range(MAX_ASKED + 50))
    german = tuple(Block("p", SENTENCES["de"]) for _ in range(MAX_ASKED + 50))
    blocks = name_languages((*declared, *german), ENGLISH_PAGE)
    assert len(asked) == 2 * MAX_ASKED
    assert {block.script for block in blocks[: len(declared)]} == {"Cyrl"}, "scripts are seen without asking"
    assert [block.language for block in blocks[len(declared) :]] == ["de"] * MAX_ASKED + [""] * 50
