"""The comparison of stored vectors and links with the models' answers of now."""

from uuid import UUID

import numpy as np
import pytest

from streams.maintenance.comparison import find_foreign_links, find_foreign_vectors
from streams.statements.statement import Statement

ROWS = np.eye(3, 8, dtype=np.float32)
NAN = np.full((3, 8), np.nan, dtype=np.float32)


@pytest.mark.parametrize(
    ("stored", "foreign"),
    [
        pytest.param(ROWS, [], id="the same"),
        pytest.param(ROWS.astype(np.float16).astype(np.float32) * 7, [], id="half precision, scaled"),
        pytest.param(ROWS + np.float32(0.02), [], id="another processor"),
        pytest.param(ROWS[[1, 0, 2]], [0, 1], id="two rows exchanged"),
        pytest.param(ROWS[:2], [0, 1, 2], id="one row less"),
        pytest.param(ROWS[:, :4], [0, 1, 2], id="another model's length"),
        pytest.param(ROWS * 0, [0, 1, 2], id="zeros"),
        pytest.param(NAN, [0, 1, 2], id="no numbers"),
        pytest.param(-ROWS, [0, 1, 2], id="opposite"),
        pytest.param(np.empty((0,), np.float32), [0, 1, 2], id="none"),
    ],
)
def test_vectors_of_other_texts(stored: np.ndarray[tuple[int, int], np.dtype[np.float32]], foreign: list[int]) -> None:
    assert find_foreign_vectors(stored, ROWS) == foreign


def statement(ordinal: int, chain: tuple[int, ...] = (), need: float = 0.0, leaf: float = 1.0) -> Statement:
    return Statement(UUID(int=ordinal), ordinal, f"text {ordinal}", chain=chain, need=need, leaf=leaf)


@pytest.mark.parametrize(
    ("changed", "foreign"),
    [
        pytest.param(statement(1, (0,), 0.9, 0.2), [], id="the same"),
        pytest.param(statement(1, (0,), 0.93, 0.24), [], id="rounded by another processor"),
        pytest.param(statement(1, (), 0.9, 0.2), [1], id="without its antecedent"),
        pytest.param(statement(1, (0,), 0.7, 0.2), [1], id="another need"),
        pytest.param(statement(1, (0,), 0.9, 0.5), [1], id="another leaf"),
    ],
)
def test_links_that_the_model_does_not_find(changed: Statement, foreign: list[int]) -> None:
    made = [statement(0), statement(1, (0,), 0.9, 0.2)]
    assert find_foreign_links([made[0], changed], made) == foreign
