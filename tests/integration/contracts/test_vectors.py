"""The contract of every vector index: the one in memory, the local stack's server, and a real Qdrant.

The last one runs where a real Qdrant is at hand (see `qdrant_process.real_qdrant`).
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from uuid import UUID, uuid4, uuid5

import httpx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streams.errors import PoisonError, StoreUnavailable, UsageError
from streams.models.protocols import ModelInfo
from streams.search.ranking.fusion import first_pages, merge_lists
from streams.settings import QdrantSettings
from streams.stores.memory.vectors import MemoryIndex
from streams.stores.protocols import Candidates, Filters, PageHits, Point, SparseVector
from streams.stores.qdrant.index import QdrantIndex
from streams.stores.statement_payload import StatementPayload, day_of, extension_of
from streams.stores.vector_collection import ANY
from streams.vectors.recall import NEAREST, Recall, recall_of
from tests.integration.qdrant_process import NO_REAL_QDRANT, QdrantProcess, RealQdrantProcess, real_qdrant

Index = MemoryIndex | QdrantIndex
Make = Callable[[], Index]

MODEL = ModelInfo("mini", "1", 8)
NAMES = UUID("3f0c8f0e-5a0b-4c7e-9b55-0f6d7f3a1c11")


@pytest.fixture(scope="session")
def local_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = QdrantProcess(tmp_path_factory.mktemp("qdrant") / "data")
    server.start()
    yield server.url
    server.stop()


@pytest.fixture(scope="session")
def real_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if not real_qdrant():
        pytest.skip(NO_REAL_QDRANT)
    server = RealQdrantProcess(tmp_path_factory.mktemp("real-qdrant") / "data")
    server.start()
    yield server.url
    server.stop()


@pytest.fixture(params=["memory", "local", "real"])
async def make(request: pytest.FixtureRequest) -> AsyncIterator[Make]:
    """Makes indexes under an alias of their own."""
    made: list[Index] = []
    url = "" if request.param == "memory" else request.getfixturevalue(f"{request.param}_url")

    def index() -> Index:
        alias = f"t{uuid4().hex[:12]}"
        if request.param == "memory":
            made.append(MemoryIndex(alias))
        else:
            made.append(QdrantIndex(QdrantSettings(url=url), production=False, alias=alias))
        return made[-1]

    yield index
    for one in made:
        for name in await one.collections():
            with suppress(UsageError):
                await one.drop(name)
        await one.close()


@pytest.fixture
def index(make: Make) -> Index:
    return make()


def page(name: str) -> UUID:
    return uuid5(NAMES, name)


def point(
    name: str,
    of: str = "a",
    dense: Sequence[float] | None = None,
    terms: dict[int, float] | None = None,
    host: str = "a.example",
    language: str = "en",
    generation: int = 1,
    ordinal: int = 0,
    text: str = "",
) -> Point:
    """A statement of page `of`. Without other arguments it matches no query of these tests."""
    row = {
        "page_id": str(page(of)),
        "url": f"https://{host}/{of}",
        "host": host,
        "sites": [host, "above.example"] if host == "c.example" else [host],
        "title": of,
        "text": text or f"Statement {name}.",
        "context": text,
        "ordinal": ordinal,
        "language": language,
        "generation": generation,
    }
    vector = list(dense) if dense is not None else axis(7)
    sparse = SparseVector(tuple(terms or {}), tuple((terms or {}).values()))
    return Point(uuid5(NAMES, name), vector, sparse, StatementPayload.of_row(row))


def axis(number: int, tilt: float = 0.0) -> list[float]:
    """A unit vector along one axis, tilted a little towards the last."""
    vector = np.zeros(8)
    vector[number] += 1
    vector[7] += tilt
    return [float(x) for x in vector / np.linalg.norm(vector)]


def terms(**weights: float) -> SparseVector:
    return SparseVector(tuple(int(name[1:]) for name in weights), tuple(weights.values()))


def shape(found: Sequence[PageHits]) -> list[tuple[UUID, list[UUID]]]:
    return [(one.page_id, [hit.id for hit in one.hits]) for one in found]


async def search(
    index: Index,
    *,
    dense: Sequence[float] | None,
    sparse: SparseVector | None,
    filters: Filters = ANY,
    pages: int = 10,
    per_page: int = 3,
    candidates: int = 100,
) -> list[PageHits]:
    """The first pages of the two lists, as the gateway combines them."""
    found = await index.candidates(dense=dense, sparse=sparse, filters=filters, limit=candidates)
    return first_pages(merge_lists(found), pages, per_page)


async def filled(index: Index, *points: Point) -> str:
    collection = await index.ensure(MODEL)
    await index.upsert(collection, points)
    return collection


async def test_before_anything_is_indexed_a_search_finds_nothing(index: Index) -> None:
    assert await search(index, dense=axis(0), sparse=terms(t1=1.0)) == [], "no collection at all"
    collection = await index.ensure(MODEL)
    assert await search(index, dense=axis(0), sparse=terms(t1=1.0)) == [], "an empty collection"
    assert await index.count(collection) == 0


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


async def test_a_models_name_may_hold_any_character(index: Index) -> None:
    name = await index.ensure(ModelInfo("sentence transformers/mini lm", "2.0", 8))
    assert name.endswith("-sentence-transformers-mini-lm-2.0")


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


async def test_payloads_come_back_as_they_went(index: Index) -> None:
    text = "Ça va? \u202eעברית\u202c 漢字 👩‍👩‍👧 \u0000 \n \"quoted\" \\ 'single'"
    collection = await filled(index, point("x", text=text))
    (hit,) = (await search(index, dense=axis(7), sparse=None))[0].hits
    assert hit.payload == point("x", text=text).payload
    assert (await index.scroll(collection, page("a")))[0].payload == hit.payload


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
    lists = await index.candidates(dense=axis(0), sparse=terms(t1=1.0, t2=1.0), limit=3)
    assert [len(lists.dense), len(lists.sparse), lists.limit] == [3, 2, 3]
    assert lists.dense[0].score == pytest.approx(1.0)
    assert await index.candidates(dense=None, sparse=None, limit=3) == Candidates(limit=3)
    assert found[0].score > found[1].score > 0
    dense_only = await search(index, dense=axis(0), sparse=None)
    assert [one.page_id for one in dense_only[:2]] == [page("meant"), page("both")]
    sparse_only = await search(index, dense=None, sparse=terms(t1=1.0, t2=1.0))
    assert {one.page_id for one in sparse_only} == {page("both"), page("words")}, "only what shares a word"
    assert await search(index, dense=None, sparse=None) == []
    assert await search(index, dense=None, sparse=SparseVector((), ())) == []


async def test_what_a_page_says_twice_is_one_hit_of_it(index: Index) -> None:
    """The better one, whatever its case and spaces; what another page says is another's."""
    texts = ("Do boats float?", "They do.", "do  BOATS\nfloat?", "Some sink.")
    of_a = [point(f"a{n}", of="a", dense=axis(0, n / 10), ordinal=n, text=text) for n, text in enumerate(texts)]
    await filled(index, *of_a, point("b", of="b", dense=axis(0, 1), text="Do boats float?"))
    found = await search(index, dense=axis(0), sparse=None, pages=2, per_page=3)
    assert shape(found) == [(page("a"), [of_a[0].id, of_a[1].id, of_a[3].id]), (page("b"), [uuid5(NAMES, "b")])]


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


