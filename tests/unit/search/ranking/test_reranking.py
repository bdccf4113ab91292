"""The order of pages by a cross-encoder."""

from uuid import UUID, uuid5

import pytest

from streams.search.ranking.reranking import MAX_CHARS, standardize, text_of
from streams.search.ranking.signals import add_signals
from streams.stores.protocols import Hit, PageHits
from streams.stores.statement_payload import StatementPayload
from tests.unit.search.ranking.contexts import context_of

SPACE = UUID(int=1)


def page(name: str, score: float, **payload: object) -> PageHits:
    identity = uuid5(SPACE, name)
    return PageHits(identity, (Hit(identity, score, StatementPayload.of_row({"title": name, **payload})),), score)


SCORES = [
    # the model's scores, and their values: standard deviations above the lowest
    ([1.0, 3.0], [0.0, 2.0]),
    ([-3.0, -5.0, -1.0], [1.2247, 0.0, 2.4495]),
    ([0.5, 0.5, 0.5], [0.0, 0.0, 0.0]),
    ([7.0], [0.0]),
    ([], []),
]


@pytest.mark.parametrize(("scores", "expected"), SCORES, ids=str)
def test_scores_of_any_range_add_the_same(scores: list[float], expected: list[float]) -> None:
    assert standardize(scores) == pytest.approx(expected, abs=1e-4)
    assert standardize([100 * score - 7 for score in scores]) == pytest.approx(expected, abs=1e-4)


def test_the_model_is_one_signal_beside_the_scores() -> None:
    # The model prefers b, which is near to a. Of c it thinks as well of, but words and meaning leave it far behind.
    context = context_of("q", rerank_weight=0.6, freshness_weight=0, authority_weight=0)
    context.read["rerank"] = [0.0, 1.0, 1.0]
    pages = add_signals(context, [page("a", 3.0), page("b", 2.5), page("c", 0.5), page("unread", 0.4)])
    assert [one.hits[0].payload.title for one in pages] == ["b", "a", "c", "unread"]
    assert [round(gains["rerank"], 2) for gains in context.notes.parts.values()] == [0.0, 1.27, 1.27]


def test_without_scores_the_order_stays() -> None:
    pages = [page("a", 3.0), page("b", 2.0)]
    assert add_signals(context_of("q", freshness_weight=0, authority_weight=0), pages) == pages


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
