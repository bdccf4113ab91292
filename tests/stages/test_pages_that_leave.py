"""Pages that leave the index: noindex, 404 and 410, a redirect, robots.txt forbids them; and how they come back."""

from collections.abc import AsyncIterator
from contextlib import nullcontext
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from schemas import PageIndexed, PageSettled
from schemas.ids import event_id, page_id
from streams.ledger.status import status_of
from streams.maintenance.sweeping import DAY, minimum_grace_seconds
from streams.pages.sandbox.pool import ParsePool
from streams.stores.blobs import BlobPlace, references_in
from streams.stores.packing import pack
from streams.stores.page_record import PageRecord
from streams.stores.removals import has_left, without_text
from streams.stores.rows import pack_row
from tests.hostile.servers import bad_server, response
from tests.inline_sandbox import inline_parse_pool
from tests.stages.frontier_world import SECOND, Site
from tests.stages.test_failed_visits import in_turn, sweep
from tests.stages.test_fetch import URL, Stage, run, scheduled
from tests.stages.test_frontier_recrawl import LivingWorld, site
from tests.stages.test_unchanged_and_removed_pages import BODY, OTHER, A, B
from tests.stages.whole_journey import START, WholeJourney

NOINDEX = BODY.replace("<title>", "<meta name=robots content=noindex><title>")


@pytest.fixture(scope="module")
async def pool() -> AsyncIterator[ParsePool]:
    async with inline_parse_pool() as started:
        yield started


async def searchable(journey: WholeJourney, url: str) -> bool:
    """Return whether the index and the fingerprints have the page."""
    vectors = journey.stores.vectors
    points = [await vectors.scroll(name, page_id(url)) for name in await vectors.collections()]
    assert any(points) == bool(await journey.stores.fingerprints.get(page_id(url)))
    return any(points)


@pytest.mark.parametrize(
    ("body", "headers", "reason"),
    [
        (NOINDEX, {}, ""),
        (BODY, {"x_robots_tag": "noindex"}, ""),
        (BODY, {"x_robots_tag": "rifflebot: none"}, ""),
        (BODY, {"x_robots_tag": "unavailable_after: 2023-01-01"}, ""),
        (BODY, {"content_signal": "search=no"}, ""),
        ("", {}, "gone"),  # 404, 410 and a redirect
        ("", {}, "refused"),  # robots.txt
        ("", {}, "blocked"),  # an operator
    ],
)
async def test_a_page_leaves_the_index_and_comes_back(
    pool: ParsePool, body: str, headers: dict[str, str], reason: str
) -> None:
    journey = WholeJourney(pool)
    await journey.fetch(A, BODY, 0)
    await journey.fetch(B, OTHER, 5)
    assert await searchable(journey, A)
    for at in (10, 20):  # twice: a second visit, and what a redelivery does
        await (journey.remove(A, at, reason) if reason else journey.fetch(A, body, at, **headers))
        assert not await searchable(journey, A)
    assert await searchable(journey, B)
    again = await journey.fetch(A, BODY, 30)
    assert [event.page_id for event in again if isinstance(event, PageIndexed)] == [page_id(A)]
    assert await searchable(journey, A)


async def test_a_copy_takes_the_place_of_a_page_that_leaves(pool: ParsePool) -> None:
    journey = WholeJourney(pool)
    await journey.fetch(A, BODY, 0)
    await journey.fetch(B, BODY, 5)
    assert not await searchable_points(journey, B)
    await journey.fetch(A, NOINDEX, 10)
    assert await searchable_points(journey, B)
    assert not await searchable_points(journey, A)


async def all_rows(journey: WholeJourney, url: str) -> bytes:
    """Return the record and the history of a page, as they are stored."""
    steps = [pack_row(step) for step in await journey.stores.ledger.history(page_id(url))]
    return b"".join([*steps, *map(pack, (await journey.stores.pages.get(page_id(url))).rows.values())])


def refs_of(rows: bytes) -> set[str]:
    return {ref.hex() for ref in references_in(rows)}


async def blobs_of(journey: WholeJourney, refs: set[str]) -> set[str]:
    hashes = {BlobPlace.of(ref).hash for ref in refs}
    stored = journey.stores.blobs.written_at  # type: ignore[attr-defined] # the fake's
    return {ref for ref in stored if BlobPlace.of(ref).hash in hashes}


