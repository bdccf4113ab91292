"""The cost of an unchanged page, and the rest of a page that was removed on request."""

import random
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from schemas import PageDeduplicated, PageEmbedded, PageFetched, PageIndexed, PageNormalized, PageRemoved, PageSettled
from schemas.ids import page_id
from streams.dedup.agent import DedupAgent
from streams.dedup.sandbox_tasks import TASKS
from streams.errors import MissingBlob, PageErased, TransientError
from streams.ledger.history import history_of
from streams.ledger.status import status_of
from streams.maintenance.erasure import Erased, Eraser
from streams.models.memory import MemoryEmbedder
from streams.pages.sandbox.pool import ParsePool
from streams.runtime.agent import Delivery
from streams.settings import Settings, TritonSettings
from streams.stores.blobs import is_of_page
from streams.stores.opener import memory_stores, open_stores
from streams.stores.packing import pack
from streams.stores.page_record import Normalized, PageRecord
from streams.stores.removals import blob_of_page, is_held_back, withdrawal
from streams.stores.rows import pack_row
from streams.stores.searched_model import ASK_AGAIN_SECONDS
from streams.topology import STAGES
from streams.vectors.index_agent import IndexAgent
from tests.inline_sandbox import InlineSandbox, inline_parse_pool
from tests.sizes import examples
from tests.stages.interleaving import Interleaving
from tests.stages.whole_journey import SECOND, START, WholeJourney, settlements

WATCHED = ("pages", "vectors")
A, B = "https://a.test/private", "https://b.test/copy"
SENTENCES = "".join(
    f"<p>Zirconium paragraph {number} has words enough, with commas, so that it counts as the text of an article.</p>"
    for number in range(6)
)
BODY = f"<html lang=en><title>Zirconium</title><main><h1>Zirconium</h1>{SENTENCES}</main></html>"
OTHER = BODY.replace("Zirconium", "Hafnium")


@pytest.fixture(scope="module")
async def pool() -> AsyncIterator[ParsePool]:
    async with inline_parse_pool() as started:
        yield started


@pytest.fixture
def journey(pool: ParsePool) -> WholeJourney:
    return WholeJourney(pool)


async def test_an_unchanged_page_costs_no_statements_no_embedding_and_no_new_blob(journey: WholeJourney) -> None:
    first = await journey.fetch(A, BODY, 0)
    assert len(first) > 4
    blobs = dict(journey.stores.blobs._contents)  # type: ignore[attr-defined] # the fake's
    journey.calls.clear()
    again = await journey.fetch(A, BODY, 86_400)
    assert [type(event).__name__ for event in again] == ["PageFetched", "PageNormalized", "PageSettled"]
    settled = again[-1]
    assert isinstance(settled, PageSettled)
    assert settled.verdict == "unchanged"
    assert journey.stores.blobs._contents == blobs  # type: ignore[attr-defined] # the fake's
    writes = {name: count for name, count in journey.calls.items() if name.split(".")[1] in ("put", "upsert", "embed")}
    # The document is stored again under its hash, with the record of normalize. Dedup writes its own with the print.
    assert writes == {"pages.put": 1, "fingerprints.put": 1}


@pytest.mark.parametrize("seed", range(examples(30)))
async def test_a_visit_with_the_text_of_the_visit_before_is_only_settled(pool: ParsePool, seed: int) -> None:
    """Whatever the model is called, and whatever was visited, changed and came back before."""
    chance = random.Random(seed)
    name = chance.choice(["sbert", "all-minilm-l6-v2", "feature-hashing"])
    embedder = MemoryEmbedder(name=name, version=chance.choice(["1", "int8-2"]))
    journey = WholeJourney(pool, stores=replace(memory_stores(), embedder=embedder))
    last: dict[str, str] = {}
    for visit in range(8):
        url = chance.choice([A, B])
        body = chance.choice([last.get(url, BODY), BODY, OTHER]).replace("paragraph", f"paragraph of {url}")
        journey.calls.clear()
        events = await journey.fetch(url, body, visit * 86_400)
        later = {type(event) for event in events} - {PageFetched, PageNormalized, PageSettled}
        assert (later == set()) == (body == last.get(url)), (visit, later)
        assert bool(journey.calls["vectors.upsert"]) == bool(later)
        last[url] = body


