"""The probability that an entity is what a query asks for: a logistic model of a few features. Pure.

The weights were fitted by `python -m benchmarks panels` on entities and queries that the measurement has no part of
(docs/reference/knowledge.md has both).
"""

import math
from collections.abc import Collection
from dataclasses import dataclass

from streams.knowledge.entity import Entity
from streams.knowledge.lookup.readings import Reading
from streams.knowledge.names import name_key
from streams.pages.text.tokens import words
from streams.vectors.stemming import stems

RANK_OFFSET = 2.0
"""Added to each rank before ranks are compared: between hardly known things nothing follows from a wiki more."""
ALIAS_WEIGHT = 0.3
"""Factor of the rank of an entity that has the name only as an alias."""
_ATTRIBUTES_WORDS = (
    "born birth birthday age old died death dead married wife husband spouse children parents population area "
    "capital height elevation length depth high tall long big large located location map founded founder "
    "invented inventor author writer director cast released language currency president website official wiki "
    "wikipedia history facts biography bio summary overview introduction"
)
ATTRIBUTES = frozenset(_ATTRIBUTES_WORDS.split())
"""Words that ask for a fact of the thing beside them."""


@dataclass(frozen=True, slots=True)
class Features:
    """The features of a query and an entity that it may name. All lie between 0 and 1."""

    is_label: float
    """The name is the label or the title, and no other name."""
    is_whole: float
    """Nothing but the name is asked."""
    explained: float
    """Share of the other words that the entity's description or type has, or that ask for a fact. 1 without others."""
    unexplained: float
    """Number of the other words that nothing explains, up to 3, as a share of 3."""
    rank_share: float
    """Share of the entity in the ranks of all entities with the name."""
    name_words: float
    """Number of words of the name, up to 4, as a share of 4."""
    similarity: float
    """Cosine of query and entity."""


BIAS = -3.25
WEIGHTS = Features(
    is_label=1.45, is_whole=0.71, explained=2.28, unexplained=-3.16, rank_share=1.58, name_words=0.92, similarity=1.61
)


def confidence(features: Features) -> float:
    """Return the probability, from 0 to 1."""
    total = BIAS + sum(getattr(features, name) * getattr(WEIGHTS, name) for name in Features.__slots__)
    return 1 / (1 + math.exp(-total))


def measure(
    entity: Entity, reading: Reading, rank_share: float, similarity: float, *, by_label: bool | None = None
) -> Features:
    known = frozenset(_known_words(entity))
    rest = [word for word in reading.rest if not _stem(word) & known and word not in ATTRIBUTES]
    return Features(
        is_label=float(has_as_label(entity, reading.name) if by_label is None else by_label),
        is_whole=float(not reading.rest),
        explained=1 - len(rest) / len(reading.rest) if reading.rest else 1.0,
        unexplained=min(len(rest), 3) / 3,
        rank_share=rank_share,
        name_words=min(reading.words, 4) / 4,
        similarity=max(0.0, min(1.0, similarity)),
    )


def has_as_label(entity: Entity, name: str) -> bool:
    """Return whether a name is the label of an entity or the title of its article."""
    title = entity.article.partition(":")[2] or entity.entity_id.partition(":")[2]
    return name in map(name_key, (entity.label, title, entity.stored_label))


def weight_of(entity: Entity, name: str) -> float:
    return (entity.rank + RANK_OFFSET) * (1.0 if has_as_label(entity, name) else ALIAS_WEIGHT)


def _known_words(entity: Entity) -> Collection[str]:
    """Return the stems of the words that say what the entity is."""
    title = entity.article.partition(":")[2] or entity.entity_id.partition(":")[2]
    labels = (fact.label for fact in entity.facts)
    described = (entity.description, entity.stored_description, entity.type, entity.group)
    texts = (*described, title, entity.summary[:200], *labels)
    return [stem for text in texts for word in words(text) for stem in _stem(word)]


def _stem(word: str) -> frozenset[str]:
    return frozenset(form for forms in stems([word], "en") for form in forms)
