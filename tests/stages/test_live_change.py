"""The model of a running installation changes without a gap: for queries, and for pages that are indexed meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from schemas.ids import page_id
from streams.commands.operate import reindex as reindex_module
from streams.commands.operate.reindex import _fill_and_switch
from streams.errors import StoreUnavailable
from streams.gateway.app import create_app
from streams.maintenance.reindexing import Reindexer
from streams.models.memory import MemoryEmbedder, MemoryOtherModels
from streams.models.protocols import Embedder, ModelInfo
from streams.settings import GatewaySettings, Settings
from streams.stores import searched_model
from streams.stores.opener import Stores
from streams.stores.protocols import EVERYTHING
from streams.stores.searched_model import SearchedModel
from streams.vectors.bm25 import query_vector
from tests.stages.gateway_fakes import NOW, client
from tests.stages.reindexing import PAGES, filled_stores, index_page, url

FORMER, NEXT = MemoryEmbedder(), MemoryEmbedder(32, name="next")


class Repository(MemoryOtherModels):
    """Other models that may be away, and the number of questions for one."""

    asked, is_away = 0, False

    async def find(self, fits: Callable[[ModelInfo], bool]) -> Embedder | None:
        self.asked += 1
        if self.is_away:
            raise StoreUnavailable("the models are away")
        return await super().find(fits)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look reads the alias, and a switch is seen at once."""
    monkeypatch.setattr(searched_model, "CHECK_SECONDS", 0.0)
    monkeypatch.setattr(reindex_module, "SEEN_SECONDS", 0.0)


@pytest.fixture
async def stores() -> Stores:
    made = await filled_stores()
    made.other_models = Repository(FORMER, NEXT)
    return made


def process(stores: Stores, own: MemoryEmbedder, *others: MemoryEmbedder) -> Stores:
    """The stores of a process whose settings name this model."""
    return replace(stores, embedder=own, other_models=Repository(own, *others))


async def change(stores: Stores) -> str:
    """Run `riffle reindex` for the next model. Return the collection that searches read then."""
    collection = await stores.vectors.ensure(await NEXT.info())
    assert await _fill_and_switch(stores, Reindexer(stores, NEXT), collection, switch=True, as_json=True) == 0
    return await stores.vectors.active() or ""


@asynccontextmanager
async def gateway(stores: Stores) -> AsyncIterator[Callable[[str], Any]]:
    async def publish(event: object, cause: str | None = None) -> None: ...

    settings = Settings(gateway=GatewaySettings(deadline_seconds=20.0, allowed_hosts=("riffle.test",)))
    async with client(create_app(settings, stores, publish=publish, clock=lambda: NOW)) as web:

        async def ask(query: str) -> dict[str, Any]:
            answer = (await web.get("/api/v1/search", params={"q": query, "explain": "true"})).json()
            assert answer["explain"]["parts"]["dense"] in ("ok", "cached"), answer["reasons"]
            assert answer["partial"] is False
            found: dict[str, Any] = answer
            return found

        yield ask


@pytest.mark.parametrize("own", [FORMER, NEXT], ids=["settings of the former model", "settings of the next model"])
async def test_each_query_is_embedded_by_the_model_of_the_collection_that_it_searches(
    stores: Stores, own: MemoryEmbedder
) -> None:
    models: list[str] = []
    async with gateway(process(stores, own, FORMER, NEXT)) as ask:

        async def ask_on() -> None:
            number = 0
            while True:
                answer = await ask(f"first statement 1 of page {number % PAGES}")
                assert answer["results"], "vectors of one model fit no collection of the other one: 64 and 32 numbers"
                models.append(answer["explain"]["model"])
                number += 1

        asking = asyncio.create_task(ask_on())
        await asyncio.sleep(0.05)
        await change(stores)
        while "next/1" not in models[-3:]:
            assert not asking.done(), asking.result()
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert models == sorted(models), "each model once: feature-hashing, next"
    assert set(models) == {"feature-hashing/1", "next/1"}