async def test_an_unchanged_page_of_another_model_or_release_is_indexed_again(journey: WholeJourney) -> None:
    await journey.fetch(A, BODY, 0)
    for visit, other in enumerate(({"model": "sbert"}, {"model_version": "2"}, {"made": {"statements": 1}}), start=1):
        indexed = (await journey.stores.pages.get(page_id(A))).indexed
        former = replace(indexed, **other, at=indexed.at + 1)  # type: ignore[arg-type]  # the facts of a table of cases
        await journey.stores.pages.put(page_id(A), former, former.at)
        assert any(isinstance(event, PageIndexed) for event in await journey.fetch(A, BODY, visit * 86_400))
        assert not any(isinstance(event, PageIndexed) for event in await journey.fetch(A, BODY, visit * 86_400 + 60))
    (dedup,) = journey._stages[PageNormalized]
    assert dedup.measurements() == {"dedup_visits_all": 7, "dedup_visits_unchanged": 3, "dedup_visits_indexed_again": 3}


async def test_dedup_goes_on_while_nobody_says_the_models_name(journey: WholeJourney) -> None:
    """The server is away at its start, too. The page is passed on, and dedup asks again after a while."""
    await journey.fetch(A, BODY, 0)
    (_, normalized, _) = await journey.fetch(A, BODY, 10)

    def visit(at: int) -> Delivery:
        return journey._delivery(normalized.model_copy(update={"generation": START + at * SECOND}), at)

    now, (dedup_stage,) = [0.0], [stage for stage in STAGES if stage.name == "dedup"]
    settings = Settings(triton=TritonSettings(url="127.0.0.1:1", timeout_seconds=0.1))
    async with open_stores(settings, (), dedup_stage.late) as opened:
        away = opened.embedder
        with pytest.raises(TransientError):
            await away.info()
        stores = replace(journey.stores, embedder=away)
        dedup = DedupAgent(stores, InlineSandbox(TASKS), lambda: now[0])
        passed = await dedup.handle(visit(11))
        assert [type(event) for event in passed] == [PageDeduplicated]
        first = await journey.stores.embedder.info()
        dedup._model._embedder = journey.stores.embedder  # the server is back
        now[0] = ASK_AGAIN_SECONDS
        settled = await dedup.handle(visit(12))
        assert [type(event) for event in settled] == [PageSettled]
        dedup._model._embedder = MemoryEmbedder(name=first.name, version="another")  # under the same name
        now[0] = 2 * ASK_AGAIN_SECONDS
        assert PageDeduplicated in map(type, await dedup.handle(visit(13)))


@pytest.mark.parametrize("reason", ["noindex", "gone", "refused", "blocked"])
async def test_a_removal_behind_a_later_visit_that_found_the_page_unchanged(journey: WholeJourney, reason: str) -> None:
    """Dedup knows that the visit is newer, and the index learns it from the record of dedup."""
    await journey.fetch(A, BODY, 0)
    await journey.fetch(A, BODY, 20)
    events = await journey.remove(A, 10, reason)
    assert any(isinstance(event, PageIndexed) for event in events)
    record = await journey.stores.pages.get(page_id(A))
    assert record.removed.generation < record.indexed.generation == START + 20 * SECOND
    (collection,) = await journey.stores.vectors.collections()
    points = await journey.stores.vectors.scroll(collection, page_id(A))
    assert {point.payload.generation for point in points} == {record.indexed.generation}
    status = status_of(await history_of(journey.stores, page_id(A)))
    assert (status.status, status.waits_for) == ("indexed", None)
    await journey.remove(A, 30, reason)
    assert not await is_indexed(journey, A), "a removal by a later visit removes the page"


class Killed(BaseException):
    """The worker's process ended."""


class Ending:
    """A store whose worker ends before the call that is due, of all calls of its worker that change something."""

    def __init__(self, store: Any, left: list[int]) -> None:
        self._store, self._left = store, left

    def __getattr__(self, name: str) -> Any:
        if name in ("put", "upsert", "remove_page"):
            self._left[0] -= 1
            if self._left[0] < 0:
                raise Killed
        return getattr(self._store, name)


