"""Traps: which URLs of a host are left out, and that its other URLs are not."""

from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest

from schemas.ids import page_id
from streams.crawl.frontier.scheduling.traps import MAX_PATHS, MAX_QUERIES, Traps, is_far_month
from streams.maintenance.frontier_hosts import view_host, why_left_out
from streams.settings import CrawlSettings
from streams.stores.memory import MemoryFrontier
from streams.stores.protocols import FrontierUrl
from tests.stages.frontier_world import SECOND, Site, World, discovered

TODAY = int(datetime(2030, 6, 15, tzinfo=UTC).timestamp())


@pytest.mark.parametrize(
    ("path", "is_far"),
    [
        ("calendar/2031/09/", True),
        ("calendar/2031/07/", False),  # thirteen months ahead
        ("events/2030-12-24/concert", False),
        ("events/month/2044-02", True),
        ("kalender?year=2040&month=3", True),
        ("calendar?date=1950-01-01", True),
        ("events/2012/05/", False),  # past events are pages like others
        ("blog/2044/02/post", False),  # no calendar
        ("t/topic/2050/12", False),  # a number that looks like a year
        ("calendar", False),
        ("calendar/99999/12", False),
        ("calendar/2044/13", False),
    ],
)
def test_months_far_from_today(path: str, is_far: bool) -> None:
    assert is_far_month(path, TODAY) is is_far


def link(url: str, **fields: Any) -> Any:
    return discovered(url, referrer="https://a.example/", **fields)


def test_queries_of_a_path_explode_and_other_paths_do_not() -> None:
    traps = Traps()
    reasons = [traps.take(link(f"https://a.example/search?q={n}"), TODAY) for n in range(MAX_QUERIES + 3)]
    assert set(reasons[:MAX_QUERIES]) == {None}
    assert {reason.partition(": more")[0] for reason in reasons[MAX_QUERIES:] if reason} == {"trap: query explosion"}
    assert traps.take(link("https://a.example/search"), TODAY) is None
    assert traps.take(link("https://a.example/list?page=1"), TODAY) is None
    assert Traps(traps.row()).row() == traps.row()
    assert traps.left_out == {"query explosion": 3}


@pytest.mark.parametrize("fields", [{"why": "sitemap"}, {"why": "seed", "depth": 0}, {"purpose": "sitemap"}])
def test_what_a_person_or_a_sitemap_names_is_no_trap(fields: dict[str, Any]) -> None:
    traps = Traps()
    assert traps.take(link("https://a.example/calendar/2099/01", **fields), TODAY) is None
    assert traps.row() == {}


def test_the_reason_of_a_url_is_found_again_and_counts_nothing() -> None:
    traps = Traps()
    urls = [f"https://a.example/search?q={n}" for n in range(MAX_QUERIES + 1)]
    taken = [traps.take(link(url), TODAY) for url in [*urls, "https://a.example/calendar/2099/01"]]
    row = traps.row()
    for url, reason in ((urls[-1], taken[-2]), ("https://a.example/calendar/2099/01", taken[-1])):
        assert reason == traps.reason(url, TODAY)
        assert str(reason).startswith("trap: ")
    assert traps.reason("https://a.example/list?q=1", TODAY) is None
    assert traps.row() == row


LEFT_OUT = [
    ("https://a.example/calendar/2099/01", "trap: calendar"),
    ("https://a.example/" + "a/b/c/d/" * 7, "trap: more than 24 path segments"),
    ("https://a.example/x/x/x/x/", "trap: a path segment that repeats"),
    ("https://a.example/?" + "&".join(f"p{n}=1" for n in range(20)), "trap: more than 16 query parameters"),
    ("https://a.example/a.zip", "type: .zip is not a page"),
    ("https://a.example/about", ""),
    ("https://a.example:8443/about", ""),
    ("", ""),
]


@pytest.mark.parametrize(("url", "begin"), LEFT_OUT)
async def test_who_asks_for_a_url_gets_the_reason(url: str, begin: str) -> None:
    store = MemoryFrontier()
    reason = await why_left_out(store, url, TODAY * 1_000_000)
    assert reason.startswith(begin)
    assert bool(reason) == bool(begin)
    if url:
        host = url.split("/")[2]
        await store.put_url(FrontierUrl(page_id(url), url, host, "done", at=1))
        assert not await why_left_out(store, url, TODAY * 1_000_000), "the frontier has it: a person gave it"


def test_memory_is_bounded() -> None:
    traps = Traps()
    for number in range(3 * MAX_PATHS):
        traps.take(link(f"https://a.example/{number}?x"), TODAY)
    assert len(traps.row()["queries"]) == MAX_PATHS


async def test_a_calendar_without_end_leaves_the_host_its_other_pages() -> None:
    months = [f"/calendar/{2000 + n // 12}/{n % 12 + 1:02}" for n in range(12 * 60)]
    links = {path: [f"https://a.example{after}"] for path, after in pairwise(months)}
    names = ["https://a.example/calendar/2026/01", "https://a.example/one", "https://a.example/two"]
    site = Site(links={"/": names, "/one": [], "/two": [], **links, months[-1]: []})
    settings = CrawlSettings(delay_seconds=0, max_depth=1_000)
    world = World({"a.example": site}, settings, 1, 0.0)
    world.seed("https://a.example/")
    await world.run()
    pages = world.pages()
    assert {"https://a.example/one", "https://a.example/two"} <= set(pages)
    assert len(pages) < 40
    view = await view_host(world.frontier_store, "a.example", world.now)
    assert view
    assert view.left_out == {"calendar": 1}
    url = next(f"https://a.example{path}" for path in months if is_far_month(path[1:], world.now // SECOND))
    assert await world.frontier_store.url(page_id(url)) is None
    assert await why_left_out(world.frontier_store, url, world.now) == "trap: calendar: a month far from today"
