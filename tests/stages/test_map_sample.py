"""The pages and vectors of a map, over memory stores: nothing is drawn twice, and each vector keeps its own page."""

import random
from collections.abc import Sequence
from uuid import UUID

import pytest

from streams.maintenance import sampling
from streams.maintenance.sampling import sample_pages, statement_vectors
from streams.stores.memory import MemoryIndex
from streams.stores.opener import Stores, memory_stores
from tests.stages.reindexing import index_page

PAGES = 40


@pytest.fixture(scope="module")
async def stores() -> Stores:
    made = memory_stores()
    for number in range(PAGES):
        await index_page(made, number)
    await made.vectors.activate(await made.vectors.ensure(await made.embedder.info()))
    return made


@pytest.mark.parametrize(
    ("number", "found"),
    [
        (5, 5),  # of 40 pages, more than the 20 that may be looked at: drawn from the ring
        (30, 30),  # all pages are read first, and the sample ends within a part that is read together
        (60, PAGES),  # more than there are
    ],
)
async def test_a_sample_has_different_pages_and_no_more_than_asked(stores: Stores, number: int, found: int) -> None:
    drawn = await sample_pages(stores.pages, random.Random(3), number, lambda _: True)
    assert len(drawn) == len(set(drawn)) == found


async def test_only_wanted_pages_are_in_a_sample(stores: Stores) -> None:
    (first,) = await sample_pages(stores.pages, random.Random(1), 1, lambda _: True)
    only = await sample_pages(stores.pages, random.Random(2), 60, lambda page: page.page_id == first)
    assert only == [first]


class Losing(MemoryIndex):
    """An index from which a statement is removed between two requests."""

    lost: UUID | None = None

    async def dense_vectors(self, ids: Sequence[UUID], collection: str | None = None) -> list[Sequence[float]]:
        return await super().dense_vectors([id for id in ids if id != self.lost], collection)


@pytest.mark.parametrize("together", [512, 7])
async def test_a_vector_belongs_to_the_page_of_its_statement(
    stores: Stores, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "TOGETHER_VECTORS", together)
    sample = await sample_pages(stores.pages, random.Random(4), PAGES, lambda _: True)
    hits = await stores.vectors.first_statements(sample, 8)
    expected = [(hit.payload.page_id, await stores.vectors.dense_vectors([hit.id])) for hit in hits]
    owners, vectors = await statement_vectors(stores.vectors, hits)
    assert [(owner, [vector]) for owner, vector in zip(owners, vectors, strict=True)] == expected

    assert isinstance(stores.vectors, MemoryIndex)
    losing = Losing()
    losing.__dict__.update(stores.vectors.__dict__)
    losing.lost = hits[2].id
    owners, vectors = await statement_vectors(losing, hits)
    assert [(owner, [vector]) for owner, vector in zip(owners, vectors, strict=True)] == expected[:2] + expected[3:]