@pytest.mark.parametrize("later", [None, 25], ids=["no later visit", "a later visit"])
@pytest.mark.parametrize("after", range(6))
async def test_a_removal_whose_worker_ends_while_it_indexes_the_page_anew(
    journey: WholeJourney, after: int, later: int | None
) -> None:
    """It comes again: the page is searchable by the visit, no older point is left, and the history says so."""
    await journey.fetch(A, OTHER, -10)
    former = await journey.stores.pages.get(page_id(A))
    (collection,) = await journey.stores.vectors.collections()
    await journey.fetch(A, BODY, 0)
    await journey.fetch(A, BODY, 20)
    # A worker of the first visit wrote its points late, and was killed.
    late, index = former.indexed, IndexAgent(journey.stores)
    removal = PageRemoved(page_id=page_id(A), url=A, generation=START + 10 * SECOND, reason="noindex")
    names = ("statements_ref", "vectors_ref", "statements", "model", "model_version", "dimensions", "generation")
    event = PageEmbedded.following(removal, **{name: getattr(late, name) for name in names})
    points = await index._read_points(event, late.statements_ref, late.vectors_ref, late.generation, former)
    await index._upsert(collection, points)
    left = [after]
    watched: dict[str, Any] = {name: Ending(getattr(journey.stores, name), left) for name in WATCHED}
    ending = replace(journey.stores, **watched)
    with suppress(Killed):
        await IndexAgent(ending).handle(journey._delivery(removal, 10))
    assert (left[0] < 0) == (after < 4), "there are four calls, and the worker may end before the event is sent"
    newest = START + 20 * SECOND
    if later is not None:
        await journey.fetch(A, BODY, later)
        newest = START + later * SECOND
    events = await journey.handle(removal, 30)
    indexed = [event.generation for event in events if isinstance(event, PageIndexed)]
    assert indexed == [newest]
    found = await journey.stores.vectors.scroll(collection, page_id(A))
    assert {point.payload.generation for point in found} == {newest}
    assert (await journey.stores.pages.get(page_id(A))).indexed.generation == newest
    status = status_of(await history_of(journey.stores, page_id(A)))
    assert (status.status, status.waits_for) == ("indexed", None)


@pytest.mark.parametrize("seed", range(examples(100)))
async def test_a_removal_beside_a_visit_that_finds_the_page_unchanged(journey: WholeJourney, seed: int) -> None:
    await journey.fetch(A, BODY, 0)
    (_, normalized, _) = await journey.fetch(A, BODY, 10)
    later = normalized.model_copy(update={"generation": START + 30 * SECOND})
    removal = PageRemoved(page_id=page_id(A), url=A, generation=START + 20 * SECOND, reason="noindex")
    chance = random.Random(seed)
    interleaving = Interleaving([chance.randrange(2) for _ in range(60)])
    stores = replace(journey.stores, **{name: interleaving.watched(getattr(journey.stores, name)) for name in WATCHED})
    dedup, index = DedupAgent(stores, InlineSandbox(TASKS)), IndexAgent(stores)
    visit, removed = journey._delivery(later, 30), journey._delivery(removal, 20)
    outputs = await interleaving.run(dedup.handle(visit), index.handle(removed))
    for event in (removal, *outputs[0]):  # dedup reads the removal, too, and the stages behind it go on
        await journey.handle(event, 31)
    assert await is_indexed(journey, A)
    record = await journey.stores.pages.get(page_id(A))
    assert record.removed.generation < record.indexed.generation


async def test_a_visit_under_way_at_a_removal_on_request_is_waited_for_by_nobody(journey: WholeJourney) -> None:
    (fetched, *_) = await journey.fetch(A, BODY, 0)
    body = await journey.stores.blobs.put(OTHER.encode())
    visit = fetched.model_copy(update={"generation": START + 50 * SECOND, "body_ref": body})
    events = await journey.handle(visit, 50, (PageEmbedded, lambda: journey.remove(A, 30)))
    assert isinstance(events[-1], PageEmbedded)
    status = status_of(await history_of(journey.stores, page_id(A)))
    assert (status.status, status.reason, status.waits_for) == ("removed", "request", None)
    assert not await is_indexed(journey, A)


