"""Entities in the collection of another model: filled while panels are shown, switched by alias, and back."""

from typing import Any

import pytest

from streams.commands.operate.reindex_entities import fill_and_switch
from streams.errors import StoreUnavailable
from streams.knowledge.lookup.source import PanelSource
from streams.models.memory import MemoryEmbedder
from streams.models.protocols import ModelInfo, TextRole
from streams.seen.stores import SeenStores
from streams.settings import KnowledgeSettings
from streams.stores.opener import Stores, memory_stores
from streams.stores.protocols import EVERYTHING
from tests.stages.entities import WORLD, import_entities

PANELS = 7
"""Number of entities with a panel in this world."""


class Other(MemoryEmbedder):
    """An embedder of another model, which may fail."""

    texts = 0
    fails_after = 1_000

    async def info(self, role: TextRole = "passage") -> ModelInfo:
        return ModelInfo("another", "1", (await super().info()).dimensions)

    async def embed(self, texts: Any, role: Any, **given: Any) -> Any:
        self.texts += len(texts)
        if self.texts > self.fails_after:
            raise StoreUnavailable("the model is away")
        return await super().embed(texts, role, **given)


async def fill(stores: Stores, embedder: MemoryEmbedder, *, switch: bool = True) -> dict[str, Any]:
    return await fill_and_switch(stores, embedder, switch=switch, progress=lambda _: None)


async def panel_of(stores: Stores, query: str) -> str | None:
    panel = await PanelSource(SeenStores(stores), KnowledgeSettings()).look_up(query, EVERYTHING)
    return panel.id if panel else None


async def test_all_points_are_in_the_collection_of_the_other_model_and_searches_read_it() -> None:
    stores = await import_entities(memory_stores())
    former = await stores.entity_vectors.active()
    answer = await fill(stores, Other())
    assert answer == {
        "collection": "entities-another-1",
        "former": former,
        "searched": "entities-another-1",
        "entities": PANELS,
        "written": PANELS,
    }
    assert former
    assert await stores.entity_vectors.count(former) == PANELS, "the former one stays, for the way back"
    stores.embedder = Other()
    assert await panel_of(stores, "douglas adams") == "Q42"
    await stores.entity_vectors.activate(former)
    assert await stores.entity_vectors.active() == former


async def test_without_a_switch_searches_stay_and_a_second_run_writes_nothing() -> None:
    stores = await import_entities(memory_stores())
    former = await stores.entity_vectors.active()
    assert (await fill(stores, Other(), switch=False))["searched"] == former
    again = Other()
    assert (await fill(stores, again))["written"] == 0
    assert again.texts == 0


async def test_a_run_that_fails_switches_nothing_and_the_next_one_goes_on() -> None:
    stores = await import_entities(memory_stores())
    former = await stores.entity_vectors.active()
    failing = Other()
    failing.fails_after = 0
    with pytest.raises(StoreUnavailable):
        await fill(stores, failing)
    assert await stores.entity_vectors.active() == former
    assert (await fill(stores, Other()))["written"] == PANELS


async def test_without_entities_nothing_is_switched() -> None:
    stores = memory_stores()
    await stores.entity_vectors.ensure(await stores.embedder.info())
    former = await stores.entity_vectors.active()
    assert (await fill(stores, Other()))["entities"] == 0
    assert await stores.entity_vectors.active() == former


async def test_vectors_of_two_models_are_never_compared() -> None:
    """Between the switch and the restart of a gateway, names are found, and nothing by meaning."""
    stores = await import_entities(memory_stores(), WORLD)
    await fill(stores, Other())

    async def fail(*_: Any, **__: Any) -> Any:
        raise AssertionError("vectors of another model are compared")

    stores.entity_vectors.candidates = fail  # type: ignore[method-assign]  # it must not be asked
    stores.entity_vectors.dense_vectors = fail  # type: ignore[method-assign]  # as above
    assert await panel_of(stores, "douglas adams") == "Q42"
    assert await panel_of(stores, "english writer and humorist") is None
