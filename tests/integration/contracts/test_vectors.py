"""The contract of every vector index: the one in memory, the local stack's server, and a real Qdrant.

The last one runs where a real Qdrant is at hand (see `qdrant_process.real_qdrant`).
"""

import asyncio
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from streams.stores.memory.vectors import MemoryIndex
from streams.stores.protocols import EVERYTHING, Candidates, Filters, Hit, SparseVector
from tests.integration.contracts.indexes import (
    MODEL,
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


async def test_before_anything_is_indexed_a_search_finds_nothing(index: Index) -> None:
    assert await search(index, dense=axis(0), sparse=terms(t1=1.0)) == [], "no collection at all"
    collection = await index.ensure(MODEL)
    assert await search(index, dense=axis(0), sparse=terms(t1=1.0)) == [], "an empty collection"
    assert await index.count(collection) == 0


async def test_upsert_twice_is_as_once(index: Index) -> None:
    collection = await filled(index, point("x"), point("y"))
    before = await search(index, dense=axis(7), sparse=None)
    await index.upsert(collection, [point("x"), point("y")])
    assert await index.count(collection) == 2
    assert await search(index, dense=axis(7), sparse=None) == before


async def test_upsert_of_nothing(index: Index) -> None:
    collection = await filled(index)
    assert await index.count(collection) == 0


async def test_many_points_in_one_call(index: Index) -> None:
    collection = await filled(index, *(point(f"n{n}", of=f"p{n % 7}", ordinal=n) for n in range(1_000)))
    assert await index.count(collection) == 1_000
    scrolled = await index.scroll(collection, page("p3"))
    assert [hit.payload.ordinal for hit in scrolled] == list(range(3, 1_000, 7)), "all of them, by ordinal"
    assert {hit.score for hit in scrolled} == {0.0}


async def test_pages_are_counted_by_the_facts_of_their_first_statements(index: Index) -> None:
    collection = await filled(
        index,
        point("a", of="a", made_statements=1, left_out=7),
        point("b", of="b", made_statements=2),
        point("c", of="c", made_statements=3),
        point("d", of="d"),
        point("e", of="e", made_statements=0, left_out=0),
    )
    assert (await index.pages_with(collection, "made_statements", below=3))[0] == 3
    assert (await index.pages_with(collection, "made_statements", below=1))[0] == 1, "made before versions"
    assert (await index.pages_with(collection, "made_statements"))[0] == 3
    count, (hit,) = await index.pages_with(collection, "left_out", limit=5)
    assert (count, hit.payload.page_id, hit.payload.left_out) == (1, page("a"), 7)
    assert [len((await index.pages_with(collection, "made_statements", limit=most))[1]) for most in (0, 2)] == [0, 2]


async def test_payloads_come_back_as_they_went(index: Index) -> None:
    text = "Ça va? \u202eעברית\u202c 漢字 👩‍👩‍👧 \u0000 \n \"quoted\" \\ 'single'"
    collection = await filled(index, point("x", text=text))
    (hit,) = (await search(index, dense=axis(7), sparse=None))[0].hits
    assert hit.payload == point("x", text=text).payload
    assert (await index.scroll(collection, page("a")))[0].payload == hit.payload


async def test_meaning_and_words_are_fused(index: Index) -> None:
    await filled(
        index,
        point("meant", of="meant", dense=axis(0), terms={5: 1.0}),
        point("both", of="both", dense=axis(0, 0.5), terms={1: 2.0, 2: 1.0}),
        point("words", of="words", dense=axis(3), terms={1: 3.0}),
        point("neither", of="neither", dense=axis(4), terms={9: 1.0}),
    )
    found = await search(index, dense=axis(0), sparse=terms(t1=1.0, t2=1.0))
    assert found[0].page_id == page("both"), "second by meaning and first by words"
    lists = await index.candidates(dense=axis(0), sparse=terms(t1=1.0, t2=1.0), visible=EVERYTHING, limit=3)
    assert [len(lists.dense), len(lists.sparse), lists.limit] == [3, 2, 3]
    assert lists.dense[0].score == pytest.approx(1.0)
    assert await index.candidates(dense=None, sparse=None, visible=EVERYTHING, limit=3) == Candidates(limit=3)
    assert found[0].score > found[1].score > 0
    dense_only = await search(index, dense=axis(0), sparse=None)
    assert [one.page_id for one in dense_only[:2]] == [page("meant"), page("both")]
    sparse_only = await search(index, dense=None, sparse=terms(t1=1.0, t2=1.0))
    assert {one.page_id for one in sparse_only} == {page("both"), page("words")}, "only what shares a word"
    assert await search(index, dense=None, sparse=None) == []
    assert await search(index, dense=None, sparse=SparseVector((), ())) == []


async def test_rare_words_weigh_more(index: Index) -> None:
    common = [point(f"c{n}", of=f"c{n}", terms={1: 1.0}) for n in range(20)]
    await filled(index, *common, point("rare", of="rare", terms={2: 1.0}))
    found = await search(index, dense=None, sparse=terms(t1=1.0, t2=1.0), pages=1)
    assert [one.page_id for one in found] == [page("rare")]


async def test_a_page_brings_its_best_statements(index: Index) -> None:
    of_a = [point(f"a{n}", of="a", dense=axis(0, n / 10), ordinal=n) for n in range(6)]
    of_b = [point(f"b{n}", of="b", dense=axis(0, 1 + n / 10), ordinal=n) for n in range(2)]
    await filled(index, *of_a, *of_b, point("c", of="c", dense=axis(3)))
    found = await search(index, dense=axis(0), sparse=None, pages=2, per_page=3)
    assert shape(found) == [(page("a"), [p.id for p in of_a[:3]]), (page("b"), [p.id for p in of_b])]
    assert all(one.score == one.hits[0].score for one in found)
    alone = await search(index, dense=axis(0), sparse=None, pages=1, per_page=1)
    assert shape(alone) == [(page("a"), [of_a[0].id])]


async def test_a_new_generation_replaces_the_old_one(index: Index) -> None:
    old = [point(f"old{n}", generation=1) for n in range(3)]
    new = [point(f"new{n}", generation=2) for n in range(2)]
    collection = await filled(index, *old, *new, point("other", of="b", generation=1))
    for _ in range(2):
        await index.remove_page(collection, page("a"), before_generation=2)
        assert {hit.id for hit in await index.scroll(collection, page("a"))} == {p.id for p in new}
        assert await index.count(collection) == 3, "the other page keeps its old generation"
    await index.remove_page(collection, page("a"))
    assert await index.scroll(collection, page("a")) == []
    assert [one.page_id for one in await search(index, dense=axis(7), sparse=None)] == [page("b")]


async def test_kept_points_stay_when_their_page_is_removed(index: Index) -> None:
    points = [point(f"p{n}", generation=2) for n in range(4)]
    collection = await filled(index, *points, point("other", of="b", generation=1))
    await index.remove_page(collection, page("a"), before_generation=2, keep=[points[0].id])
    assert len(await index.scroll(collection, page("a"))) == 4
    await index.remove_page(collection, page("a"), before_generation=3, keep=[points[0].id, points[2].id])
    assert {hit.id for hit in await index.scroll(collection, page("a"))} == {points[0].id, points[2].id}
    assert len(await index.scroll(collection, page("b"))) == 1


async def test_statements_are_counted_by_page_and_generation(index: Index) -> None:
    points = [point(f"p{n}", generation=1 + n % 2) for n in range(5)]
    collection = await filled(index, *points, point("other", of="b", generation=2))
    assert await index.count(collection) == 6
    assert await index.count(collection, page("a")) == 5
    assert [await index.count(collection, page("a"), generation) for generation in (1, 2, 3)] == [3, 2, 0]


async def test_the_nearest_statements_of_a_collection_exactly_and_as_a_search_finds_them(index: Index) -> None:
    collection = await filled(index, *(point(f"p{n}", dense=axis(0, tilt=n / 10)) for n in range(8)))
    expected = [point(f"p{n}").id for n in range(3)]
    for exact in (False, True):
        assert [hit.id for hit in await index.nearest(collection, axis(0), 3, exact=exact)] == expected


async def test_vectors_are_read_in_the_order_of_their_statements(index: Index) -> None:
    asked = [point("p2").id, point("unknown").id, point("p0").id]
    assert await index.dense_vectors(asked) == [], "no collection at all"
    collection = await filled(index, *(point(f"p{n}", dense=axis(n, tilt=0.5)) for n in range(4)))
    for name in (None, collection):
        found = await index.dense_vectors(asked, name)
        assert np.array(found) == pytest.approx(np.array([axis(2, 0.5), axis(0, 0.5)]), abs=1e-6)
    assert await index.dense_vectors([]) == []
    assert await index.dense_vectors(asked, f"{collection}-of-another-model") == []


async def test_a_point_is_read_with_its_text(index: Index) -> None:
    one = point("p1", dense=axis(1, tilt=0.5))
    assert await index.text_and_vector("no-collection", one.id) is None
    collection = await filled(index, point("p0"), one)
    found = await index.text_and_vector(collection, one.id)
    assert found is not None
    assert found[0] == one.payload.text
    assert np.array(found[1]) == pytest.approx(np.array(axis(1, 0.5)), abs=1e-6)
    assert await index.text_and_vector(collection, point("unknown").id) is None


async def test_the_best_statements_of_several_pages_for_several_vectors_are_read_at_once(index: Index) -> None:
    async def ask(*pages: str) -> list[tuple[Hit, ...]]:
        asked, vectors = [page(name) for name in pages], [axis(0), axis(1)]
        return await index.search_pages(asked, dense=vectors, sparse=terms(t1=1.0), visible=EVERYTHING, limit=1)

    assert await ask("a") == [(), (), ()], "no collection at all"
    near = {"a0": axis(0), "a1": axis(1), "b0": axis(1), "c0": axis(0)}
    await filled(index, *(point(name, of=name[0], dense=vector, terms={1: 1.0}) for name, vector in near.items()))
    found = await ask("a", "b", "unknown")
    names = [[hit.id for hit in hits] for hits in found]
    a0, a1, b0 = (point(name).id for name in ("a0", "a1", "b0"))
    assert [names[0], names[1], names[3], names[4]] == [[a0], [a1], [b0], [b0]], "a list for each page and vector"
    assert [len(each) for each in (names[2], names[5])] == [1, 1], "by words"
    assert names[6:] == [[], [], []]
    assert found[0][0].score == pytest.approx(1.0, abs=1e-6)
    assert await ask() == []


async def test_the_pages_with_each_of_several_words_are_read_at_once(index: Index) -> None:
    async def ask(*words: SparseVector, **conditions: Any) -> list[list[UUID]]:
        found = await index.pages_with_words(words, visible=EVERYTHING, limit=3, **conditions)
        return [sorted(each) for each in found]

    assert await ask(terms(t1=1.0)) == [[]], "no collection at all"
    having = {"a0": {1: 1.0}, "a1": {1: 1.0}, "b0": {1: 1.0, 2: 1.0}, "c0": {2: 1.0}}
    await filled(index, *(point(name, of=name[0], terms=words) for name, words in having.items()))
    a, b, c = (page(name) for name in "abc")
    assert await ask(terms(t1=1.0), terms(t2=1.0), terms(t9=1.0)) == [sorted([a, a, b]), sorted([b, c]), []]
    assert await ask(terms(t2=1.0), filters=Filters(exclude_pages=(c,))) == [[b]]
    assert [len(each) for each in await index.pages_with_words([terms(t1=1.0)], visible=EVERYTHING, limit=2)] == [2]
    assert await ask() == []


async def test_the_first_statements_of_several_pages_are_read_at_once(index: Index) -> None:
    assert await index.first_statements([page("a")], 2) == [], "no collection at all"
    await filled(index, *(point(f"{of}{n}", of=of, ordinal=n) for of in "abc" for n in (3, 1, 0, 2)))
    found = await index.first_statements([page("a"), page("c"), page("unknown")], 2)
    assert [hit.payload.ordinal for hit in found] == [0, 0, 1, 1]
    assert {hit.id for hit in found} == {point(name).id for name in ("a0", "a1", "c0", "c1")}
    assert await index.first_statements([], 2) == []


async def test_a_search_that_is_cancelled_by_its_callers_deadline_harms_no_other(make_index: Make) -> None:
    index = make_index()
    if isinstance(index, MemoryIndex):
        pytest.skip("memory answers at once")
    await filled(index, point("x"))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await search(index, dense=axis(7), sparse=None)
    assert await search(index, dense=axis(7), sparse=None)
