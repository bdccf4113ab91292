"""Long queries are embedded in parts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.search.retrieval.query_embedder import MAX_PART_BYTES, mean_vector, parts_of


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("could a crash lose my data?", 1),
        ("word " * 140, 1),
        ("word " * 400, 3),
        ("字" * 2_000, 9),
        ("x" * 2_000, 3),
    ],
)
def test_the_number_of_parts(text: str, parts: int) -> None:
    found = parts_of(text.strip())
    assert len(found) == parts
    sizes = [len(part.encode()) for part in found]
    assert max(sizes) <= MAX_PART_BYTES
    assert max(sizes) < 2.5 * min(sizes), "no part is a rest of a few words"


@given(st.text(max_size=2_000))
def test_the_parts_are_the_text(text: str) -> None:
    assert "".join("".join(parts_of(text)).split()) == "".join(text.split())


def test_one_vector_stays_and_the_mean_of_several_has_unit_length() -> None:
    vectors = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)
    assert mean_vector(vectors[:1]) == [1.0, 0.0]
    assert mean_vector(vectors) == pytest.approx([0.5**0.5, 0.5**0.5])
