"""Names of collections, refusals, the order of hits, and phrases: the same for Qdrant and in memory.

Qdrant's full-text index and the index in memory divide texts in the same way: a word is a run of letters and digits, in
lower case. So the index finds every text that has a phrase, as far as the phrase is written in the same characters, and
a few more (`SQLITE_BUSY` in `SQLITE_BUSY_SNAPSHOT`), which are left out when results are checked.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from uuid import UUID

from streams.errors import StoreUnavailable, UsageError
from streams.models.protocols import ModelInfo
from streams.stores.protocols import Filters, Hit, SparseVector

ALIAS = "statements"
ENTITIES_ALIAS = "entities"
ANY = Filters()


class MissingCollection(StoreUnavailable):
    """The collection was never made, or was dropped. The index stage makes it again with its next event."""


def collection_name(alias: str, model: ModelInfo) -> str:
    """Return the name `<alias>-<model>-<version>`, with only characters that Qdrant takes in a name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", f"{alias}-{model.name}-{model.version}")


def by_ordinal(hit: Hit) -> tuple[int, UUID]:
    """Return the sort key for the order of a page's statements."""
    return hit.payload.ordinal, hit.id


def check_dimensions(name: str, held: int | None, model: ModelInfo) -> None:
    """Raise UsageError if the collection was made for vectors of another length."""
    if held != model.dimensions:
        raise UsageError(
            f"Collection {name} holds vectors of {held} dimensions, but model {model.name} {model.version} makes "
            f"{model.dimensions}. Give the changed model a new version, so that it gets a collection of its own"
        )


def no_collection(name: str, known: Sequence[str]) -> UsageError:
    return UsageError(f"There is no collection {name}; there are {', '.join(known) or 'none'}")


def still_active(name: str) -> UsageError:
    return UsageError(f"Searches read {name}. Activate another collection first")


_TIE_STEPS = 1e5
"""Number of steps from 0 to 1. Scores are rounded to a step: engines differ in the last bits of a float32 sum."""


def sort_hits(hits: Iterable[Hit]) -> list[Hit]:
    """Return the hits, the best first. Hits with equal scores are sorted by id."""
    return sorted(hits, key=lambda hit: (-round_score(hit.score), hit.id))


def round_score(score: float) -> float:
    """Return the score in five decimal digits. `round` takes four times as long, and a search rounds 2,000 scores."""
    return math.floor(score * _TIE_STEPS + 0.5) / _TIE_STEPS


def words_of_audience(sparse: SparseVector, audience: str) -> SparseVector:
    """Return the terms of an audience: an engine counts the terms of a private one apart from all others."""
    if not audience:
        return sparse
    weights: defaultdict[int, float] = defaultdict(float)
    for term, weight in zip(sparse.indices, sparse.values, strict=True):
        digest = blake2b(f"{term} {audience}".encode(), digest_size=4).digest()
        weights[int.from_bytes(digest, "big")] += weight
    return SparseVector(tuple(weights), tuple(weights.values()))


WORD = re.compile(r"[^\W_]+")


def words_in_a_row(text: str) -> str:
    """Return the words of the text in lower case, with a space before and behind each."""
    return f" {' '.join(WORD.findall(text.lower()))} "


def has_words(text: str, phrase: str) -> bool:
    """Return True if the text has the words of the phrase in a row."""
    return words_in_a_row(phrase) in words_in_a_row(text)
