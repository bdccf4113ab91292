"""Lines of a PDF: hyphens at their ends, and headers, footers and numbers of pages in any language."""

from collections.abc import Sequence

import pytest

from streams.pages.formats.converted import count_words, join_lines
from streams.pages.sandbox.normalizing import read_document
from tests.pdf_files import column, draw, make_pdf

HYPHENS = [
    # lines, the rest of the text, the joined text
    (["the tide toge-", "ther"], "", "the tide together"),  # nothing is known: a word was divided
    (["a well-", "known pier"], "The well-known bar.", "a well-known pier"),  # the text has it with its hyphen
    (["a light-", "house"], "Each lighthouse has a light and a house.", "a lighthouse"),  # the text has it joined
    (["a two-", "column page"], "The first column of two.", "a two-column page"),  # both halves are words
    (["a state-of-the-", "art lamp"], "", "a state-of-the-art lamp"),  # a hyphen was there before
    (["the X-", "Ray lamp"], "", "the X-Ray lamp"),  # a capital follows
    (["the year 1984-", "85"], "", "the year 1984- 85"),  # no word
    (["in the co-", "operation"], "co-operation, Cooperation, cooperation", "in the cooperation"),  # the commoner form
    (["der Nord-", "küste"], "Die Nordküste ist lang.", "der Nordküste"),
    (["soft\u00ad", "ware"], "", "software"),  # a soft hyphen always divides
]  # fmt: skip


@pytest.mark.parametrize(("lines", "text", "joined"), HYPHENS, ids=[joined for *_, joined in HYPHENS])
def test_the_text_shows_whether_a_hyphen_divides_a_word(lines: list[str], text: str, joined: str) -> None:
    assert join_lines(lines, divides_words=True, known=count_words([*lines, text])) == joined


def test_a_hyphen_is_judged_by_the_whole_document() -> None:
    first = column(50, 700, ["The pilots of this bar are a well-", "known guild of the light-", "house keepers."])
    second = column(50, 700, ["A well-known lighthouse stands there, and its lamp is lit."])
    assert read([first, second])[0] == "The pilots of this bar are a well-known guild of the lighthouse keepers."


TEXT = ["The harbour was dug by forty workers, and the town", "keeps their ledger in a case of glass, beside"]
OTHER = ["the office of the ferry, which leaves twice a day from", "the pier below the old house of the customs."]
EDGES = [
    # header and footer of the first page, and of the second one
    ("", "Page 1 of 2", "", "Page 2 of 2"),
    ("", "PAGE 1", "", "PAGE 2"),
    ("Harbour Board", "Seite 1 von 2", "Harbour Board", "Seite 2 von 2"),
    ("", "- 1 -", "", "- 2 -"),
    ("", "[1]", "", "[2]"),
    ("", "iii", "", "iv"),
    ("", "Strona iii", "", "Strona iv"),
    ("1 | Yearly report", "", "2 | Yearly report", ""),
    ("Rapport annuel", "1/2", "RAPPORT ANNUEL", "2/2"),
    ("Draft of 3 May, 9:15", "Sida 1(2)", "Draft of 3 May, 9:15", "Sida 2(2)"),
]


@pytest.mark.parametrize("edges", EDGES, ids=[" / ".join(filter(None, edges)) for edges in EDGES])
def test_headers_and_numbers_of_two_pages_are_left_out(edges: Sequence[str]) -> None:
    pages = [
        [draw(50, 780, edges[at]), *column(50, 700, lines), draw(280, 20, edges[at + 1])]
        for at, lines in ((0, TEXT), (2, OTHER))
    ]
    assert read(pages) == [" ".join(TEXT), " ".join(OTHER)]


@pytest.mark.parametrize("number", ["Page 1 of 1", "Seite 1 von 1", "1/1", "1", "• 1 •"])
def test_the_number_of_a_page_alone_is_left_out(number: str) -> None:
    assert read([[*column(50, 700, TEXT), draw(280, 20, number)]]) == [" ".join(TEXT)]


@pytest.mark.parametrize("line", ["Chapter 1", "Signed on 3 May 2024", "2 of 3 ferries were late"])
def test_other_lines_at_an_edge_of_one_page_stay(line: str) -> None:
    assert line in read([[*column(50, 700, TEXT), draw(280, 20, line)]])


def read(pages: Sequence[Sequence[str]]) -> list[str]:
    kind = {"content-type": "application/pdf"}
    page = read_document(make_pdf(pages), url="https://a.example/x.pdf", headers=kind).document
    return [block.text for block in page.blocks]
