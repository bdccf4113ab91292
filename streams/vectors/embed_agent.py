"""The embed stage: a page's statements become vectors, each statement in its context.

The vectors of unchanged statements are not computed again: the page's record names those of the same model.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schemas import Event, PageChunked, PageEmbedded
from streams.runtime.agent import Agent, Delivery
from streams.settings import Settings
from streams.statements.codec import decode_statements
from streams.stores.opener import Stores
from streams.stores.protocols import ModelInfo
from streams.vectors.codec import encode_vectors
from streams.vectors.points import texts_of

PART_TEXTS = 512
"""Maximum texts that are embedded before the stage shows progress."""
Vectors = NDArray[np.float32]


class EmbedAgent(Agent):
    """Blob (vectors) -> record (`embedded`) -> PageEmbedded."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        event = delivery.event
        assert isinstance(event, PageChunked)
        model = await self._stores.embedder.info()
        basis = {
            "statements_ref": event.statements_ref,
            "model": model.name,
            "model_version": model.version,
            "dimensions": model.dimensions,
        }
        made = await self._made_before(event, basis) or await self._make(event, model)
        facts = {"url": event.url, "generation": event.generation, **basis, **made}
        await self._stores.pages.put(event.page_id, "embedded", facts, delivery.at)
        return [PageEmbedded.model_validate({**facts, "page_id": event.page_id, "crawl_id": event.crawl_id})]

    async def _made_before(self, event: PageChunked, basis: Mapping[str, Any]) -> dict[str, Any] | None:
        """The vectors of an earlier fetch, if they were made of the same statements by the same model."""
        record = (await self._stores.pages.get(event.page_id)).get("embedded", {})
        names = ("vectors_ref", "statements")
        if any(record.get(name) != value for name, value in basis.items()) or not all(name in record for name in names):
            return None
        return {name: record[name] for name in names}

    async def _make(self, event: PageChunked, model: ModelInfo) -> dict[str, Any]:
        page = decode_statements(await self._stores.blobs.get(event.statements_ref))
        vectors = await self._embedded(texts_of(page), model.dimensions)
        reference = await self._stores.blobs.put(encode_vectors(event.statements_ref, vectors))
        return {"vectors_ref": reference, "statements": len(page.statements)}

    async def _embedded(self, texts: Sequence[str], dimensions: int) -> Vectors:
        """The vectors, made part by part, since a manual's index takes minutes and has to show progress."""
        parts: list[Vectors] = []
        for start in range(0, len(texts), PART_TEXTS):
            parts.append(await self._stores.embedder.embed(texts[start : start + PART_TEXTS]))
            self.steps += 1
        return np.concatenate(parts) if parts else np.empty((0, dimensions), np.float32)


async def build(settings: Settings, stores: Stores) -> Agent:
    return EmbedAgent(stores)
