"""The cache of vectors: a text is embedded once by each model, and the vectors stay the model's."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.evaluation.vector_cache import PART_TEXTS, CachedEmbedder
from streams.models.memory import MemoryEmbedder
from streams.models.protocols import Vectors


class Recording(MemoryEmbedder):
    """An embedder that records its texts, and fails after N calls."""

    def __init__(self, version: str = "1", fails_after: int = 1_000) -> None:
        super().__init__(version=version)
        self.texts: list[str] = []
        self._calls_left = fails_after

    async def embed(self, texts: Sequence[str], role: Any, **options: Any) -> Vectors:
        if self._calls_left == 0:
            raise ConnectionError("the model is away")
        self._calls_left -= 1
        self.texts += texts
        await asyncio.sleep(0)  # as a model in a thread of its own, it lets the other one begin
        return await super().embed(texts, role)


async def test_a_second_run_embeds_what_is_new(tmp_path: Path) -> None:
    model = Recording()
    first = await CachedEmbedder([model], tmp_path).embed(["one", "two", "one"], "passage")
    again = await CachedEmbedder([model], tmp_path).embed(["two", "three", "one"], "passage")
    assert model.texts == ["one", "two", "three"]
    assert np.array_equal(again[[2, 0]], first[:2])
    assert np.allclose(first, await MemoryEmbedder().embed(["one", "two", "one"], "passage"), atol=1e-3)


async def test_each_model_has_vectors_of_its_own(tmp_path: Path) -> None:
    for version in ("1", "2"):
        model = Recording(version)
        await CachedEmbedder([model], tmp_path).embed(["one"], "passage")
        assert model.texts == ["one"]


async def test_several_embedders_share_the_texts_and_report_progress(tmp_path: Path) -> None:
    models, reports = [Recording(), Recording()], []
    texts = [f"text {number}" for number in range(3 * PART_TEXTS)]
    vectors = await CachedEmbedder(models, tmp_path, lambda *report: reports.append(report)).embed(texts, "passage")
    assert sorted(models[0].texts + models[1].texts) == sorted(texts)
    assert all(model.texts for model in models)
    assert np.allclose(vectors, await MemoryEmbedder().embed(texts, "passage"), atol=1e-3)
    assert reports[-1] == (len(texts), len(texts))


async def test_an_interrupted_run_continues_where_it_was(tmp_path: Path) -> None:
    texts = [f"text {number:04}" for number in range(2 * PART_TEXTS)]
    with pytest.raises(ExceptionGroup):
        await CachedEmbedder([Recording(fails_after=1)], tmp_path).embed(texts, "passage")
    model = Recording()
    await CachedEmbedder([model], tmp_path).embed(texts, "passage")
    assert len(model.texts) == PART_TEXTS