async def test_a_document_of_a_page_that_asks_not_to_be_indexed_is_waited_for_by_nobody(journey: WholeJourney) -> None:
    """Its record has a document, and no event told of that. A later visit that got no content changes nothing."""
    await journey.fetch(A, BODY, 0)
    (fetched, *_) = await journey.fetch(A, BODY, 10, x_robots_tag="noindex")
    again = fetched.model_copy(update={"generation": START + 20 * SECOND, "outcome": "not_modified"})
    await journey.handle(again, 20)
    status = status_of(await history_of(journey.stores, page_id(A)))
    assert (status.status, status.reason, status.waits_for) == ("refused", "noindex", None)


async def test_a_fetch_that_is_read_again_settles_the_fetch(journey: WholeJourney) -> None:
    """A normalizer that was killed sends its event again, later: the history has the fetch once."""
    events = await journey.fetch(A, BODY, 0)
    later = events[1].model_copy(update={"generation": START + 10 * SECOND})
    (dedup,), one = journey._stages[PageNormalized], journey._delivery(later, 10)
    envelope = one.envelope.model_copy(update={"time": one.time + timedelta(seconds=1)})
    for delivery in (one, replace(one, envelope=envelope)):
        settled = settlements(await dedup.handle(delivery))
        assert [(event.verdict, event.generation) for event in settled] == [("unchanged", START + 10 * SECOND)]


async def test_a_page_is_unchanged_wherever_its_contents_are_stored(journey: WholeJourney) -> None:
    """A page that is visited often has blobs of their own, and one that is visited rarely has them with its record."""
    await journey.fetch(A, BODY, 0)
    for visit, with_record in enumerate((False, True, True, False), start=1):
        journey.with_record = with_record
        found = await journey.fetch(A, BODY + "\n" * visit, visit * 86_400)
        assert [type(event) for event in found] == [PageFetched, PageNormalized, PageSettled]
        assert is_of_page(found[1].document_ref) == with_record  # type: ignore[attr-defined] # of PageNormalized


LONG = "".join(
    f"<p>Paragraph {n} of the manual tells how valve {n * 7} of the {word} pump is opened, cleaned and closed.</p>"
    for n, word in enumerate(("northern", "southern", "eastern", "western", "upper", "lower", "inner", "outer") * 12)
)


def manual(line: str) -> str:
    return f"<html lang=en><title>Pumps</title><main><h1>Pumps</h1>{LONG}<p>{line}</p></main></html>"


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ("This page was viewed 1,204 times.", "This page was viewed 1,311 times.", "unchanged"),
        ("Last updated on Monday, 3 June 2024 at 14:03", "Last updated on Tuesday, 4 June 2024 at 9:15", "unchanged"),
        # https://github.com/mihaelamj/cupertino/issues/199
        ("12 queries in 0.31 s", "14 queries in 0.28 s", "unchanged"),
        ("Veröffentlicht vor 3 Minuten von Anna", "Veröffentlicht vor 2 Stunden von Anna", "unchanged"),
        ("The pump costs 1,204 coins.", "The pump costs 1,311 coins.", "changed"),  # as few bits as a counter
        ("1,204", "1,311", "changed"),  # such as the cell of a table
        ("Updated price: 5", "Updated price: 6", "changed"),
        ("5 likes, $7 in total", "5 likes, $8 in total", "changed"),
        ("3 views", "3 views. Valve 12 must never be opened.", "changed"),
    ],
)
async def test_only_counters_may_change_in_an_unchanged_page(
    journey: WholeJourney, before: str, after: str, verdict: str
) -> None:
    await journey.fetch(A, manual(before), 0)
    journey.calls.clear()
    indexed = await journey.stores.fingerprints.get(page_id(A))
    assert indexed is not None
    for at, line in ((86_400, after), (2 * 86_400, before), (3 * 86_400, after)):
        events = await journey.fetch(A, manual(line), at)
        (settled,) = settlements(events)
        stopped = not any(isinstance(event, PageDeduplicated) for event in events)
        assert (settled.verdict, stopped) == (verdict, verdict == "unchanged")
        found = await journey.stores.fingerprints.get(page_id(A))
        assert found is not None
        assert (found.document_ref == indexed.document_ref) == (stopped or line == before)
    assert bool(journey.calls["embedder.embed"]) == (verdict == "changed")


