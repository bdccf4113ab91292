"""Pages that leave the index: noindex, 404 and 410, a redirect, robots.txt forbids them; and how they come back."""

from collections.abc import AsyncIterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from schemas import PageIndexed, PageSettled
from schemas.ids import event_id, page_id
from streams.pages.sandbox.pool import ParsePool
from tests.hostile.servers import bad_server, response
from tests.stages.frontier_world import SECOND, Site
from tests.stages.test_failed_visits import in_turn
from tests.stages.test_fetch import URL, Stage, run, scheduled
from tests.stages.test_frontier_recrawl import LivingWorld, site
from tests.stages.test_unchanged_and_removed_pages import BODY, OTHER, A, B
from tests.stages.whole_journey import START, WholeJourney

NOINDEX = BODY.replace("<title>", "<meta name=robots content=noindex><title>")


@pytest.fixture(scope="module")
async def pool() -> AsyncIterator[ParsePool]:
    async with ParsePool(1) as started:
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


async def searchable_points(journey: WholeJourney, url: str) -> bool:
    vectors = journey.stores.vectors
    return any([await vectors.scroll(name, page_id(url)) for name in await vectors.collections()])


@pytest.mark.parametrize(
    ("name", "value", "outcome"),
    [
        ("x_robots_tag", "noindex", "ok"),
        ("content_signal", "search=no", "ok"),
        ("x_robots_tag", "max-snippet:5", "not_modified"),  # as before
        ("last_modified", "Tue, 02 Jan 2024 00:00:00 GMT", "not_modified"),  # no wish
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
