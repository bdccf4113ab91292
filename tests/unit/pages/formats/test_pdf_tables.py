"""Tables of a PDF: by the lines that are drawn, or by parts of lines that stand below each other."""

from collections.abc import Sequence

import pytest

from streams.pages.formats.pdf import convert_pdf
from streams.pages.sandbox.normalizing import read_document
from streams.statements.drafting import draft_statements
from tests.pdf_files import column, draw, grid, make_pdf, rule
from tests.sentence_splitter import SPLITTER

XS, YS = (50, 200, 300), (700, 680, 660, 640)


def cells(
    rows: Sequence[Sequence[str]], lefts: Sequence[float] = (55, 205), top: float = 685, *, bold: bool = False
) -> list[str]:
    """Return the operators of rows of cells, of which the first may be bold."""
    return [
        draw(left, top - 20 * number, text, font=2 if bold and not number else 1)
        for number, row in enumerate(rows)
        for left, text in zip(lefts, row, strict=False)
        if text
    ]


FARES = [("Ferry", "Fare"), ("To Ulsk", "4.50"), ("To the mole", "1.20")]
HEADED = (
    "<tr><th>Ferry</th><th>Fare</th></tr><tr><td>To Ulsk</td><td>4.50</td></tr>"
    "<tr><td>To the mole</td><td>1.20</td></tr>"
)
TEXTS = [("To Ulsk", "from the quay"), ("To Vors", "from the mole"), ("To Lund", "from the bar")]
PLAIN = "".join(f"<tr><td>{one}</td><td>{two}</td></tr>" for one, two in TEXTS)
BELOW = PLAIN.partition("</tr>")[2]
BOLD = f"<tr><th>To Ulsk</th><th>from the quay</th></tr>{BELOW}"
OPEN = [rule(50, y, 300, y) for y in YS]

TABLES = [
    ("lines on all sides", [*grid(XS, YS), *cells(FARES)], HEADED),
    ("a bold row", [*grid(XS, YS), *cells(TEXTS, bold=True)],
     BOLD),
    ("no sign of headings", [*grid(XS, YS), *cells(TEXTS)], PLAIN),
    ("no lines at its left and right", [*OPEN, rule(200, 700, 200, 640), *cells(FARES)], HEADED),
    ("borders of each cell", [*(operators for x in (50, 200) for y in (640, 660, 680)
     for operators in grid((x, x + 150 if x == 50 else x + 100), (y, y + 20))), *cells(FARES)], HEADED),
    ("boxes as lines", [*(f"0 g 50 {y} 250 0.5 re f\n" for y in YS),
     *(f"{x} 640 0.5 60 re f\n" for x in XS), *cells(FARES)], HEADED),
    ("several lines in a cell", [*grid(XS, (700, 680, 650, 620)), *cells(FARES[:1]), draw(55, 669, "To Ulsk and"),
     draw(55, 655, "its mole"), draw(205, 665, "4.50"), *cells(FARES[2:], top=635)],
     HEADED.replace("To Ulsk", "To Ulsk and its mole")),
    ("a cell of two rows", [rule(50, 700, 300, 700), rule(200, 680, 300, 680), rule(50, 660, 300, 660),
     rule(50, 640, 300, 640), *(rule(x, 700, x, 640) for x in XS),
     *cells([("Ferry", "at noon"), ("", "at six"), ("Bus", "never")])],
     '<tr><td rowspan="2">Ferry</td><td>at noon</td></tr><tr><td>at six</td></tr><tr><td>Bus</td><td>never</td></tr>'),
    ("a cell of two columns", [*(rule(50, y, 300, y) for y in YS), rule(50, 700, 50, 640), rule(300, 700, 300, 640),
     rule(200, 680, 200, 640), *cells([("Ferries", ""), *TEXTS[1:]])],
     f'<tr><td colspan="2">Ferries</td></tr>{BELOW}'),
    ("no lines at all", cells([*FARES, ("To Vors", "9.00")]), HEADED + "<tr><td>To Vors</td><td>9.00</td></tr>"),
    ("a line below the headings", [rule(50, 680, 300, 680), *cells(TEXTS)],
     BOLD),
    ("cells of several lines without lines around them",
     [*column(50, 700, ["The harbour and the", "town beside it"]),
      *column(220, 700, ["was dug by forty workers who", "were paid in herring"]),
      *column(50, 655, ["The lighthouse with", "its old lamp"]),
      *column(220, 655, ["was built by the same men in", "the year after it"]),
      *column(50, 610, ["The old museum of", "ropes"]),
      *column(220, 610, ["shows how hemp was twisted", "and then sold"])],
     "<tr><td>The harbour and the town beside it</td><td>was dug by forty workers who were paid in herring</td></tr>"
     "<tr><td>The lighthouse with its old lamp</td><td>was built by the same men in the year after it</td></tr>"
     "<tr><td>The old museum of ropes</td><td>shows how hemp was twisted and then sold</td></tr>"),
    ("a cell that goes on in the line below",
     [*cells(FARES[:2]), draw(205, 653, "and less for"), draw(205, 641, "a dog"), *cells([FARES[2]], top=620)],
     HEADED.replace("4.50", "4.50 and less for a dog").replace("th>", "td>")),
]  # fmt: skip


