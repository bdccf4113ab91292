"""The contract of every vector index: collections of models, and the alias by which searches read one of them."""

import asyncio
from uuid import UUID

import httpx
import pytest

from streams.errors import PoisonError, StoreUnavailable, UsageError
from streams.models.protocols import ModelInfo
from streams.settings import QdrantSettings
from streams.stores.protocols import EVERYTHING
from streams.stores.qdrant.index import QdrantIndex
from tests.integration.contracts.indexes import (
    MODEL,
    Index,
    axis,
    filled,
    page,
    point,
    search,
    shape,
)


async def test_ensure_twice_is_as_once(index: Index) -> None:
    first = await index.ensure(MODEL)
    assert first.endswith("-mini-1")
    await index.upsert(first, [point("x")])
    assert await index.ensure(MODEL) == first
    assert await index.count(first) == 1
    assert await index.collections() == [first]


async def test_ensure_at_the_same_time_in_many_workers(index: Index) -> None:
    names = await asyncio.gather(*(index.ensure(MODEL) for _ in range(8)))
    assert set(names) == {names[0]}
    assert await index.collections() == [names[0]]


async def test_a_model_that_changed_its_dimensions_is_refused(index: Index) -> None:
    await index.ensure(MODEL)
    with pytest.raises(UsageError, match="new version"):
        await index.ensure(ModelInfo("mini", "1", 9))


@pytest.mark.parametrize("server", ["local_url", "real_url"])
@pytest.mark.parametrize(("alias", "command"), [("statements", "riffle reindex"), ("entities", "reindex --entities")])
async def test_a_collection_without_words_of_private_sites_is_refused_until_it_is_removed(
    request: pytest.FixtureRequest, server: str, alias: str, command: str
) -> None:
    url = request.getfixturevalue(server)
    index = QdrantIndex(QdrantSettings(url=url), production=False, alias=alias)
    former = {
        "vectors": {"dense": {"size": 8, "distance": "Cosine"}},
        "sparse_vectors": {"sparse": {"modifier": "idf"}},
    }
    async with httpx.AsyncClient(base_url=url) as client:
        (await client.put(f"/collections/{alias}-mini-1", json=former)).raise_for_status()
        with pytest.raises(UsageError, match=f"curl -X DELETE {url}/collections/{alias}-mini-1.*{command}$"):
            await index.ensure(MODEL)
        await index._point_alias(f"{alias}-mini-1", None)
        (await client.delete(f"/collections/{alias}-mini-1")).raise_for_status()
    await index.ensure(MODEL)
    assert await index.active() == f"{alias}-mini-1"
    await index._client.delete_collection(f"{alias}-mini-1")
    await index.close()


async def test_a_models_name_may_hold_any_character(index: Index) -> None:
    name = await index.ensure(ModelInfo("sentence transformers/mini lm", "2.0", 8))
    assert name.endswith("-sentence-transformers-mini-lm-2.0")


async def test_a_vector_of_another_length_is_poison(index: Index) -> None:
    collection = await filled(index, point("x"))
    with pytest.raises(PoisonError, match="dim"):
        await index.upsert(collection, [point("y", dense=[1.0, 0.0])])
    with pytest.raises(PoisonError, match="dim"):
        await search(index, dense=[1.0, 0.0], sparse=None)
    assert await index.count(collection) == 1


async def test_an_unknown_collection_is_worth_another_try(index: Index) -> None:
    await index.ensure(MODEL)
    for call in (
        index.upsert("nowhere", [point("x")]),
        index.count("nowhere"),
        index.scroll("nowhere", page("a")),
        index.remove_page("nowhere", page("a")),
    ):
        with pytest.raises(StoreUnavailable, match="nowhere"):
            await call


async def test_the_active_collection_is_the_one_that_searches_read(index: Index) -> None:
    assert await index.active() is None
    first = await index.ensure(MODEL)
    second = await index.ensure(ModelInfo("mini", "2", 8))
    assert await index.active() == first
    await index.activate(second)
    assert await index.active() == second


async def test_the_alias_moves_all_searches_at_once(index: Index) -> None:
    old = await filled(index, point("old", of="old"))
    new = await index.ensure(ModelInfo("mini", "2", 8))
    await index.upsert(new, [point("new", of="new")])
    assert await index.collections() == sorted([old, new])
    assert shape(await search(index, dense=axis(7), sparse=None))[0][0] == page("old"), "ensure() keeps the alias"

    async def first() -> UUID:
        return (await search(index, dense=axis(7), sparse=None))[0].page_id

    switching = asyncio.create_task(index.activate(new))
    seen = [await first() for _ in range(40)]
    while not switching.done():
        seen.append(await first())
    await switching
    seen.append(await first())
    assert seen == sorted(seen, key=[page("old"), page("new")].index), "never back, never nothing"
    assert seen[-1] == page("new")
    await index.activate(new)
    named = await index.candidates(dense=axis(7), sparse=None, visible=EVERYTHING, collection=old)
    assert [hit.payload.page_id for hit in named.dense] == [page("old")], "a search may read the former one on"
    of_page = await index.search_pages([page("old")], dense=[axis(7)], sparse=None, visible=EVERYTHING, collection=old)
    assert [len(hits) for hits in of_page] == [1]
    with pytest.raises(UsageError, match="Activate another"):
        await index.drop(new)
    await index.drop(old)
    left = await index.candidates(dense=axis(7), sparse=None, visible=EVERYTHING, collection=old)
    assert [hit.payload.page_id for hit in left.dense] == [page("new")], "of one that was dropped: the alias's"
    await index.drop(old)
    assert await index.collections() == [new]


async def test_activating_what_is_not_there_changes_nothing(index: Index) -> None:
    await filled(index, point("x"))
    with pytest.raises(UsageError, match="no collection nowhere"):
        await index.activate("nowhere")
    assert len(await search(index, dense=axis(7), sparse=None)) == 1


async def test_a_server_that_is_not_there_is_named() -> None:
    index = QdrantIndex(QdrantSettings(url="http://127.0.0.1:9"), production=False)
    with pytest.raises(StoreUnavailable, match=r"http://127\.0\.0\.1:9 can't be reached.*riffle up"):
        await search(index, dense=axis(0), sparse=None)
    await index.close()
