"""`riffle doctor --vectors` and `riffle reindex --recompute` over memory stores: foreign answers are found and mended.

The pages come through all stages, with models that answer one page with values of another text, as a starved server
did. A page is mended if everything stored of it is as if the models had always answered rightly.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from typer.testing import CliRunner

from schemas import PageRemoved
from schemas.ids import page_id
from streams.cli import app
from streams.commands.operate import doctor as doctor_module
from streams.commands.operate import reindex as reindex_module
from streams.doctor.findings import Finding, Level
from streams.doctor.stored_pages import check_stored_pages
from streams.maintenance.recomputing import Recomputer
from streams.maintenance.reindexing import PARTS, Reindexer
from streams.models.memory import MemoryChains, MemoryEmbedder
from streams.models.protocols import Link, TextRole, Vectors
from streams.pages.sandbox.pool import ParsePool
from streams.statements.sandbox_tasks import DRAFT
from streams.statements.statement import decode_statements, encode_statements
from streams.stores.opener import Stores, memory_stores
from streams.stores.page_record import StoredPart
from streams.stores.protocols import LinkGroup, Point
from streams.vectors.points import decode_vectors, encode_vectors
from tests.inline_sandbox import InlineSandbox, inline_parse_pool
from tests.stages.whole_journey import WholeJourney

METALS = ("zirconium", "hafnium", "osmium", "iridium", "rhenium")
URLS = [f"https://site.test/{metal}" for metal in METALS]
SPOILED = METALS[2]


class Killed(Exception):
    """The process ends."""


class Spoiled:
    """A switch of both models: they answer one page wrongly."""

    links = vectors = False


class Chains(MemoryChains):
    def __init__(self, spoiled: Spoiled) -> None:
        self._spoiled = spoiled

    async def links(self, sentences: Sequence[str], *, deadline_seconds: float | None = None) -> list[Link]:
        right = await super().links(sentences)
        is_spoiled = self._spoiled.links and any(SPOILED in sentence for sentence in sentences)
        return [*right[1:], Link()] if is_spoiled else right


class Embedder(MemoryEmbedder):
    def __init__(self, spoiled: Spoiled) -> None:
        super().__init__()
        self._spoiled = spoiled

    async def embed(self, texts: Sequence[str], role: TextRole, *, deadline_seconds: float | None = None) -> Vectors:
        foreign = [f"quite another page {row}" if SPOILED in text else text for row, text in enumerate(texts)]
        return await super().embed(foreign if self._spoiled.vectors else texts, role)


def body(metal: str) -> str:
    paragraphs = "".join(
        f"<p>The {metal} of lot {lot} was weighed in {place}, with words enough for the text of an article. It was "
        f"lighter than the {metal} of the {place} mine. Workers in {place} keep {metal} in boxes of wood.</p>"
        for lot, place in enumerate((f"{metal} hill", f"{metal[::-1]} bay", f"port {metal[:3]}"))
    )
    return f"<html lang=en><title>{metal}</title><main><h1>{metal}</h1>{paragraphs}</main></html>"


@pytest.fixture(scope="module")
async def pool() -> AsyncIterator[ParsePool]:
    async with inline_parse_pool() as started:
        yield started


async def crawl(pool: ParsePool, *, links: bool = False, vectors: bool = False) -> Stores:
    """Return stores with all pages. The models gave one of them wrong answers, and give right answers from now on."""
    spoiled, stores = Spoiled(), memory_stores()
    stores.chains, stores.embedder = Chains(spoiled), Embedder(spoiled)
    spoiled.links, spoiled.vectors = links, vectors
    journey = WholeJourney(pool, stores)
    for at, (url, metal) in enumerate(zip(URLS, METALS, strict=True)):
        await journey.fetch(url, body(metal), at)
    spoiled.links = spoiled.vectors = False
    return stores


async def spoil_index(stores: Stores) -> None:
    """Exchange the vectors of a page in the index."""
    points = stores.vectors._of(await stores.vectors.active()).points  # type: ignore[attr-defined] # the fake's
    mine = [id for id, point in points.items() if point.payload.url == URLS[2]]
    dense = [points[id].dense for id in mine]
    for id, other in zip(mine, [*dense[1:], dense[0]], strict=True):
        points[id] = replace(points[id], dense=other)


async def spoil_blob(stores: Stores) -> None:
    """Exchange the vectors of a page in the blob that its records refer to."""
    record = await stores.pages.get(page_id(URLS[2]))
    ref = record.indexed.statements_ref
    vectors = decode_vectors(await stores.blobs.get(record.indexed.vectors_ref), ref)
    foreign = await stores.blobs.put(encode_vectors(ref, vectors[::-1]))
    at = record.indexed.at + 1
    await stores.pages.put(page_id(URLS[2]), replace(record.indexed, vectors_ref=foreign, at=at), at)


CASES = ["links", "vectors", "links and vectors", "index", "blob"]


async def spoiled_stores(pool: ParsePool, case: str) -> Stores:
    stores = await crawl(pool, links="links" in case, vectors="vectors" in case)
    if case == "index":
        await spoil_index(stores)
    if case == "blob":
        await spoil_blob(stores)
    return stores


async def contents(stores: Stores) -> dict[str, Any]:
    """Return what is stored of each page, with the contents of its blobs in place of their references."""
    found: dict[str, Any] = {}
    collection = str(await stores.vectors.active())
    points = stores.vectors._of(collection).points  # type: ignore[attr-defined] # the fake's
    for url in URLS:
        record = await stores.pages.get(page_id(url))
        indexed = record.indexed
        found[url] = (
            decode_statements(await stores.blobs.get(indexed.statements_ref)),
            decode_vectors(await stores.blobs.get(indexed.vectors_ref), indexed.statements_ref).tolist(),
            {id: (point.payload.row(), list(point.dense)) for id, point in points.items() if point.payload.url == url},
            (indexed.generation, indexed.statements),
        )
    return found


async def examine(stores: Stores) -> list[Finding]:
    return await check_stored_pages(stores, InlineSandbox((DRAFT,)), [page_id(url) for url in URLS])


async def recompute(stores: Stores) -> Reindexer:
    recomputer = Recomputer(stores, InlineSandbox((DRAFT,)))
    reindexer = Reindexer(stores, stores.embedder, recomputer=recomputer)
    try:
        for again in (False, True):
            async for _ in reindexer.run(again=again):
                pass
    finally:
        await recomputer.close()
        await reindexer.close()
    return reindexer


@pytest.mark.parametrize("case", CASES)
async def test_a_page_with_foreign_answers_is_found_and_mended_and_no_other_page_is_written(
    pool: ParsePool, case: str
) -> None:
    right, stores = await contents(await crawl(pool)), await spoiled_stores(pool, case)
    before = await contents(stores)
    assert [url for url in URLS if before[url] != right[url]] == [URLS[2]]

    (finding,) = await examine(stores)
    assert (finding.level, len(finding.details)) == (Level.FAILURE, 1)
    assert finding.details[0].startswith(URLS[2])
    assert finding.advice.startswith("Compare all pages, and mend those that differ: riffle reindex --recompute")

    written: list[UUID] = []
    put, upsert = stores.pages.put, stores.vectors.upsert

    async def noted_put(
        page_id: UUID,
        part: StoredPart,
        at: int,
        contents: Mapping[str, bytes] | None = None,
        links: Collection[LinkGroup] = (),
    ) -> None:
        written.append(page_id)
        await put(page_id, part, at, contents, links)

    async def noted_upsert(collection: str, points: Sequence[Point]) -> None:
        written.extend(point.payload.page_id for point in points)
        await upsert(collection, points)

    stores.pages.put, stores.vectors.upsert = noted_put, noted_upsert  # type: ignore[method-assign] # of these objects
    mended = (await recompute(stores)).mended
    assert mended
    assert mended.compared == len(URLS)
    assert {*mended.links, *mended.blob_vectors, *mended.index_vectors} == {URLS[2]}
    assert bool(mended.links) == ("links" in case)
    assert set(written) == {page_id(URLS[2])}
    assert await contents(stores) == right

    (finding,) = await examine(stores)
    assert (finding.level, finding.says) == (Level.OK, "5 pages: stored is what the models answer now")
    written.clear()
    again = (await recompute(stores)).mended
    assert again
    assert (again.links, again.blob_vectors, again.index_vectors, written) == ([], [], [], [])


@pytest.mark.parametrize("case", ["links and vectors", "blob", "index"])
async def test_a_run_that_is_killed_at_any_write_is_finished_by_the_next_run(pool: ParsePool, case: str) -> None:
    right = await contents(await crawl(pool))
    writes, is_done = 0, False
    while not is_done:
        stores = await spoiled_stores(pool, case)
        with_crash = _CrashingWrites(stores, writes)
        try:
            await recompute(stores)
            is_done = True
        except* Killed:
            pass
        with_crash.heal()
        await recompute(stores)
        assert await contents(stores) == right, f"killed at write {writes}"
        writes += 1
    assert writes > 2, "fewer writes than there are steps"


class _CrashingWrites:
    """Stores whose process dies before their write with this number."""

    def __init__(self, stores: Stores, dies_at: int) -> None:
        self._stores, self._left = stores, dies_at
        self._originals = [(stores.pages, "put"), (stores.blobs, "put"), (stores.vectors, "upsert")]
        self._originals.append((stores.vectors, "remove_page"))
        self._methods = [getattr(store, name) for store, name in self._originals]
        for (store, name), method in zip(self._originals, self._methods, strict=True):
            setattr(store, name, self._counted(method))

    def _counted(self, method: Any) -> Any:
        async def write(*args: Any, **kwargs: Any) -> Any:
            self._left -= 1
            if self._left < 0:
                raise Killed
            return await method(*args, **kwargs)

        return write

    def heal(self) -> None:
        for (store, name), method in zip(self._originals, self._methods, strict=True):
            setattr(store, name, method)


async def test_a_run_that_was_stopped_goes_on_where_it_was_and_a_run_without_comparison_does_not_count(
    pool: ParsePool,
) -> None:
    right, stores = await contents(await crawl(pool)), await spoiled_stores(pool, "vectors")
    compared = 0
    for stops_after in (2, PARTS):
        recomputer = Recomputer(stores, InlineSandbox((DRAFT,)))
        reindexer = Reindexer(stores, stores.embedder, recomputer=recomputer)
        visits = reindexer.run()
        async for _ in visits:
            stops_after -= 1
            if not stops_after:
                break
        await visits.aclose()  # type: ignore[attr-defined]  # a generator
        assert reindexer.mended
        assert 0 < reindexer.mended.compared < len(URLS)
        compared += reindexer.mended.compared
        async for _ in Reindexer(stores, stores.embedder).run():
            pass
    # The pages of the request after which the run was stopped are compared again.
    assert len(URLS) <= compared <= len(URLS) + 1
    assert await contents(stores) == right


@pytest.mark.parametrize("what", ["removed", "fetched again"])
async def test_a_page_that_changes_while_it_is_mended_is_left_to_its_stages(pool: ParsePool, what: str) -> None:
    """The event is handled before the first write of the points."""
    stores = await spoiled_stores(pool, "links and vectors")
    journey, changed, upsert = WholeJourney(pool, stores), False, stores.vectors.upsert
    removal = PageRemoved(page_id=page_id(URLS[2]), url=URLS[2], generation=1 << 60, reason="request")

    async def interleaved(collection: str, points: Any) -> None:
        nonlocal changed
        if not changed:
            changed = True
            if what == "removed":
                await journey.handle(removal, 86_400)
            else:
                await journey.fetch(URLS[2], body("tellurium"), 86_400)
        await upsert(collection, points)

    stores.vectors.upsert = interleaved  # type: ignore[method-assign] # of this object only
    await recompute(stores)
    assert changed
    hits = await stores.vectors.scroll(str(await stores.vectors.active()), page_id(URLS[2]))
    record = await stores.pages.get(page_id(URLS[2]))
    if what == "removed":
        assert hits == []
        assert record.removed.reason == "request"
    else:
        assert {hit.payload.title for hit in hits} == {"tellurium"}
        assert record.indexed.generation == hits[0].payload.generation


async def test_links_of_another_release_are_not_compared_and_its_vectors_are(pool: ParsePool) -> None:
    stores = await crawl(pool)
    record = await stores.pages.get(page_id(URLS[1]))
    page = decode_statements(await stores.blobs.get(record.indexed.statements_ref))
    former = replace(page, statements=page.statements[:-1])
    ref = await stores.blobs.put(encode_statements(former))
    vectors = decode_vectors(await stores.blobs.get(record.indexed.vectors_ref), record.indexed.statements_ref)[:-1]
    vectors_ref = await stores.blobs.put(encode_vectors(ref, vectors))
    former_index = replace(record.indexed, statements_ref=ref, vectors_ref=vectors_ref)
    await stores.pages.put(page_id(URLS[1]), former_index, record.indexed.at + 1)
    findings = await examine(stores)
    assert [finding.level for finding in findings] == [Level.OK, Level.OK]
    assert "1 page, drafted by another release:" in findings[1].says
    assert "riffle replay --from statements" in findings[1].says


async def test_an_empty_index_is_fine_and_the_collection_of_another_model_is_a_failure() -> None:
    stores = memory_stores()
    (finding,) = await check_stored_pages(stores, InlineSandbox((DRAFT,)), [])
    assert finding.level is Level.OK
    await stores.vectors.ensure(await MemoryEmbedder(32, name="other").info())
    (finding,) = await check_stored_pages(stores, InlineSandbox((DRAFT,)), [])
    assert (finding.level, "statements-other-1" in finding.says) == (Level.FAILURE, True)


async def test_a_page_without_its_statements_is_a_warning_that_names_it(pool: ParsePool) -> None:
    stores = await crawl(pool)
    record = await stores.pages.get(page_id(URLS[3]))
    await stores.pages.put(page_id(URLS[3]), replace(record.indexed, statements_ref="00" * 32), record.indexed.at + 1)
    fine, unreadable = await examine(stores)
    assert (fine.level, unreadable.level) == (Level.OK, Level.WARNING)
    assert unreadable.details[0].startswith(URLS[3])


def test_the_commands_exit_with_2_mend_and_then_exit_with_0(pool: ParsePool, monkeypatch: pytest.MonkeyPatch) -> None:
    stores = asyncio.run(_spoil_in_new_loop())

    class Models:
        embedder, chains = stores.embedder, stores.chains

        async def close(self) -> None: ...

    async def open_models(*_: object) -> Models:
        return Models()

    @asynccontextmanager
    async def open_stores(*_: object, **__: object) -> AsyncIterator[Stores]:
        yield stores

    for module in (doctor_module, reindex_module):
        monkeypatch.setattr(module, "open_stores", open_stores)
        monkeypatch.setattr(module, "drafting_pool", lambda _: InlineSandbox((DRAFT,)))
    monkeypatch.setattr(reindex_module, "open_models", open_models)

    def riffle(*arguments: str, status: int) -> Any:
        result = CliRunner().invoke(app, [*arguments, "--json"], catch_exceptions=False)
        assert result.exit_code == status, result.output
        return json.loads(result.stdout) if result.stdout.startswith("{") else result.output

    (finding,) = riffle("doctor", "--vectors", status=2)["findings"]
    assert (finding["check"], finding["level"]) == ("vectors", "failure")
    assert [line.partition(",")[0] for line in finding["details"]] == [URLS[2]]
    assert riffle("reindex", "--recompute", "--host", "other.test", status=2)
    answer = riffle("reindex", "--recompute", "--host", "site.test", status=0)
    assert answer["recomputed"]["links"] == answer["recomputed"]["blob_vectors"] == [URLS[2]]
    assert answer["recomputed"]["compared"] == len(URLS)
    assert riffle("doctor", "--vectors", "--stored", "3", status=0)["level"] == "ok"
    assert riffle("doctor", "--vectors", "--only", "topics", status=2)
    assert riffle("reindex", "--recompute", "--model", "other", status=2)


async def _spoil_in_new_loop() -> Stores:
    async with inline_parse_pool() as pool:
        return await spoiled_stores(pool, "links and vectors")
