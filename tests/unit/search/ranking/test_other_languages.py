"""Statements in another language than the query: which these are, how one stands out, and which words say something."""

from dataclasses import replace
from uuid import UUID, uuid5

import pytest

from streams.models.protocols import ModelInfo
from streams.search.ranking.confidence import keep_nearest_only, lacked_words, missing_words
from streams.search.ranking.context import Notes, RankingContext, RareWord
from streams.search.ranking.other_languages import PLACE, UNSURE, AskedIn, asked_in, divide, lead_of, min_lead
from streams.stores.protocols import Candidates, Hit, PageHits
from streams.vectors.bm25 import query_words
from tests.stages.gateway_fakes import payload_of, statement
from tests.unit.search.ranking.contexts import context_of

GERMAN = "Wie viele Punkte gab die Verteidigung der Panthers ab?"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("How many points did the defense surrender?", "en"),
        (GERMAN, "de"),
        ("Wer gewann den Super Bowl XLIX?", "de"),
        ("¿Cuántos puntos cedió la defensa?", "es"),
        ("Сколько очков потеряла защита?", "ru"),
        ("Πόσους πόντους παραχώρησε η άμυνα;", "el"),
        ("كم عدد النقاط التي خسرها الدفاع؟", "ar"),
        ("विश्वविद्यालय कहाँ स्थित है?", "hi"),
        ("ใครเป็นผู้ก่อตั้งมหาวิทยาลัย", "th"),
        ("Panthers savunması kaç puan kaybetti?", "tr"),
        ("Ai đã thành lập trường đại học?", "vi"),
        ("Câte puncte a cedat apărarea celor de la Panthers?", "ro"),
        # Names, keywords and invented words have no language.
        ("Mount Everest", ""),
        ("Angela Merkel", ""),
        ("cold war", ""),
        ("mit license", ""),
        ("Beyoncé net worth", ""),
        ("django documentation", ""),
        ("kubernetes ingress nginx", ""),
        ("zaimo vs kepu lora", ""),
        ("asdkjhqwe zxcvqwe", ""),
        ("", ""),
    ],
)
def test_a_query_shows_its_language_or_none(text: str, language: str) -> None:
    assert asked_in(text).language == language


@pytest.mark.parametrize(
    ("asked", "language", "is_other"),
    [
        (AskedIn("de", "Latn"), "en", True),
        (AskedIn("de", "Latn"), "de-AT", False),
        (AskedIn("de", "Latn"), "", False),  # nobody knows the page's language
        (AskedIn("", "Hani"), "en", True),
        (AskedIn("", "Hani"), "ja", False),  # both are written in Han characters
        (AskedIn("", "Cyrl"), "bg", False),
        (UNSURE, "de", False),
    ],
)
def test_a_text_is_in_another_language_only_if_that_is_sure(asked: AskedIn, language: str, is_other: bool) -> None:
    assert asked.excludes(language) is is_other


def hit(number: int, score: float, language: str = "en", text: str = "Data is kept.") -> Hit:
    row = statement(f"https://a.example/{number}", text, language=language)
    return Hit(uuid5(UUID(int=0), f"{number} {score} {text}"), score, payload_of(row))


def test_the_lead_is_over_other_pages() -> None:
    others = [hit(number, 0.5 - number / 100) for number in range(1, 41)]
    own = [hit(0, 0.8), hit(0, 0.7), hit(0, 0.6)]
    assert lead_of([*own, *others]) == pytest.approx(0.8 - others[PLACE - 1].score)
    assert lead_of([*own, *others[:2]]) == pytest.approx(0.8 - 0.48), "a short list: its last statement"
    assert lead_of(own) == pytest.approx(0.2), "one page: its own statements"
    assert lead_of([]) == 0.0


