"""Finds the entity that a query asks for: by names, and by meaning, within the stores' time.

Three rounds: the names of all readings with the vector of the query; the records of what was found with the nearest
entities; the names of what the panel refers to.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from streams.knowledge.entity import Entity, Option
from streams.knowledge.lookup.confidence import Features, confidence, has_as_label, measure, weight_of
from streams.knowledge.lookup.panel import MAX_OTHERS, Panel, RelatedEntity, ids_to_name, related, to_panel
from streams.knowledge.lookup.readings import Reading, read_query
from streams.knowledge.names import name_key, name_keys
from streams.knowledge.points import point_id, readable_record
from streams.search.retrieval.model_fit import mismatch, sure_language
from streams.seen.stores import SeenStores
from streams.stores.protocols import NamedEntity
from streams.stores.searched_model import ModelInUse
from streams.stores.vector_collection import ENTITIES_ALIAS

MAX_WITH_NAME = 16
"""Maximum entities with one name that are looked at, the most widely known ones: also of languages that the reader does
not read."""
NEAREST = 5
"""Number of entities that are found by meaning."""
DOMINANCE = 2.5
"""Factor by which an entity must be more widely known than the next one with the name to be shown without a choice."""
CHOICE_CONFIDENCE = 0.9


Reader = Sequence[str]
"""The languages that the reader prefers (primary subtags), the preferred one first."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entity that a query may ask for."""

    entity: Entity
    features: Features

    @property
    def probability(self) -> float:
        return confidence(self.features)


@dataclass(frozen=True, slots=True)
class Lookup:
    """The findings for a query: candidates, the most probable first, and the choice if the name has several."""

    candidates: tuple[Candidate, ...] = ()
    choice: tuple[Entity, ...] = ()
    """Entities with the whole query as their name, the base topic first, if no one of them dominates."""
    options: tuple[Option, ...] = ()
    """The meanings that a disambiguation page lists."""
    title: str = ""


class Finder:
    """The finder of one process."""

    def __init__(self, stores: SeenStores) -> None:
        self._stores = stores

    async def look_up(self, text: str, reader: Reader = ()) -> Lookup:
        """Return what a query may ask for. Raises the stores' errors."""
        readings = read_query(text, sure_language(text))
        if not readings:
            return Lookup()
        found = await self._stores.entities.find([one.name for one in readings], MAX_WITH_NAME)
        named = {one.name: found[one.name] for one in readings if one.name in found}
        by_id = {one.entity_id: one for rows in named.values() for one in rows}
        records = await self.records(by_id, reader)
        exact = self._exact(readings, named, records)
        if lookup := _choose(readings, exact):
            return lookup
        near: list[tuple[Entity, float]] = []
        similar: dict[str, float] = {}
        in_use = await self._stores.entity_embedder.look()
        model = await in_use.embedder.info("query")
        if not mismatch(in_use.collection, model, ENTITIES_ALIAS):
            vector, found_near = await self._nearest(text, in_use, reader)
            cosines = await self._similarities([one.entity_id for one, _, _ in exact], vector, in_use.collection)
            near = [(entity, model.closeness(score)) for entity, score in found_near]
            similar = {entity_id: model.closeness(cosine) for entity_id, cosine in cosines.items()}
        candidates = [
            Candidate(entity, measure(entity, reading, share, similar.get(entity.entity_id, 0.0)))
            for entity, reading, share in exact
            if entity.kind == "entity"
        ]
        known = {one.entity_id for one, _, _ in exact}
        for entity, score in near:
            if entity.entity_id not in known:
                reading = best_reading(entity, text)
                candidates.append(Candidate(entity, measure(entity, reading, 0.0, score, by_label=False)))
        return Lookup(tuple(sorted(candidates, key=lambda one: -one.probability)))

    def _exact(
        self, readings: Sequence[Reading], named: dict[str, list[NamedEntity]], records: dict[str, Entity]
    ) -> list[tuple[Entity, Reading, float]]:
        """Return the entities with a name of the query, each with its share in the ranks of that name."""
        exact = []
        for reading in readings:
            rows = (records.get(one.entity_id) for one in named.get(reading.name, ()))
            having = [one for one in rows if one and reading.name in name_keys(one.names)]
            counted = [one for one in having if one.kind == "entity"]
            total = sum(weight_of(one, reading.name) for one in counted) or 1.0
            exact += [(one, reading, weight_of(one, reading.name) / total if one in counted else 0.0) for one in having]
        return exact

    async def _nearest(
        self, text: str, in_use: ModelInUse, reader: Reader
    ) -> tuple[NDArray[np.float32], list[tuple[Entity, float]]]:
        """Return the vector of the query, and the entities nearest to it."""
        [vector] = await in_use.embedder.embed([text], "query")
        found = await self._stores.nearest_entities(vector, NEAREST, in_use.collection)
        records = await self.records((hit.payload.url for hit in found), reader)
        return vector, [(records[hit.payload.url], hit.score) for hit in found if hit.payload.url in records]

    async def _similarities(
        self, ids: Sequence[str], vector: NDArray[np.float32], collection: str | None
    ) -> dict[str, float]:
        """Return the cosines of the query with these entities."""
        unique = list(dict.fromkeys(ids))
        vectors = await asyncio.gather(
            *(self._stores.entity_vectors([point_id(one)], collection) for one in unique[:24])
        )
        found: dict[str, float] = {}
        for one, rows in zip(unique, vectors, strict=False):
            if rows:
                other = np.asarray(rows[0], dtype=np.float32)
                found[one] = float(vector @ other / max(float(np.linalg.norm(other) * np.linalg.norm(vector)), 1e-9))
        return found

    async def records(self, ids: Iterable[str], reader: Reader = ()) -> dict[str, Entity]:
        """Return the records of these entities and articles, with their names in the reader's languages.

        An article that is a part of an item has the item's record.
        """
        wanted = list(dict.fromkeys(ids))
        stored = await self._stores.entities.get(wanted) if wanted else {}
        found = {one: record for one, row in stored.items() if (record := readable_record(row.record))}
        moved = {one: record.redirect for one, record in found.items() if record.kind == "redirect"}
        if moved:
            targets = await self._stores.entities.get(list(dict.fromkeys(moved.values())))
            for one, target in moved.items():
                record = readable_record(targets[target].record) if target in targets else None
                if record and record.kind == "entity":
                    found[one] = record
        return {one: record.for_reader(reader) for one, record in found.items()}

    async def panel(self, entity: Entity, probability: float, reader: Reader = ()) -> Panel:
        """Return the panel of an entity, with the names of what it refers to."""
        named = await self.records(ids_to_name(entity), reader)
        return to_panel(entity, named).model_copy(update={"confidence": round(probability, 3)})

    async def choice(self, lookup: Lookup, reader: Reader = ()) -> Panel:
        """Return the choice between entities with one name."""
        options = await self.records((one.entity_id for one in lookup.options if one.entity_id), reader)
        meant = related(
            [*lookup.choice, *(options[one.entity_id] for one in lookup.options if one.entity_id in options)]
        )
        have = {name_key(one.label + one.description) for one in meant}
        shown = [
            *meant,
            *(
                RelatedEntity(id=one.entity_id, label=one.title, description=_without(one), has_panel=False)
                for one in lookup.options
                if one.entity_id not in options and name_key(one.title + one.description) not in have
            ),
        ]
        return Panel(kind="choice", label=lookup.title, others=tuple(shown[:12]), confidence=CHOICE_CONFIDENCE)


