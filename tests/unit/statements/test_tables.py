"""The names that the cells of a table have in statements: those of the HTML Standard's table model."""

import pytest

from streams.pages.normalize import normalize
from streams.statements.drafting import draft_statements
from tests.sentence_splitter import SPLITTER

PORTS = ("Ports",)
TABLES = [
    ("a heading of a row names its value", "<tr><th>Fee<td>$50<tr><th>Boats<td>12",
     [("Fee: $50", PORTS), ("Boats: 12", PORTS)]),
    ("a value of two rows", "<tr><th>Month<th>Fee<tr><td>May<td rowspan=2>$50<tr><td>June<tr><td>July<td>$70",
     [("Month: May | Fee: $50", PORTS), ("Month: June | Fee: $50", PORTS), ("Month: July | Fee: $70", PORTS)]),
    ("a heading of two rows", "<tr><th>Coast<th>Port<tr><th rowspan=2>North<td>Elm<tr><td>Oak<tr><th>South<td>Ash",
     [("Coast: North | Port: Elm", PORTS), ("Coast: North | Port: Oak", PORTS), ("Coast: South | Port: Ash", PORTS)]),
    ("two rows of headings",
     "<thead><tr><th rowspan=2>Port<th colspan=2>Boats<tr><th>2020<th>2021<tbody><tr><td>Elm<td>5<td>6",
     [("Port: Elm | Boats 2020: 5 | Boats 2021: 6", PORTS)]),
    ("the same without thead", "<tr><th rowspan=2>Port<th colspan=2>Boats<tr><th>2020<th>2021<tr><td>Elm<td>5<td>6",
     [("Port: Elm | Boats 2020: 5 | Boats 2021: 6", PORTS)]),
    ("headings of groups of rows",
     "<tr><th>Port<th>Fee<tr><th colspan=2>North<tr><td>Elm<td>$1<tr><th colspan=2>South<tr><td>Ash<td>$3",
     [("Port: Elm | Fee: $1", ("Ports", "North")), ("Port: Ash | Fee: $3", ("Ports", "South"))]),
    ("a group ends with its part of the table",
     "<thead><tr><th>Port<th>Fee<tbody><tr><td colspan=2>North<tr><td>Elm<td>$1<tbody><tr><td>Ash<td>$3",
     [("Port: Elm | Fee: $1", ("Ports", "North")), ("Port: Ash | Fee: $3", PORTS)]),
    ("a title above the headings", "<tr><th colspan=2>Fees of 2020<tr><th>Port<th>Fee<tr><td>Elm<td>$1",
     [("Port: Elm | Fee: $1", ("Ports", "Fees of 2020"))]),
    ("a value of two columns has both headings", "<tr><th>May<th>June<th>July<tr><td colspan=2>$50<td>$70",
     [("May June: $50 | July: $70", PORTS)]),
]  # fmt: skip


@pytest.mark.parametrize(("why", "rows", "expected"), TABLES)
def test_the_cells_of_a_table_have_the_names_that_html_gives_them(
    why: str, rows: str, expected: list[tuple[str, tuple[str, ...]]]
) -> None:
    document = normalize(
        f"<title>Ports</title><main><h1>Ports</h1><table>{rows}</table>", url="https://a.example/"
    ).document
    assert [(draft.text, draft.context) for draft in draft_statements(document, SPLITTER)[0]] == expected, why
