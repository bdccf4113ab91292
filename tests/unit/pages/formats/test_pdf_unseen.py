"""Text of a PDF that no reader sees is left out; text over or in pictures, gradients and odd shapes stays."""

import pytest

from streams.pages.sandbox.normalizing import read_document
from tests.pdf_files import PICTURE, draw, make_pdf

SEEN, WORDS = draw(50, 700, "A sentence that all see."), "Some other words"
DARK_BOX = "q 0 0 0.5 rg 40 590 200 30 re f Q\n"
PHOTO = "q 500 0 0 700 40 40 cm /P6 Do Q\n"

UNSEEN = [
    ("white on the paper", [SEEN, draw(50, 600, WORDS, before="1 1 1 rg")]),
    ("nearly white", [SEEN, draw(50, 600, WORDS, before="0.97 0.97 0.98 rg")]),
    ("white on a white box", ["q 1 g 0 0 600 800 re f Q\n", SEEN, draw(50, 600, WORDS, before="1 1 1 rg")]),
    ("the colour of its box", [SEEN, DARK_BOX, draw(50, 600, WORDS, before="0 0 0.5 rg")]),
    ("behind a box", [SEEN, draw(50, 600, WORDS), DARK_BOX]),
    ("without paint (mode 3)", [SEEN, draw(50, 600, WORDS, before="3 Tr")]),
    ("smaller than a point", [SEEN, draw(50, 600, WORDS, 0.5)]),
    ("beside the page", [SEEN, draw(-500, 600, WORDS), draw(50, 900, WORDS)]),
]


@pytest.mark.parametrize(("why", "operators"), UNSEEN, ids=[why for why, _ in UNSEEN])
def test_text_that_nobody_sees_is_left_out(why: str, operators: list[str]) -> None:
    assert read(operators) == ["A sentence that all see."]


SHOWN = [
    ("light grey", [SEEN, draw(50, 600, WORDS, before="0.8 0.8 0.8 rg")]),
    ("white on a dark box", [SEEN, DARK_BOX, draw(50, 600, WORDS, before="1 1 1 rg")]),
    ("white on a dark shape", [SEEN, "40 590 m 240 590 l 250 605 l 240 620 l 40 620 l f\n",
                               draw(50, 600, WORDS, before="1 1 1 rg")]),
    ("white on a picture", [PHOTO, SEEN, draw(50, 600, WORDS, before="1 1 1 rg")]),
    ("recognised text over its picture", [PHOTO, SEEN, draw(50, 600, WORDS, before="3 Tr")]),
    ("recognised text below its picture", [SEEN, draw(50, 600, WORDS, before="3 Tr"), PHOTO]),
    ("only outlines (mode 1)", [SEEN, draw(50, 600, WORDS, before="1 Tr")]),
    ("before a box that is clipped", [SEEN, draw(50, 600, WORDS), "q 300 300 9 9 re W n 0 0 600 800 re f Q\n"]),
    ("small letters", [SEEN, draw(50, 600, WORDS, 4)]),
]  # fmt: skip


@pytest.mark.parametrize(("why", "operators"), SHOWN, ids=[why for why, _ in SHOWN])
def test_text_that_is_shown_stays(why: str, operators: list[str]) -> None:
    assert read(operators) == ["A sentence that all see.", WORDS]


def test_text_outside_of_the_visible_part_of_a_page_is_left_out() -> None:
    assert read([SEEN, draw(50, 20, WORDS)], page="/CropBox[0 50 600 800]") == ["A sentence that all see."]


def test_a_line_that_runs_over_the_edge_is_whole() -> None:
    long = (
        "This line of a listing was not broken where the paper ends, so that its last words are beside the page, here."
    )
    assert read([draw(300, 600, long)]) == [long]


def test_unseen_words_within_a_line_are_left_out() -> None:
    line = "BT /F1 10 Tf 50 600 Td (The ferry) Tj 1 g ( of casinos and poker) Tj 0 g ( leaves at noon.) Tj ET\n"
    assert read([line]) == ["The ferry leaves at noon."]


def read(operators: list[str], page: str = "") -> list[str]:
    body = make_pdf([operators], page=page, more=[PICTURE])
    document = read_document(body, url="https://a.example/x.pdf", headers={"content-type": "application/pdf"}).document
    return [block.text for block in document.blocks]
