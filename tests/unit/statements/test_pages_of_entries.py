"""Pages that hold little but entries are told by their statements; tables of contents and lists with texts are not."""

from collections.abc import Sequence
from uuid import UUID

import pytest

from streams.statements.readability import MIN_ENTRIES, entries_of_page
from streams.statements.statement import PageStatements, Statement
from streams.vectors.page_records import PageFacts
from streams.vectors.points import payloads_of

ENTRIES = [("link", f"Anchors of kind {number}") for number in range(MIN_ENTRIES)]
SENTENCES = [("sentence", f"The ship number {number} leaves the harbour at noon.") for number in range(MIN_ENTRIES)]


def made(parts: Sequence[tuple[str, str]], context: tuple[str, ...] = ()) -> list[Statement]:
    return [Statement(UUID(int=ordinal), ordinal, text, context, kind) for ordinal, (kind, text) in enumerate(parts)]


@pytest.mark.parametrize(
    ("parts", "context", "found"),
    [
        pytest.param(ENTRIES, (), True, id="the index of a book"),
        pytest.param([("heading", "Index"), *ENTRIES, *SENTENCES[:12]], (), True, id="an index below some sentences"),
        pytest.param(
            [("link", f"{number}.1. The masts of the ship") for number in range(MIN_ENTRIES)],
            (),
            False,
            id="numbered lines: the contents of a book",
        ),
        pytest.param(ENTRIES[1:], (), False, id="few entries"),
        pytest.param([*ENTRIES, *SENTENCES], (), False, id="a page with as much text"),
        pytest.param(ENTRIES, ("The harbour sells:",), False, id="things below a lead-in"),
        pytest.param([("item", "Free tea, even in a storm")] * MIN_ENTRIES, (), False, id="items that say something"),
        pytest.param([], (), False, id="an empty page"),
    ],
)
def test_a_page_of_entries(parts: Sequence[tuple[str, str]], context: tuple[str, ...], found: bool) -> None:
    assert bool(entries_of_page(made(parts, context))) is found


def test_the_index_knows_the_entries_of_such_a_page_and_not_its_sentences() -> None:
    statements = tuple(made([*SENTENCES[:1], *ENTRIES]))
    page = PageStatements(UUID(int=1), "https://a.example/index", "Index", "en", statements)
    assert [payload.entry for payload in payloads_of(page, PageFacts(1))] == [False] + [True] * MIN_ENTRIES