async def test_a_change_of_counters_is_unchanged_at_its_redelivery(journey: WholeJourney) -> None:
    await journey.fetch(A, manual("3 views"), 0)
    events = await journey.fetch(A, manual("4 views"), 86_400)
    (normalized,) = [event for event in events if isinstance(event, PageNormalized)]
    later = normalized.model_copy(update={"generation": START + 2 * 86_400 * SECOND})
    (dedup,), delivery = journey._stages[PageNormalized], journey._delivery(later, 2 * 86_400)
    first, second = await dedup.handle(delivery), await dedup.handle(delivery)
    assert first == second
    assert [event.verdict for event in first if isinstance(event, PageSettled)] == ["unchanged"]
    assert len(first) == 1


async def test_a_changed_page_is_indexed_again(journey: WholeJourney) -> None:
    await journey.fetch(A, BODY, 0)
    again = await journey.fetch(A, OTHER, 86_400)
    assert any(isinstance(event, PageDeduplicated) for event in again)
    assert journey.calls["embedder.embed"] == 2


async def report(_: str, __: float) -> None: ...


async def everything_stored(journey: WholeJourney) -> dict[str, bytes]:
    """All bytes in all stores, by the place where they are."""
    stores: Any = journey.stores
    found = {f"blob {ref}": content for ref, content in stores.blobs._contents.items()}
    for page in (page_id(A), page_id(B)):
        found |= {
            f"record {part} of {page}": pack(value) for part, value in (await stores.pages.get(page)).rows.items()
        }
        found |= {f"step {step.topic} of {page}": pack_row(step) for step in await stores.ledger.history(page)}
        for collection in await stores.vectors.collections():
            hits = await stores.vectors.scroll(collection, page)
            found |= {f"point {hit.id} of {page}": repr(hit).encode() for hit in hits}
        if fingerprint := await stores.fingerprints.get(page):
            found[f"fingerprint of {page}"] = pack_row(fingerprint)
    return found


async def places_with(journey: WholeJourney, text: str) -> set[str]:
    stored = await everything_stored(journey)
    return {place for place, content in stored.items() if text.lower().encode() in content.lower()}


async def erase(journey: WholeJourney, *urls: str, before: int) -> Erased:
    return await Eraser(journey.stores, report).erase([page_id(url) for url in urls], START + before * SECOND)


async def is_removed(journey: WholeJourney, page: UUID, at: int) -> bool:
    return await Eraser(journey.stores, report).is_removed(page, START + at * SECOND)


async def test_nothing_is_left_of_a_page_that_was_removed_on_request(journey: WholeJourney) -> None:
    await journey.fetch(A, BODY.replace("paragraph", "former paragraph"), 0)
    await journey.fetch(A, BODY, 10)
    await journey.fetch(B, OTHER, 20)
    assert len(await places_with(journey, "zirconium")) > 8
    assert not await is_removed(journey, page_id(A), 30)
    await journey.remove(A, 30)
    assert await is_removed(journey, page_id(A), 30)
    assert await places_with(journey, "zirconium"), "the stages remove the page from the index alone"
    erased = await erase(journey, A, before=35)
    assert await places_with(journey, "zirconium") == set()
    assert erased.blobs >= 8, "those of both fetches"
    assert erased.shared == 0
    assert set((await journey.stores.pages.get(page_id(A))).rows) == {"removed"}
    assert [step.topic for step in await journey.stores.ledger.history(page_id(A))] == ["pages.removed"]
    assert len(await places_with(journey, "hafnium")) > 6, "other pages keep theirs"
    assert await erase(journey, A, before=35) == Erased(0, 0, 0), "a second time changes nothing"


async def test_bytes_that_another_page_has_too_stay_with_it(journey: WholeJourney) -> None:
    journey.with_record = False
    await journey.fetch(A, BODY, 0)
    await journey.fetch(B, BODY, 10)
    body = (await journey.stores.pages.get(page_id(B))).rows["fetched"]["body_ref"]
    await journey.remove(A, 30)
    erased = await erase(journey, A, before=35)
    assert erased.shared == 1
    assert await journey.stores.blobs.get(body) == BODY.encode()
    left = await places_with(journey, "zirconium")
    assert {place for place in left if str(page_id(A)) in place} == set()
    assert any(place.startswith("point") for place in left), "the copy is promoted, and searchable now"
    await journey.remove(B, 40)
    assert (await erase(journey, B, before=45)).shared == 0
    with pytest.raises(MissingBlob):
        await journey.stores.blobs.get(body)
    assert await places_with(journey, "zirconium") == set()


