"""Feedback: which statements the query's vector is moved towards, and where it comes to lie."""

from collections.abc import Sequence
from uuid import UUID, uuid5

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.search.ranking.feedback import examples, move_towards
from streams.stores.protocols import Candidates, Hit
from streams.stores.statement_payload import StatementPayload

NAMES = UUID("3f0c8f0e-5a0b-4c7e-9b55-0f6d7f3a1c11")


def hits(**scores: float) -> tuple[Hit, ...]:
    """Statements, the best first. The page of each is the first letter of its name."""
    return tuple(
        Hit(uuid5(NAMES, name), score, StatementPayload.of_row({"page_id": str(uuid5(NAMES, name[0])), "text": name}))
        for name, score in sorted(scores.items(), key=lambda pair: -pair[1])
    )


EXAMPLES = [
    ("the best statement by meaning of each page", hits(a1=0.9, a2=0.8, b1=0.7), hits(a2=9.0, b2=5.0), ["a1", "b1"]),
    ("at most so many pages", hits(a1=0.9, b1=0.8, c1=0.7, d1=0.6), (), ["a1", "b1", "c1"]),
    ("a page found by words alone", hits(a1=0.5, b1=0.1), hits(c1=9.0, a2=1.0), ["a1", "c1", "b1"]),
    ("nothing found", (), (), []),
]


@pytest.mark.parametrize(("why", "dense", "sparse", "expected"), EXAMPLES, ids=[why for why, *_ in EXAMPLES])
def test_the_statements(why: str, dense: tuple[Hit, ...], sparse: tuple[Hit, ...], expected: list[str]) -> None:
    found = examples(Candidates(dense, sparse, 100), 0.5, 3)
    assert [hit.payload.text for hit in found] == expected


MOVES = [
    ("halfway, with a share of 1", [1.0, 0.0], [[0.0, 1.0]], 1.0, [0.7071, 0.7071]),
    ("towards the mean of several", [1.0, 0.0], [[0.0, 1.0], [0.0, -1.0]], 1.0, [1.0, 0.0]),
    ("a share of 0", [0.6, 0.8], [[0.0, 1.0]], 0.0, [0.6, 0.8]),
    ("long vectors pull no more than short ones", [1.0, 0.0], [[0.0, 50.0]], 1.0, [0.7071, 0.7071]),
    ("the query keeps its length", [5.0, 0.0], [[0.0, 1.0]], 1.0, [3.5355, 3.5355]),
    ("an empty vector", [0.0, 0.0], [[0.0, 0.0]], 1.0, [0.0, 0.0]),
]


@pytest.mark.parametrize(("why", "query", "vectors", "share", "expected"), MOVES, ids=[why for why, *_ in MOVES])
def test_the_moved_vector(
    why: str, query: Sequence[float], vectors: Sequence[Sequence[float]], share: float, expected: Sequence[float]
) -> None:
    assert move_towards(query, vectors, share) == pytest.approx(expected, abs=1e-4)


vectors = st.lists(st.floats(-1, 1).filter(lambda x: abs(x) > 1e-3), min_size=4, max_size=4)


@given(query=vectors, others=st.lists(vectors, min_size=1, max_size=5), share=st.floats(0, 2))
def test_the_vector_comes_nearer_to_the_mean(query: list[float], others: list[list[float]], share: float) -> None:
    mean = np.mean([np.array(one) / np.linalg.norm(one) for one in others], axis=0)

    def near(vector: Sequence[float]) -> float:
        return float(np.dot(vector, mean) / (np.linalg.norm(vector) or 1))

    assert near(move_towards(query, others, share)) >= near(query) - 1e-9
