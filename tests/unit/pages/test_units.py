# ruff: noqa: E501 - pages as they come
"""Units: lists, lists of definitions and tables are kept whole or left, by what is kept of them and around them."""

import numpy as np
import pytest

from streams.pages.content.main_content import JudgedPage, drop_menus, keep_units
from streams.pages.content.segment_stats import segment_stats
from streams.pages.parse.page import parse_page
from streams.pages.parse.segments import Walk

PROSE = "<p>Herons of the lower river wait for hours in the shallow water, and seldom for nothing.</p>"
TERMS = "<dl><dt>height<dd>98 cm<dt>weight<dd>2 kg</dl>"
ROWS = "<table><tr><th>Part<th>Length<tr><td>Wing<td>46 cm<tr><td>Bill<td>12 cm</table>"
ITEM = "The longest item of the list has nearly all of its words, so that the list is nearly whole."
CASES = [
    ("definitions amid kept text are kept", f"{PROSE}{TERMS}{PROSE}", 0.2, "prose", "all"),
    ("so is a table", f"{PROSE}{ROWS}{PROSE}", 0.2, "prose", "all"),
    ("so are definitions in a frame of their own", f"{PROSE}<div><div>{TERMS}</div></div>{PROSE}", 0.2, "prose", "all"),
    ("a list beside kept prose is kept", f"{PROSE * 3}<ul><li>Two words<li>Three words</ul>", 0.2, "prose", "all"),
    ("a list in a frame of its own may name tags or other stories", f"{PROSE * 3}<div><ul><li>river<li>water</ul></div>{PROSE}", 0.2, "prose", "prose"),
    ("a list beside a line is not yet beside prose", f"{PROSE}<ul><li>river<li>water</ul>", 0.2, "prose", "prose"),
    ("a short item of a list that is kept stays", f"<ul><li>{ITEM}<li>Two words</ul>{PROSE}", 0.2, "longest", "longest Two"),
    ("a list of which little is kept stays as it is", f"<ul><li>Two words<li>{ITEM}</ul>{PROSE}", 0.2, "Two", "Two"),
    ("a menu is no list of definitions", f"{PROSE}<dl><dt><a href=/a>height</a><dd><a href=/b>98 cm</a></dl>", 0.2, "prose", "prose"),
    ("boilerplate that the model is sure of stays out", f"{PROSE}{TERMS}{PROSE}", 0.05, "prose", "prose"),
    ("definitions beside text that is dropped stay out", f"{PROSE}<div>Subscribe to our letter about all the birds of all rivers{TERMS}</div>", 0.2, "prose", "prose"),
    ("the posts of a thread are no items", f"<ol><li><div>{ITEM}</div><div>Answer</div></ol>", 0.2, "longest", "longest"),
    ("a table with headings is a layout", f"<table><tr><td><h2>River</h2>{PROSE}<td>Archive</table>", 0.2, "prose", "prose"),
    ("a table with a table is a layout, the inner one is not", f"{PROSE}<table><tr><td>Archive<td>{ROWS}</table>", 0.2, "prose", "prose Part Length Wing 46 Bill 12"),
    ("a page without a unit", PROSE, 0.2, "", ""),
]  # fmt: skip


def chosen(walk: Walk, words: str) -> list[int]:
    """Return the texts that have one of the words. "prose" means a word of PROSE."""
    wanted = ["Herons" if word == "prose" else word for word in words.split()]
    texts = enumerate(segment.text for segment in walk.segments)
    return [index for index, text in texts if words == "all" or any(word in text for word in wanted)]


@pytest.mark.parametrize(("why", "html", "probability", "before", "after"), CASES, ids=[case[0] for case in CASES])
def test_units_are_kept_or_left_together(why: str, html: str, probability: float, before: str, after: str) -> None:
    walk = parse_page(html, {}, url="https://site.example/page").walk
    page = JudgedPage(walk, segment_stats(walk, ""))
    scores = np.full(len(walk.segments), probability, np.float32)

    kept = keep_units(scores, page, np.array(chosen(walk, before), np.int64))
    assert kept.tolist() == chosen(walk, after), why


LINKS = "".join(f"<li><a href=/{name}>{name}</a>" for name in ("Array", "Hash", "Set", "String", "Tuple", "Union"))
MENUS = [
    ("the one kept item of a list of links is a menu's", f"<ul>{LINKS}</ul>{PROSE}", "Array prose", "prose"),
    ("so it is in a list within a list", f"<ul><li>Types<ul>{LINKS}</ul></ul>{PROSE}", "Set prose", "prose"),
    ("a list of links of which a half is kept is content", f"<ul>{LINKS}</ul>", "Array Hash Set", "Array Hash Set"),
    ("an item of a list of texts stays", f"<ul><li>{ITEM}<li>Two words</ul>{PROSE}", "Two prose", "Two prose"),
    ("text outside of lists stays", f"<ul>{LINKS}</ul>{PROSE}", "prose", "prose"),
]


@pytest.mark.parametrize(("why", "html", "before", "after"), MENUS, ids=[case[0] for case in MENUS])
def test_a_few_kept_items_of_a_menu_are_dropped(why: str, html: str, before: str, after: str) -> None:
    walk = parse_page(html, {}, url="https://site.example/page").walk
    page = JudgedPage(walk, segment_stats(walk, ""))
    kept = drop_menus(np.ones(len(walk.segments), np.float32), page, np.array(chosen(walk, before), np.int64))
    assert kept.tolist() == chosen(walk, after), why