async def test_two_removed_pages_do_not_keep_each_others_bytes(journey: WholeJourney) -> None:
    await journey.fetch(A, BODY, 0)
    await journey.fetch(B, BODY, 10)
    for url in (A, B):
        await journey.remove(url, 30)
    assert (await erase(journey, A, B, before=35)).shared == 0
    assert await places_with(journey, "zirconium") == set()


async def test_events_of_before_the_removal_that_come_late_store_no_row(journey: WholeJourney) -> None:
    first = await journey.fetch(A, BODY, 0)
    await journey.remove(A, 30)
    await erase(journey, A, before=35)
    for event in first:
        await journey.handle(event, 1)  # none of them is a dead letter
    left = await places_with(journey, "zirconium")
    assert {place for place in left if not place.startswith("blob")} == set()
    assert not [place for place in left if place.startswith("point")]


async def test_an_erasure_that_was_broken_off_is_completed_by_the_next_one(journey: WholeJourney) -> None:
    await journey.fetch(A, BODY, 0)
    await journey.remove(A, 30)
    collection: Any = journey.stores.blob_collection
    delete, left = collection.delete, [2]

    async def breaking(blob: Any) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise TransientError("away")
        await delete(blob)

    collection.delete = breaking
    with pytest.raises(TransientError, match="away"):
        await erase(journey, A, before=35)
    collection.delete = delete
    await erase(journey, A, before=35)
    assert await places_with(journey, "zirconium") == set()


async def test_a_page_that_is_written_meanwhile_is_reported(journey: WholeJourney) -> None:
    await journey.fetch(A, BODY, 0)
    await journey.remove(A, 30)
    await journey.stores.pages.put(page_id(A), Normalized.of_row({"title": "new"}), START + 36 * SECOND)
    with pytest.raises(TransientError, match=r"written again meanwhile \(normalized\)"):
        await erase(journey, A, before=35)


async def is_indexed(journey: WholeJourney, url: str) -> bool:
    stores = journey.stores
    return any([await stores.vectors.scroll(name, page_id(url)) for name in await stores.vectors.collections()])


async def withdraw(journey: WholeJourney, url: str, at: int) -> None:
    record = withdrawal(await journey.stores.pages.get(page_id(url)), START + at * SECOND)
    await journey.stores.pages.put(page_id(url), record, record.at)


@pytest.mark.parametrize("erased", [False, True])
async def test_a_removal_on_request_holds_until_it_is_withdrawn(journey: WholeJourney, erased: bool) -> None:
    await journey.fetch(A, BODY, 0)
    await journey.remove(A, 30)
    if erased:
        await erase(journey, A, before=35)
    for at, body in ((50, BODY), (60, OTHER)):
        events = await journey.fetch(A, body, at)
        assert [type(event).__name__ for event in events] == ["PageFetched", "PageNormalized", "PageSettled"]
        settled = events[-1]
        assert isinstance(settled, PageSettled)
        assert (settled.verdict, settled.generation) == ("refused", START + at * SECOND)
        assert not await is_indexed(journey, A)
        assert await journey.stores.fingerprints.get(page_id(A)) is None
    status = status_of(await journey.stores.ledger.history(page_id(A)))
    assert (status.status, status.reason) == ("removed", "request")
    await withdraw(journey, A, 70)
    assert any(isinstance(event, PageIndexed) for event in await journey.fetch(A, BODY, 80))
    assert await is_indexed(journey, A)
    assert status_of(await journey.stores.ledger.history(page_id(A))).status == "indexed"


async def test_a_page_that_a_removal_of_a_later_time_drops_is_settled(journey: WholeJourney) -> None:
    """The removal came from a machine with a clock two hours ahead, and was withdrawn: no crawl waits for the page."""
    await journey.fetch(A, BODY, 0)
    await journey.remove(A, 7_200)
    await withdraw(journey, A, 7_201)
    events = await journey.fetch(A, OTHER, 50)
    assert [(event.verdict, event.generation) for event in settlements(events)] == [("refused", START + 50 * SECOND)]


