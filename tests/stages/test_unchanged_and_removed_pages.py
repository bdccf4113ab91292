"""The cost of an unchanged page, and the rest of a page that was removed on request."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest

from schemas import PageDeduplicated, PageIndexed, PageNormalized, PageRemoved, PageSettled
from schemas.ids import page_id
from streams.errors import MissingBlob, TransientError
from streams.ledger.status import status_of
from streams.maintenance.erasure import Erased, Eraser
from streams.pages.sandbox.pool import ParsePool
from streams.stores.packing import pack
from streams.stores.page_record import Normalized
from streams.stores.removals import is_held_back, withdrawal
from streams.stores.rows import pack_row
from tests.inline_sandbox import inline_parse_pool
from tests.stages.whole_journey import SECOND, START, WholeJourney, settlements

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
    # The document is stored again under its hash, and the records of normalize and dedup are written.
    assert writes == {"blobs.put": 1, "pages.put": 2, "fingerprints.put": 1}


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
