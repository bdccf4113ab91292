"""Links as the chain model's output tensors, and back.

ANTECEDENTS   INT32 [n]     the most probable antecedent of each sentence, or -1
ALTERNATIVES  INT32 [n, 5]  its further antecedents, the more probable first; -1 behind them
FOLLOWED      INT32 [n]     the antecedent at which a chain through the sentence goes on, or -1
NEED, LEAF    FP32 [n]      probabilities
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from streams.models.protocols import Link

NAMES = ("ANTECEDENTS", "ALTERNATIVES", "FOLLOWED", "NEED", "LEAF")
MAX_ANTECEDENTS = 6
"""Maximum antecedents of a link."""

Column = NDArray[np.int32] | NDArray[np.float32]


def to_columns(links: Sequence[Link]) -> list[Column]:
    """Return the tensors of these links, in the order of NAMES."""
    antecedents = np.full((len(links), MAX_ANTECEDENTS), -1, dtype=np.int32)
    for row, link in enumerate(links):
        kept = link.antecedents[:MAX_ANTECEDENTS]
        antecedents[row, : len(kept)] = kept
    return [
        np.ascontiguousarray(antecedents[:, 0]),
        np.ascontiguousarray(antecedents[:, 1:]),
        np.array([link.followed for link in links], dtype=np.int32),
        np.array([link.need for link in links], dtype=np.float32),
        np.array([link.leaf for link in links], dtype=np.float32),
    ]


def from_columns(columns: Sequence[Column], start: int = 0) -> list[Link]:
    """Return the links of these tensors, as indices of a page that begins `start` sentences earlier."""
    best, further, followed, need, leaf = columns
    antecedents = np.column_stack([best, further])
    return [
        Link(
            antecedents=tuple(int(at) + start for at in row if at >= 0),
            followed=int(onward) + start if onward >= 0 else -1,
            need=float(needed),
            leaf=float(alone),
        )
        for row, onward, needed, alone in zip(antecedents, followed, need, leaf, strict=True)
    ]
