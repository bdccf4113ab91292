"""`riffle reindex` over memory stores: another model, after a loss, interrupted, and while pages change."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any
from uuid import UUID, uuid4, uuid5

import pytest
from typer.testing import CliRunner, Result

from schemas import Envelope, Event, PageChunked, PageEmbedded, PageRemoved
from schemas.ids import page_id
from streams.cli import app
from streams.commands.operate import reindex as reindex_module
from streams.commands.operate.reindex import _fill_and_switch, _switch_collection
from streams.errors import MissingBlob, UsageError
from streams.maintenance import page_writer
from streams.maintenance.page_writer import Pace
from streams.maintenance.reindexing import PARTS, Reindexer, Verification, part_tokens
from streams.maintenance.sampling import FIRST_TOKEN, LAST_TOKEN
from streams.models.memory import MemoryEmbedder
from streams.models.protocols import Vectors
from streams.runtime.agent import Delivery
from streams.search.ranking.fusion import merge_lists
from streams.statements.codec import PageStatements, encode_statements
from streams.statements.statement import Statement
from streams.stores.memory import MemoryIndex
from streams.stores.opener import Stores, memory_stores
from streams.stores.page_record import Indexed, Normalized
from streams.stores.statement_payload import StatementPayload
from streams.vectors.embed_agent import EmbedAgent
from streams.vectors.index_agent import IndexAgent

PAGES = 40
AT = 1_700_000_000_000_000


class Counting(MemoryEmbedder):
    """An embedder that counts its texts, and may be killed."""

    texts = 0
    dies_after: int | None = None

    async def embed(
        self, texts: Sequence[str], *, deadline_seconds: float | None = None, urgent: bool = False
    ) -> Vectors:
        self.texts += len(texts)
        if self.dies_after is not None and self.texts > self.dies_after:
            raise Killed
        return await super().embed(texts)


class Killed(Exception):
    """The process ends."""


def delivery(event: Event) -> Delivery:
    envelope = Envelope(id=uuid4(), type=event.event_type(), source="t", time=datetime.now(UTC), subject="")
    return Delivery(event, envelope, event.topic, 0, 0)


def url(number: int) -> str:
    return f"https://{'even' if number % 2 == 0 else 'odd'}.example/{number}"


async def index_page(
    stores: Stores, number: int, generation: int = 1, words: str = "first", heading: str = "Title"
) -> None:
    """Take a page through the embed and the index stage."""
    page = page_id(url(number))
    texts = [f"{words} statement {n} of page {number}" for n in range(3)]
    statements = tuple(Statement(uuid5(page, text), ordinal, text, (heading,)) for ordinal, text in enumerate(texts))
    content = encode_statements(PageStatements(page, url(number), "Title", "en", statements))
    event = PageChunked(
        page_id=page,
        url=url(number),
        generation=generation,
        crawl_id="c",
        statements_ref=await stores.blobs.put(content),
        statements=len(statements),
        language="en",
    )
    (embedded,) = await EmbedAgent(stores).handle(delivery(event))
    assert isinstance(embedded, PageEmbedded)
    await IndexAgent(stores).handle(delivery(embedded))


@pytest.fixture
async def stores() -> Stores:
    made = memory_stores()
    for number in range(PAGES):
        await index_page(made, number)
    return made


async def fill(stores: Stores, embedder: Any, host: str = "") -> Reindexer:
    reindexer = Reindexer(stores, embedder, host=host)
    async for _ in reindexer.run():
        pass
    return reindexer


async def lose_statements(stores: Stores, number: int) -> None:
    """Delete the blob with the statements of a page."""
    reference = (await stores.pages.get(page_id(url(number)))).rows["indexed"]["statements_ref"]
    get = stores.blobs.get

    async def without(ref: str) -> bytes:
        if ref == reference:
            raise MissingBlob(f"no blob {ref}")
        return await get(ref)

    stores.blobs.get = without  # type: ignore[method-assign]  # of this object only


async def payloads(stores: Stores, collection: str, number: int) -> list[StatementPayload]:
    return [hit.payload for hit in await stores.vectors.scroll(collection, page_id(url(number)))]


def alter(stores: Stores, collection: str, number: int, **changes: object) -> None:
    """Change the payloads of a page in the index. None removes a field."""
    points = stores.vectors._of(collection).points  # type: ignore[attr-defined] # the fake's
    for id, point in points.items():
        if point.payload.page_id == page_id(url(number)):
            row = {key: value for key, value in {**point.payload.row(), **changes}.items() if value is not None}
            points[id] = replace(point, payload=StatementPayload.of_row(row))


async def found(stores: Stores, text: str, embedder: Any) -> list[UUID]:
    (vector,) = await embedder.embed([text])
    return [page.page_id for page in merge_lists(await stores.vectors.candidates(dense=vector.tolist(), sparse=None))][
        :10
    ]


async def test_another_model_is_filled_beside_the_present_one_switched_and_switched_back(stores: Stores) -> None:
    other = Counting(32, name="other")
    former = await stores.vectors.active()
    reindexer = Reindexer(stores, other)
    collection = await stores.vectors.ensure(await other.info())
    assert await _fill_and_switch(stores, reindexer, collection, switch=True, as_json=True) == 0
    assert other.texts >= 3 * PAGES
    assert await stores.vectors.active() == collection != former
    assert await stores.vectors.count(collection) == await stores.vectors.count(str(former)) == 3 * PAGES
    assert (await found(stores, "Title first statement 1 of page 7", other))[0] == page_id(url(7))
    assert (await _switch_collection(stores.vectors, ""))["searched"] == former
    assert (await found(stores, "Title first statement 1 of page 7", stores.embedder))[0] == page_id(url(7))


async def test_searches_read_the_former_collection_until_all_is_verified(stores: Stores) -> None:
    other = MemoryEmbedder(32, name="other")
    former = await stores.vectors.active()
    reindexer = Reindexer(stores, other)
    async for _ in reindexer.run():
        assert await stores.vectors.active() == former
    assert (await reindexer.verify()).passed
    assert await stores.vectors.active() == former


async def test_after_a_complete_loss_the_kept_vectors_are_used(stores: Stores) -> None:
    before = {number: await stores.vectors.scroll(str(await stores.vectors.active()), page_id(url(number)))
              for number in range(PAGES)}  # fmt: skip
    stores.vectors = MemoryIndex()
    embedder = Counting()
    reindexer = await fill(stores, embedder)
    assert (reindexer.outcome.written, embedder.texts) == (PAGES, 0)
    collection = await stores.vectors.active()
    assert collection, "searches read the collection again"
    for number, hits in before.items():
        assert await stores.vectors.scroll(collection, page_id(url(number))) == hits


async def test_a_run_that_was_killed_goes_on_where_it_was(stores: Stores) -> None:
    killed = Counting(32, name="other")
    killed.dies_after = 60
    with pytest.raises(ExceptionGroup):
        await fill(stores, killed)
    collection = await stores.vectors.ensure(await killed.info())
    assert 0 < await stores.vectors.count(collection) < 3 * PAGES
    done = await stores.reindexing.progress(collection, "")
    assert done
    second = Counting(32, name="other")
    reindexer = await fill(stores, second)
    assert second.texts < 3 * PAGES
    assert reindexer.outcome.pages < PAGES, "the parts that were done were visited again"
    assert await stores.vectors.count(collection) == 3 * PAGES
    assert (await reindexer.verify()).passed
    assert await stores.reindexing.progress(collection, "") == {}, "the next run is a new one"


async def test_only_what_is_missing_is_written(stores: Stores) -> None:
    other = Counting(32, name="other")
    await fill(stores, other)
    await index_page(stores, 3, generation=2, words="second")
    again = Counting(32, name="other")
    reindexer = await fill(stores, again)
    assert (again.texts, reindexer.outcome.written, reindexer.outcome.pages) == (3, 1, PAGES)
    collection = await stores.vectors.ensure(await other.info())
    texts = [hit.payload.text for hit in await stores.vectors.scroll(collection, page_id(url(3)))]
    assert texts == [f"second statement {n} of page 3" for n in range(3)]


async def test_removed_pages_are_left_out(stores: Stores) -> None:
    event = PageRemoved(page_id=page_id(url(5)), url=url(5), generation=1, reason="gone")
    await IndexAgent(stores).handle(delivery(event))
    other = MemoryEmbedder(32, name="other")
    await fill(stores, other)
    assert await stores.vectors.scroll(await stores.vectors.ensure(await other.info()), page_id(url(5))) == []


@pytest.mark.parametrize("what", ["removed", "fetched again"])
async def test_a_page_that_changes_while_it_is_written_is_as_its_last_event_says(
    stores: Stores, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """The event is handled between the read of the records and the write of the points."""
    other = MemoryEmbedder(32, name="other")
    collection = await stores.vectors.ensure(await other.info())
    upsert, changed = stores.vectors.upsert, False

    async def interleaved(name: str, points: Any) -> None:
        nonlocal changed
        if not changed and name == collection and points[0].payload.page_id == page_id(url(5)):
            changed = True
            if what == "removed":
                event = PageRemoved(page_id=page_id(url(5)), url=url(5), generation=1, reason="gone")
                await IndexAgent(stores).handle(delivery(event))
            else:
                await index_page(stores, 5, generation=2, words="second")
        await upsert(name, points)

    monkeypatch.setattr(stores.vectors, "upsert", interleaved)
    await fill(stores, other)
    await fill(stores, other)
    texts = [hit.payload.text for hit in await stores.vectors.scroll(collection, page_id(url(5)))]
    assert changed
    assert texts == ([] if what == "removed" else [f"second statement {n} of page 5" for n in range(3)])


async def test_one_host_alone(stores: Stores) -> None:
    other = Counting(32, name="other")
    reindexer = await fill(stores, other, host="even.example")
    assert reindexer.outcome.pages == PAGES // 2
    assert await stores.vectors.count(await stores.vectors.ensure(await other.info())) == 3 * PAGES // 2
    assert (await reindexer.verify()).passed


async def test_a_collection_with_missing_statements_is_not_verified(stores: Stores) -> None:
    other = MemoryEmbedder(32, name="other")
    reindexer = await fill(stores, other)
    collection = await stores.vectors.ensure(await other.info())
    for number in range(0, PAGES, 2):
        await stores.vectors.remove_page(collection, page_id(url(number)))
    verification = await reindexer.verify()
    assert not verification.passed
    assert url(0) in verification.wrong or url(2) in verification.wrong


async def test_the_date_of_publication_is_written(stores: Stores) -> None:
    await stores.pages.put(page_id(url(3)), Normalized.of_row({"published": "2024-05-01T00:00:00Z"}), AT)
    other = MemoryEmbedder(32, name="other")
    collection = await stores.vectors.ensure(await other.info())
    await fill(stores, other)
    assert [payload.published for payload in await payloads(stores, collection, 3)] == 3 * ["2024-05-01"]
    assert all("published" not in payload.row() for payload in await payloads(stores, collection, 4))


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"published": None}, id="filled by a release that left out the dates"),
        pytest.param({"context": ["Former title"]}, id="another context"),
        pytest.param({"text": "Former text"}, id="another text"),
        pytest.param({"title": "Former title"}, id="another title"),
        pytest.param({"generation": 0}, id="an older generation"),
    ],
)
async def test_other_payloads_of_as_many_statements_are_noticed_and_written_again(
    stores: Stores, changes: dict[str, object]
) -> None:
    for number in range(PAGES):
        await stores.pages.put(page_id(url(number)), Normalized.of_row({"published": "2024-05-01"}), AT)
    other = MemoryEmbedder(32, name="other")
    collection = await stores.vectors.ensure(await other.info())
    reindexer = await fill(stores, other)
    right = await payloads(stores, collection, 3)
    assert (await reindexer.verify()).passed
    alter(stores, collection, 3, **changes)
    assert (await reindexer.verify()).wrong == (url(3),)
    second = await fill(stores, other)
    assert second.outcome.written == 1
    assert await payloads(stores, collection, 3) == right


async def test_statements_that_another_release_made_of_the_same_fetch_are_written(stores: Stores) -> None:
    other = MemoryEmbedder(32, name="other")
    collection = await stores.vectors.ensure(await other.info())
    await fill(stores, other)
    await index_page(stores, 3, heading="A heading")
    assert await _fill_and_switch(stores, Reindexer(stores, other), collection, switch=True, as_json=True) == 0
    assert [payload.context for payload in await payloads(stores, collection, 3)] == 3 * [("A heading",)]


async def test_points_of_a_page_that_a_worker_is_about_to_record_are_no_fault(stores: Stores) -> None:
    """A worker writes the points first. If it never writes the record, each pass would write the page again."""
    collection = str(await stores.vectors.active())
    indexed = (await stores.pages.get(page_id(url(3)))).indexed
    await index_page(stores, 3, generation=2, words="second")
    await stores.pages.put(page_id(url(3)), indexed, indexed.at + 1_000_000_000)
    reindexer = await fill(stores, stores.embedder)
    assert len(await payloads(stores, collection, 3)) == 6
    assert (await reindexer.verify()).passed
    assert (await fill(stores, stores.embedder)).outcome.written == 0


async def test_further_passes_of_a_run_read_only_the_statements_that_changed(stores: Stores) -> None:
    reindexer = await fill(stores, MemoryEmbedder(32, name="other"))
    await index_page(stores, 3, generation=2, words="second")
    get, read = stores.blobs.get, []

    async def counted(ref: str) -> bytes:
        read.append(ref)
        return await get(ref)

    stores.blobs.get = counted  # type: ignore[method-assign]  # of this object only
    async for _ in reindexer.run(again=True):
        pass
    assert read == [(await stores.pages.get(page_id(url(3)))).rows["indexed"]["statements_ref"]]


@pytest.mark.parametrize("known_pages", [page_writer.KNOWN_PAGES, 10])
async def test_a_collection_is_searched_although_pages_keep_changing(
    stores: Stores, monkeypatch: pytest.MonkeyPatch, known_pages: int
) -> None:
    """Workers with the former model index 5 % of the pages during each pass and before the verification."""
    monkeypatch.setattr(page_writer, "KNOWN_PAGES", known_pages)
    other = MemoryEmbedder(32, name="other")
    former = str(await stores.vectors.active())
    collection = await stores.vectors.ensure(await other.info())
    generation = 1

    async def change() -> None:
        nonlocal generation
        for _ in range(PAGES // 20):
            generation += 1
            await index_page(stores, generation * 7 % PAGES, generation, f"generation {generation}")

    class Busy(Reindexer):
        async def run(self, *, again: bool = False) -> AsyncIterator[Any]:
            async for so_far in super().run(again=again):
                yield so_far
            await change()

        async def verify(self, *, seed: int = 0) -> Verification:
            await change()
            return await super().verify(seed=seed)

    assert await _fill_and_switch(stores, Busy(stores, other), collection, switch=True, as_json=True) == 0
    assert await stores.vectors.active() == collection != former


async def test_a_page_that_changes_during_its_verification_is_not_wrong(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = MemoryEmbedder(32, name="other")
    reindexer = await fill(stores, other)
    scroll, changed = stores.vectors.scroll, False

    async def interleaved(collection: str, page: UUID) -> Any:
        nonlocal changed
        if not changed and page == page_id(url(5)):
            changed = True
            await index_page(stores, 5, generation=2, words="second")
            await stores.vectors.remove_page(collection, page)  # its points of now are not the ones that were compared
        return await scroll(collection, page)

    monkeypatch.setattr(stores.vectors, "scroll", interleaved)
    assert (await reindexer.verify()).passed
    assert changed


async def test_lost_statements_do_not_end_the_verification(stores: Stores) -> None:
    reindexer = await fill(stores, MemoryEmbedder(32, name="other"))
    await lose_statements(stores, 7)
    verification = await reindexer.verify()
    assert (verification.pages, verification.wrong) == (PAGES - 1, ())
    assert [line.partition(": ")[0] for line in verification.failed] == [url(7)]


async def test_a_page_that_is_removed_on_request_meanwhile_has_not_failed(stores: Stores) -> None:
    reindexer = Reindexer(stores, MemoryEmbedder(32, name="other"))
    reference = (await stores.pages.get(page_id(url(7)))).rows["indexed"]["statements_ref"]
    get = stores.blobs.get

    async def erased(ref: str) -> bytes:
        if ref == reference:
            event = PageRemoved(page_id=page_id(url(7)), url=url(7), generation=1, reason="request")
            await IndexAgent(stores).handle(delivery(event))
            raise MissingBlob(f"no blob {ref}")
        return await get(ref)

    stores.blobs.get = erased  # type: ignore[method-assign]  # of this object only
    async for _ in reindexer.run():
        pass
    assert reindexer.outcome.failed == []


@pytest.mark.parametrize(
    ("lost", "skip_failed", "status", "faults"),
    [
        pytest.param([], False, 0, [], id="all could be read"),
        pytest.param([7], False, 1, ["failed-pages"], id="one page is lost"),
        pytest.param([7], True, 0, [], id="one page is lost, and that is accepted"),
        pytest.param(range(PAGES), False, 1, ["no-pages", "failed-pages"], id="all are lost"),
        pytest.param(range(PAGES), True, 1, ["no-pages"], id="all are lost: nothing is left to search"),
    ],
)
async def test_a_collection_with_missing_pages_is_searched_only_on_request(
    stores: Stores,
    capsys: pytest.CaptureFixture[str],
    lost: Sequence[int],
    skip_failed: bool,
    status: int,
    faults: list[str],
) -> None:
    other = MemoryEmbedder(32, name="other")
    former = await stores.vectors.active()
    collection = await stores.vectors.ensure(await other.info())
    for number in lost:
        await lose_statements(stores, number)
    made = await _fill_and_switch(
        stores, Reindexer(stores, other), collection, switch=True, skip_failed=skip_failed, as_json=True
    )
    answer = json.loads(capsys.readouterr().out)
    assert (made, answer["faults"]) == (status, faults)
    assert answer["passed"] is (status == 0)
    assert sorted(line.partition(": ")[0] for line in answer["failed"]) == sorted(map(url, lost))
    assert await stores.vectors.active() == answer["searched"] == (former if status else collection)


async def test_pages_that_could_not_be_read_are_counted_and_the_first_are_named(
    stores: Stores, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(12):
        await lose_statements(stores, number)
    other = MemoryEmbedder(32, name="other")
    collection = await stores.vectors.ensure(await other.info())
    await _fill_and_switch(stores, Reindexer(stores, other), collection, switch=True, as_json=False)
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.count("Could not be read: https://") == 10
    assert "Could not be read: 2 more, which --json names" in printed
    assert "Not switched: searches read statements-feature-hashing-1. 12 pages could not be read" in printed
    assert "riffle reindex --skip-failed" in printed


async def test_nothing_is_switched_to_an_empty_collection(capsys: pytest.CaptureFixture[str]) -> None:
    stores = memory_stores()
    former = await stores.vectors.ensure(await stores.embedder.info())
    other = MemoryEmbedder(32, name="other")
    collection = await stores.vectors.ensure(await other.info())
    assert await _fill_and_switch(stores, Reindexer(stores, other), collection, switch=True, as_json=False) == 1
    assert "Cassandra has no page of the index" in " ".join(capsys.readouterr().out.split())
    assert await stores.vectors.active() == former


@pytest.fixture
def command_stores(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> Stores:
    """The stores that `riffle reindex` opens."""

    class Models:
        embedder = MemoryEmbedder(32, name="other")

        async def close(self) -> None: ...

    async def open_models(*_: object) -> Models:
        return Models()

    @asynccontextmanager
    async def open_stores(*_: object) -> AsyncIterator[Stores]:
        yield stores

    monkeypatch.setattr(reindex_module, "open_stores", open_stores)
    monkeypatch.setattr(reindex_module, "open_models", open_models)
    return stores


def riffle(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["reindex", *arguments], catch_exceptions=False)


def test_missing_pages_are_accepted_by_an_option(command_stores: Stores) -> None:
    asyncio.run(lose_statements(command_stores, 7))
    assert riffle("--json").exit_code == 1
    accepted = json.loads(riffle("--skip-failed", "--json").stdout)
    assert (accepted["switched"], len(accepted["failed"])) == (True, 1)
    assert riffle("--back", "--skip-failed").exit_code == 2


@pytest.mark.parametrize(
    ("host", "status", "message"),
    [
        pytest.param("even.example", 0, '"pages": 20', id="as in the URLs"),
        pytest.param(" EVEN.example", 0, '"pages": 20', id="in any case"),
        pytest.param("nosuch.example", 2, "The index has no page of nosuch.example", id="unknown"),
        pytest.param("https://even.example/2", 2, "is a URL. Give its host alone: --host even.example", id="a URL"),
        pytest.param("even.example/", 2, "is a URL. Give its host alone: --host even.example", id="a path"),
        pytest.param("even.example?a", 2, "is a URL. Give its host alone: --host even.example", id="a query"),
        pytest.param("even", 2, "is not the name of a host", id="no host"),
    ],
)
def test_a_host_is_given_as_it_is_in_urls(command_stores: Stores, host: str, status: int, message: str) -> None:
    result = riffle("--host", host, "--json")
    assert result.exit_code == status
    assert message in " ".join(result.output.split())


async def test_a_page_without_its_statements_is_named_and_does_not_end_the_run(stores: Stores) -> None:
    record = dict((await stores.pages.get(page_id(url(4)))).rows["indexed"], statements_ref="00" * 32)
    await stores.pages.put(page_id(url(4)), Indexed.of_row(record), record["at"] + 1)
    reindexer = await fill(stores, MemoryEmbedder(32, name="other"))
    assert reindexer.outcome.written == PAGES - 1
    assert [line.partition(": ")[0] for line in reindexer.outcome.failed] == [url(4)]


async def test_back_needs_a_name_if_there_are_several_others(stores: Stores) -> None:
    with pytest.raises(UsageError, match="no other collection"):
        await _switch_collection(stores.vectors, "")
    for name in ("a", "b"):
        await stores.vectors.ensure(await MemoryEmbedder(32, name=name).info())
    with pytest.raises(UsageError, match=r"statements-a-1, statements-b-1.*--activate"):
        await _switch_collection(stores.vectors, "")
    assert (await _switch_collection(stores.vectors, "statements-b-1"))["searched"] == "statements-b-1"


def test_the_parts_of_the_ring_follow_each_other_and_hold_every_token() -> None:
    parts = [part_tokens(part) for part in range(PARTS)]
    assert (parts[0][0], parts[-1][1]) == (FIRST_TOKEN, LAST_TOKEN)
    assert all(before[1] == after[0] for before, after in pairwise(parts))


async def test_the_rate_is_limited() -> None:
    now, slept = 0.0, []

    async def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds
        slept.append(seconds)

    pace = Pace(10, lambda: now, sleep)
    for _ in range(3):
        await pace.wait(20)
    assert slept == [2.0, 2.0]
    await Pace(0, lambda: now, sleep).wait(1_000)
    assert len(slept) == 2
