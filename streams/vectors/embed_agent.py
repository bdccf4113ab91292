"""The embed stage: a page's statements become vectors, each statement in its context.

The vectors of unchanged statements are not computed again: the record of the indexed page names vectors of the same
model. A page that another installation handed on brings the vectors of its texts (`brought`). Other texts pass through
a bounded queue that all pages of this worker share (`batching`).
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schemas import Event, PageChunked, PageEmbedded
from streams.errors import PageErased, PoisonError
from streams.models.protocols import ModelInfo
from streams.runtime.agent import Agent, Delivery
from streams.settings import Settings
from streams.statements.statement import Key, decode_statements, text_key
from streams.stores.opener import Stores
from streams.stores.page_record import Indexed
from streams.stores.removals import blob_of_page
from streams.topology import VERSIONS
from streams.vectors.batching import LongPages, TextBatcher
from streams.vectors.brought import BroughtVectors, Half, Made
from streams.vectors.points import decode_vectors, encode_vectors, texts_of

PART_TEXTS = 512
"""Maximum texts that are embedded before the stage shows progress."""


class EmbedAgent(Agent):
    """Blob (vectors) -> PageEmbedded. The index stage records it. Nothing if the page was removed on request."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._batcher = TextBatcher(stores.embedder)
        self._long_pages = LongPages()

    async def stop(self) -> None:
        await self._batcher.close()

    def measurements(self) -> Mapping[str, float]:
        counts = self._batcher.counts
        texts = {f"embed_texts_{source}": float(count) for source, count in counts.texts.items()}
        return {
            "embed_texts_embedded": 0.0,
            **texts,
            "embed_texts_waiting": self._batcher.waiting,
            "embed_batches": counts.batches,
        }

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        event = delivery.event
        assert isinstance(event, PageChunked)
        model = await self._stores.embedder.info()
        # A page that was new when it was compared has no vectors, but for a replay of an event that was handled before.
        is_new = event.is_new and delivery.topic == event.topic
        former = None if is_new else await self._read_former_record(event, model)
        if former and former.statements_ref == event.statements_ref:
            vectors_ref, statements = former.vectors_ref, former.statements
        else:
            try:
                async with self._long_pages.turn(delivery, event.statements):
                    vectors_ref, statements = await self._make_vectors(event, model, former, delivery.note_part)
            except PageErased:
                return []
        made: dict[str, Any] = {
            "statements_ref": event.statements_ref,
            "vectors_ref": vectors_ref,
            "statements": statements,
            "model": model.name,
            "model_version": model.version,
            "dimensions": model.dimensions,
            "readable": event.readable,
            "left_out": event.left_out,
            "made": {**event.made, "embed": VERSIONS["embed"]},
        }
        return [PageEmbedded.following(event, **made)]

    async def _read_former_record(self, event: PageChunked, model: ModelInfo) -> Indexed | None:
        """Return the record of the indexed page if it is whole, of the same model, and of this version of the stage."""
        former = (await self._stores.pages.get(event.page_id)).indexed
        is_same_model = former.embedded_by == model.model and former.dimensions == model.dimensions
        is_same_model = is_same_model and former.made.get("embed") == VERSIONS["embed"]
        is_whole = former.vectors_ref and former.statements_ref
        return former if is_same_model and is_whole else None

    async def _make_vectors(
        self, event: PageChunked, model: ModelInfo, former: Indexed | None, note_part: Callable[[], None]
    ) -> tuple[str, int]:
        """Return the reference of the vectors, and their number."""
        page = decode_statements(
            await blob_of_page(self._stores.blobs, self._stores.pages, event, event.statements_ref)
        )
        count, texts = len(page.statements), texts_of(page)
        del page  # a long page's statements take more memory than their texts and vectors
        known = {**await self._brought_vectors(event, model), **await self._former_vectors(former)}
        vectors = await self._embed_texts(texts, known, model.dimensions, note_part)
        reference = await self._stores.blobs.put(encode_vectors(event.statements_ref, vectors))
        return reference, count

    async def _brought_vectors(self, event: PageChunked, model: ModelInfo) -> Mapping[Key, Half]:
        """Return the vectors that an index handed on with the page, if this model and stage make the same ones."""
        if event.brought_ref is None:
            return {}
        try:
            brought = BroughtVectors.decode(await self._stores.blobs.get(event.brought_ref))
        except PoisonError:  # they are not kept for good, and only save time
            return {}
        return brought.of_texts(Made(model.name, model.version, model.dimensions, VERSIONS["embed"]))

    async def _former_vectors(self, former: Indexed | None) -> dict[Key, Half]:
        """Return the vectors of the page's statements at an earlier fetch, by the hash of their text."""
        if former is None:
            return {}
        try:
            content, packed = await asyncio.gather(
                self._stores.blobs.get(former.statements_ref), self._stores.blobs.get(former.vectors_ref)
            )
            texts = texts_of(decode_statements(content))
            vectors = decode_vectors(packed, former.statements_ref).astype(np.float16)
        except PoisonError:  # a blob is missing or of another layout: all texts are embedded again
            return {}
        return dict(zip(map(text_key, texts), vectors, strict=False))

    async def _embed_texts(
        self, texts: Sequence[str], former: Mapping[Key, Half], dimensions: int, note_part: Callable[[], None]
    ) -> NDArray[np.float16]:
        """Return the vectors, made part by part, since a manual takes minutes and has to show progress."""
        self._batcher.embedder = self._stores.embedder
        vectors = np.empty((len(texts), dimensions), np.float16)
        for start in range(0, len(texts), PART_TEXTS):
            part = texts[start : start + PART_TEXTS]
            vectors[start : start + PART_TEXTS] = await self._batcher.embed(part, former)
            note_part()
        return vectors


async def build(settings: Settings, stores: Stores) -> Agent:
    return EmbedAgent(stores)