def _choose(readings: Sequence[Reading], exact: Sequence[tuple[Entity, Reading, float]]) -> Lookup | None:
    """Return a choice if the whole query is the name of several entities, and none is far more widely known."""
    for reading in readings:
        if reading.rest:
            continue
        having = [(entity, share) for entity, own, share in exact if own is reading]
        entities = sorted((one for one, _ in having if one.kind == "entity"), key=lambda one: _place(one, reading.name))
        lists = [one for one, _ in having if one.kind == "choice"]
        if not entities and not lists:
            continue
        by_weight = sorted((weight_of(one, reading.name) for one in entities), reverse=True)
        dominates = bool(by_weight) and (len(by_weight) == 1 or by_weight[0] >= DOMINANCE * by_weight[1])
        is_base = len(entities) == 1 and has_as_label(entities[0], reading.name) and not _is_qualified(entities[0])
        if (lists and not entities) or (not dominates) or (lists and len(entities) == 1 and not is_base):
            options = tuple(option for one in lists for option in one.options)
            if len(entities) + len(options) > 1:
                return Lookup((), tuple(entities), options, entities[0].label if entities else lists[0].label)
        return None
    return None


def _place(entity: Entity, name: str) -> tuple[bool, bool, float, str]:
    """Return the sort key of a choice: base topics first, then the most widely known."""
    is_other = not has_as_label(entity, name)
    return is_other, _is_qualified(entity), -weight_of(entity, name), entity.entity_id


def _is_qualified(entity: Entity) -> bool:
    """Return whether the title of the entity's article has a qualifier: `Rust (video game)`."""
    title = entity.article or entity.entity_id
    return title.endswith(")") and " (" in title


def best_reading(entity: Entity, text: str) -> Reading:
    """Return the reading of a query for an entity that has no name of the query: all its words are left."""
    [first, *_] = read_query(text) or [Reading(name_key(text))]
    rest = tuple(first.name.split())
    return replace(first, rest=rest, words=0)


def others(lookup: Lookup, shown: Entity) -> list[RelatedEntity]:
    """Return the other entities with the name of the one that is shown."""
    name = name_key(shown.label)
    rows = (one.entity for one in lookup.candidates if one.entity.entity_id != shown.entity_id)
    return related(one for one in rows if name in name_keys(one.names))[:MAX_OTHERS]


def _without(option: Option) -> str:
    return option.description.removeprefix(option.title).lstrip(" ,:–—-")