GRACE_DAYS = minimum_grace_seconds() / DAY + 3


@pytest.mark.parametrize(
    ("reason", "keeps"),
    [
        ("noindex", False),
        ("gone", False),
        ("refused", False),
        ("blocked", True),  # its host comes back without a crawl
        ("duplicate", True),  # it is still there
    ],
)
async def test_the_texts_of_a_page_that_left_leave_every_store(pool: ParsePool, reason: str, keeps: bool) -> None:
    journey = WholeJourney(pool)
    await journey.fetch(A, BODY, 0)
    await journey.fetch(B, OTHER, 5)
    before = await blobs_of(journey, refs_of(await all_rows(journey, A)))
    others = await blobs_of(journey, refs_of(await all_rows(journey, B)))
    title = (await journey.stores.pages.get(page_id(A))).normalized.title.encode()
    assert len(before) == len(others) == 4, "body, document, statements, vectors"
    await (journey.fetch(A, NOINDEX, 10) if reason == "noindex" else journey.remove(A, 10, reason))
    status = status_of(await journey.stores.ledger.history(page_id(A)))
    await sweep(journey.stores, 3)
    rows = await all_rows(journey, A)
    record = await journey.stores.pages.get(page_id(A))
    assert (title in rows) == keeps
    assert bool(record.normalized.document_ref) == bool(record.fetched.body_ref) == keeps
    assert (reason.encode() in rows, record.fetched.url) == (True, A), "it says why"
    await sweep(journey.stores, 3, 3 + GRACE_DAYS)
    assert await blobs_of(journey, before | others) == ((before | others) if keeps else others)
    assert status_of(await journey.stores.ledger.history(page_id(A))) == status
    if not keeps:
        await journey.fetch(A, BODY, 30)
        await sweep(journey.stores, 3, 3 + GRACE_DAYS, 3 + 2 * GRACE_DAYS)
        assert await searchable(journey, A), "it came back"
        assert await blobs_of(journey, before) == before


async def test_a_blob_that_another_page_has_stays(pool: ParsePool) -> None:
    journey = WholeJourney(pool)
    await journey.fetch(A, BODY, 0)
    await journey.fetch(B, BODY, 5)
    await journey.remove(A, 10, "gone")
    kept = await blobs_of(journey, refs_of(await all_rows(journey, B)))
    await sweep(journey.stores, 3, 3 + GRACE_DAYS)
    assert await blobs_of(journey, kept) == kept
    assert await searchable(journey, B)


class Away(Exception):
    """The sweep is killed."""


