"""A page's judgement by a criterion is the number that a model writes, and statements that it names."""

import pytest

from streams.answers.criteria import JudgedPage, judgement_of
from streams.answers.related import candidates_of, chosen_questions
from tests.unit.answers.world import evidence

PAGE = [evidence("https://quill.test/", f"The tower has room number {number}.") for number in range(1, 5)]
TEXTS = [
    # what a model writes, the judgement, the places of the named statements
    ("7 [2]", 0.7, [2]),
    ("7 [2][4]", 0.7, [2, 4]),
    ("7\n[4, 2]", 0.7, [4, 2]),
    ("10", 1.0, []),
    ("0", 0.0, []),
    ("7/10", 0.7, []),
    ("70%", 0.7, []),
    ("0.7", 0.7, []),
    ("Score: 3. The page says little about it.", 0.3, []),
    ("900", 1.0, []),
    ("[1] [2] [3]", 1.0, [1, 2, 3]),
    ("[2]", 1 / 3, [2]),
    ("7 [9] [0] [2] [2]", 0.7, [2]),
    ("NONE", 0.0, []),
    ("", None, []),
    ("The page meets the criterion.", None, []),
    ("99999999999999999999999999", None, []),
]


@pytest.mark.parametrize(("text", "judgement", "met"), TEXTS)
def test_judgements(text: str, judgement: float | None, met: list[int]) -> None:
    found, statements = judgement_of(text, PAGE)
    assert found == pytest.approx(judgement)
    assert [PAGE.index(each) + 1 for each in statements] == met


@pytest.mark.parametrize(("judgement", "is_below"), [(0.4, True), (0.5, False), (0.6, False), (None, False)])
def test_a_slider_leaves_out_what_is_below_it(judgement: float | None, is_below: bool) -> None:
    assert JudgedPage(PAGE[0].page_id, 0, judgement).is_below(0.5) == is_below


def test_related_questions_are_questions_and_headings_of_the_page() -> None:
    statements = [
        evidence("https://quill.test/", "Is it high?", context=("The Quill tower", "How is the tower painted?")),
        evidence("https://quill.test/", "It is high.", context=("The Quill tower", "It stands on a hill.", "Tickets:")),
    ]
    candidates = candidates_of(statements, "is it high?")
    assert candidates == ["How is the tower painted?", "The Quill tower"]
    assert chosen_questions("2\nHow does a bear fly?\n1\n9", candidates) == candidates[::-1]
