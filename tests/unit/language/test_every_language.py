"""Each of 20 languages is a row, and a column is something that the journey of a page or a query needs.

`docs/reference/languages.md` has the table that `test_the_page_of_languages_is_true` renders. A language without a
table gets structure (marks, spaces, scripts), and never the rules of English.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streams.gateway.http.highlighting import highlights, query_words, segments
from streams.gateway.http.presentation import writes_right_to_left
from streams.knowledge.wikidata.languages import translations
from streams.language.abbreviations import ABBREVIATIONS
from streams.language.function_words import FUNCTION_WORDS, without_function_words
from streams.pages.text.dates import iso_date
from streams.pages.text.language import identify
from streams.pages.text.tokens import index_words
from streams.queries.spelling.words import LANGUAGE as CORRECTED
from streams.queries.suggestions.index import Suggestion
from streams.queries.suggestions.normal_form import key_of, normalize_prefix, normalize_query
from streams.queries.suggestions.suggester import Suggester
from streams.search.retrieval.model_fit import unknown_language
from streams.statements.sentences.splitter import SentenceSplitter
from streams.vectors.bm25 import document_vector, query_vector
from streams.vectors.stemming import LANGUAGES as STEMMERS
from streams.vectors.stemming import stems

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "languages.md"


@dataclass(frozen=True)
class Row:
    """The examples of one language."""

    name: str
    sentences: tuple[str, ...]
    """Sentences, as they stand one behind the other."""
    asked: str
    """A question."""
    content: tuple[str, ...]
    """Its words without function words, as the index has them."""
    answer: str
    """A text that the question finds by words: where there is a stemmer, by an inflection alone."""
    marked: tuple[str, ...]
    """The marked parts of the answer."""
    date: str
    """The fifth of March 2024, with the name of the month where the language writes one."""
    typed: str
    """The beginning of the first sentence, as people type it."""
    joint: str = " "
    """The text between sentences."""


ROWS = {
    "en": Row(
        "English", ("The ferry is at the pier.", "It leaves at noon, e.g. today."), "where do the ferries go",
        ("ferries", "go"), "A ferry crosses the river.", ("ferry",), "5 March 2024", "the fer",
    ),
    "de": Row(
        "German", ("Das Boot liegt da.", "Es fährt am 3. Oktober ab, z. B. nach Köln."), "wo sind die Häuser am Fluss",
        ("häuser", "fluss"), "Ein Haus steht leer.", ("Haus",), "5. März 2024", "DAS bo",
    ),
    "fr": Row(
        "French", ("Le bateau est là.", "Il part à midi."), "où sont les chevaux de l'île", ("chevaux", "île"),
        "Un cheval est au pré.", ("cheval",), "5 mars 2024", "le bateau est la",
    ),
    "es": Row(
        "Spanish", ("El barco no está.", "¿Cuándo sale?", "Sale hoy."), "¿dónde están los barcos rojos?",
        ("barcos", "rojos"), "Un barco rojo llega.", ("barco", "rojo"), "5 de marzo de 2024", "el barco no esta",
    ),
    "pt": Row(
        "Portuguese", ("O barco está lá.", "Ele parte ao meio-dia."), "onde estão os barcos novos",
        ("barcos", "novos"), "Um barco novo chegou.", ("barco", "novo"), "5 de março de 2024", "o barco esta",
    ),
    "it": Row(
        "Italian", ("La barca è qui.", "Parte a mezzogiorno."), "dove sono le barche rosse", ("barche", "rosse"),
        "Una barca rossa.", ("barca", "rossa"), "5 marzo 2024", "la barca e",
    ),
    "nl": Row(
        "Dutch", ("De boot ligt er.", "Hij vertrekt om twaalf uur."), "waar zijn de boten", ("boten",),
        "Een boot ligt stil.", ("boot",), "5 maart 2024", "de boot",
    ),
    "pl": Row(
        "Polish", ("Statek jest tu.", "Odpływa w południe."), "gdzie są mosty na Wiśle", ("mosty", "wiśle"),
        "Stary most runął.", ("most",), "5 marca 2024", "statek jest",
    ),
    "ru": Row(
        "Russian", ("Он уже там.", "Корабль уходит в полдень."), "где находятся корабли", ("находятся", "корабли"),
        "Корабль стоит в порту.", ("Корабль",), "5 марта 2024 г.", "он уже",
    ),
    "uk": Row(
        "Ukrainian", ("Він уже тут.", "Корабель відходить опівдні."), "де знаходиться корабель",
        ("знаходиться", "корабель"), "Цей корабель великий.", ("корабель",), "5 березня 2024", "він уже",
    ),
    "cs": Row(
        "Czech", ("Loď je tu.", "Odplouvá v poledne."), "kde jsou mosty přes řeku", ("mosty", "řeku"),
        "Starý most spadl.", ("most",), "5. března 2024", "lod je",
    ),
    "sv": Row(
        "Swedish", ("Båten är där.", "Den går klockan tolv."), "var är båtarna", ("båtarna",),
        "En båt ligger vid kajen.", ("båt",), "5 mars 2024", "baten ar",
    ),
    "tr": Row(
        "Turkish", ("Gemi burada.", "Öğlen kalkıyor."), "gemiler nerede", ("gemiler",), "Bir gemi limanda.",
        ("gemi",), "5 Mart 2024", "gemi bu",
    ),
    "ar": Row(
        "Arabic", ("السفينة في الميناء.", "متى تغادر؟", "تغادر ظهرا."), "اين الكتب", ("الكتب",), "هذه الكُتُب جديدة.",
        ("الكُتُب",), "٥ مارس ٢٠٢٤", "السفينة في",
    ),
    "he": Row(
        "Hebrew", ("הספינה בנמל.", "היא יוצאת בצהריים."), "איפה הספינה", ("הספינה",), "הַסְּפִינָה גדולה.",
        ("הַסְּפִינָה",), "5 במרץ 2024", "הספינה ב",
    ),
    "hi": Row(
        "Hindi", ("नाव घाट पर है।", "वह दोपहर को जाती है।"), "किताबें कहाँ हैं", ("किताबें",), "यह किताब नई है।",
        ("किताब",), "५ मार्च २०२४", "नाव घाट",
    ),
    "zh": Row(
        "Chinese", ("船在港口。", "什么时候离开？", "中午离开。"), "数据库如何安装",
        ("数据", "据库", "库如", "何安", "安装"), "安装关系数据库。", ("安装", "数据库"),
        "2024年3月5日", "船在", joint="",
    ),
    "ja": Row(
        "Japanese", ("船は港にいる。", "いつ出ますか？", "正午に出ます。"), "データベースを設定",
        ("データベース", "設定"), "設定はデータベースにある。", ("設定", "データベース"),
        "2024年3月5日", "船は", joint="",
    ),
    "ko": Row(
        "Korean", ("배는 항구에 있다.", "정오에 떠난다."), "데이터를 저장", ("데이", "이터", "터를", "저장"),
        "데이터는 저장된다.", ("데이터", "저장"), "2024년 3월 5일", "배는",
    ),
    "th": Row(
        "Thai", ("เรืออยู่ที่ท่า",), "ฐานข้อมูลอยู่ที่ไหน", ("ฐาน", "ข้อมูล"), "ระบบฐานข้อมูลใหม่", ("ฐานข้อมูล",),
        "๕ มีนาคม ๒๕๖๗", "เรือ",
    ),
}  # fmt: skip
CASES = pytest.mark.parametrize(("language", "row"), ROWS.items(), ids=ROWS)


@CASES
def test_sentences_end_at_the_marks_of_the_language(language: str, row: Row) -> None:
    text = row.joint.join(row.sentences)
    (spans,) = SentenceSplitter().split([text], [language])
    assert tuple(text[start:end] for start, end in spans) == row.sentences


@CASES
def test_the_language_is_identified(language: str, row: Row) -> None:
    assert identify(row.joint.join((*row.sentences, row.answer))).language == language


@CASES
def test_function_words_of_the_language_are_left_out(language: str, row: Row) -> None:
    assert tuple(without_function_words(index_words(row.asked), language)) == row.content


@CASES
def test_the_question_finds_the_answer_by_words(language: str, row: Row) -> None:
    found = document_vector(row.answer, language=language)
    for asked in (query_vector(row.asked, language), query_vector(" ".join((*row.sentences, row.asked)))):
        assert set(asked.indices) & set(found.indices), "also where the language of the query is not said"


@CASES
def test_the_words_are_marked_in_the_snippet(language: str, row: Row) -> None:
    ranges = highlights(row.answer, query_words(row.asked), language)
    assert tuple(row.answer[start:end] for start, end in ranges) == row.marked


@CASES
def test_dates_of_the_language_are_read(language: str, row: Row) -> None:
    assert iso_date(row.date) == "2024-03-05"


@CASES
def test_a_text_is_suggested_by_what_people_type(language: str, row: Row) -> None:
    title = normalize_query(row.sentences[0])
    assert key_of(title).startswith(key_of(normalize_prefix(row.typed)))


SUGGESTER = Suggester(Suggestion(normalize_query(row.sentences[0]), 1.0, language) for language, row in ROWS.items())


@CASES
def test_a_mistake_in_what_people_type_is_forgiven(language: str, row: Row) -> None:
    meant = normalize_query(row.sentences[0])
    place = next(at for at in range(2, len(meant)) if not meant[at - 1].isspace())  # a word's first letter is right
    without_a_letter = meant[:place] + meant[place + 1 : place + 4]
    for own in (language, "", "en"):
        found = [each.text for each in SUGGESTER.suggest(without_a_letter, own)]
        assert found == [meant], "also where the person's language is another one"


@CASES
def test_only_queries_in_english_are_corrected(language: str, row: Row) -> None:
    """The vocabulary is English. A query that is surely in another language would be changed to English words."""
    text = " ".join((row.asked, *row.sentences))
    assert (unknown_language(text, (), (CORRECTED,)) == "") is (language == CORRECTED)
    assert (unknown_language("vaccuum", (language,), (CORRECTED,)) == "") is (language == CORRECTED), "as it is said"


@CASES
def test_names_of_panels_are_kept_in_the_language(language: str, row: Row) -> None:
    texts = {"en": {"value": "name"}, language: {"value": row.sentences[0]}}
    assert translations(texts, "name")[language] == row.sentences[0]


@CASES
def test_only_arabic_and_hebrew_are_written_from_right_to_left(language: str, row: Row) -> None:
    assert writes_right_to_left(language) == (language in {"ar", "he"})


@CASES
def test_every_function_word_is_written_as_the_index_has_it(language: str, row: Row) -> None:
    for word in FUNCTION_WORDS.get(language, ()):
        assert index_words(word) == [word] or language in {"ja", "th"}, "a word of a dictionary may be cut alone"


WITHOUT_TABLE = {
    "vi": "Tôi đã ở nhà hôm qua. Nó rất vui.",
    "fi": "Vene on satamassa. Se lähtee pian.",
    "el": "Το πλοίο λείπει. Φεύγει.",
}


@pytest.mark.parametrize(("language", "text"), WITHOUT_TABLE.items(), ids=WITHOUT_TABLE)
def test_a_language_without_a_table_gets_structure_and_no_rule_of_english(language: str, text: str) -> None:
    (spans,) = SentenceSplitter().split([text], [language])
    assert len(spans) == 2, "capitals and marks"
    assert without_function_words(["the", "most", "of"], language) == ["the", "most", "of"]
    assert ("houses",) in {forms[:1] for forms in stems(["houses"], language)}, "the word as it is written"
    assert "hous" not in {form for forms in stems(["houses"], language) for form in forms}


@pytest.mark.parametrize("language", ["de", "fi", ""])
@pytest.mark.parametrize("word", ["x86", "MP3", "ES6"])
def test_a_name_with_a_digit_ends_a_sentence(language: str, word: str) -> None:
    text = f"Ohjelma tukee {word}. Sitten se loppuu."
    (spans,) = SentenceSplitter().split([text], [language])
    assert len(spans) == 2


WORDS_OF_OTHERS = [
    ("pl", "most nad rzeką", "most"),  # a bridge
    ("es", "once de septiembre de 1973", "once"),  # eleven
    ("de", "Not und Elend im Krieg", "not"),  # misery
    ("cs", "more na severu země", "more"),  # no word of Czech, and no function word there
]


@pytest.mark.parametrize(("language", "query", "word"), WORDS_OF_OTHERS)
def test_function_words_of_english_are_words_of_other_languages(language: str, query: str, word: str) -> None:
    text = document_vector(word, language=language)
    assert set(query_vector(query, language).indices) & set(text.indices)
    assert word in {each.casefold() for each in query_words(query)}


SCRIPTS = [
    # the first and the last character of a part of a script
    *("az", "AZ", "09", "àÿ", "αω", "ая", "את", "\u05b0\u05bc", "ءي", "\u064b\u0652", "٠٩", "अह", "\u093e\u094d", "०९"),
    *("กฮ", "ะ\u0e39", "เ์", "๐๙", "ກຮ", "ະ\u0ebc", "ကအ", "\u102b\u1039", "កអ", "\u17b6\u17d2", "ぁん", "ァヺ", "ｦﾟ"),
    *("一丠", "가갠", "\u0300\u0308", "\u200c\u200f", "😀😎", "ﬀﬅ", "ﹰﻼ", "Ａｚ", "ــ"),
]
TEXTS = st.lists(
    st.sampled_from(SCRIPTS).flatmap(
        lambda ends: st.text(st.characters(min_codepoint=ord(ends[0]), max_codepoint=ord(ends[1])), max_size=6)
    ),
    max_size=5,
)


@example(["ـ"])
@example(["ทำ", "งาน"])
@example(["ﾊﾝ", "iPhone", "15", "を"])
@given(TEXTS)
def test_what_a_page_says_is_found_and_marked(parts: list[str]) -> None:
    """Each part between spaces, of any scripts, finds its text, and something of it is marked."""
    text = f"{''.join(parts)} {' '.join(parts)}"
    indexed = set(document_vector(text).indices)
    for part in filter(index_words, text.split()):
        assert indexed & set(query_vector(part).indices)
        pieces = segments(text, highlights(text, query_words(part)))
        assert "".join(piece for piece, _ in pieces) == text
        assert any(index_words(piece) for piece, is_marked in pieces if is_marked)


def cells(language: str) -> tuple[str, ...]:
    """Return what a language has: the ends of its sentences, its words in the index, and its dates."""
    by_script = {"zh": "pairs of characters", "ko": "pairs of letters", "ja": "a dictionary's", "th": "a dictionary's"}
    ends = "marks, abbreviations" if language in ABBREVIATIONS else "spaces" if language == "th" else "marks"
    return (
        "a model" if language == CORRECTED else ends,
        "stems" if language == "en" or language in STEMMERS else by_script.get(language, "as written"),
        "in numbers" if language in {"zh", "ja", "ko"} else "names of months",
        "yes" if language == CORRECTED else "no",
    )


def render() -> str:
    groups: dict[tuple[str, ...], list[str]] = {}
    for language, row in ROWS.items():
        groups.setdefault(cells(language), []).append(row.name)
    heads = ("languages", "ends of sentences", "words", "dates", "corrected queries")
    lines = [
        f"| {' | '.join(line)} |" for line in (heads, *((", ".join(names), *has) for has, names in groups.items()))
    ]
    return "\n".join([lines[0], "|" + "---|" * len(heads), *lines[1:]])


def test_the_page_of_languages_is_true() -> None:
    assert f"\n{render()}\n" in PAGE.read_text(encoding="utf-8")
