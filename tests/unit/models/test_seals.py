"""Seals: an answer to another request has another seal, or another shape."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from streams.models.inference.seals import (
    find_row_fault,
    find_whole_fault,
    read_checksums,
    seal_rows,
    seal_whole,
)

TEXTS = [b"A dog barked.", b"It slept.", b""]
ROWS = np.arange(12, dtype=np.float32).reshape(3, 4)
SEALS = seal_rows(TEXTS, ROWS)
Tensor = NDArray[np.float32] | NDArray[np.int64]


def test_the_answer_of_its_request_has_no_fault() -> None:
    assert find_row_fault(TEXTS, 4, [ROWS, SEALS]) == ""
    assert find_whole_fault(TEXTS, 3, [ROWS, SEALS, seal_whole(TEXTS, [ROWS, SEALS])]) == ""


OTHER = [b"A cat came.", b"It left.", b"x"]
FOREIGN: dict[str, tuple[Tensor | None, Tensor | None]] = {
    "of other texts": (ROWS, seal_rows(OTHER, ROWS)),
    "of one text, which would fit every row": (ROWS[:1], seal_rows(TEXTS[:1], ROWS[:1])),
    "of fewer texts": (ROWS[:2], seal_rows(TEXTS[:2], ROWS[:2])),
    "in another order": (ROWS[::-1], SEALS[::-1]),
    "with one changed number": (np.where(ROWS == 5, 6, ROWS).astype(np.float32), SEALS),
    "of another width": (ROWS[:, :3], seal_rows(TEXTS, ROWS[:, :3])),
    "not finite": (np.full_like(ROWS, np.nan), seal_rows(TEXTS, np.full_like(ROWS, np.nan))),
    "without seals": (ROWS, None),
    "without rows": (None, SEALS),
    "with a flat seal": (ROWS, SEALS.reshape(-1)),
}


@pytest.mark.parametrize("answer", FOREIGN.values(), ids=FOREIGN.keys())
def test_a_foreign_answer_has_a_fault(answer: tuple[Tensor | None, Tensor | None]) -> None:
    assert find_row_fault(TEXTS, 4, answer)


def test_a_whole_answer_of_other_sentences_has_a_fault() -> None:
    columns = [np.array([-1, 0, -1], np.int32), np.zeros((3, 5), np.int32)]
    seal = seal_whole(TEXTS, columns)
    assert find_whole_fault(TEXTS, 3, [*columns, seal]) == ""
    assert "another request" in find_whole_fault(OTHER, 3, [*columns, seal])
    assert "columns" in find_whole_fault(TEXTS, 2, [*columns, seal])
    assert "columns" in find_whole_fault(TEXTS, 3, [columns[0], None, seal])
    assert find_whole_fault(TEXTS, 3, [*columns, None])


@given(
    st.lists(st.binary(max_size=12), min_size=1, max_size=5), st.lists(st.binary(max_size=12), min_size=1, max_size=5)
)
def test_different_texts_have_different_seals(one: list[bytes], other: list[bytes]) -> None:
    column = np.zeros(3, np.float32)
    assert (seal_whole(one, [column]) == seal_whole(other, [column])).all() == (one == other)


def test_a_graph_that_read_the_ids_of_other_texts_is_seen() -> None:
    """The tokenizer seals the texts with the checksum of their ids, and the graph behind it returns what it read."""
    ids, mask = np.array([[101, 7, 102, 0], [101, 9, 8, 102]]), np.array([[1, 1, 1, 0], [1, 1, 1, 1]])
    read, vectors = read_checksums(ids, mask), np.ones((2, 4), np.float32)
    seals = seal_rows(TEXTS[:2], read)
    assert find_row_fault(TEXTS[:2], 4, [vectors, seals, read]) == ""
    assert "2 of 2 rows" in find_row_fault(TEXTS[:2], 4, [vectors, seals, read[::-1]])
    assert find_row_fault(TEXTS[:2], 4, [vectors, seals, None])


CHANGES: dict[str, Callable[[NDArray[np.int64]], NDArray[np.int64]]] = {
    "two tokens change places": lambda ids: ids[:, [0, 2, 1, 3]],
    "another token": lambda ids: ids + np.array([0, 1, 0, 0]),
    "a row of another text": lambda ids: ids[::-1],
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_checksums_see(change: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> None:
    ids, mask = np.array([[101, 7, 12, 102], [101, 9, 8, 102]]), np.ones((2, 4), np.int64)
    assert (read_checksums(change(ids), mask) != read_checksums(ids, mask)).any()


def test_padding_changes_no_checksum() -> None:
    ids = np.array([[101, 7, 102]])
    padded, mask = np.array([[101, 7, 102, 0, 0]]), np.array([[1, 1, 1, 0, 0]])
    assert read_checksums(ids, np.ones_like(ids)) == read_checksums(padded, mask)