@pytest.mark.parametrize("writes", range(4))
async def test_a_sweep_that_is_killed_is_repeated(
    pool: ParsePool, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    journey = WholeJourney(pool)
    await journey.fetch(A, BODY, 0)
    await journey.remove(A, 10, "gone")
    put, left = journey.stores.pages.put, iter(range(writes))

    async def killed(*arguments: Any) -> None:
        if next(left, None) is None:
            raise Away
        await put(*arguments)

    monkeypatch.setattr(journey.stores.pages, "put", killed)
    with pytest.raises(Away) if writes < 3 else nullcontext():
        await sweep(journey.stores, 3)
    monkeypatch.setattr(journey.stores.pages, "put", put)
    await sweep(journey.stores, 3)
    record = await journey.stores.pages.get(page_id(A))
    assert without_text(record) == []
    await journey.fetch(A, BODY, 30)
    assert await searchable(journey, A)


async def test_a_page_that_comes_back_during_the_sweep_keeps_all(
    pool: ParsePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    journey = WholeJourney(pool)
    await journey.fetch(A, BODY, 0)
    await journey.remove(A, 10, "gone")
    pages = journey.stores.pages
    times, get, back = pages.write_times, pages.get, []

    async def read_times(page: Any) -> dict[str, int]:
        found = await times(page)
        back.append(await get(page))  # as it was before
        monkeypatch.setattr(pages, "get", get)
        await journey.fetch(A, BODY, 30)
        monkeypatch.setattr(pages, "get", former)
        return found

    async def former(page: Any) -> Any:
        return back[0] if back else await get(page)

    monkeypatch.setattr(pages, "write_times", read_times)
    monkeypatch.setattr(pages, "get", former)
    await sweep(journey.stores, 3)
    monkeypatch.setattr(pages, "get", get)
    assert len(back) == 1
    record = await pages.get(page_id(A))
    assert record.normalized.title
    assert record.fetched.body_ref
    assert record.indexed.statements_ref
    assert await searchable(journey, A)


def test_an_answer_that_may_still_be_sent_is_left_alone() -> None:
    answer = {"generation": 5, "outcome": "ok", "body_ref": "0" * 64}
    for reason, before, left in [("refused", 5, False), ("refused", 6, True), ("gone", 5, True)]:
        record = PageRecord({"fetched": answer, "removed": {"reason": reason, "generation": 7}})
        assert has_left(record, before) == left


@pytest.mark.parametrize(
    ("later", "left"),
    [
        ({"fetched": {"generation": 8, "outcome": "ok"}}, False),  # its events are on the way
        ({"fetched": {"generation": 8, "outcome": "server_error"}}, True),
        ({"normalized": {"generation": 8}}, False),
        ({"indexed": {"generation": 8}}, False),
        ({"deduplicated": {"generation": 6, "document_ref": "0" * 64, "verdict": "unique"}}, False),  # not yet handled
        ({"deduplicated": {"generation": 9, "reason": "blocked", "verdict": "removed"}}, False),
    ],
)
def test_when_a_page_has_left(later: dict[str, Any], left: bool) -> None:
    rows: dict[str, Any] = {"normalized": {"generation": 7}, "removed": {"reason": "gone", "generation": 7}}
    assert has_left(PageRecord({**rows, **later})) == left


async def searchable_points(journey: WholeJourney, url: str) -> bool:
    vectors = journey.stores.vectors
    return any([await vectors.scroll(name, page_id(url)) for name in await vectors.collections()])


@pytest.mark.parametrize(
    ("name", "value", "outcome"),
    [
        ("x_robots_tag", "noindex", "ok"),
        ("content_signal", "search=no", "ok"),
        ("x_robots_tag", "max-snippet:5", "not_modified"),  # as before
        ("date", "Tue, 02 Jan 2024 00:00:00 GMT", "not_modified"),  # no wish
    ],
)
async def test_a_304_with_other_wishes_is_read_again(tmp_path: Path, name: str, value: str, outcome: str) -> None:
    first = response(b"<p>Hi", etag='"1"', x_robots_tag="max-snippet:5")
    script = in_turn(first, response(b"", status="304 Not Modified", **{name: value}))
    ((ok,), (visit,)), _, _ = await run(tmp_path, script, scheduled(), scheduled(etag='"1"'))
    assert (ok.outcome, visit.outcome, visit.body_ref) == ("ok", outcome, ok.body_ref)
    assert visit.headers[name.replace("_", "-")] == value


EXPIRES = "unavailable_after: Wed, 15 Nov 2023 00:00:00 GMT"
IN_META = BODY.replace("<title>", f"<meta name=robots content='{EXPIRES}'><title>")


@pytest.mark.parametrize(("body", "headers"), [(IN_META, {}), (BODY, {"x_robots_tag": f"{EXPIRES}, nofollow"})])
async def test_an_unchanged_page_leaves_the_index_after_its_date(
    pool: ParsePool, tmp_path: Path, body: str, headers: dict[str, str]
) -> None:
    unchanged = response(b"", status="304 Not Modified")
    script = in_turn(response(body.encode(), etag='"1"', **headers), unchanged, unchanged)
    journey = WholeJourney(pool)
    outcomes = []
    async with bad_server(tmp_path, {"/x": script}) as server:
        stage = Stage(server, journey.stores)
        try:
            for hours in (0, 1, 2 * 24):
                asked = scheduled(etag='"1"', generation=START + hours * 3_600 * SECOND)
                (fetched,) = await stage.fetch(asked)
                await journey.handle(fetched, hours * 3_600)
                outcomes.append((fetched.outcome, await searchable(journey, URL)))
        finally:
            await stage.agent.stop()
    assert outcomes == [("ok", True), ("not_modified", True), ("ok", False)]


NEW = response(b"<p>Hi", etag='"1"')
SAME, FAILED = response(b"", status="304 Not Modified"), response(b"", status="503 Later")


@pytest.mark.parametrize(
    "visits",
    [
        # each visit: the answer, the host's page for no page at that time, the outcome, the page it is compared with
        [(NEW, None, "ok", None), (SAME, "a", "ok", "a"), (SAME, "a", "not_modified", "a")],
        [(NEW, "a", "ok", "a"), (SAME, "a", "not_modified", "a"), (SAME, "b", "ok", "b")],
        [(NEW, "a", "ok", "a"), (SAME, None, "not_modified", "a"), (SAME, "a", "not_modified", "a")],
        [(NEW, None, "ok", None), (FAILED, "a", "server_error", None), (SAME, "a", "ok", "a")],
        [(NEW, "a", "ok", "a"), (FAILED, "b", "server_error", "a"), (SAME, "b", "ok", "b")],
        [(NEW, None, "ok", None), (SAME, None, "not_modified", None), (NEW, "a", "ok", "a"),
         (SAME, "a", "not_modified", "a")],
    ],
    ids=["learned later", "learned again", "a host that changed", "a failure", "another failure", "new content"],
)  # fmt: skip
async def test_a_304_is_judged_once_by_each_page_that_its_host_sends_for_no_page(
    tmp_path: Path, visits: list[tuple[Any, str | None, str, str | None]]
) -> None:
    script = in_turn(*(answer for answer, *_ in visits))
    asked = [scheduled(etag='"1"', not_found_ref=known and 64 * known) for _, known, *_ in visits]
    outputs, _, requests = await run(tmp_path, script, *(event for event in asked for _ in range(2)))
    assert requests == len(visits), "each event came twice"
    assert outputs[::2] == outputs[1::2]
    found = [(event.outcome, event.not_found_ref and event.not_found_ref[0]) for (event,) in outputs[::2]]
    assert found == [(outcome, compared) for *_, outcome, compared in visits]
    assert {event.body_ref for (event,) in outputs} == {outputs[0][0].body_ref}


class Refusing(LivingWorld):
    """A world in which the stages refuse a page on its second visit: by its wish, or as a page for no page."""

    async def _arrive(self, fetched: Any, id_: Any) -> None:
        await super()._arrive(fetched, id_)
        path = fetched.url.removeprefix("https://a.example")
        verdict = {"/noindex": "refused", "/soft-404": "soft_404"}.get(path)
        if verdict and fetched.outcome == "ok" and len(self.visits(path)) == 2:
            settled = PageSettled.following(fetched, verdict=verdict, generation=fetched.generation + 1)
            self._send(settled, event_id(settled.event_type(), id_.hex, settled.key()))


OK = {"outcome": "ok", "status": 200, "headers": {"etag": '"1"'}}
GONE = {"outcome": "gone", "status": 404}
MOVED = {"outcome": "redirect", "status": 301, "redirect_to": "https://a.example/"}


@pytest.mark.parametrize(
    ("path", "script", "robots", "conditional"),
    [
        ("/stays", [OK, OK, OK], "", [False, True]),
        ("/gone", [OK, GONE, OK, OK], "", [False, True, False, True]),
        ("/moved", [OK, MOVED, OK, OK], "", [False, True, False, True]),
        ("/noindex", [OK, OK, OK, OK], "", [False, True, False, True]),
        ("/soft-404", [OK, OK, OK, OK], "", [False, True, False, True]),
        ("/forbidden", [OK] * 9, "User-agent: *\nDisallow: /forbidden\n", [False, True, False, True]),
    ],
)
async def test_a_page_that_left_is_asked_for_without_conditions(
    path: str, script: list[dict[str, Any]], robots: str, conditional: list[bool]
) -> None:
    world = Refusing(site(path))
    here: Site = world.sites["a.example"]
    here.script = {path: list(script)}
    world.seed("https://a.example/")
    await world.run(hours=0.5)
    here.robots, former = robots or here.robots, here.robots
    await world.run(hours=48)
    here.robots = former
    await world.run(hours=24 * 5)
    asked = [bool(event.etag) for event in world.scheduled if event.url == f"https://a.example{path}"]
    assert [kind for kind, _ in groupby(asked)][: len(conditional)] == conditional