async def test_a_dropped_collection_is_left_at_the_next_look(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    async with gateway(process(stores, FORMER, NEXT)) as ask:
        await ask("first statement 1 of page 1")
        monkeypatch.setattr(searched_model, "CHECK_SECONDS", 3_600.0)
        former = await stores.vectors.active() or ""
        await change(stores)
        await stores.vectors.drop(former)
        found = await process(stores, FORMER).vectors.candidates(
            dense=None, sparse=query_vector("statement"), visible=EVERYTHING, collection=former
        )
        assert found.sparse, "until the next look, words are searched"
        monkeypatch.setattr(searched_model, "CHECK_SECONDS", 0.0)
        with suppress(AssertionError):  # the search that begins the look
            await ask("first statement 1 of page 2")
        assert (await ask("first statement 1 of page 2"))["results"]


async def test_a_model_that_is_away_leaves_the_former_one(stores: Stores) -> None:
    own = process(stores, FORMER, NEXT)
    async with gateway(own) as ask:
        await ask("first statement 1 of page 1")
        own.other_models.is_away = True  # type: ignore[attr-defined]  # of the fake
        await change(stores)
        assert (await ask("first statement 1 of page 2"))["explain"]["model"] == "feature-hashing/1"
        own.other_models.is_away = False  # type: ignore[attr-defined]  # of the fake
        while (await ask("first statement 1 of page 3"))["explain"]["model"] != "next/1":
            await asyncio.sleep(0.01)


async def assert_searched(stores: Stores, numbers: Sequence[int], words: str, model: MemoryEmbedder = NEXT) -> None:
    """Check that the searched collection holds these pages in this form, with vectors of the model."""
    collection = await stores.vectors.active() or ""
    assert "next" in collection
    for number in numbers:
        hits = await stores.vectors.scroll(collection, page_id(url(number)))
        texts = [f"{words} statement {n} of page {number}" for n in range(3)]
        assert [hit.payload.text for hit in hits] == texts
        held = await stores.vectors.dense_vectors([hit.id for hit in hits], collection)
        wanted = await model.embed([f"Title\n{text}" for text in texts], "passage")
        assert np.abs(np.array(held) - wanted).max() < 1e-3


@pytest.mark.parametrize("own", [FORMER, NEXT], ids=["workers of the former model", "workers of the next model"])
async def test_a_page_that_is_indexed_meanwhile_is_searched(stores: Stores, own: MemoryEmbedder) -> None:
    worker = process(stores, own, FORMER, NEXT)
    changed: list[int] = []
    is_over = asyncio.Event()

    async def index_on() -> None:
        for number in range(PAGES):
            await index_page(worker, number, generation=2, words="second")
            changed.append(number)
            former = await stores.vectors.active() or ""
            held = await stores.vectors.scroll(former, page_id(url(number)))
            assert all(hit.payload.text.startswith("second") for hit in held), "searches find it at once"
            await asyncio.sleep(0)
        is_over.set()

    indexing = asyncio.create_task(index_on())
    while len(changed) < PAGES // 4:
        await asyncio.sleep(0)
    await change(stores)
    await indexing
    await index_page(worker, PAGES, words="second")  # a new page, behind the switch
    await assert_searched(stores, range(PAGES + 1), "second")


async def test_a_page_that_was_written_between_the_switch_and_the_look_is_found_by_the_last_pass(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = process(stores, FORMER, NEXT)
    await index_page(worker, 0)  # its look at the alias
    activate = stores.vectors.activate

    async def activate_and_index(collection: str) -> None:
        await activate(collection)
        await index_page(process(stores, FORMER), 3, generation=2, words="second")  # a worker without the next model

    monkeypatch.setattr(stores.vectors, "activate", activate_and_index)
    await change(stores)
    await assert_searched(stores, [3], "second")


async def test_an_older_page_yields_in_the_searched_collection_too(stores: Stores) -> None:
    await change(stores)
    worker = process(stores, FORMER, NEXT)
    await index_page(worker, 5, generation=3, words="third")
    await index_page(worker, 5, generation=2, words="second")
    await index_page(process(stores, NEXT), 6, generation=3, words="third")  # another worker has the next model already
    await index_page(worker, 6, generation=2, words="second")
    await assert_searched(stores, [5, 6], "third")


async def test_the_alias_is_read_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searched_model, "CHECK_SECONDS", 15.0)
    reads, now = 0, [0.0]

    async def read() -> str:
        nonlocal reads
        reads += 1
        return "statements-next-1"

    models = Repository(FORMER, NEXT)
    model = SearchedModel(lambda: FORMER, lambda: models, read, clock=lambda: now[0])
    for now[0] in (0.0, 1.0, 14.9, 15.0, 29.0, 30.0):
        await model.look()
        await model.refresh()
        assert (await model.info("query")).name == "next"
    assert (reads, models.asked) == (3, 1)
