"""The index stage: it makes the statements of a page searchable, and takes out the statements of a removed page.

Generations decide between two events, in any order of their arrival: an older page never replaces a newer page, a
removal never takes out a newer page, and a removed page comes back only by a newer fetch. A removal on request takes
out every generation, and holds until it is withdrawn (`streams.stores.removals`).

Two workers may handle two events of one page at the same moment (one is a retry, or a partition just moved). No lock is
needed, because of the order of each worker's steps:

    page       1 read the records   2 write the points   3 read the records   4 write the record   5 remove older points
    removal    1 read the records   2 write the record   3 read the records   4 remove points

So of two workers at least one sees the other:

    first                      then                       who sees what                          what is left
    newer page's step 4        older page's step 3        the older page: the newer record       newer points (*)
    older page's step 3        newer page's step 4        the newer page's step 5: older points  newer points (**)
    removal's step 2           page's step 3              the page: the removal's record         nothing (*)
    page's step 3              removal's step 2           the removal's step 4: the points       nothing
    older page's step 2, then  the older event again,     the older page's step 1: the newer     newer points (*)
    a crash                    after the newer page       record

A visit that found a page unchanged has no event here: dedup writes its record, and then reads whether the page is in
the index. A removal by an earlier visit writes its record, and then reads the record of dedup. So either dedup sees the
removal and passes the page on, or the removal sees the visit: then the page is indexed anew with the visit's generation
(`unchanged_since`).

Searches may read the collection of another model than the one that made the vectors: the alias was moved while events
waited, or workers have the next model already. Then the page's points are written to that collection, too, with vectors
that this stage makes, in the same steps: at each moment, what was indexed is searched (`SearchedModel`).

(*) The older page yields (`_yield_to_newer`): its worker removes its points, and writes the newer page's points again.
Two generations of a page have one point for a statement with the same text, so the older page may have overwritten it.
(**) Such an overwritten point stays: its text is the same in both generations.
"""

import asyncio
import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

import numpy as np

from schemas import Event, PageEmbedded, PageIndexed, PageRemoved
from schemas.pages import ModelName
from streams.crawl.audiences import Audiences
from streams.errors import PageErased, TransientError
from streams.models.protocols import ModelInfo
from streams.runtime.agent import Agent, Delivery
from streams.settings import Settings
from streams.statements.statement import decode_statements
from streams.stores.opener import Stores
from streams.stores.page_record import Indexed, Normalized, PageRecord, Removed
from streams.stores.removals import blob_of_page, is_held_back, withdrawn
from streams.stores.searched_model import Searched, SearchedModel
from streams.stores.vector_collection import MissingCollection
from streams.vectors.batching import LongPages
from streams.vectors.page_records import (
    RecentAge,
    facts_of,
    superseded_below,
    unchanged_since,
    versions_of,
    with_audience,
    with_embedded,
)
from streams.vectors.points import PagePoints, decode_vectors, texts_of

CRAWL = "crawl"
"""Source of the pages that the crawler fetched. Only their ages are measured."""
PART_TEXTS = 512
"""Maximum texts that are embedded for the searched collection before the stage shows progress."""
MAX_ROUNDS = 5
"""Maximum number of newer pages that an older page yields to. It is more than one, because further pages may come."""


