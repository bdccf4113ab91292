"""Pages are visited again, by how often each one changes: the rule, and some days of the simulated web."""

from collections import Counter
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest

from schemas import PageDiscovered, PageFetched, PageSettled
from schemas.ids import event_id, page_id
from streams.crawl.frontier.progress import crawl_progress
from streams.crawl.frontier.scheduling.change_hints import DAILY_HINTS, TRIAL_SHARE, ChangeHints
from streams.crawl.frontier.scheduling.recrawl import FIRST_SECONDS, MAX_FAILURES, failed_seconds, first_mean
from streams.crawl.frontier.scheduling.visit_budget import (
    MAX_MEAN_SECONDS,
    MAX_WAIT_SECONDS,
    MIN_MEAN_SECONDS,
    NEW_PAGE_SECONDS,
)
from streams.settings import CrawlSettings
from streams.stores.opener import Stores
from tests.frontier_rows import stored_url
from tests.sizes import FULL
from tests.stages.frontier_world import SECOND, START, Site, World

HOUR, DAY = 3_600, 86_400


@pytest.mark.parametrize(
    ("wait", "failures", "seconds"),
    [
        (6 * HOUR, 1, 12 * HOUR),
        (6 * HOUR, 3, 48 * HOUR),
        (300, 1, 2 * FIRST_SECONDS),
        (20 * DAY, 1, MAX_WAIT_SECONDS),
        (DAY, MAX_FAILURES, 0),
    ],
)
def test_a_page_that_fails_waits_twice_as_long_each_time(wait: float, failures: int, seconds: float) -> None:
    assert failed_seconds(wait, failures) == seconds


FIRSTS = [
    (0, True, NEW_PAGE_SECONDS, "nothing is stated"),
    (HOUR, False, NEW_PAGE_SECONDS, "the host's intervals are not known to be true"),
    (HOUR, True, HOUR, "as it is stated"),
    (1, True, MIN_MEAN_SECONDS, "the bounds hold"),
    (3_650 * DAY, True, MAX_MEAN_SECONDS, "the bounds hold"),
]


@pytest.mark.parametrize(("stated", "is_true", "seconds", "why"), FIRSTS)
def test_how_often_a_new_page_changes_may_be_stated(stated: int, is_true: bool, seconds: int, why: str) -> None:
    hints = ChangeHints(expected=10, found=10 if is_true else 0)
    assert first_mean(stated, hints) == seconds, why


async def test_pages_of_a_host_with_true_intervals_are_first_visited_by_them() -> None:
    paths = [f"/{number}" for number in range(30)]
    world = LivingWorld(site("/late", *paths))
    world.periods = dict.fromkeys(paths, DAY)
    for path in paths:
        tell(world, path, 0, change_seconds=(DAY,))
    await world.run(hours=24 * 5)
    begin = (world.now - START) // SECOND
    tell(world, "/late", 0, change_seconds=(8 * DAY,))
    await world.run(hours=24 * 4)
    first, second, *_ = world.visits("/late")
    assert first < begin + 100
    others = [later - earlier for path in paths for earlier, later in pairwise(world.visits(path)[-3:])]
    assert max(others) < DAY < second - first < 2 * DAY


