"""The breaks between lines (`<br>`) that end a statement, and others, which stay in its text.

Each case is a text with its lines, and the statements that it becomes. A name above its lines is their context.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.pages.normalize import normalize
from streams.statements.drafting import draft_statements
from tests.cpu_guard import cpu_guard
from tests.sentence_splitter import SPLITTER

CASES = [
    # Lines that mean something
    ("facts with labels", "Phone: 0123 45<br>Fax: 0123 46<br>e-mail: ola@site.example",
     ["Phone: 0123 45", "Fax: 0123 46", "e-mail: ola@site.example"]),
    ("a fact may have several lines", "Address: 12 Main Street<br>Springfield<br>Phone: 0123 45",
     ["Address: 12 Main Street\nSpringfield", "Phone: 0123 45"]),
    ("opening hours", "Monday to Friday: 9 to 17<br>Sunday: closed", ["Monday to Friday: 9 to 17", "Sunday: closed"]),
    ("in a script without capitals", "住所：東京都港区1-2<br>電話：03-1234", ["住所：東京都港区1-2", "電話：03-1234"]),
    ("an address is one fact", "Elm Ltd<br>12 Main Street, Suite 400<br>Springfield, IL 62704",
     ["Elm Ltd\n12 Main Street, Suite 400\nSpringfield, IL 62704"]),
    ("a list that was written by hand", "- Tea is served at nine o'clock<br>- Towels are in each room",
     ["- Tea is served at nine o'clock", "- Towels are in each room"]),
    ("with numbers", "1. Loosen the screw on the top<br>2. Pump until no bubbles come",
     ["1. Loosen the screw on the top", "2. Pump until no bubbles come"]),
    ("short lines are one list", "200 g of flour<br>2 eggs<br>1 pinch of salt",
     ["200 g of flour\n2 eggs\n1 pinch of salt"]),
    ("long lines without marks", "The boat goes out with each falling tide<br>The gulls come back to the northern side",
     ["The boat goes out with each falling tide", "The gulls come back to the northern side"]),
    ("a sentence of a poem keeps its lines", "Tyger Tyger, burning bright,<br>In the forests of the night;<br>"
     "What immortal hand or eye,<br>Could frame thy fearful symmetry?",
     ["Tyger Tyger, burning bright,\nIn the forests of the night;\nWhat immortal hand or eye,\nCould frame thy fearful "
      "symmetry?"]),
    ("sentences, each on a line", "The harbour was dug in 1874.<br>The tower was built in 1931.",
     ["The harbour was dug in 1874.", "The tower was built in 1931."]),
    # Lines that mean nothing
    ("a wrapped sentence", "The harbour was dug by<br>forty labourers who were<br>paid in herring.",
     ["The harbour was dug by\nforty labourers who were\npaid in herring."]),
    ("before a name", "The new harbour was opened in<br>May by the king.",
     ["The new harbour was opened in\nMay by the king."]),
    ("before a German noun", "Der Rat hat in der letzten<br>Sitzung beschlossen, die<br>Beiträge zu senken.",
     ["Der Rat hat in der letzten\nSitzung beschlossen, die\nBeiträge zu senken."]),
    ("a colon within a sentence", "There was only one<br>thing: rope of hemp",
     ["There was only one\nthing: rope of hemp"]),
    ("a single number within a sentence", "It was dug in the year<br>1874. The tower came later.",
     ["It was dug in the year\n1874.", "The tower came later."]),
]  # fmt: skip
NAMED = [
    ("a name above facts", "Opening hours<br>Monday: 9 to 17<br>Sunday: closed", "Opening hours",
     ["Monday: 9 to 17", "Sunday: closed"]),
    ("with a colon", "How to find us:<br>Take the ferry to the northern quay.", "How to find us:",
     ["Take the ferry to the northern quay."]),
    ("in bold, above a sentence", "<b>Free tea</b><br>It is served in the lounge from nine.", "Free tea",
     ["It is served in the lounge from nine."]),
    ("not in bold it may be the beginning", "The harbour opened in<br>May with a feast for all.", "",
     ["The harbour opened in\nMay with a feast for all."]),
    ("a long line is no name", "The harbour is open on all of the following days:<br>Monday: 9 to 17", "",
     ["The harbour is open on all of the following days:", "Monday: 9 to 17"]),
]  # fmt: skip


def statements(html: str) -> list[tuple[tuple[str, ...], str]]:
    document = normalize(f"<title>T</title><p>{html}</p>", url="https://site.example/").document
    return [(draft.context, draft.text) for draft in draft_statements(document, SPLITTER)[0]]


@pytest.mark.parametrize(("why", "html", "texts"), CASES)
def test_lines_are_statements_or_stay_apart_in_one(why: str, html: str, texts: list[str]) -> None:
    assert [text for _, text in statements(html)] == texts, why


@pytest.mark.parametrize(("why", "html", "name", "texts"), NAMED)
def test_a_name_above_its_lines_is_their_context(why: str, html: str, name: str, texts: list[str]) -> None:
    context = ("T", name) if name else ("T",)
    assert statements(html) == [(context, text) for text in texts], why


def test_a_cell_keeps_its_lines_and_a_heading_of_a_column_is_one_line() -> None:
    html = "<table><tr><th>Place<th>Opening<br>hours<tr><td>Harbour<td>Mon: 9-12<br>Tue: 10-12</table>"
    assert [text for _, text in statements(html)] == ["Place: Harbour | Opening hours: Mon: 9-12\nTue: 10-12"]


@given(lines=st.lists(st.sampled_from(["A b c", "Label: x", "- y", "and z", "Ends here.", "1. w", "Open,", "é：ü"])))
def test_no_word_of_a_line_is_lost(lines: list[str]) -> None:
    found = statements("<br>".join(lines))
    shown = {word for context, text in found for part in (*context, text) for word in part.split()}
    assert {word for line in lines for word in line.split()} <= shown


@pytest.mark.parametrize(
    "line", ["a", "A: b", "- x", "1.", "a,", ":", "A" * 50, "Word word word word word word word word"]
)
def test_many_lines_take_linear_time(line: str) -> None:
    with cpu_guard(5):
        statements("<br>".join([line] * 20_000))
