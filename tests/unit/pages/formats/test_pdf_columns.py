"""The reading order of a PDF: columns that a file interleaves are read one by one, and nothing else is torn."""

from collections.abc import Sequence
from itertools import zip_longest

import pytest

from streams.pages.sandbox.normalizing import read_document
from tests.pdf_files import column, draw, make_pdf

TIDE = [
    "The tide rises twice a day on most of the coasts", "of this sea, and the pilots row out to the bar to",
    "measure the depth with a lead line, since the sand", "moves after each storm of the autumn.",
]  # fmt: skip
LAMP = [
    "The keeper of the lamp wrote down the weather at", "noon and at midnight for thirty-one years, so that",
    "the storms of that time are known to the hour, as", "the first volume of his books shows.",
]  # fmt: skip
ROPE = [
    "A museum in the old factory shows how hemp was", "made into cables of two hundred metres, which the",
    "ships of the whole coast used until the first wire", "came from the mills beyond the hills.",
]  # fmt: skip
WIDE = ["This line goes over the whole width of the page, from its left margin to its right one, as lines do that",
        "stand above or below the columns of a page, and it ends here."]  # fmt: skip
CAPTION = "Figure 1: The bar at low water, as it is seen from the northern quay"
ITEMS = ["to leave", "to wait", "to land"]
NOTE = ["1 A note in small letters at the", "foot of the right column."]


def narrow(lines: Sequence[str]) -> list[str]:
    """Return the words of a column in shorter lines."""
    words, parts = " ".join(lines).split(), [""]
    for word in words:
        if len(parts[-1]) + len(word) > 28:
            parts.append("")
        parts[-1] = f"{parts[-1]} {word}".strip()
    return parts


def by_row(*columns: Sequence[str]) -> list[str]:
    """Return the operators of columns as a file has them that goes from row to row."""
    return [operators for row in zip_longest(*columns) for operators in row if operators]


def paragraphs(operators: Sequence[str]) -> list[str]:
    page = read_document(
        make_pdf([operators]), url="https://a.example/x.pdf", headers={"content-type": "application/pdf"}
    )
    return [block.text for block in page.document.blocks]


tide, lamp, rope, wide = (" ".join(lines) for lines in (TIDE, LAMP, ROPE, WIDE))
left, right = column(50, 700, TIDE), column(320, 700, LAMP)

COLUMNS = [
    ("two, row by row", by_row(left, right), [tide, lamp]),
    ("two, one after the other", [*left, *right], [tide, lamp]),
    ("three", by_row(*(column(at, 700, narrow(lines), size=9) for at, lines in ((40, TIDE), (220, LAMP), (400, ROPE)))),
     [tide, lamp, rope]),
    ("a heading across", [draw(50, 740, "The harbour, its lamp and its museum of ropes", 20), *by_row(left, right)],
     ["The harbour, its lamp and its museum of ropes", tide, lamp]),
    ("full lines above and below", [*column(50, 760, WIDE), *by_row(left, right), *column(50, 600, WIDE)],
     [wide, tide, lamp, wide]),
    ("the caption of a figure between",
     [*by_row(left, right), draw(120, 560, CAPTION), *by_row(column(50, 500, ROPE), column(320, 500, TIDE))],
     [tide, lamp, CAPTION, rope, tide]),
    ("columns of two lengths", by_row(column(50, 700, TIDE + ROPE[:2]), right), [tide, " ".join(ROPE[:2]), lamp]),
    ("a note below the right one",
     [*by_row(column(50, 700, TIDE + ROPE), right), *column(320, 620, NOTE, size=7, leading=9)],
     [tide, rope, lamp, " ".join(NOTE)]),
    ("a box beside the text, of smaller letters",
     by_row(column(50, 700, TIDE + ROPE), column(420, 698, narrow(LAMP), size=7, leading=10)), [tide, rope, lamp]),
    ("headings at the top of both columns", [draw(50, 780, "Harbour Board"), *by_row(
      [draw(50, 740, "The tides of the bar", 12), *left], [draw(320, 740, "The lamp and its keeper", 12), *right])],
     ["Harbour Board", "The tides of the bar", tide, "The lamp and its keeper", lamp]),
    ("a running header of both columns", [draw(50, 780, "Harbour Board"), draw(480, 780, "Report of 2023"),
     *by_row(left, right)], ["Harbour Board Report of 2023", tide, lamp]),
]  # fmt: skip


@pytest.mark.parametrize(("why", "operators", "expected"), COLUMNS, ids=[why for why, *_ in COLUMNS])
def test_columns_are_read_one_after_the_other(why: str, operators: Sequence[str], expected: list[str]) -> None:
    assert paragraphs(operators) == expected


def spread(lines: Sequence[str], spaces: Sequence[float]) -> list[str]:
    """Return the operators of justified lines, whose spaces are wide."""
    return [
        f"BT /F1 10 Tf {space} Tw 50 {700 - 13 * number} Td ({line}) Tj ET\n"
        for number, (line, space) in enumerate(zip(lines, spaces, strict=True))
    ]


NOT_COLUMNS = [
    ("one column", column(50, 700, [f"{one} {two}" for one, two in zip(TIDE, LAMP, strict=True)]),
     [" ".join(f"{one} {two}" for one, two in zip(TIDE, LAMP, strict=True))]),
    ("the wide spaces of justified lines", spread(TIDE, [7, 6, 5, 0]), [tide]),
    ("numbers of items", by_row(column(50, 700, ["1.", "2.", "3."]), column(80, 700, ITEMS)),
     ["1. to leave", "2. to wait", "3. to land"]),
    ("bullets", by_row(column(50, 700, ["•", "•", "•"]), column(80, 700, ITEMS)), ITEMS),
    ("the number of a formula", [*column(50, 700, TIDE), draw(200, 630, "h = 3 t"), draw(500, 630, "(1)")],
     [tide, "h = 3 t (1)"]),
    ("code", [draw(50, 700, "x = 1      # one", font=3), draw(50, 688, "y = 22     # two", font=3),
     draw(50, 676, "z = 333    # six", font=3)], ["x = 1 # one\ny = 22 # two\nz = 333 # six"]),
    ("numbers of lines in the margin", by_row(column(20, 700, [str(n) for n in range(31, 39)], size=6),
     column(50, 700, TIDE + ROPE)), [tide, rope]),
]  # fmt: skip


@pytest.mark.parametrize(("why", "operators", "expected"), NOT_COLUMNS, ids=[why for why, *_ in NOT_COLUMNS])
def test_what_has_gaps_without_columns_is_not_torn(why: str, operators: Sequence[str], expected: list[str]) -> None:
    assert paragraphs(operators) == expected
