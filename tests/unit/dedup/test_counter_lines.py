"""Lines that are counters of a page, and documents that differ by them only."""

from dataclasses import replace

import pytest

from streams.dedup.counter_lines import differ_by_counters, is_counter
from streams.pages.document.model import Block, Document, Link, Span


@pytest.mark.parametrize(
    "line",
    [
        "1,204 views",
        "Viewed 3 times",
        "This page was last modified on 25 June 2025 at 14:03 UTC",
        "Updated: 2025-06-25T14:03:22Z",
        "5 users and 17 guests online now",
        "Page generated in 0.021 seconds",
        "3 hours ago",
    ],
)
def test_a_line_of_counters_and_times(line: str) -> None:
    assert is_counter(line)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "1,204",
        "25 June 2025",  # such as the day of a concert
        "Views",
        "12 views of the castle",
        "Updated price: 12",
        "Updated: $12",
        "5 likes, 40 %",
        "The dose was modified in 2025 to 12 mg",
        "Version 3.2 updated on 25 June 2025",
        "12 Aufrufe",  # only English words are known
        "3 views " * 20,
    ],
)
def test_a_line_that_says_more(line: str) -> None:
    assert not is_counter(line)


def document(*lines: str) -> Document:
    return Document("https://a.example/", title="Pumps", blocks=tuple(Block("p", line) for line in lines))


FORMER = document("A pump costs 12.", "3 views")


@pytest.mark.parametrize(
    ("present", "equal"),
    [
        (document("A pump costs 12.", "4 views"), True),
        (replace(FORMER, links=(Link("https://a.example/2"),), language_confidence=0.5), True),
        (document("A pump costs 13.", "4 views"), False),
        (document("A pump costs 12.", "4 views", "5 comments"), False),
        (document("A pump costs 12."), False),
        (document("3 views", "A pump costs 12."), False),
        (replace(FORMER, title="Pipes"), False),
        (replace(FORMER, facts={"price": "13"}), False),
        (
            replace(FORMER, blocks=(Block("p", "A pump costs 12.", spans=(Span(2, 6, "link"),)), FORMER.blocks[1])),
            False,
        ),
    ],
)
def test_documents_that_differ_by_counters(present: Document, equal: bool) -> None:
    assert differ_by_counters(FORMER, present) == differ_by_counters(present, FORMER) == equal
    assert differ_by_counters(present, present)