FILTERS = [
    (Filters(host="b.example"), {"b1", "b2"}, "one host"),
    (Filters(languages=("fr",)), {"b2", "c"}, "one language"),
    (Filters(host="b.example", languages=("fr",)), {"b2"}, "both must hold"),
    (Filters(languages=("de", "fr")), {"b2", "c", "d"}, "any of several languages"),
    (Filters(languages=("de", "")), {"d", "unknown"}, "a language, or none that is known"),
    (Filters(exclude_sites=("b.example", "c.example", "d.example")), {"a"}, "hosts left out"),
    (Filters(host="b.example", exclude_sites=("b.example",)), set(), "left out wins"),
    (Filters(sites=("b.example", "c.example")), {"b1", "b2", "c"}, "some sites"),
    (Filters(sites=("above.example",)), {"c"}, "a site with its subdomains"),
    (Filters(exclude_sites=("b.example", "above.example", "d.example")), {"a"}, "sites left out"),
    (Filters(page_id=uuid5(NAMES, "b1")), {"b1"}, "within a page"),
    (Filters(host="b.example", exclude_pages=(uuid5(NAMES, "b1"),)), {"b2"}, "a page left out"),
    (Filters(host="B.example"), set(), "as it was written"),
]


@pytest.mark.parametrize(("filters", "pages", "why"), FILTERS, ids=[why for _, _, why in FILTERS])
async def test_filters(index: Index, filters: Filters, pages: set[str], why: str) -> None:
    await filled(
        index,
        point("a", of="a", terms={1: 1.0}),
        point("b1", of="b1", host="b.example", terms={1: 1.0}),
        point("b2", of="b2", host="b.example", language="fr", terms={1: 1.0}),
        point("c", of="c", host="c.example", language="fr", terms={1: 1.0}),
        point("d", of="d", host="d.example", language="de", terms={1: 1.0}),
        point("unknown", of="unknown", host="d.example", language="", terms={1: 1.0}),
    )
    for dense, sparse in ((axis(7), None), (None, terms(t1=1.0)), (axis(7), terms(t1=1.0))):
        found = await search(index, dense=dense, sparse=sparse, filters=filters)
        assert {one.page_id for one in found} == {page(name) for name in pages}, why