def judged(text: str, hits: tuple[Hit, ...], lead: float | None, sparse: tuple[Hit, ...] = ()) -> RankingContext:
    return replace(
        context_of(text),
        found=Candidates(dense=hits, sparse=sparse, limit=99),
        words=query_words(text),
        min_confidence=0.9,
        asked_in=asked_in(text),
        min_lead=lead,
    )


@pytest.mark.parametrize(
    ("text", "language", "lead", "is_found"),
    [
        (GERMAN, "en", 0.1, True),
        (GERMAN, "en", 0.4, False),  # it does not stand out
        (GERMAN, "de", 0.1, False),  # its words could be there
        (GERMAN, "", 0.1, False),
        (GERMAN, "en", None, False),  # the model reads one language
        ("Angela Merkel", "de", 0.1, False),  # a name has no language
        ("How many points did the defense surrender?", "de", 0.1, True),
    ],
)
def test_what_stands_out_in_another_language_is_found(
    text: str, language: str, lead: float | None, is_found: bool
) -> None:
    hits = (hit(0, 0.6, language), *(hit(number, 0.3, language) for number in range(1, 9)))
    context = judged(text, hits, lead)
    pages = [PageHits(each.payload.page_id, (each,), 1.0) for each in hits]
    assert (keep_nearest_only(context, pages) == pages) is is_found
    assert context.notes.nearest_only is not is_found
    is_elsewhere = lead is not None and asked_in(text).excludes(language)
    assert ("lead_elsewhere" in context.notes.passes["confidence"]) is is_elsewhere


def test_a_name_in_another_language_is_evidence() -> None:
    near = (hit(0, 0.3), *(hit(number, 0.29) for number in range(1, 9)))
    pages = [PageHits(each.payload.page_id, (each,), 1.0) for each in near]
    found = {}
    for text in ("Data is kept.", "Super Bowl XLIX was in Glendale."):
        context = judged("Wer gewann den Super Bowl XLIX?", near, 0.1, (hit(1, 9.0, text=text),))
        found[text] = keep_nearest_only(replace(context, min_confidence=0.4), pages) == pages
    assert list(found.values()) == [False, True]


def test_a_quotation_in_the_script_of_the_query_is_not_in_another_language() -> None:
    chinese = asked_in("什么时候举行了第一次大会？")
    quoted, plain = hit(0, 0.6, text="It is called 人民大会堂."), hit(1, 0.3)
    assert divide([quoted, plain], chinese) == ([quoted], [plain])
    assert divide([quoted, plain], asked_in(GERMAN)) == ([], [quoted, plain])


def test_words_that_can_not_stand_in_a_page_are_not_missed_there() -> None:
    english, german = (PageHits(each.payload.page_id, (each,), 1.0) for each in (hit(0, 0.5), hit(1, 0.5, "de")))
    rare = (RareWord("Verteidigung"), RareWord("B52"))
    notes, asked = Notes(rare=rare, missing_names=("SQLITE_BUSY",)), asked_in(GERMAN)
    assert lacked_words(rare, english, asked) == ("B52",)
    assert lacked_words(rare, german, asked) == lacked_words(rare, english) == ("Verteidigung", "B52")
    assert missing_words(notes, [english], asked) == ("SQLITE_BUSY", "B52")
    assert missing_words(notes, [english, german], asked) == ("SQLITE_BUSY", "Verteidigung", "B52")
    assert missing_words(replace(notes, nearest_only=True), [english], asked) == notes.missing
    chinese = asked_in("谁开发了PostgreSQL数据库和它的查询优化器？")
    assert lacked_words((RareWord("PostgreSQL"),), english, chinese) == ("PostgreSQL",), "a name in the page's script"


def test_only_models_that_read_several_languages_have_a_bound() -> None:
    names = ("all-minilm-l6-v2", "multilingual-e5-small", "minilm-and-e5", "another")
    assert [min_lead(ModelInfo(name, "1", 384)) is not None for name in names] == [False, True, True, False]
    assert min_lead(None) is None
