"""The knowledge stage: what a source says about an entity is merged with the other sources, and can be found.

An article of Wikipedia and the item of Wikidata that names it are two entities with two keys, so two workers may handle
them at the same moment, in any order. Each worker first writes its own part (or which article an item names) and reads
the other's afterwards, so that at least one of them sees both. After its writes it reads the parts again, and begins
again if one has changed: so the last one to finish has seen every part. A merged record follows from nothing but the
parts. It is written behind its names and its point, and later than the former record whatever the clocks say.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress

from pydantic import ValidationError

from schemas import EntityChanged, Event
from streams.caches import RecentCache
from streams.errors import PoisonError, TransientError
from streams.knowledge.entity import Entity, Part
from streams.knowledge.merging import merge_parts
from streams.knowledge.names import name_keys
from streams.knowledge.points import GroupedPoints, point_id, point_of, read_record
from streams.models.protocols import ModelInfo
from streams.runtime.agent import Agent, Delivery
from streams.settings import Settings
from streams.stores.opener import Stores
from streams.stores.protocols import StoredPart
from streams.stores.vector_collection import MissingCollection
from streams.vectors.batching import TextBatcher

RECENT_PARTS = 1_024
"""Number of parts that are kept in memory: an event's own part is read again at the merge, and an article's part with
each of its redirects, which often stand near it in a dump."""
MAX_ROUNDS = 5
"""Maximum number of times that an entity is merged again because a part changed meanwhile."""
_REDIRECT = "redirect:"
Parts = Mapping[str, StoredPart]


class KnowledgeAgent(Agent):
    """Stores the part, then names, the point and the record of the entity and of its article."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._batcher = TextBatcher(stores.embedder)
        self._points = GroupedPoints(lambda collection, points: stores.entity_vectors.upsert(collection, points))
        self._collections: dict[ModelInfo, str] = {}
        self._recent: RecentCache[str, Part] = RecentCache(RECENT_PARTS)

    async def stop(self) -> None:
        await self._batcher.close()

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        """Raises PoisonError for another event, and for a part that can't be read."""
        event = delivery.event
        if not isinstance(event, EntityChanged):
            raise PoisonError(f"{type(event).__name__} is about no entity")
        stored = StoredPart(event.record_ref or "", delivery.at, event.alias)
        part = await self._read(stored)
        await self._stores.entities.put_part(event.entity_id, event.source, stored)
        if event.source == "wikidata":
            await self._assign_articles(event.entity_id, part.article if part else "", delivery.at)
        await self._rebuild(event.entity_id)
        return []

    async def _assign_articles(self, entity_id: str, named: str, at: int) -> None:
        """Make the named article a part of the item, and free the article that it named before.

        The item's own record is written last: after a crash, the former article is still in it.
        """
        record = await self._record(entity_id)
        before = record.article if record else ""
        if named:
            await self._stores.entities.name_article(named, entity_id, at)
        if before and before != named:
            if await self._owner_of(before) == entity_id:
                await self._stores.entities.name_article(before, "", at)
            await self._rebuild(before)
        if named:
            await self._rebuild(named)

    async def _rebuild(self, entity_id: str, *, follow: bool = True) -> None:
        """Merge an entity's parts, and make it findable. An article with an owner becomes a redirect, and the owner is
        merged.

        Raises TransientError if its parts change all the time.
        """
        for number in range(MAX_ROUNDS):
            parts, owner = await self._state(entity_id)
            if owner and owner != entity_id:
                whole = Entity(entity_id=entity_id, kind="redirect", redirect=owner)
            else:
                whole = await self._merge(entity_id, parts)
            await self._write(whole, is_first=number == 0)
            if owner and owner != entity_id and follow:
                await self._rebuild(owner, follow=False)
            if await self._state(entity_id) == (parts, owner):
                return
        raise TransientError(f"entity {entity_id} keeps changing: it changed {MAX_ROUNDS} times")

    async def _state(self, entity_id: str) -> tuple[Parts, str]:
        parts, owner = await asyncio.gather(self._stores.entities.parts(entity_id), self._owner_of(entity_id))
        return parts, owner

    async def _merge(self, entity_id: str, parts: Parts) -> Entity:
        """Return the record of an entity, with its article's part."""
        read, known = await self._read_all(parts), list(parts.items())
        article = read["wikidata"].article if "wikidata" in read else ""
        if article and await self._owner_of(article) == entity_id:
            of_article = await self._stores.entities.parts(article)
            read = {**await self._read_all(of_article), **read}
            known += of_article.items()
        aliases = [part.alias for source, part in known if source.startswith(_REDIRECT) and part.alias]
        return merge_parts(entity_id, read, aliases)

    async def _read_all(self, parts: Parts) -> dict[str, Part]:
        names = [source for source in parts if not source.startswith(_REDIRECT)]
        read = await asyncio.gather(*(self._read(parts[source]) for source in names))
        return {source: part for source, part in zip(names, read, strict=True) if part}

    async def _read(self, stored: StoredPart) -> Part | None:
        if not stored.ref:
            return None
        if (recent := self._recent.get(stored.ref)) is not None:
            return recent
        try:
            part = Part.model_validate_json(await self._stores.blobs.get(stored.ref))
        except ValidationError as error:
            raise PoisonError(f"blob {stored.ref} is no part of an entity ({error.error_count()} faults)") from error
        self._recent.put(stored.ref, part)
        return part

    async def _owner_of(self, article_id: str) -> str:
        return (await self._stores.entities.entities_of([article_id])).get(article_id, "")

    async def _record(self, entity_id: str) -> Entity | None:
        found = (await self._stores.entities.get([entity_id])).get(entity_id)
        return read_record(found.record) if found else None

    async def _write(self, whole: Entity, *, is_first: bool) -> None:
        """Write names, then the point, then the record. An equal record has both: nothing is written, unless the parts
        have changed meanwhile."""
        store, entity_id = self._stores.entities, whole.entity_id
        stored = (await store.get([entity_id])).get(entity_id)
        former = read_record(stored.record) if stored else None
        if whole.kind == "entity":
            whole = whole.model_copy(update={"collection": await self._collection()})
        if is_first and whole == former:
            return
        at = stored.at + 1 if stored else 1
        keys, before = _keys_of(whole), _keys_of(former)
        await store.put_names(entity_id, keys, whole.rank, at)
        await self._write_point(former, whole)
        if former and (gone := before if former.rank != whole.rank else sorted(set(before) - set(keys))):
            await store.remove_names(entity_id, gone, former.rank, at)
        await store.put(entity_id, whole.model_dump_json(exclude_defaults=True).encode(), at)

    async def _write_point(self, former: Entity | None, whole: Entity) -> None:
        """Make the point of an entity with a panel; take out the point of another one."""
        identity = point_id(whole.entity_id)
        if whole.kind != "entity":
            if former and former.kind == "entity":
                for collection in await self._stores.entity_vectors.collections():
                    with suppress(MissingCollection):  # dropped meanwhile
                        await self._stores.entity_vectors.remove_page(collection, identity)
            return
        point = point_of(whole, await self._vector_of(former, whole))
        try:
            await self._points.upsert(whole.collection, point)
        except MissingCollection:  # dropped since the last event: it is made again
            self._collections.clear()
            await self._points.upsert(await self._collection(), point)

    async def _vector_of(self, former: Entity | None, whole: Entity) -> Sequence[float]:
        """Return the vector of an entity's text. If the former record has the same text, as where a redirect adds a
        name, it is read from the point. The point says its text: another worker may have written it meanwhile."""
        text = whole.text_to_embed()
        if former and former.kind == "entity" and former.text_to_embed() == text:
            stored = await self._stores.entity_vectors.text_and_vector(whole.collection, point_id(whole.entity_id))
            if stored and stored[0] == text:
                return stored[1]
        self._batcher.embedder = self._stores.embedder
        [made] = await self._batcher.embed([text])
        vector: Sequence[float] = made
        return vector

    async def _collection(self) -> str:
        """Return the collection of the model, which is made if it is missing."""
        model = await self._stores.embedder.info()
        if model not in self._collections:
            self._collections[model] = await self._stores.entity_vectors.ensure(model)
        return self._collections[model]


def _keys_of(record: Entity | None) -> Sequence[str]:
    """Return the keys under which a record is found by name. Who reads a language decides whether its labels count."""
    if not record or record.kind not in ("entity", "choice"):
        return ()
    return name_keys((*record.names, *record.labels.values()))


async def build(settings: Settings, stores: Stores) -> Agent:
    return KnowledgeAgent(stores)
