"""The comparison of a page's stored vectors and links with the models' answers of now. Pure.

Equal texts have almost equal answers, and the answer about another page is far away. Measured with the local model over
1,500 texts of Riffle's documentation:

    the stored vector is from                                  cosine with the vector of now
    the same model, any batch, in half precision               at least .9999
    the same model on a processor without VNNI                 at least .990, on average .999
    the nearest other text                                     .65 in the middle; above .98 for 1 in 400 texts
"""

from collections.abc import Sequence

import numpy as np

from streams.models.protocols import Vectors
from streams.statements.statement import Statement

LEAST_COSINE = 0.98
"""Minimum cosine of a stored vector and the vector of now. Engines may scale vectors, so lengths are not compared."""
MOST_DIFFERENCE = 0.05
"""Maximum difference of a stored probability of the chain model and the probability of now. Stored are hundredths."""


def find_foreign_vectors(stored: Vectors, made: Vectors) -> list[int]:
    """Return the rows that are not vectors of the same text; all rows if the shapes differ."""
    if stored.shape != made.shape:
        return list(range(max(len(stored), len(made))))
    lengths = np.linalg.norm(stored, axis=1) * np.linalg.norm(made, axis=1)
    products = (stored * made).sum(axis=1)
    # "not at least" also finds numbers that are not finite, and rows of zeros.
    return [int(row) for row in np.flatnonzero(~(products >= LEAST_COSINE * lengths) | (lengths == 0))]


def find_foreign_links(stored: Sequence[Statement], made: Sequence[Statement]) -> list[int]:
    """Return the ordinals of the statements with other links than the chain model finds now."""
    return [now.ordinal for former, now in zip(stored, made, strict=True) if _has_other_links(former, now)]


def _has_other_links(former: Statement, now: Statement) -> bool:
    difference = max(abs(former.need - now.need), abs(former.leaf - now.leaf))
    return former.chain != now.chain or difference > MOST_DIFFERENCE
