"""Pages that leave the index: noindex, 404 and 410, a redirect, robots.txt forbids them; and how they come back."""

from collections.abc import AsyncIterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from schemas import PageIndexed, PageSettled
from schemas.ids import event_id, page_id
from streams.pages.sandbox.pool import ParsePool
from tests.hostile.servers import response
from tests.stages.frontier_world import Site
from tests.stages.test_failed_visits import in_turn
from tests.stages.test_fetch import run, scheduled
from tests.stages.test_frontier_recrawl import LivingWorld, site
from tests.stages.test_unchanged_and_removed_pages import BODY, OTHER, A, B
from tests.stages.whole_journey import WholeJourney

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


class Refusing(LivingWorld):
    """A world in which the stages refuse a page on its second visit, as if it asked not to be indexed."""

    async def _arrive(self, fetched: Any, id_: Any) -> None:
        await super()._arrive(fetched, id_)
        if fetched.url.endswith("/noindex") and fetched.outcome == "ok" and len(self.visits("/noindex")) == 2:
            settled = PageSettled.following(fetched, verdict="refused", generation=fetched.generation + 1)
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