async def test_filters_come_before_candidates_are_cut(index: Index) -> None:
    near = [point(f"n{n}", of=f"n{n}", dense=axis(0)) for n in range(30)]
    await filled(index, *near, point("far", of="far", dense=axis(3), host="far.example"))
    found = await search(index, dense=axis(0), sparse=None, filters=Filters(host="far.example"), candidates=5)
    assert [one.page_id for one in found] == [page("far")]


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


async def test_the_first_statements_of_several_pages_are_read_at_once(index: Index) -> None:
    assert await index.first_statements([page("a")], 2) == [], "no collection at all"
    await filled(index, *(point(f"{of}{n}", of=of, ordinal=n) for of in "abc" for n in (3, 1, 0, 2)))
    found = await index.first_statements([page("a"), page("c"), page("unknown")], 2)
    assert [hit.payload.ordinal for hit in found] == [0, 0, 1, 1]
    assert {hit.id for hit in found} == {point(name).id for name in ("a0", "a1", "c0", "c1")}
    assert await index.first_statements([], 2) == []


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
    async with httpx.AsyncClient(base_url=f"{real_url}/collections/{collection}", timeout=60) as client:
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
    with pytest.raises(UsageError, match="Activate another"):
        await index.drop(new)
    await index.drop(old)
    await index.drop(old)
    assert await index.collections() == [new]


async def test_activating_what_is_not_there_changes_nothing(index: Index) -> None:
    await filled(index, point("x"))
    with pytest.raises(UsageError, match="no collection nowhere"):
        await index.activate("nowhere")
    assert len(await search(index, dense=axis(7), sparse=None)) == 1


async def test_equal_scores_always_come_in_the_same_order(index: Index) -> None:
    points = [point(f"n{n}", of=f"p{n}", terms={1: 1.0}) for n in range(24)]
    await filled(index, *points)
    found = [shape(await search(index, dense=axis(7), sparse=terms(t1=1.0), pages=24)) for _ in range(5)]
    assert all(one == found[0] for one in found)
    assert [ids[0] for _, ids in found[0]] == sorted(p.id for p in points), "ties go by id"