async def test_a_withdrawn_removal_that_is_replayed_removes_nothing(journey: WholeJourney) -> None:
    await journey.fetch(A, BODY, 0)
    removed = await journey.remove(A, 30)
    await withdraw(journey, A, 40)
    await journey.fetch(A, OTHER, 50)
    for event in removed:
        await journey.handle(event, 31)
    assert await is_indexed(journey, A)
    await journey.remove(A, 60)
    assert not await is_indexed(journey, A), "a new one does"


async def test_a_removal_on_request_takes_out_a_page_that_was_fetched_later(journey: WholeJourney) -> None:
    await journey.fetch(A, BODY, 0)
    await journey.fetch(A, OTHER, 50)
    await journey.remove(A, 30)
    assert not await is_indexed(journey, A)
    assert await journey.stores.fingerprints.get(page_id(A)) is None
    record = await journey.stores.pages.get(page_id(A))
    assert is_held_back(record)
    assert record.removed.generation == START + 50 * SECOND, "no reader takes the page for a newer one"


async def test_no_other_removal_replaces_one_on_request(journey: WholeJourney) -> None:
    await journey.fetch(A, BODY, 0)
    await journey.remove(A, 30)
    refused = PageRemoved(page_id=page_id(A), url=A, generation=START + 40 * SECOND, reason="refused")
    await journey.handle(refused, 40)
    assert (await journey.stores.pages.get(page_id(A))).rows["removed"]["reason"] == "request"
    await journey.fetch(A, BODY, 50)
    assert not await is_indexed(journey, A)


async def test_the_index_lets_no_removed_page_in_whatever_its_generation_is(journey: WholeJourney) -> None:
    """Its events were on the way when the removal came."""
    first = await journey.fetch(A, BODY, 50)
    await journey.remove(A, 30)
    for event in first[2:]:
        await journey.handle(event, 51)
    assert not await is_indexed(journey, A)


BLOB_READERS = ("PageFetched", "PageNormalized", "PageDeduplicated", "PageChunked", "PageEmbedded")


@pytest.mark.parametrize("kind", BLOB_READERS)
@pytest.mark.parametrize("on_request", [False, True])
async def test_a_missing_blob_is_an_error_unless_its_page_was_removed_on_request(
    journey: WholeJourney, kind: str, on_request: bool
) -> None:
    events = await journey.fetch(A, BODY, 0)
    (event,) = [one for one in events if type(one).__name__ == kind]
    if on_request:
        await journey.remove(A, 30)
        await erase(journey, A, before=35)
    else:
        stores: Any = journey.stores
        stores.blobs._contents.clear()
        for part in ("indexed",):
            stores.pages._cells[page_id(A)].pop(part)
    if on_request:
        outcome = [type(one).__name__ for one in await journey.handle(event, 40)]
        assert outcome == [kind, "PageSettled"] if kind in BLOB_READERS[:2] else [kind]
        return
    with pytest.raises(MissingBlob):
        await journey.handle(event, 40)


@pytest.mark.parametrize(
    ("generation", "reason", "error"),
    [
        pytest.param(4, "request", PageErased, id="before the removal"),
        pytest.param(6, "request", PageErased, id="between the removal and the erasure"),
        pytest.param(9, "request", MissingBlob, id="after the erasure: its blob is lost"),
        pytest.param(4, "gone", MissingBlob, id="nobody erased the page"),
    ],
)
async def test_a_visit_that_an_erasure_meets_has_no_effect_and_is_no_dead_letter(
    generation: int, reason: str, error: type[Exception]
) -> None:
    stores, page = memory_stores(), page_id(A)
    removed = PageRecord({}).removed
    await stores.pages.put(page, replace(removed, url=A, generation=5, reason=reason, at=8, stored={}), 8)
    event = PageFetched(page_id=page, url=A, host="a.test", outcome="ok", generation=generation)
    with pytest.raises(error):
        await blob_of_page(stores.blobs, stores.pages, event, "ab" * 32)
