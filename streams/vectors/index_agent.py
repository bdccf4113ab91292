"""The index stage: a page's statements become searchable, and those of a removed page are taken out.

Generations decide between two events, in whatever order they come: an older page never replaces a newer one, a removal
never takes out a newer page, and a page that was removed comes back only by a newer fetch.

Two workers may handle two events of one page at the same moment (one is a retry, or a partition just moved). No lock is
needed: a page writes its points first and reads the records afterwards, and a removal writes its record first and takes
out points afterwards. So at least one of the two sees the other, and the loser's points are removed.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

from schemas import Event, PageEmbedded, PageIndexed, PageRemoved
from streams.runtime.agent import Agent, Delivery
from streams.settings import Settings
from streams.statements.codec import PageStatements, decode_statements
from streams.stores.opener import Stores
from streams.stores.protocols import ModelInfo, Point
from streams.stores.vector_collection import MissingCollection
from streams.vectors.codec import decode_vectors
from streams.vectors.points import points_of

Parts = Mapping[Any, Mapping[str, Any]]


class IndexAgent(Agent):
    """Points, then the record (`indexed` or `removed`), then PageIndexed (nothing for a removal)."""

    def __init__(self, stores: Stores, now: Callable[[], float] = time.time) -> None:
        self._stores = stores
        self._now = now
        self._collections: dict[tuple[str, str], str] = {}
        self._page_age_seconds = 0.0
        """Seconds from the fetch of the page that was indexed last until it could be found."""

    def measurements(self) -> Mapping[str, float]:
        return {"index_page_age_seconds": self._page_age_seconds}

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        event = delivery.event
        if isinstance(event, PageRemoved):
            await self._remove(event, delivery.at)
            return []
        assert isinstance(event, PageEmbedded)
        return await self._index(event, delivery.at)

    async def _index(self, event: PageEmbedded, at: int) -> Sequence[Event]:
        parts = await self._stores.pages.get(event.page_id)
        if _superseded_below(parts, event.generation):
            return []
        content, packed = await asyncio.gather(
            self._stores.blobs.get(event.statements_ref), self._stores.blobs.get(event.vectors_ref)
        )
        page = decode_statements(content)
        points = await asyncio.to_thread(
            points_of, page, decode_vectors(packed, event.statements_ref), event.generation
        )
        collection = await self._write(event, points, replace=_has_other_statements(parts.get("indexed", {}), event))
        parts = await self._stores.pages.get(event.page_id)
        if below := _superseded_below(parts, event.generation):
            await self._stores.vectors.remove_page(collection, event.page_id, before_generation=below)
            return []
        # A generation is the time of the fetch in microseconds.
        self._page_age_seconds = max(self._now() - event.generation / 1_000_000, 0.0)
        indexed = _indexed(event, page, collection)
        record = {**indexed.model_dump(exclude={"page_id", "crawl_id"}), "statements_ref": event.statements_ref}
        await self._record(parts, "indexed", event, record, at)
        # After the record: a worker that read the records before it has written its older points by now.
        await self._stores.vectors.remove_page(collection, event.page_id, before_generation=event.generation)
        return [indexed]

    async def _write(self, event: PageEmbedded, points: Sequence[Point], *, replace: bool) -> str:
        """Write the points, and return the collection. One that was dropped meanwhile is made again."""
        try:
            return await self._write_to(await self._collection(event), event, points, replace)
        except MissingCollection:
            self._collections.clear()
            return await self._write_to(await self._collection(event), event, points, replace)

    async def _write_to(self, collection: str, event: PageEmbedded, points: Sequence[Point], replace: bool) -> str:
        await self._stores.vectors.upsert(collection, points)
        if replace:
            # The same fetch with other statements (made by another release): both have its generation. The former ones
            # go after the new ones are searchable, so that the page is found at every moment.
            await self._stores.vectors.remove_page(
                collection,
                event.page_id,
                before_generation=event.generation + 1,
                keep=[point.id for point in points],
            )
        return collection

    async def _collection(self, event: PageEmbedded) -> str:
        """The collection of the model that made the vectors, which need not be the one that is served now."""
        model = (event.model, event.model_version)
        if model not in self._collections:
            info = await self._stores.embedder.info()
            if (info.name, info.version) != model:
                info = ModelInfo(event.model, event.model_version, event.dimensions)
            self._collections[model] = await self._stores.vectors.ensure(info)
        return self._collections[model]

    async def _remove(self, event: PageRemoved, at: int) -> None:
        parts = await self._stores.pages.get(event.page_id)
        if max(_generation(parts, "indexed"), _generation(parts, "removed")) > event.generation:
            return
        record = {
            "url": event.url,
            "generation": event.generation,
            "reason": event.reason,
            "detail": event.detail,
            "canonical_page_id": str(event.canonical_page_id) if event.canonical_page_id else None,
        }
        # The record first: should this process end in between, the event comes again, and no older page gets in.
        await self._record(parts, "removed", event, record, at)
        if not _may_have_points(await self._stores.pages.get(event.page_id)):
            return
        for collection in await self._stores.vectors.collections():
            with suppress(MissingCollection):  # dropped since it was listed: its points are gone, too
                await self._stores.vectors.remove_page(
                    collection, event.page_id, before_generation=event.generation + 1
                )

    async def _record(
        self,
        parts: Parts,
        part: Literal["indexed", "removed"],
        event: PageEmbedded | PageRemoved,
        record: dict[str, Any],
        at: int,
    ) -> None:
        """Write the page's record. It replaces one of an earlier generation, whatever their senders' clocks were."""
        known = parts.get(part, {})
        at = max(at, int(known.get("at", 0)) + (_generation(parts, part) < event.generation))
        await self._stores.pages.put(event.page_id, part, {**record, "at": at}, at)


def _generation(parts: Parts, part: str) -> int:
    return int(parts.get(part, {}).get("generation", -1))


def _superseded_below(parts: Parts, generation: int) -> int | None:
    """The generation below which points are to be removed, if a newer page or a removal has replaced this one."""
    removed, indexed = _generation(parts, "removed"), _generation(parts, "indexed")
    below = max(removed + 1 if removed >= generation else 0, indexed if indexed > generation else 0)
    return below or None


def _may_have_points(parts: Parts) -> bool:
    """False for a page that was never embedded, as most removed ones: URLs that robots.txt disallows.

    The embed stage writes its record before its event, so this is true while a page's points are being written.
    """
    return "embedded" in parts or "indexed" in parts


def _has_other_statements(indexed: Mapping[str, Any], event: PageEmbedded) -> bool:
    return indexed.get("generation") == event.generation and indexed.get("statements_ref") != event.statements_ref


def _indexed(event: PageEmbedded, page: PageStatements, collection: str) -> PageIndexed:
    return PageIndexed(
        page_id=event.page_id,
        url=event.url,
        generation=event.generation,
        crawl_id=event.crawl_id,
        title=page.title,
        language=page.language,
        statements=len(page.statements),
        model=event.model,
        model_version=event.model_version,
        collection=collection,
    )


async def build(settings: Settings, stores: Stores) -> Agent:
    return IndexAgent(stores)
