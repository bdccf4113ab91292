"""The counts of each segment and element."""

import pytest
from selectolax.lexbor import LexborHTMLParser

from streams.pages.content.segment_stats import SegmentStats, segment_stats, word_mask
from streams.pages.parse.walk import walk


def stats_of(html: str, title: str = "") -> SegmentStats:
    body = LexborHTMLParser(html).body
    assert body is not None
    return segment_stats(walk(body), title)


def test_segments_in_similar_elements_share_a_group() -> None:
    names = ("address", "article", "aside", "center", "details", "div", "dl", "fieldset", "main", "search", "section")
    pairs = [(outer, inner) for outer in names for inner in names]
    found = stats_of("".join(f"<{outer}><{inner}>x</{inner}></{outer}>" for outer, inner in pairs) * 2)
    assert found.groups.tolist() == [*range(len(pairs))] * 2


def test_the_classes_of_code_count_as_those_of_its_preformatted_text() -> None:
    found = stats_of("<pre class='x nav'>a</pre><pre class=x><code class=nav>b</code></pre><pre><b class='x nav'>c</b>")
    assert found.masks[1] == found.masks[2] == found.masks[3]


@pytest.mark.parametrize("name", [f"{'é' * 150} nav", f"{'x' * 30} menu"])
def test_names_are_read_up_to_a_length(name: str) -> None:
    assert word_mask(name) == word_mask("nav")
    assert word_mask("x" * 201 + " nav") == word_mask("x")


def test_lengths_behind_much_text_are_exact() -> None:
    found = stats_of(f"<p>{'a' * 16_777_216}<p>bcd<p>e")
    assert found.counts[1:, 0].tolist() == [3, 1]
