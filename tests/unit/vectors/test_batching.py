"""Batches of texts of several pages: equal texts once, bounded queues, and nothing left behind by a cancelled page."""

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from streams.errors import StoreUnavailable
from streams.models.memory import MemoryEmbedder
from streams.models.protocols import TextRole, Vectors
from streams.statements.statement import text_key
from streams.vectors.batching import TextBatcher


class Recorder(MemoryEmbedder):
    """An embedder that records its batches, and answers only while the gate is open."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[list[str]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.fails = False
        self.at_once = self.most_at_once = 0

    async def embed(self, texts: Sequence[str], role: TextRole, *, deadline_seconds: float | None = None) -> Vectors:
        self.batches.append(list(texts))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await self.gate.wait()
            if self.fails:
                raise StoreUnavailable("away")
            return await super().embed(texts, role)
        finally:
            self.at_once -= 1

    @property
    def texts(self) -> list[str]:
        return [text for batch in self.batches for text in batch]


@pytest.fixture
def model() -> Recorder:
    return Recorder()


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_vectors_are_those_of_the_model_in_the_order_of_the_texts(model: Recorder) -> None:
    texts = [f"{'word ' * (n % 9)}number {n % 40}" for n in range(100)]
    found = await TextBatcher(model, batch_texts=7).embed(texts)
    assert (found == (await MemoryEmbedder().embed(texts, "passage")).astype(np.float16)).all()
    assert sorted(model.texts) == sorted(set(texts))


async def test_no_texts_have_no_vectors(model: Recorder) -> None:
    assert (await TextBatcher(model).embed([])).shape == (0, 64)
    assert model.batches == []


async def test_a_text_is_embedded_once_in_a_page_between_pages_and_later(model: Recorder) -> None:
    batcher = TextBatcher(model)
    pages = await asyncio.gather(batcher.embed(["a", "b", "a"]), batcher.embed(["b", "c"]))
    again = await batcher.embed(["c"])
    assert sorted(model.texts) == ["a", "b", "c"]
    assert (pages[1][1] == again[0]).all()
    assert batcher.counts.texts == {"embedded": 3, "repeated": 2, "recent": 1, "former": 0}


async def test_vectors_of_the_former_fetch_are_used(model: Recorder) -> None:
    former = {text_key("old"): np.full(64, 0.5, np.float16)}
    found = await TextBatcher(model).embed(["old", "new"], former)
    assert model.texts == ["new"]
    assert (found[0] == 0.5).all()


async def test_batches_have_texts_of_about_the_same_length_from_several_pages(model: Recorder) -> None:
    model.gate.clear()
    batcher = TextBatcher(model, batch_texts=4, in_flight=1)
    pages = [asyncio.create_task(batcher.embed([f"{p}", f"{p} longer text", f"{p} {'x' * 90}"])) for p in range(4)]
    await settle()
    model.gate.set()
    await asyncio.gather(*pages)
    assert [{len(text) for text in batch} for batch in model.batches] == [{1}, {13}, {92}]


async def test_what_waits_is_bounded(model: Recorder) -> None:
    """One large page and many small ones: neither the queue nor the batches at the model grow."""
    model.gate.clear()
    batcher = TextBatcher(model, batch_texts=4, in_flight=3, waiting_texts=10)
    pages = [asyncio.create_task(batcher.embed([f"{p}/{n}" for n in range(50)])) for p in range(5)]
    await settle()
    assert batcher.waiting <= 10
    model.gate.set()
    await asyncio.gather(*pages)
    assert model.most_at_once <= 3
    assert len(model.texts) == 250


async def test_recent_vectors_are_bounded(model: Recorder) -> None:
    batcher = TextBatcher(model, recent_texts=2)
    await batcher.embed(["a", "b", "c"])
    await batcher.embed(["a", "b", "c"])
    assert len(model.texts) == 3 + 1


async def test_a_failure_reaches_each_page_of_the_batch_and_the_next_try_succeeds(model: Recorder) -> None:
    batcher = TextBatcher(model, waiting_texts=4)
    model.fails = True
    failed = await asyncio.gather(batcher.embed(["a", "b"]), batcher.embed(["b", "c"]), return_exceptions=True)
    assert [type(one) for one in failed] == [StoreUnavailable, StoreUnavailable]
    model.fails = False
    for _ in range(3):  # the room of the failed texts is free again
        assert (await batcher.embed(["a", "b", "c", "d"])).shape == (4, 64)


async def test_a_page_that_is_cancelled_leaves_nothing_behind(model: Recorder) -> None:
    """The process goes on with other pages, some of which share a text with the cancelled one."""
    model.gate.clear()
    batcher = TextBatcher(model, batch_texts=2, in_flight=1, waiting_texts=6)
    cancelled = asyncio.create_task(batcher.embed(["a", "b", "c", "d", "shared"]))
    await settle()
    other = asyncio.create_task(batcher.embed(["shared"]))
    await settle()
    cancelled.cancel()
    await asyncio.gather(cancelled, return_exceptions=True)
    model.gate.set()
    assert (await other == (await MemoryEmbedder().embed(["shared"], "passage")).astype(np.float16)).all()
    assert "d" not in model.texts
    assert (await batcher.embed([f"more {n}" for n in range(30)])).shape == (30, 64)
    assert batcher.waiting == 0


async def test_close_ends_what_waits(model: Recorder) -> None:
    model.gate.clear()
    batcher = TextBatcher(model, batch_texts=2, in_flight=1)
    page = asyncio.create_task(batcher.embed(["a", "b", "c"]))
    await settle()
    await batcher.close()
    with pytest.raises(asyncio.CancelledError):
        await page
