"""Names and values of a page: when a text shows them, and what the truth of a page keeps of its source."""

from collections import Counter

import pytest

from benchmarks.documents.generators.source import Source
from benchmarks.documents.generators.templates import Template, docusaurus, fill, mediawiki, vitepress
from benchmarks.documents.generators.truth import make_truth
from benchmarks.documents.looked_for import LookedFor, Shown, Wanted, item_words, parse_html, text_of


@pytest.mark.parametrize(
    ("text", "item", "times"),
    [
        ("Opening\nSee Opening for more.", "Opening", 1),
        ("1.2. Opening\nChapter 3 Opening", "Opening", 2),
        ("| Bar | 5 kg |", "5 kg", 1),
        ("hash_map", "hash map", 1),
        ("Ope\u00adning\u200b", "opening", 1),
        ("The Opening", "Opening", 0),
    ],
    ids=["no mention", "behind a number", "cell", "underscore", "invisible characters", "later in a line"],
)
def test_an_item_is_shown_at_the_beginning_of_a_line_or_cell(text: str, item: str, times: int) -> None:
    assert Shown(text).count(item_words(item)) == times


def test_the_shares_are_of_all_items() -> None:
    wanted = Wanted(
        names=["Opening", "Opening", "Closing"], values=["5 kg"], code=["open(3)"], other_names=["Menu", "Search"],
        source="Opening Closing a gate of 5 kg open(3)", language="en",
    )  # fmt: skip
    found = LookedFor()
    found.add("manual", wanted, "Menu\nOpening\na gate of\n5 kg\nBuy now", "en-GB")
    shares = found.to_dict()
    assert shares["by_type"]["manual"].items() <= shares.items()
    assert (shares["names_recall"], shares["names_precision"]) == (round(1 / 3, 4), 0.5)
    assert (shares["values_recall"], shares["code_recall"], shares["language_accuracy"]) == (1.0, 0.0, 1.0)
    assert shares["chrome"] == round(4 / 9, 4)


def test_a_text_has_a_line_for_each_block_and_none_for_a_break_in_the_markup() -> None:
    html = "<title>x</title><p>one\ntwo <b>three</b>four<ul><li>five</ul><pre>six\nseven</pre>"
    assert [line for line in text_of(parse_html(html)).splitlines() if line] == [
        "one two threefour",
        "five",
        "six",
        "seven",
    ]


def test_the_truth_keeps_the_items_that_the_page_shows() -> None:
    html = b"<nav><ul><li><a href=/d>Downloads</a></ul></nav>"
    html += b"<h1>Gates</h1><h2>Opening</h2><dl><dt>width<dd>How far it opens</dl>"
    source = Source("Gates", ["Opening", "Hidden", "width"], ["How far it opens"], [], ["Gates"])
    counts: Counter[str] = Counter()
    truth = make_truth(html, source, counts)
    assert truth is not None
    assert (truth["names"], truth["values"], truth["other_names"]) == (
        ["Opening", "width"],
        ["How far it opens"],
        ["downloads"],
    )
    assert (counts["names read"], counts["names kept"]) == (3, 2)
    assert make_truth(b"<p>Gates", source, counts) is None


@pytest.mark.parametrize("template", [docusaurus, vitepress, mediawiki])
def test_a_template_shows_the_text_and_menus(template: Template) -> None:
    page = fill(template, "# Gates\n\nA gate.\n\n## Opening\n\n```sh\nopen 3\n```\n", ["Doors", "Walls"])
    shown = Shown(text_of(parse_html(page)))
    assert all(shown.count([word]) for word in ("gates", "opening", "open", "doors"))
    assert b"<html lang" in page
