"""The order of pages by a cross-encoder."""

from uuid import UUID, uuid5

import pytest

from streams.search.ranking.reranking import MAX_CHARS, reorder, text_of
from streams.stores.protocols import Hit, PageHits
from streams.stores.statement_payload import StatementPayload

SPACE = UUID(int=1)


def page(name: str, score: float, **payload: object) -> PageHits:
    identity = uuid5(SPACE, name)
    return PageHits(identity, (Hit(identity, score, StatementPayload.of_row({"title": name, **payload})),), score)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([0.1, 0.9, 0.5], ["b", "c", "a"]),
        ([0.5, 0.5, 0.5], ["a", "b", "c"]),
        ([-3.0, -5.0, -1.0], ["c", "a", "b"]),
    ],
)
def test_pages_get_the_order_of_the_model_and_scores_still_fall(scores: list[float], expected: list[str]) -> None:
    pages = reorder([page("a", 3.0), page("b", 2.0), page("c", 1.0)], scores)
    assert [one.hits[0].payload.title for one in pages] == expected
    assert [one.score for one in pages] == [3.0, 2.0, 1.0]


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ({"text": "It is shallow.", "context": ["Rivers", "Riffles"]}, "t\nRivers\nRiffles\nIt is shallow."),
        ({"text": "It is shallow.", "context": "Rivers"}, "t\nRivers\nIt is shallow."),
        ({"text": "It is shallow."}, "t\nIt is shallow."),
        ({}, "t"),
    ],
)
def test_the_model_reads_title_context_and_statement(payload: dict[str, object], expected: str) -> None:
    assert text_of(page("t", 1.0, **payload)) == expected


def test_a_long_context_gives_way_to_the_statement() -> None:
    text = text_of(page("t", 1.0, text="It is shallow.", context=["word " * 1_000]))
    assert text == "t\nIt is shallow."
    assert len(text_of(page("t", 1.0, text="word " * 1_000))) == MAX_CHARS
