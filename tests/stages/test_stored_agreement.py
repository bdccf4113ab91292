"""`riffle doctor --stored`: each kind of disagreement between history, frontier, record and index is named."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from schemas import PageChunked, PageRemoved
from schemas.ids import page_id
from streams.cli import app
from streams.commands.operate import doctor as doctor_module
from streams.crawl.urls import host_of
from streams.doctor.agreement import SETTLED_SECONDS, check_agreement
from streams.doctor.findings import Level
from streams.maintenance.sampling import sample_known_pages
from streams.pages.sandbox.pool import ParsePool
from streams.settings import Settings
from streams.stores.opener import Stores, memory_stores
from streams.stores.page_record import Fetched
from streams.stores.protocols import FrontierUrl, Point, SparseVector
from tests.frontier_rows import put_urls
from tests.inline_sandbox import inline_parse_pool
from tests.stages.test_unchanged_and_removed_pages import BODY, OTHER, A, B
from tests.stages.whole_journey import SECOND, START, WholeJourney

LATER = START + 10 * 86_400 * SECOND
"""A time at which no step of a page is new."""


@pytest.fixture(scope="module")
async def pool() -> AsyncIterator[ParsePool]:
    async with inline_parse_pool() as started:
        yield started


@pytest.fixture
async def journey(pool: ParsePool) -> WholeJourney:
    """A page that is searchable and a duplicate of it, both known to the frontier."""
    made = WholeJourney(pool)
    for at, url in enumerate((A, B)):
        await made.fetch(url, BODY, at)
        row = FrontierUrl(page_id(url), url, host_of(url), "done", at=START, why="seed", outcome="ok")
        generation = START + at * SECOND
        row = replace(row, generation=generation, ok_generation=generation, settled_generation=generation)
        await put_urls(made.stores.frontier, [row])
    return made


async def found(stores: Stores, now: int = LATER) -> list[str]:
    """Return the lines of the disagreements, without the hosts and numbers of their pages."""
    findings = await check_agreement(stores, [page_id(A), page_id(B)], now)
    return [line for finding in findings for line in finding.details]


async def _row(journey: WholeJourney) -> FrontierUrl:
    row = await journey.stores.frontier.url(host_of(A), page_id(A))
    assert row is not None
    return row


async def _collection(stores: Stores) -> str:
    collection = await stores.vectors.active()
    assert collection is not None
    return collection


async def lose_points(journey: WholeJourney) -> None:
    await journey.stores.vectors.remove_page(await _collection(journey.stores), page_id(A))


async def lose_a_part(journey: WholeJourney) -> None:
    collection = await _collection(journey.stores)
    kept = [hit.id for hit in await journey.stores.vectors.scroll(collection, page_id(A))][1:]
    await journey.stores.vectors.remove_page(collection, page_id(A), keep=kept)


async def _points(journey: WholeJourney) -> list[Point]:
    hits = await journey.stores.vectors.scroll(await _collection(journey.stores), page_id(A))
    vectors = await journey.stores.vectors.dense_vectors([hit.id for hit in hits])
    return [
        Point(id=hit.id, dense=vector, sparse=SparseVector((), ()), payload=hit.payload)
        for hit, vector in zip(hits, vectors, strict=True)
    ]


async def come_back_after_removal(journey: WholeJourney) -> None:
    points = await _points(journey)
    await journey.remove(A, 10, "gone")
    await journey.stores.vectors.upsert(await _collection(journey.stores), points)


async def come_back_after_request(journey: WholeJourney) -> None:
    points = await _points(journey)
    await journey.remove(A, 10)
    await journey.stores.vectors.upsert(await _collection(journey.stores), points)


async def lose_history(journey: WholeJourney) -> None:
    await journey.stores.ledger.erase(page_id(B), LATER)


async def lose_record_of_removal(journey: WholeJourney) -> None:
    await journey.stores.pages.erase(page_id(A), LATER)


class Lost(Exception):
    """An event was lost."""


async def lose_event(journey: WholeJourney) -> None:
    async def lose() -> None:
        raise Lost

    handle = journey.handle
    setattr(journey, "handle", lambda first, at: handle(first, at, (PageChunked, lose)))  # noqa: B010 - of this journey
    with pytest.raises(Lost):
        await journey.fetch(A, OTHER, 86_400)
    row, generation = await _row(journey), START + 86_400 * SECOND
    row = replace(row, generation=generation, ok_generation=generation, at=row.at + 1)
    await put_urls(journey.stores.frontier, [row])


async def forget_url(journey: WholeJourney) -> None:
    journey.stores.frontier._urls.pop((host_of(A), page_id(A)))  # type: ignore[attr-defined]  # no call deletes a URL


async def lag_behind(journey: WholeJourney) -> None:
    row = await _row(journey)
    await put_urls(journey.stores.frontier, [replace(row, generation=START - SECOND, ok_generation=0, at=row.at + 1)])


async def run_ahead(journey: WholeJourney) -> None:
    row, later = await _row(journey), START + 3_600 * SECOND
    await put_urls(journey.stores.frontier, [replace(row, generation=later, ok_generation=later, at=row.at + 1)])


async def test_stores_that_agree_have_no_line(journey: WholeJourney) -> None:
    assert await found(journey.stores) == []
    await journey.remove(B, 20, "gone")
    await journey.remove(A, 30)
    assert await found(journey.stores) == []


@pytest.mark.parametrize(
    ("spoil", "expected", "advice"),
    [
        pytest.param(lose_points, "the index has 0 of them", "riffle reindex --recompute --host a.test", id="no point"),
        pytest.param(lose_a_part, "the index has", "riffle reindex --recompute --host a.test", id="some points"),
        pytest.param(come_back_after_removal, "it is removed (gone), and has", "riffle crawl", id="gone, with points"),
        pytest.param(come_back_after_request, "removed on request, and has", f"riffle remove {A}", id="request"),
        pytest.param(lose_history, "the ledger says unknown", "riffle replay --from ledger --host b.test", id="ledger"),
        pytest.param(lose_record_of_removal, "its record does not", f"riffle crawl {A} --depth 0", id="record"),
        pytest.param(lose_event, "it waits for statements since", "riffle status --topics", id="an event was lost"),
        pytest.param(forget_url, "the frontier does not know it", f"riffle crawl {A} --depth 0", id="no row"),
        pytest.param(lag_behind, "has not read the answer", f"riffle crawl {A} --depth 0", id="frontier behind"),
        pytest.param(run_ahead, "a later content than the record", f"riffle crawl {A} --depth 0", id="frontier ahead"),
    ],
)
async def test_each_disagreement_names_its_page_and_what_to_do(
    journey: WholeJourney, spoil: Callable[[WholeJourney], Awaitable[None]], expected: str, advice: str
) -> None:
    await spoil(journey)
    lines = await found(journey.stores)
    named = B if spoil is lose_history else A
    assert [line for line in lines if line.startswith(named) and expected in line and advice in line], lines


async def test_a_page_that_waits_behind_others_is_a_warning_and_no_disagreement(journey: WholeJourney) -> None:
    """A stage that is an hour behind, as in a large crawl on a small machine, is no fault of the stores."""
    await lose_event(journey)
    findings = await check_agreement(journey.stores, [page_id(A)], START + (86_400 + 3_600) * SECOND)
    assert [(finding.level, len(finding.details)) for finding in findings] == [(Level.OK, 0), (Level.WARNING, 1)]


async def test_a_duplicate_of_a_page_that_waits_for_a_stage_is_no_disagreement(pool: ParsePool) -> None:
    async def lose() -> None:
        raise Lost

    journey = WholeJourney(pool)
    handle = journey.handle
    setattr(journey, "handle", lambda first, at: handle(first, at, (PageChunked, lose)))  # noqa: B010 - of this journey
    with pytest.raises(Lost):
        await journey.fetch(A, BODY, 0)
    setattr(journey, "handle", handle)  # noqa: B010 - of this journey
    await journey.fetch(B, BODY, 1)
    assert not [line for line in await found(journey.stores) if "duplicate" in line]


async def test_a_duplicate_of_a_page_without_points_is_named(journey: WholeJourney) -> None:
    await lose_points(journey)
    (line,) = [line for line in await found(journey.stores) if line.startswith(B)]
    assert f"duplicate of page {page_id(A)}, which has no point. riffle crawl {B} --depth 0" in line


async def test_a_page_on_its_way_is_not_judged(journey: WholeJourney) -> None:
    await lose_points(journey)
    soon = START + round(SETTLED_SECONDS / 2) * SECOND
    assert await found(journey.stores, soon) == []
    (_, note) = await check_agreement(journey.stores, [page_id(A), page_id(B)], soon)
    assert note.says.startswith("2 pages, with a step in the last half hour")


async def test_the_sample_is_random_bounded_and_has_pages_that_are_not_searchable() -> None:
    stores, known = memory_stores(), [page_id(f"https://a.test/{number}") for number in range(200)]
    for one in known:
        await stores.pages.put(one, Fetched.of_row({"generation": 1}), 1)
    assert sorted(await sample_known_pages(stores.pages, random.Random(1), 1_000)) == sorted(known)
    drawn = [await sample_known_pages(stores.pages, random.Random(seed), 20) for seed in range(60)]
    assert {len(set(one)) for one in drawn} == {20}
    counts = [sum(one in sample for sample in drawn) for one in known]
    assert sum(count > 0 for count in counts) > 0.9 * len(known), "each page can be drawn"


def test_the_command_exits_with_2_and_names_the_page(pool: ParsePool, monkeypatch: pytest.MonkeyPatch) -> None:
    stores = memory_stores()

    async def prepare() -> None:
        async with inline_parse_pool() as own:
            journey = WholeJourney(own, stores)
            await journey.fetch(A, BODY, 0)
            await journey.handle(PageRemoved(page_id=page_id(B), url=B, generation=START, reason="gone"), 1)
            await lose_points(journey)

    asyncio.run(prepare())

    @asynccontextmanager
    async def in_memory(settings: Settings, needs: object, *, use: str) -> AsyncIterator[Stores]:
        assert use == "read"
        yield stores

    monkeypatch.setattr(doctor_module, "open_stores", in_memory)
    result = CliRunner().invoke(app, ["doctor", "--stored", "10"], catch_exceptions=False)
    assert result.exit_code == Level.FAILURE, result.output
    assert A in result.output
    assert CliRunner().invoke(app, ["doctor", "--stored", "10", "--only", "topics"]).exit_code == 2
