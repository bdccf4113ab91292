"""Choices of a language model are shown word for word: a statement, or a span that says the same without the rest."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from streams.answers.choices import MAX_LINES, ChoiceReader, choose, named_in
from streams.answers.evidence import Evidence
from tests.unit.answers.world import evidence

DATA = Path(__file__).parents[2] / "data" / "support"
PAGE = [
    "The Quill tower stands in a park near the river.",
    "The Quill tower is 120 metres high, and it leans a little to the west.",
    "It was finished in 1931.",
    "Visitors climb the tower by 640 steps.",
]
LINES = [
    # what a model writes, what is chosen of the page: the place, and the words if it is a span
    ("2", [2]),
    ("[2]", [2]),
    ("2.", [2]),
    ("- 2", [2]),
    ("Statement [2]", [2]),
    ("**2**", [2]),
    ("2, 4", [2, 4]),
    ("[2][4]", [2, 4]),
    ("[2], [4].", [2, 4]),
    ('2 "The Quill tower is 120 metres high"', [(2, "The Quill tower is 120 metres high")]),
    ("2: 120 metres high", [(2, "The Quill tower is 120 metres high")]),
    ("[2] the quill  tower is 120 metres high", [(2, "The Quill tower is 120 metres high")]),
    ("120 metres", [(2, "The Quill tower is 120 metres high")]),
    ("٢", [2]),
    ("It was finished in 1931.", [3]),
    # Small models copy, and number their own list.
    ("1. It was finished in 1931.", [3]),
    ("The tower was finished in 1931.", [3]),
    ("1. Visitors can climb the tower by its 640 steps.", [4]),
    ('2 "words that it does not have"', [2]),
    # Nothing is chosen.
    ("NONE", []),
    ("None of the statements [2] answers it.", []),
    ("0", []),
    ("5", []),
    ("[77]", []),
    ("999999999999999999", []),
    ("-1e9", []),
    ("The answer is that nobody knows it.", []),
    ("", []),
]


@pytest.mark.parametrize(("line", "expected"), LINES)
def test_lines_of_a_model(line: str, expected: list[int | tuple[int, str]]) -> None:
    statements = [evidence("https://quill.test/", text) for text in PAGE]
    reader = ChoiceReader(statements)
    found = [
        PAGE.index(each.evidence.text) + 1
        if each.form == "statement"
        else (PAGE.index(each.evidence.text) + 1, each.text)
        for each in (*reader.read(f"{line}\n"), *reader.end())
    ]
    assert found == expected


SPANS = [
    # language, statement, wanted words, the span
    (
        "en",
        "It runs on Linux; it was written in C by two people.",
        "written in C",
        "it was written in C by two people.",
    ),
    ("en", "It is fast. It is small and old.", "small", "It is small and old."),
    ("en", "The tower is high, and visitors climb it by many steps.", "tower is high", "The tower is high"),
    ("en", "The tower is high (as high as the hill behind it).", "tower is high", "The tower is high"),
    # A span begins with its sentence: what stands before a comma says where, or who says it.
    ("en", "In the film of 1951, the tower falls on the town.", "the tower falls", None),
    ("en", "According to Bob, the tower is closed today.", "the tower is closed", None),
    # It does not end before what binds: a condition, an exception, a negation, a contrast, who says it, a denial.
    ("en", "You may park there all night, unless it snows a lot.", "park there all night", None),
    ("en", "Acme is bankrupt, said a man in the street to us.", "Acme is bankrupt", None),
    ("en", "Acme is bankrupt. This is false.", "Acme is bankrupt", None),
    ("en", "Acme is bankrupt and closed. April fool!", "Acme is bankrupt and closed", None),
    ("en", "It is safe for old mice, but it isn't safe for people.", "safe for old mice", None),
    ("en", "It is not so. Acme is bankrupt and closed.", "Acme is bankrupt and closed", None),
    # Nor does it lose a label, a question, a quotation, or a part of a list.
    ("en", "Refuted: Acme is bankrupt and closed.", "Acme is bankrupt and closed", None),
    ("en", "Is Acme bankrupt? Some people think so.", "people think so", None),
    ("en", "“The earth is flat”, the poster in the hall read.", "The earth is flat", None),
    ("en", "The flag of it is red, white and blue.", "flag of it is red", None),
    ("de", "Der Turm ist sehr hoch, und er steht am Fluss.", "Turm ist sehr hoch", "Der Turm ist sehr hoch"),
    ("de", "Der Turm ist heute offen, sofern es nicht regnet.", "ist heute offen", None),
    ("fr", "La tour est ouverte le lundi, sauf en hiver ou la nuit.", "ouverte le lundi", None),
    ("es", "La torre está abierta hoy, salvo que llueva por la noche.", "abierta hoy", None),
    ("ru", "Башня сегодня открыта для всех, если нет сильного дождя.", "открыта для всех", None),
    ("zh", "塔高一百二十米。塔在河边的公园里。", "塔高一百二十米", "塔高一百二十米。"),
    ("zh", "塔今天开放。如果下雨就关闭。", "塔今天开放", None),
    ("ja", "塔は百二十メートルです。川のそばにあります。", "塔は百二十メートル", "塔は百二十メートルです。"),
    ("ja", "塔は開いています。雨の場合は閉まります。", "塔は開いています", None),
    # Without a table, everything binds.
    ("cy", "Mae'r tŵr yn uchel iawn, ac mae'n hen iawn hefyd.", "tŵr yn uchel iawn", None),
    ("", "The tower is high, and visitors climb it by many steps.", "tower is high", None),
]


@pytest.mark.parametrize(("language", "statement", "wanted", "span"), SPANS)
def test_a_span_says_what_its_statement_says(language: str, statement: str, wanted: str, span: str | None) -> None:
    found = choose(replace(evidence("https://a.test/", statement), language=language), wanted)
    assert (found.text, found.form) == ((span, "span") if span else (statement, "statement"))


def false_forms() -> Iterator[tuple[str, str]]:
    """Yield statements with sentences of their words that they do not say."""
    for name in ("shortened", "false_answers"):
        for line in (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            yield from ((row["statement"], each) for each in row.get("false", [row.get("sentence")]))


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def test_no_sentence_is_shown_that_its_statement_does_not_say() -> None:
    forms = list(false_forms())
    assert len(forms) > 400
    shown = []
    for statement, sentence in forms:
        page = [evidence("https://a.test/", statement)]
        for line in (sentence, f'1 "{sentence.strip(".")}"', f"[1] {sentence}"):
            for each in ChoiceReader(page).read(f"{line}\n"):
                assert each.text in statement
                shown += [(statement, sentence)] if words(each.text) == words(sentence) else []
    assert shown == []


def test_choices_come_with_the_end_of_their_line() -> None:
    reader = ChoiceReader([evidence("https://quill.test/", text) for text in PAGE])
    assert [[each.evidence.text for each in reader.read(piece)] for piece in ("2", " \n", "3")] == [[], [PAGE[1]], []]
    assert [each.evidence.text for each in reader.end()] == [PAGE[2]]


def test_a_cut_number_chooses_nothing() -> None:
    reader = ChoiceReader([evidence("https://quill.test/", text) for text in PAGE])
    assert [*reader.read("1"), *reader.end(is_cut=True)] == []


def test_a_model_that_does_not_stop_is_not_read_on() -> None:
    reader = ChoiceReader([evidence("https://quill.test/", text) for text in PAGE])
    assert list(reader.read("so on\n" * MAX_LINES)) == []
    assert reader.has_ended
    assert list(reader.read("2\n")) == []


def test_nothing_behind_none_is_chosen() -> None:
    reader = ChoiceReader([evidence("https://quill.test/", text) for text in PAGE])
    assert [each.evidence.text for each in reader.read("2\nNONE\n3\n")] == [PAGE[1]]


@pytest.mark.parametrize("piece", ["1", "[1", "[1]", '"', "“a ", "(", ", ", ". ", "; ", "1, ", "\u3000", "tower "])
def test_long_repetitions_are_read(piece: str) -> None:
    assert named_in(piece * 2_000, [(piece * 400, "")]) is not None
    page: list[Evidence] = [evidence("https://a.test/", piece * 400)]
    assert all(each.text in page[0].text for each in ChoiceReader(page).read(piece * 2_000 + "\n"))
