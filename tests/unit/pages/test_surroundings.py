"""The place of a text on its page, as the content model sees it: headings above, the way to the title, common words."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from streams.pages.content.features import COLUMNS, SURROUNDINGS, WHOLE
from streams.pages.content.main_content import page_features
from streams.pages.content.segment_stats import segment_stats
from streams.pages.parse.page import parse_page

URL = "https://site.example/page"
PAGE = """<html><head><title>Herons of the lower river</title></head><body><main><article>
<h1>Herons of the lower river</h1><p>Herons wait for hours in the shallow water.</p>
<h2>Nests</h2><p>They nest in high trees.</p></article></main>
<aside><h2>More stories</h2><h3><a href=/otter>The otter is back</a></h3>
<p>It was seen near the mill.</p></aside></body></html>"""

HEADING = {"teaser": 0, "exists": 3, "links": 4, "title": 5, "level": 6}
"""Columns of a heading above a text."""
NEAREST, UPPER, TITLE, COMMON = 1, 10, 19, 25
"""First columns of the nearest heading, the heading above it, the way to the title, and the words in common."""


def rows(html: str) -> dict[str, NDArray[Any]]:
    """The columns of each text."""
    parsed = parse_page(html, {}, url=URL)
    page, stats = parsed.walk, segment_stats(parsed.walk, parsed.head.title)
    matrix, _ = page_features(page, stats, parsed.head)
    assert matrix.shape == (len(page.segments), COLUMNS)
    return {segment.text: row[SURROUNDINGS:-WHOLE] for segment, row in zip(page.segments, matrix, strict=True)}


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        ("More stories", 0, 1.0),  # both words stand above links to other pages
        ("Nests", 0, 0.0),
        ("Herons wait for hours in the shallow water.", NEAREST + HEADING["level"], 0.2),
        ("Herons wait for hours in the shallow water.", NEAREST + HEADING["title"], 1.0),
        ("Herons wait for hours in the shallow water.", UPPER + HEADING["exists"], 0.0),
        ("They nest in high trees.", NEAREST + HEADING["level"], 0.4),
        ("They nest in high trees.", UPPER + HEADING["level"], 0.2),
        ("They nest in high trees.", NEAREST + HEADING["links"], 0.0),
        ("It was seen near the mill.", NEAREST + HEADING["links"], 1.0),
        ("It was seen near the mill.", UPPER + HEADING["teaser"], 1.0),
        ("It was seen near the mill.", TITLE, 1.0),  # the page has a title
        ("They nest in high trees.", TITLE + 3, 0.08),  # one level below the element that it shares with the title
        ("They nest in high trees.", TITLE + 4, 0.08),  # and so is the title
        ("It was seen near the mill.", TITLE + 1, 1.0),  # only the whole page is around both
        ("Herons of the lower river", COMMON, 1.0),
        ("Herons wait for hours in the shallow water.", COMMON, 1 / 3),  # of herons, lower and river
    ],
)
def test_a_text_has_this_place(text: str, column: int, expected: float) -> None:
    assert rows(PAGE)[text][column] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    "html",
    [
        pytest.param("<p>A lone text without any heading or title.", id="no heading"),
        pytest.param("<h2>" * 200 + "deep" + "<p>text below it</p>" * 50, id="headings in headings"),
        pytest.param("".join(f"<h{n % 6 + 1}>heading {n}</h{n % 6 + 1}>" for n in range(3_000)), id="only headings"),
        pytest.param("<title>" + "word " * 50_000 + "</title><h1>word</h1><p>some text here", id="a huge title"),
    ],
)
def test_any_page_has_finite_columns(html: str) -> None:
    assert all(np.isfinite(row).all() for row in rows(html).values())