class LivingWorld(World):
    """A world whose pages change now and then, with later stages that settle each page."""

    periods: dict[str, int] = {}  # noqa: RUF012 # set by each test
    """Seconds between two changes of a page, by path. Other pages never change."""

    def __init__(self, sites: dict[str, Site], kill: float = 0.0, **settings: Any) -> None:
        super().__init__(sites, CrawlSettings(**{"delay_seconds": 1, "recrawl": True, **settings}), 1, kill)
        self._read: dict[UUID, int] = {}

    async def _arrive(self, fetched: PageFetched, id_: UUID) -> None:
        await super()._arrive(fetched, id_)
        if fetched.purpose != "page" or fetched.outcome != "ok":
            return
        path = fetched.url.removeprefix(f"https://{fetched.host}")
        version = (self.now - START) // SECOND // self.periods[path] if path in self.periods else 0
        changed = self._read.get(fetched.page_id) != version
        self._read[fetched.page_id] = version
        settled = PageSettled.following(fetched, verdict="changed" if changed else "unchanged")
        self._send(settled, event_id(settled.event_type(), id_.hex, settled.key()))

    def visits(self, path: str) -> list[int]:
        """Return when the page was visited (seconds since the start)."""
        requests = self.fetches["a.example"]
        return [(at - START) // SECOND for at, _, url in requests if url == f"https://a.example{path}"]


def site(*paths: str) -> dict[str, Site]:
    links = {path: list[str]() for path in paths}
    return {"a.example": Site(links={"/": [f"https://a.example{path}" for path in paths], **links})}


@pytest.mark.parametrize(
    "kill", [pytest.param(0.0, marks=pytest.mark.night), 0.01], ids=["", "while the frontier is killed"]
)
async def test_visits_follow_the_changes_of_each_page(kill: float) -> None:
    world = LivingWorld(site("/never", "/daily", "/often"), kill)
    world.periods = {"/daily": DAY, "/often": 1_200}
    world.seed("https://a.example/")
    await world.run(hours=24 * 4)
    never, daily, often = (len(world.visits(path)) for path in ("/never", "/daily", "/often"))
    assert 6 <= never <= 24  # a small host has visits to spare
    assert never < 2 * daily < often
    assert 8 <= daily <= 24
    assert 4 * DAY / 1_200 / 3 <= often <= 4 * DAY / 300
    assert bool(world.kills) == bool(kill)


def tell(world: "LivingWorld", path: str, modified: int, **fields: Any) -> None:
    """Tell of a change as a sitemap does (seconds since the start)."""
    url = f"https://a.example{path}"
    at = START // SECOND + modified
    event = PageDiscovered(
        page_id=page_id(url), url=url, host="a.example", why="sitemap", depth=1, crawl_id="c", modified=(at,), **fields
    )
    world.send(event)


@pytest.mark.parametrize(
    "kill", [pytest.param(0.0, marks=pytest.mark.night), 0.02], ids=["", "while the frontier is killed"]
)
async def test_a_change_that_a_sitemap_tells_of_is_visited_at_once(kill: float) -> None:
    world = LivingWorld(site("/a", "/b"), kill)
    world.seed("https://a.example/")
    await world.run(hours=24 * 9)
    before, now = world.visits("/a"), (world.now - START) // SECOND
    world.periods = {"/a": now}
    for modified in (now, now, 3_600):  # told twice, and of an older change
        tell(world, "/a", modified)
    tell(world, "/b", 3_600)
    planned = [await stored_url(world.frontier_store, f"https://a.example/{name}") for name in "ab"]
    await world.run(hours=0.1)
    (visit,) = world.visits("/a")[len(before) :]
    assert visit < now + 120
    other = await stored_url(world.frontier_store, "https://a.example/b")
    assert other is not None
    assert not other.hinted_at, "it was visited after that change"
    url = await stored_url(world.frontier_store, "https://a.example/a")
    assert url is not None
    assert planned[0] is not None
    assert (url.mean_seconds, url.is_hinted) == (planned[0].mean_seconds, False)
    await world.run(hours=24 * 30)
    assert len(world.visits("/a")) > len(before) + 1, "its own visits go on"


async def test_a_site_that_always_says_now_gets_few_further_visits() -> None:
    paths = [f"/{number}" for number in range(60 if FULL else 30)]
    hinted, silent = (LivingWorld(site(*paths)) for _ in range(2))
    for world in (hinted, silent):
        world.seed("https://a.example/")
        await world.run(hours=24 * 4)
    for day in range(4, 8):
        for path in paths:
            tell(hinted, path, day * DAY)
        for world in (hinted, silent):
            await world.run(hours=24)
    further = sum(len(hinted.visits(path)) - len(silent.visits(path)) for path in paths)
    by_chance = 0.4 * len(paths)  # a tenth of the visits of its own
    assert further <= DAILY_HINTS + 4 * len(paths) / TRIAL_SHARE + by_chance


async def test_visits_leave_the_counts_and_the_budget_of_a_crawl_as_they_are() -> None:
    world = LivingWorld(site("/a", "/b"), max_pages_per_host=3)
    world.periods = {"/a": 3_600}
    world.seed("https://a.example/")
    await world.run(hours=0.5)
    before = await crawl_progress(Stores(frontier=world.frontier_store), "c")
    await world.run(hours=100)
    assert await crawl_progress(Stores(frontier=world.frontier_store), "c") == before
    assert before.fetched == before.discovered == 3
    assert len(world.visits("/a")) > 20


async def test_a_page_that_is_gone_leaves_the_index_and_is_given_up_at_last() -> None:
    world = LivingWorld(site("/a"))
    world.seed("https://a.example/")
    await world.run(hours=0.5)
    del world.sites["a.example"].links["/a"]
    await world.run(hours=24 * 200)
    removed = [event for event in world.removed.values() if event.page_id == page_id("https://a.example/a")]
    assert removed
    assert {event.reason for event in removed} == {"gone"}
    assert len(world.visits("/a")) == 1 + MAX_FAILURES


async def test_a_page_that_robots_now_forbids_leaves_the_index() -> None:
    world = LivingWorld(site("/a"))
    world.seed("https://a.example/")
    await world.run(hours=0.5)
    world.sites["a.example"].robots = "User-agent: *\nDisallow: /a\n"
    await world.run(hours=24 * 4)
    (removal,) = [event for event in world.removed.values() if event.page_id == page_id("https://a.example/a")][:1]
    assert (removal.reason, removal.refused_by) == ("refused", "robots")
    assert removal.detail == "robots.txt of a.example disallows it"
    assert max(world.visits("/a")) < DAY * 1.3


async def test_a_page_that_comes_back_is_visited_as_before() -> None:
    world = LivingWorld(site("/a"))
    world.sites["a.example"].script = {
        "/a": [{}, {"outcome": "gone", "status": 404}, {"outcome": "gone", "status": 404}]
    }
    world.seed("https://a.example/")
    await world.run(hours=24 * 10)
    last = await stored_url(world.frontier_store, "https://a.example/a")
    assert last is not None
    assert (last.outcome, last.visit_failures) == ("ok", 0)


async def test_a_page_that_is_gone_has_no_validators() -> None:
    world = LivingWorld(site("/a"))
    tagged = {"outcome": "ok", "status": 200, "headers": {"etag": '"1"', "last-modified": "yesterday"}}
    world.sites["a.example"].script = {"/a": [tagged, {"outcome": "gone", "status": 404}, tagged, tagged]}
    world.seed("https://a.example/")
    await world.run(hours=24 * 3)
    asked = [(event.etag, event.last_modified) for event in world.scheduled if event.url.endswith("/a")]
    assert asked[:4] == [(None, None), ('"1"', "yesterday"), (None, None), ('"1"', "yesterday")]


async def test_without_recrawl_a_page_is_fetched_once() -> None:
    world = LivingWorld(site("/a"), recrawl=False)
    world.seed("https://a.example/")
    await world.run(hours=100)
    assert set(Counter(world.pages()).values()) == {1}
