"""The visits of a host share a budget: sites that differ at each visit, fronts of news, and clocks that jump."""

from typing import Any
from uuid import UUID

import pytest

from schemas import PageFetched
from tests.stages.frontier_world import SECOND, START, Site
from tests.stages.test_frontier_recrawl import DAY, LivingWorld, site

HOST = "https://a.example"


def requests(world: LivingWorld, begin: float, end: float) -> int:
    """Return the number of requests between two times (seconds since the start)."""
    return len([at for at, _, _ in world.fetches["a.example"] if begin <= (at - START) / SECOND < end])


def ever_changing(pages: int, **settings: Any) -> LivingWorld:
    """A site whose pages differ at each visit, as with "posted 3 minutes ago"."""
    paths = [f"/{number}" for number in range(pages)]
    world = LivingWorld(site(*paths), **{"rights_files": False, **settings})
    world.periods = dict.fromkeys(["/", *paths], 1)
    world.seed(f"{HOST}/")
    return world


async def test_a_site_of_pages_that_differ_at_each_visit_is_asked_some_hundred_times_a_day() -> None:
    """https://bonfire.cafe/post/01KBX5M680H8DPX4TPRS72CDCR"""
    world = ever_changing(320)
    await world.run(hours=48)
    assert requests(world, 0, 3_600) > 320, "first reads are not held back"
    assert requests(world, 4 * 3_600, 5 * 3_600) < 100
    assert 100 < requests(world, DAY, 2 * DAY) < 500


class News(LivingWorld):
    """A site whose page /new names a new article each half an hour, and whose page /clock only differs."""

    EVERY = 1_800

    def __init__(self, kill: float = 0.0, end_seconds: int = DAY) -> None:
        pages = [f"/{number}" for number in range(60)]
        super().__init__({"a.example": Site(links={f"/article{n}": [] for n in range(1_000)})}, kill)
        self.sites["a.example"].links |= {"/": [f"{HOST}{path}" for path in ("/new", "/clock", *pages)], "/new": []}
        self.sites["a.example"].links |= {path: [] for path in ("/clock", *pages)}
        self.periods = {"/new": self.EVERY, "/clock": 1}
        self.end_seconds = end_seconds

    async def _arrive(self, fetched: PageFetched, id_: UUID) -> None:
        articles = min((self.now - START) // SECOND, self.end_seconds) // self.EVERY
        self.sites["a.example"].links["/new"] = [f"{HOST}/article{n}" for n in range(articles)]
        await super()._arrive(fetched, id_)


@pytest.mark.parametrize(
    "kill", [pytest.param(0.0, marks=pytest.mark.night), 0.001], ids=["", "while the frontier is killed"]
)
async def test_a_front_that_leads_to_new_pages_is_visited_more_often_than_a_page_that_only_differs(kill: float) -> None:
    world = News(kill, end_seconds=2 * DAY)
    world.seed(f"{HOST}/")
    await world.run(hours=24 * 2)
    fronts, clocks = ([at for at in world.visits(path) if at > DAY] for path in ("/new", "/clock"))
    assert 48 <= len(fronts) <= 288, "within the half hour, and not below five minutes"
    assert len(clocks) < 12
    before = len(world.visits("/new"))
    await world.run(hours=24 * 2)
    assert len(world.visits("/new")) - before < 2 * 40, "no more news: a page like others"
    assert bool(world.kills) == bool(kill)


@pytest.mark.parametrize(
    "jump",
    [pytest.param(-DAY, id="a day back"), pytest.param(30 * DAY, id="a month forward", marks=pytest.mark.night)],
)
async def test_a_clock_that_jumps_leaves_the_budget_as_it_is(jump: int) -> None:
    """All clocks jump. Some days later the visits are as many as before."""
    world = ever_changing(60)
    await world.run(hours=72)
    before = requests(world, 2 * DAY, 3 * DAY)
    world.frontier_clock_ahead = world.fetch_clock_ahead = jump * SECOND
    await world.run(hours=1)
    assert requests(world, 3 * DAY, 3 * DAY + 3_600) < 4 * 61, "all are due at once, at most, and not for ever"
    await world.run(hours=24 * 3)
    assert before / 2 < requests(world, 5 * DAY, 6 * DAY) < 2 * before