async def test_a_search_that_is_cancelled_by_its_callers_deadline_harms_no_other(make: Make) -> None:
    index = make()
    if isinstance(index, MemoryIndex):
        pytest.skip("memory answers at once")
    await filled(index, point("x"))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await search(index, dense=axis(7), sparse=None)
    assert await search(index, dense=axis(7), sparse=None)


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
async def test_every_index_answers_as_the_one_in_memory(make: Make, seed: int, size: int) -> None:
    """The reason why other tests may use memory: the same points give the same hits, payloads and scores."""
    index, memory = make(), MemoryIndex()
    points, pick, rng = random_points(seed, size), random.Random(seed), np.random.default_rng(seed + 1)
    for one in (index, memory):
        await one.upsert(await one.ensure(WHOLE), points)
    for filters in (Filters(), Filters(host="h1.example"), Filters(languages=("fr",), exclude_sites=("h0.example",))):
        for dense in (whole_vector(rng), None):
            sparse = SparseVector(tuple(pick.sample(range(6), 3)), (1.0, 0.5, 1.0))
            found, expected = [
                await one.candidates(dense=dense, sparse=sparse, filters=filters, limit=500) for one in (index, memory)
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
async def test_after_removals_the_same_statements_are_left(make: Make, seed: int) -> None:
    """By meaning in the same order. By words the same set: an engine forgets the removed words' counts only later."""
    index, memory = make(), MemoryIndex()
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


async def test_a_server_that_is_not_there_is_named() -> None:
    index = QdrantIndex(QdrantSettings(url="http://127.0.0.1:9"), production=False)
    with pytest.raises(StoreUnavailable, match=r"http://127\.0\.0\.1:9 can't be reached.*riffle up"):
        await search(index, dense=axis(0), sparse=None)
    await index.close()


OF_ALL_ROWS: list[tuple[Filters, set[str]]] = [
    (Filters(phrases=("write-ahead log",)), {"wal", "context", "title"}),
    (Filters(phrases=("Ahead",)), {"wal", "context", "title", "other"}),
    (Filters(phrases=("log ahead",)), set()),
    (Filters(phrases=("ahead", "kept")), {"wal"}),
    (Filters(phrases=("SQLITE_BUSY",)), {"code"}),
    (Filters(phrases=("été",)), {"french"}),
    (Filters(title_phrases=("write ahead",)), {"title"}),
    (Filters(exclude_phrases=("ahead",)), {"code", "french"}),
    (Filters(exclude_phrases=("ahead", "busy")), {"french"}),
    (Filters(page_types=("howto", "recipe")), {"wal", "code"}),
    (Filters(extensions=("pdf",)), {"code"}),
    (Filters(extensions=("html",)), {"wal", "context", "title", "other", "french"}),
    (Filters(from_day=20240500), {"wal", "context"}),
    (Filters(before_day=20240500), {"title", "other"}),
    (Filters(from_day=20240101, before_day=20240503), {"context"}),
]


@pytest.mark.parametrize(("filters", "expected"), OF_ALL_ROWS)
async def test_words_and_facts_limit_both_lists(index: Index, filters: Filters, expected: set[str]) -> None:
    rows: dict[str, dict[str, object]] = {
        "wal": {"text": "The WRITE-AHEAD log is kept.", "page_type": "HowTo", "published": "2024-05-03"},
        "context": {"text": "It is.", "context": ["Part", "A write ahead  log"], "published": "2024-05"},
        "title": {"text": "It is.", "title": "Write-ahead log", "published": "2024"},
        "other": {"text": "Ahead of the write.", "published": "2023-12-31"},
        "code": {"text": "It says SQLITE_BUSY_SNAPSHOT.", "page_type": "Recipe", "url": "https://a.example/x.pdf?y#z"},
        "french": {"text": "L'Été est là."},
    }
    points = [with_facts(point(name, name, axis(0), {1: 1.0}), facts) for name, facts in rows.items()]
    await filled(index, *points)
    found = await index.candidates(dense=axis(0), sparse=terms(t1=1.0), filters=filters)
    for hits in (found.dense, found.sparse):
        assert {hit.id for hit in hits} == {uuid5(NAMES, name) for name in expected}


@pytest.mark.parametrize("filters", [Filters(extensions=("html",)), Filters(from_day=20240101)])
async def test_a_point_of_an_earlier_release_passes_what_it_does_not_have(index: Index, filters: Filters) -> None:
    earlier = point("old", dense=axis(0))
    published = StatementPayload.of_row(earlier.payload.row() | {"published": "2025"})
    await filled(index, replace(earlier, payload=published))
    found = await index.candidates(dense=axis(0), sparse=None, filters=filters)
    assert [hit.id for hit in found.dense] == [earlier.id]


def with_facts(made: Point, facts: dict[str, object]) -> Point:
    row = made.payload.row() | {"context": [], "title": "A"} | facts
    url, published = str(row["url"]), str(row.get("published", ""))
    row |= {"day": day_of(published), "extension": extension_of(url)}
    return replace(made, payload=StatementPayload.of_row(row))