def tables(operators: Sequence[str]) -> str:
    return convert_pdf(make_pdf([operators]), "https://a.example/x.pdf").html


@pytest.mark.parametrize(("why", "operators", "rows"), TABLES, ids=[why for why, *_ in TABLES])
def test_a_table(why: str, operators: Sequence[str], rows: str) -> None:
    assert f"<table>{rows}</table>" in tables(operators)


NO_TABLES = [
    ("a box around text", [*grid((50, 300), (700, 640)), *cells(FARES)[:2]]),
    ("a drawing of lines", [*grid(range(50, 300, 10), range(500, 700, 10)), draw(50, 480, "Figure 1: A net")]),
    ("two addresses of two lines",
     [*column(50, 700, ["Ada Linde", "Quay 3"]), *column(350, 700, ["Harbour Board", "Mole 7"])]),
    ("the names and towns of authors, one after the other",
     [*column(50, 700, ["Ada Linde", "University of Ulsk"]), *column(220, 700, ["Bo Berg", "Harbour Board"]),
      *column(400, 700, ["Cem Ay", "Mole 7 of Vors"]), *column(50, 660, ["Dan Elm", "University of Lund"]),
      *column(220, 660, ["Eva Fir", "Museum of Ropes"]), *column(400, 660, ["Finn Gale", "Town of Ulsk"])]),
    ("a table of contents with dots", cells([("Tides ......", "1"), ("Lamps ......", "2"), ("Ropes ......", "3")])),
]  # fmt: skip


@pytest.mark.parametrize(("why", "operators"), NO_TABLES, ids=[why for why, _ in NO_TABLES])
def test_what_is_no_table(why: str, operators: Sequence[str]) -> None:
    assert "<table" not in tables(operators)


def test_rows_are_statements_with_their_headings() -> None:
    body = make_pdf([[*grid(XS, YS), *cells(FARES)]])
    page = read_document(body, url="https://a.example/x.pdf", headers={"content-type": "application/pdf"}).document
    drafts, _ = draft_statements(page, SPLITTER)
    assert [draft.text for draft in drafts] == ["Ferry: To Ulsk | Fare: 4.50", "Ferry: To the mole | Fare: 1.20"]


def test_a_table_in_a_column_is_a_table() -> None:
    left = [*column(50, 700, ["The fares of this year are"] * 3), *cells(FARES, (50, 150), 650)]
    right = column(
        320, 700, ["The lamp is lit from autumn until the first", "days of spring, as the books say of it"] * 6
    )
    html = tables([*left, *right])
    assert f"<table>{HEADED}</table>" in html
    assert html.index("<table>") < html.index("The lamp is lit")
