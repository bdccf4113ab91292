"""One number says whether a statement stands by itself, in all languages, judged when its page is indexed."""

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.statements.standing import stands_alone
from streams.statements.statement import PageStatements, Statement
from streams.stores.statement_payload import MAX_ALONE, StatementPayload
from streams.vectors.page_records import PageFacts
from streams.vectors.points import payloads_of

HEADINGS = ("The harbour", "Ferries")


@pytest.mark.parametrize(
    ("whole", "part"),
    [
        pytest.param("The ferry to Oban leaves the northern pier at noon.", "It then leaves there.", id="en"),
        pytest.param("Die Fähre nach Oban verlässt den Hafen um zwölf Uhr.", "Dies ist dann der Fall.", id="de"),
        pytest.param("Le bateau pour Oban quitte le port à midi.", "Cela permet de les trouver.", id="fr"),
        pytest.param("El barco de Oban sale del puerto al mediodía.", "Esto se puede ver a continuación:", id="es"),
        pytest.param("Паром в Обан отходит от причала в полдень.", "Это можно сделать следующим образом:", id="ru"),
        pytest.param("オーバン行きのフェリーは正午に港を出発します。", "これは次のようになります。", id="ja"),
        pytest.param("前往奥本的渡轮中午离开港口。", "这些如下所示：", id="zh"),
        pytest.param("The ferry to Oban leaves the pier at noon.", "When does the ferry leave?", id="a question"),
        pytest.param("The ferry to Oban leaves the northern pier at noon.", "Note", id="a label"),
        pytest.param("The ferry to Oban leaves the northern pier at noon.", "The following:", id="an announcement"),
    ],
)  # fmt: skip
def test_a_whole_statement_stands_alone_more_surely_than_a_part(whole: str, part: str) -> None:
    assert stands_alone(whole, "sentence", HEADINGS) > stands_alone(part, "sentence", HEADINGS)


def test_a_lead_in_completes_an_item() -> None:
    item = "a storm on the open sea"
    assert stands_alone(item, "item", (*HEADINGS, "The ferry stays in the harbour in:")) > stands_alone(
        item, "item", HEADINGS
    )


@given(st.text(max_size=200), st.sampled_from(["sentence", "row", "code", "other"]), st.lists(st.text(), max_size=3))
def test_each_text_has_a_number(text: str, kind: str, context: list[str]) -> None:
    assert 1 <= stands_alone(text, kind, context) <= MAX_ALONE


def test_texts_that_no_encoding_has_and_very_long_ones_have_a_number() -> None:
    assert 1 <= stands_alone("\ud800 ferry", "sentence", ()) <= MAX_ALONE
    assert 1 <= stands_alone("ferry " * 1_000_000, "sentence", ()) <= MAX_ALONE


def test_spaces_around_and_between_words_change_nothing() -> None:
    assert stands_alone(" The  ferry\nleaves at noon. ", "sentence", ()) == stands_alone(
        "The ferry leaves at noon.", "sentence", ()
    )


def test_the_index_has_the_number_of_each_statement_and_a_row_without_it_is_not_judged() -> None:
    one = Statement(UUID(int=1), 0, "The ferry to Oban leaves the northern pier at noon.", HEADINGS)
    other = replace(one, ordinal=1, text="It then leaves there.")
    page = PageStatements(UUID(int=2), "https://harbour.test/", "The harbour", "en", (one, other))
    first, second = payloads_of(page, PageFacts(1))
    assert first.stands_alone == stands_alone(one.text, one.kind, one.context) > second.stands_alone > 0
    row = {name: value for name, value in first.row().items() if name != "alone"}
    assert StatementPayload.of_row(row).stands_alone == 0
