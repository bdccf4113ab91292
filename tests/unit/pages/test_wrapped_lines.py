"""The lines of preformatted text: wrapped prose is a paragraph, a poem or an address keeps its lines, code its form.

The same reading holds for plain text and for a `pre` of a page.
"""

import pytest

from streams.pages.normalize import normalize
from streams.pages.text.wrapped_lines import read_lines
from tests.cpu_guard import cpu_guard

LINES = [
    ("wrapped prose", "prose", "The harbour of Elmsworth was dug in 1874 by labourers who\nwere paid in herring."),
    ("one line", "prose", "The harbour is closed in winter."),
    ("wrapped in front of a capital", "prose", "The harbour of Elmsworth was dug in the year of 1874 by\nLabourers."),
    ("without spaces between words", "prose",
     "港は千八百七十四年に四十人の労働者によって掘られた港で\n今日でも町の中心である。"),
    ("a poem", "lines", "The sea is grey in the morning light\nThe sky is wide\nThe boat goes out"),
    ("an address", "lines", "Elm Ltd\n12 Main Street\n62704 Springfield"),
    ("the head of a mail", "lines", "From: Ola Nordmann\nDate: Tue, 5 Mar 2013\nSubject: Wrong sign"),
    ("a listing", "verbatim", "x = tides[7]\nif x > 3:\n    sink(x)"),
    ("commands", "verbatim", "$ make\n$ make install"),
    ("a table", "verbatim", "name      size\ntide      3"),
    ("settings", "verbatim", "Listen = 80\nServer = elm"),
    ("names in small letters", "verbatim", "rope\nsail\nmast"),
]  # fmt: skip


@pytest.mark.parametrize(("why", "reading", "text"), LINES)
def test_lines_are_read_as_what_they_are(why: str, reading: str, text: str) -> None:
    assert read_lines(text.split("\n")) == reading, why


PROSE = "The harbour was dug in 1874 by forty labourers who were paid in herring\nand lamp oil."
PREFORMATTED = [
    ("prose", PROSE, [("p", PROSE.replace("\n", " "))]),
    ("its paragraphs", f"{PROSE}\n \n{PROSE}", [("p", PROSE.replace("\n", " "))] * 2),
    ("its emphasis and links", PROSE.replace("herring\nand", "<a href=/x>herring\nand</a>"),
     [("p", PROSE.replace("\n", " "))]),
    ("a quotation, its answer, and a signature",
     f"<i>&gt; How old is the harbour\n</i><i>&gt; of the town?</i>\n\n{PROSE}\n\nOla Nordmann\nElm Ltd",
     [("p", "How old is the harbour of the town?"), ("p", PROSE.replace("\n", " ")), ("p", "Ola Nordmann\nElm Ltd")]),
    ("a listing between paragraphs", f"{PROSE}\n\n  if x:\n    f({{}})\n\n{PROSE}",
     [("p", PROSE.replace("\n", " ")), ("pre", "  if x:\n    f({})"), ("p", PROSE.replace("\n", " "))]),
    ("code", f"<code>{PROSE}</code>", [("pre", PROSE)]),
    ("code with a class", f"<span class=c># {PROSE}</span>\nx = 1", [("pre", f"# {PROSE}\nx = 1")]),
    ("a comment in code", "# Dug in 1874 by forty labourers.\nfor x in range(1, 40):\n    pay(x, herring[x], oil[x])\n",
     [("pre", "# Dug in 1874 by forty labourers.\nfor x in range(1, 40):\n    pay(x, herring[x], oil[x])")]),
    ("a command", "make the whole harbour", [("pre", "make the whole harbour")]),
]  # fmt: skip


@pytest.mark.parametrize(("why", "html", "blocks"), PREFORMATTED)
def test_prose_in_a_pre_is_prose(why: str, html: str, blocks: list[tuple[str, str]]) -> None:
    document = normalize(f"<pre>{html}</pre>", url="https://site.example/").document
    assert [(block.tag, block.text) for block in document.blocks] == blocks, why


def test_reading_a_listing_takes_linear_time() -> None:
    with cpu_guard(5):
        normalize(f"<pre>{(PROSE + chr(10) * 2) * 4_000}{'> ' * 20_000}</pre>", url="https://site.example/")
