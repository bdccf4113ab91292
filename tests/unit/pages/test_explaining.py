"""Removed texts, grouped by reason. An explanation stays small, whatever the page."""

from hypothesis import given
from hypothesis import strategies as st

from streams.pages.document.model import Block, Document
from streams.pages.document.to_html import to_html
from streams.pages.parse.segments import Removal, RemovedTexts
from streams.pages.sandbox.explaining import (
    MAX_GROUPS,
    MAX_TEXT_CHARS,
    MAX_TEXTS,
    explain_removals,
    group_by_reason,
)
from streams.pages.sandbox.explanation import KINDS, Explanation

URL = "https://a.example/"
REMOVED = [
    ("Menu", Removal("element", "nav")),
    ("Buy", Removal("model", probability=0.03)),
    ("Bottom", Removal("element", "footer")),
    ("Moons", Removal("quirk", ".navbox", site="en.wikipedia.org")),
    ("Sources", Removal("quirk", "a section that is dropped")),
    ("Find", Removal("role", "search")),
    ("Cookies", Removal("name", "cookie-bar")),
    ("Menu 2", Removal("element", "nav")),
    ("A choice", Removal("unread", "select")),
]


def test_each_reason_is_a_group_and_kinds_come_in_the_order_in_which_they_are_asked() -> None:
    groups = group_by_reason(REMOVED).groups
    assert [
        (group.title, [(text.text, text.detail, text.probability) for text in group.texts]) for group in groups
    ] == [
        ("A peculiarity of en.wikipedia.org", [("Moons", ".navbox", None)]),
        ("A peculiarity of this site", [("Sources", "a section that is dropped", None)]),
        ("Element nav", [("Menu", "", None), ("Menu 2", "", None)]),
        ("Element footer", [("Bottom", "", None)]),
        ("Role search", [("Find", "", None)]),
        ("Class or id", [("Cookies", "cookie-bar", None)]),
        ("The content model", [("Buy", "", 0.03)]),
        ("Never read", [("A choice", "select", None)]),
    ]
    assert all(group.meaning for group in groups)


def test_it_crosses_a_process_boundary() -> None:
    made = group_by_reason(REMOVED)
    assert Explanation.from_fields(made.to_fields()) == made


REASONS = st.sampled_from([why for _, why in REMOVED]) | st.text(max_size=300).map(
    lambda name: Removal("element", name)
)


@given(st.lists(st.tuples(st.text(max_size=20), REASONS), max_size=50))
def test_every_text_is_counted_once(removed: RemovedTexts) -> None:
    made = group_by_reason(removed)
    assert made.count == len(removed)
    assert made.chars == sum(len(text) for text, _ in removed)
    assert {group.kind for group in made.groups} <= set(KINDS)


def test_it_stays_small() -> None:
    long, many = "x" * 3 * MAX_TEXT_CHARS, 10 * MAX_TEXTS
    made = group_by_reason([(long, Removal("role", f"{number} {long}")) for number in range(many)])
    assert made.count == many
    assert made.chars == many * len(long)
    assert sum(len(group.texts) for group in made.groups) == MAX_TEXTS
    assert len(made.groups) <= MAX_GROUPS + 1
    assert all(len(text.text) == MAX_TEXT_CHARS and text.chars == len(long) for g in made.groups for text in g.texts)


def test_a_document_of_ours_loses_nothing() -> None:
    written = to_html(Document(URL, blocks=(Block("p", "Menu"), Block("p", "Share"))))
    assert explain_removals(written.encode(), url=URL, headers={}) == Explanation()
