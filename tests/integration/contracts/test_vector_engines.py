"""The contract of every vector index: each engine answers as the one in memory, and its recall is measured."""

import asyncio
import random

import httpx2
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streams.models.protocols import ModelInfo
from streams.settings import QdrantSettings
from streams.stores.memory.vectors import MemoryIndex
from streams.stores.protocols import EVERYTHING, Filters, Point, SparseVector
from streams.stores.qdrant.index import QdrantIndex
from streams.stores.statement_payload import StatementPayload
from streams.vectors.recall import NEAREST, Recall, recall_of
from tests.integration.contracts.indexes import (
    Index,
    Make,
    axis,
    filled,
    page,
    point,
    search,
    shape,
    terms,
)


async def test_the_recall_of_a_small_collection_is_whole(index: Index) -> None:
    collection = await filled(index, *(point(f"p{n}", dense=axis(n % 7, tilt=n / 40)) for n in range(40)))
    for number in range(7):
        assert await recall_of(index, collection, axis(number, 0.3)) == Recall(NEAREST, NEAREST)


async def test_the_recall_of_a_graph_that_is_searched_too_little_is_low(real_url: str) -> None:
    """Random vectors, which no graph leads to well; beside them the same collection, searched as by default."""
    starved, searched = (
        QdrantIndex(settings, production=False, alias="recall")
        for settings in (QdrantSettings(url=real_url, hnsw_ef=1, oversampling=1), QdrantSettings(url=real_url))
    )
    vectors = np.random.default_rng(7).normal(size=(4_000, 64))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    collection = await starved.ensure(ModelInfo("random", "1", 64))
    async with httpx2.AsyncClient(base_url=f"{real_url}/collections/{collection}", timeout=60) as client:
        # The graph is built at once, with few links.
        optimizers = {"indexing_threshold": 1, "max_segment_size": 100_000}
        body = {"hnsw_config": {"m": 4, "ef_construct": 8, "full_scan_threshold": 10}, "optimizers_config": optimizers}
        (await client.patch("", json=body)).raise_for_status()
        await starved.upsert(collection, [point(f"p{n}", dense=vector) for n, vector in enumerate(vectors)])
        async with asyncio.timeout(120):
            while not (
                (info := (await client.get("")).json()["result"])["status"] == "green" and info["indexed_vectors_count"]
            ):
                await asyncio.sleep(0.2)
    queries = [list(map(float, vector)) for vector in vectors[:100] + 0.02]
    means = []
    for index in (starved, searched):
        means.append(sum([(await recall_of(index, collection, query)).share for query in queries]) / len(queries))
        await index.close()
    # The server builds the graph in threads, so each run has another one.
    assert means[0] < 0.5, means
    assert means[1] > means[0] + 0.2, means


async def test_equal_scores_always_come_in_the_same_order(index: Index) -> None:
    points = [point(f"n{n}", of=f"p{n}", terms={1: 1.0}) for n in range(24)]
    await filled(index, *points)
    found = [shape(await search(index, dense=axis(7), sparse=terms(t1=1.0), pages=24)) for _ in range(5)]
    assert all(one == found[0] for one in found)
    assert [ids[0] for _, ids in found[0]] == sorted(p.id for p in points), "ties go by id"


WHOLE = ModelInfo("whole", "1", 8, normalized=False)
"""Vectors of small whole numbers under a dot product: their scores are exact on every engine, and often equal."""


def random_points(seed: int, size: int) -> list[Point]:
    """Statements as they are: some repeated word for word, words in a long-tailed distribution, several languages."""
    rng, pick = np.random.default_rng(seed), random.Random(seed)
    points: list[Point] = []
    for n in range(size):
        if points and pick.random() < 0.15:
            dense, sparse = pick.choice(points).dense, pick.choice(points).sparse
        else:
            dense = whole_vector(rng)
            found = sorted({int(t) % 40 for t in rng.zipf(1.4, int(rng.integers(0, 8)))})
            sparse = SparseVector(tuple(found), tuple(float(x) for x in rng.integers(1, 5, len(found)) / 2))
        host = f"h{pick.randrange(4)}.example"
        one = point(f"{seed}/{n}", of=f"p{pick.randrange(size // 3 + 1)}", dense=dense, host=host, ordinal=n)
        row = {**one.payload.row(), "language": pick.choice(["en", "fr"])}
        points.append(Point(one.id, one.dense, sparse, StatementPayload.of_row(row)))
    return points


def whole_vector(rng: np.random.Generator) -> list[float]:
    return [float(x) for x in rng.integers(-9, 10, 8)]


@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10_000), size=st.sampled_from([1, 7, 60, 150]))
async def test_every_index_answers_as_the_one_in_memory(make_index: Make, seed: int, size: int) -> None:
    """The reason why other tests may use memory: the same points give the same hits, payloads and scores."""
    index, memory = make_index(), MemoryIndex()
    points, pick, rng = random_points(seed, size), random.Random(seed), np.random.default_rng(seed + 1)
    for one in (index, memory):
        await one.upsert(await one.ensure(WHOLE), points)
    for filters in (Filters(), Filters(host="h1.example"), Filters(languages=("fr",), exclude_sites=("h0.example",))):
        for dense in (whole_vector(rng), None):
            sparse = SparseVector(tuple(pick.sample(range(6), 3)), (1.0, 0.5, 1.0))
            found, expected = [
                await one.candidates(dense=dense, sparse=sparse, visible=EVERYTHING, filters=filters, limit=500)
                for one in (index, memory)
            ]
            for ours, theirs in ((found.dense, expected.dense), (found.sparse, expected.sparse)):
                reason = f"{size} points of seed {seed}, {filters}"
                assert {hit.id: hit.payload for hit in ours} == {hit.id: hit.payload for hit in theirs}, reason
                # Engines add 32-bit floats in an order of their own, so that nearly equal scores may change places.
                scores = {hit.id: hit.score for hit in theirs}
                assert {hit.id: hit.score for hit in ours} == pytest.approx(scores, rel=1e-5), reason
                order = [hit.score for hit in ours]
                assert order == pytest.approx(sorted(order, reverse=True), rel=1e-5), reason


@pytest.mark.parametrize("seed", range(3))
async def test_after_removals_the_same_statements_are_left(make_index: Make, seed: int) -> None:
    """By meaning in the same order. By words the same set: an engine forgets the removed words' counts only later."""
    index, memory = make_index(), MemoryIndex()
    points, rng = random_points(seed, 150), np.random.default_rng(seed)
    for one in (index, memory):
        collection = await one.ensure(WHOLE)
        await one.upsert(collection, points)
        for number in (1, 2, 3):
            await one.remove_page(collection, page(f"p{number}"))
    vector, words = whole_vector(rng), terms(t1=1.0, t2=1.0)
    meant = [shape(await search(one, dense=vector, sparse=None, candidates=500)) for one in (index, memory)]
    assert meant[0] == meant[1]
    answers = [await search(one, dense=None, sparse=words, pages=100, candidates=500) for one in (index, memory)]
    assert {one.page_id for one in answers[0]} == {one.page_id for one in answers[1]}
    assert {page(f"p{number}") for number in (1, 2, 3)}.isdisjoint(one.page_id for one in answers[0])