class IndexAgent(Agent):
    """Writes points, then the record (`indexed` or `removed`), then emits PageIndexed (nothing for a removal)."""

    def __init__(self, stores: Stores, now: Callable[[], float] = time.time) -> None:
        self._stores = stores
        self._now = now
        self._collections: dict[ModelName, str] = {}
        self._searched = SearchedModel(
            lambda: stores.embedder,
            lambda: stores.other_models,
            lambda: stores.vectors.active(),
            role="passage",
        )
        self._ages = RecentAge()
        self._long_pages = LongPages()
        # The sites are read whatever the settings say: points of a private site must not become public by a setting.
        self._audiences = Audiences(stores.api_keys, True, time.monotonic)

    def measurements(self) -> Mapping[str, float]:
        return {"index_page_age_seconds": self._ages.read(self._now())}

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        event = delivery.event
        if isinstance(event, PageRemoved):
            unchanged = await self._remove(event, delivery.at)
            if unchanged is None:
                return []
            event = unchanged
        assert isinstance(event, PageEmbedded)
        async with self._long_pages.turn(delivery, event.statements):
            return await self._index(event, delivery.at, delivery.note_part)

    async def _index(self, event: PageEmbedded, at: int, note_part: Callable[[], None]) -> Sequence[Event]:
        record = await self._stores.pages.get(event.page_id)
        if superseded_below(record, event.generation):
            # Before a crash, this event may have written points.
            return await self._yield_to_newer(event, record, note_part)
        await self._searched.refresh()
        try:
            made_of = with_embedded(record, event)
            points = await self._read_points(event, event.statements_ref, event.vectors_ref, event.generation, made_of)
        except PageErased:  # the removal came after the read of the records
            return []
        page = points.page
        replace = _has_other_statements(record.indexed, event)
        collection = await self._write(event, points, replace=replace)
        searched = await self._write_searched(event, points, note_part, replace=replace)
        record = await self._stores.pages.get(event.page_id)
        if superseded_below(record, event.generation):
            return await self._yield_to_newer(event, record, note_part)
        if _is_new_fetch(record, event):
            self._ages.note(event.generation / 1_000_000, self._now())
        # A record of an earlier generation is replaced, whatever the senders' clocks were.
        replaces = record.indexed.generation < event.generation
        made: dict[str, Any] = {
            "title": page.title,
            "language": page.language,
            "statements": len(page.statements),
            "left_out": event.left_out,
            "model": event.model,
            "model_version": event.model_version,
            "collection": collection,
        }
        names = ("statements_ref", "vectors_ref", "dimensions", "readable")
        references: dict[str, Any] = {name: getattr(event, name) for name in names}
        at = max(at, record.indexed.at + replaces)
        versions = versions_of(event)
        part = Indexed(url=event.url, generation=event.generation, at=at, made=versions, **references, **made)
        await self._stores.pages.put(event.page_id, part, part.at)
        # After the record: a worker that read the records before has written its older points by now.
        # Overwritten points of this page stay: a statement has the same text in both generations.
        await self._remove_points(event, event.generation, [collection, *searched], points.ids)
        return [PageIndexed.following(event, **made)]

    async def _read_points(
        self, event: PageEmbedded, statements_ref: str, vectors_ref: str, generation: int, record: PageRecord
    ) -> PagePoints:
        blobs, pages = self._stores.blobs, self._stores.pages
        content, packed = await asyncio.gather(
            *(blob_of_page(blobs, pages, event, ref) for ref in (statements_ref, vectors_ref))
        )
        vectors = decode_vectors(packed, statements_ref)
        facts = with_audience(facts_of(record, generation), await self._audiences.of(event.url))
        return PagePoints.of(decode_statements(content), vectors, facts)

    async def _yield_to_newer(
        self, event: PageEmbedded, record: PageRecord, note_part: Callable[[], None]
    ) -> Sequence[Event]:
        """Remove the event's points, and write the newest page's points again. Emits nothing.

            newest in the records        what is done
            a removal                    the event's points are removed from all collections
            a page of the same model     the event's points are removed, the page's points are written again, and the
                                         records are read again
            a page of another model      the same in the collection that searches read, if the event's model is another

        Raises TransientError if newer records came MAX_ROUNDS times meanwhile.
        """
        for _ in range(MAX_ROUNDS):
            below = superseded_below(record, event.generation)
            newest = record.indexed
            if newest.generation != below:  # a removal is newer than all pages
                await self._remove_points(event, below, await self._stores.vectors.collections())
                return []
            searched = self._searched.other_than(event.embedded_by)
            collections = [newest.collection] if newest.embedded_by == event.embedded_by else []
            collections += [searched.collection] if searched else []
            if not collections:
                return []
            await self._remove_points(event, below, collections)
            await self._restore_points(event, record, collections, note_part)
            record = await self._stores.pages.get(event.page_id)
            if superseded_below(record, event.generation) == below:
                return []
        raise TransientError(f"page {event.page_id} keeps changing: {MAX_ROUNDS} newer ones came")

    async def _restore_points(
        self, event: PageEmbedded, record: PageRecord, collections: Sequence[str], note_part: Callable[[], None]
    ) -> None:
        """Write the points of the indexed page again."""
        newest = record.indexed
        points = await self._read_points(event, newest.statements_ref, newest.vectors_ref, newest.generation, record)
        searched = self._searched.other_than(newest.embedded_by)
        for collection in collections:
            with suppress(MissingCollection):
                if searched and collection == searched.collection:
                    await self._upsert(collection, await self._embedded_by(searched, points, note_part))
                else:
                    await self._upsert(collection, points)

    async def _remove_points(
        self,
        event: PageEmbedded | PageRemoved,
        below: int | None,
        collections: Sequence[str],
        keep: Sequence[UUID] = (),
    ) -> None:
        for collection in collections:
            with suppress(MissingCollection):  # dropped after the listing: its points are gone, too
                await self._stores.vectors.remove_page(collection, event.page_id, before_generation=below, keep=keep)

    async def _write_searched(
        self, event: PageEmbedded, points: PagePoints, note_part: Callable[[], None], *, replace: bool
    ) -> list[str]:
        """Write the page to the collection that searches read, if another model fills it. Return its name, if any."""
        searched = self._searched.other_than(event.embedded_by)
        if searched is None:
            return []
        with suppress(MissingCollection):
            points = await self._embedded_by(searched, points, note_part)
            await self._write_to(searched.collection, event, points, replace)
        return [searched.collection]

    async def _embedded_by(self, searched: Searched, points: PagePoints, note_part: Callable[[], None]) -> PagePoints:
        """Return the points with vectors of the model of the searched collection, in the precision of stored ones."""
        texts = texts_of(points.page)
        vectors = np.empty((len(texts), searched.model.dimensions), np.float16)
        for start in range(0, len(texts), PART_TEXTS):
            part = texts[start : start + PART_TEXTS]
            vectors[start : start + PART_TEXTS] = await searched.embedder.embed(part, "passage")
            note_part()
        return dataclasses.replace(points, vectors=vectors)

    async def _upsert(self, collection: str, points: PagePoints) -> None:
        for start in points.starts():
            await self._stores.vectors.upsert(collection, await asyncio.to_thread(points.part, start))

    async def _write(self, event: PageEmbedded, points: PagePoints, *, replace: bool) -> str:
        """Write the points, and return their collection. A collection that was dropped meanwhile is made again."""
        try:
            return await self._write_to(await self._find_collection(event), event, points, replace)
        except MissingCollection:
            self._collections.clear()
            return await self._write_to(await self._find_collection(event), event, points, replace)

    async def _write_to(self, collection: str, event: PageEmbedded, points: PagePoints, replace: bool) -> str:
        await self._upsert(collection, points)
        if replace:
            # The same fetch with other statements (made by another release): both have one generation. The former
            # points are removed once the new points are searchable, so that searches find the page at every moment.
            await self._stores.vectors.remove_page(
                collection,
                event.page_id,
                before_generation=event.generation + 1,
                keep=points.ids,
            )
        return collection

    async def _find_collection(self, event: PageEmbedded) -> str:
        """Return the collection of the model that made the vectors. The server may have another model now."""
        model = event.embedded_by
        if model not in self._collections:
            info = await self._stores.embedder.info()
            if info.model != model:
                info = ModelInfo(event.model, event.model_version, event.dimensions)
            self._collections[model] = await self._stores.vectors.ensure(info)
        return self._collections[model]

    async def _remove(self, event: PageRemoved, at: int) -> PageEmbedded | None:
        """Remove the page. Returns its content instead if a later visit found it unchanged: it is to be indexed."""
        record = await self._stores.pages.get(event.page_id)
        newest = max(record.indexed.generation, record.removed.generation)
        if event.reason == "request":
            if event.generation <= withdrawn(record):
                return None
            newest = max(newest, event.generation)
        elif is_held_back(record):
            return None
        elif newest > event.generation:
            # If it is this removal that came before, its worker may have been killed while it indexed the page anew.
            return unchanged_since(record, event) if record.removed.generation == event.generation else None
        else:
            newest = event.generation
        # A removal of an earlier generation, or with another reason, is replaced, whatever the senders' clocks were.
        replaces = record.removed.generation < event.generation or record.removed.reason != event.reason
        part = Removed(
            url=event.url,
            generation=newest,
            reason=event.reason,
            detail=event.detail,
            canonical_page_id=event.canonical_page_id,
            withdrawn=record.removed.withdrawn,
            at=max(at, record.removed.at + replaces),
        )
        # The record first: if this process ends in between, the event comes again, and no older page gets in.
        await self._stores.pages.put(event.page_id, part, part.at)
        record = await self._stores.pages.get(event.page_id)
        if event.reason != "request" and (unchanged := unchanged_since(record, event)):
            return unchanged
        if _may_have_points(record):
            await self._remove_points(event, newest + 1, await self._stores.vectors.collections())
        return None


def _may_have_points(record: PageRecord) -> bool:
    """Return False for a page that never had a document, as most removed pages: URLs that robots.txt disallows.

    The normalizer writes its record before its event, so the result is True while a page's points are being written.
    """
    return record.has(Normalized) or record.has(Indexed)


def _has_other_statements(indexed: Indexed, event: PageEmbedded) -> bool:
    return indexed.generation == event.generation and indexed.statements_ref != event.statements_ref


def _is_new_fetch(record: PageRecord, event: PageEmbedded) -> bool:
    """Return True for a page that was fetched by the crawler and was not searchable before as it is now.

    A generation is the time of the fetch, but of an imported page it may be the date of its file or archive.
    """
    return record.fetched.source == CRAWL and record.indexed.generation < event.generation


async def build(settings: Settings, stores: Stores) -> Agent:
    return IndexAgent(stores)
