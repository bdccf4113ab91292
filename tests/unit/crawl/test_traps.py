"""Traps: which URLs of a host are left out, and that its other URLs are not."""

from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest

from schemas import PageDiscovered
from schemas.ids import page_id
from streams.allowed_origins import NO_ORIGINS
from streams.crawl.frontier.scheduling.ordering import finder_of
from streams.crawl.frontier.scheduling.traps import MAX_PATHS, MAX_QUERIES, Traps, is_far_month
from streams.maintenance.frontier_hosts import read_in_frontier, view_host
from streams.robot_name import ROBOT
from streams.settings import CrawlSettings
from streams.stores.memory import MemoryBlobs, MemoryFrontier
from streams.stores.protocols import FrontierUrl
from tests.frontier_rows import put_urls, stored_url
from tests.stages.frontier_world import SECOND, Site, World, discovered

TODAY = int(datetime(2030, 6, 15, tzinfo=UTC).timestamp())


MONTHS = [
    # Calendars, with the month in the forms that calendars use.
    ("calendar/2031/09/", True, "fifteen months ahead"),
    ("calendar/2031/07/", False, "thirteen months ahead"),
    ("events/month/2044-02", True, "a view of events"),
    ("events/archive/1998/05", True, "a list of a month long ago"),
    ("month/2044-05-12", True, "a day"),
    ("month/2024-05-12", False, "some years ago"),
    ("kalender?year=2040&month=3", True, "the query has the month"),
    ("calendar?month=3&year=2050", True, "in another order"),
    ("calendar?view=x&m=03&day=1&y=2050", True, "short names"),
    ("calendar?date=1950-01-01", True, "long ago"),
    ("calendar?date=2050-03", True, "one parameter"),
    ("calendar?date=2050%2F03%2F01", True, "escaped slashes"),
    ("calendar/20500301", True, "a day without separators"),
    ("kalender/2050/w12", True, "a week"),
    ("calendar/03-2050", True, "the month first"),
    ("calendar.php?d=20500301", True, "with an ending"),
    ("events-calendar/2044/02", True, "two words for a calendar"),
    ("veranstaltungskalender/2044/02/", True, "a compound of another language"),
    ("school-calendar/2044/02/list", True, "the word is the last of its part"),
    ("archive?year=2050&month=3", True, "months of a blog are not ahead"),
    # Pages with a date, whose names have such letters.
    ("2003/05/how-to-prevent-flu", False, "'event' in 'prevent'"),
    ("2004/11/monthly-report", False, "'month' in 'monthly'"),
    ("monatsmagazin/artikel/1995-04", False, "'monat' in a name"),
    ("blog/2001/01/agenda-21-summit", False, "a name after the date"),
    ("news/schedule-3000-11-bus", False, "a number of a bus"),
    ("eventsourcing/0001-2", False, "a page of a series"),
    ("events/1234-5", False, "a number, no year"),
    ("events/104512", False, "a number of an event"),
    ("calendar/2026/05/1234", False, "a number of an event in a month"),
    ("2001/05/calendar-girls-review", False, "the word is in the name"),
    ("archive?year=1995&month=3", False, "an old archive"),
    ("reports?month=1995-03", False, "an old report"),
    ("events/1996/07/jazz-night", False, "a page of an old event"),
    ("calendar/1996/07/12/jazz-night.html", False, "a page of an old event in a calendar"),
    ("events/2030-12-24/concert", False, "an event that is planned"),
    ("events/2012/05/", False, "past events are pages like others"),
    ("blog/2044/02/post", False, "no calendar"),
    ("t/topic/2050/12", False, "a number that looks like a year"),
    ("search?q=events+2050-12", False, "a question"),
    ("calendar", False, "no month"),
    ("calendar/99999/12", False, "no year"),
    ("calendar/2044/13", False, "no month of a year"),
    ("calendar?month=13&year=2050", False, "the same in a query"),
]


@pytest.mark.parametrize(("path", "is_far", "_why"), MONTHS, ids=[f"{path}: {why}" for path, _, why in MONTHS])
def test_months_far_from_today(path: str, is_far: bool, _why: str) -> None:
    assert is_far_month(path, TODAY) is is_far
    assert is_far_month(path.upper(), TODAY) is is_far


def link(url: str, **fields: Any) -> Any:
    return discovered(url, **{"referrer": "https://a.example/", **fields})


def take(traps: Traps, event: PageDiscovered) -> str | None:
    """Let the frontier take a URL that it did not know, unless it is a trap."""
    finder = finder_of(event, (), NO_ORIGINS)
    reason = traps.find(event, TODAY, finder)
    if reason is None:
        traps.count(event, finder)
    return reason


def test_queries_of_a_path_explode_and_other_paths_do_not() -> None:
    traps = Traps()
    reasons = [take(traps, link(f"https://a.example/search?q={n}")) for n in range(MAX_QUERIES + 3)]
    assert set(reasons[:MAX_QUERIES]) == {None}
    assert {reason.partition(": more")[0] for reason in reasons[MAX_QUERIES:] if reason} == {"trap: query explosion"}
    assert take(traps, link("https://a.example/search")) is None
    assert take(traps, link("https://a.example/list?page=1")) is None
    assert Traps(traps.row()).row() == traps.row()
    assert traps.left_out == {"query explosion": 3}


def test_parts_of_the_row_that_another_release_has_written_are_kept() -> None:
    row = {"loops": {"a": 2}, "left_out": {"calendar": 1}}
    assert Traps(row).row() == row


def test_queries_that_strangers_lead_to_leave_out_no_link_of_the_site() -> None:
    traps = Traps()
    evil = "https://evil.example/"
    found = [take(traps, link(f"https://a.example/article?id=junk{n}", referrer=evil)) for n in range(MAX_QUERIES + 1)]
    assert found[:-1] == [None] * MAX_QUERIES
    assert str(found[-1]).endswith("by links of other sites")
    assert take(traps, link("https://a.example/article?id=1")) is None
    assert take(traps, link("https://www.a.example/article?id=1", referrer="https://a.example/")) is None
    assert traps.reason("https://a.example/article?id=2", TODAY) == found[-1], "so a link of a stranger is left out"


def test_queries_that_a_sibling_leads_to_leave_out_no_link_of_the_host_and_none_of_strangers() -> None:
    """Other hosts of a registrable domain may be other people's."""
    traps, sibling, urls = Traps(), "https://tenant.a.example/", "https://www.a.example/list?"
    found = [take(traps, link(f"{urls}junk{n}", referrer=sibling)) for n in range(MAX_QUERIES + 1)]
    assert found[:-1] == [None] * MAX_QUERIES
    assert str(found[-1]).endswith("by links of other hosts of its domain")
    for referrer in ("https://www.a.example/", "https://evil.example/"):
        assert take(traps, link(f"{urls}id={referrer}", referrer=referrer)) is None
    assert Traps(traps.row()).row() == traps.row()


def test_paths_of_strangers_do_not_displace_those_of_the_site() -> None:
    traps = Traps()
    for n in range(MAX_QUERIES):
        take(traps, link(f"https://a.example/search?q={n}"))
    for n in range(2 * MAX_PATHS):
        take(traps, link(f"https://a.example/{n}?x", referrer="https://evil.example/"))
    assert take(traps, link("https://a.example/search?q=one+more"))


def _row_of_one(url: str) -> dict[str, dict[str, int]]:
    traps = Traps()
    take(traps, link(url))
    return traps.row()


EVIL, VICTIM = "https://evil.example", "https://victim.example"


async def test_junk_links_of_a_stranger_cost_the_site_none_of_its_pages() -> None:
    own = {f"/article?id={n}": list[str]() for n in range(20)}
    junk = [f"{VICTIM}/article?id=junk{n}" for n in range(MAX_QUERIES + 1)]
    pages = {f"/{n}": junk[700 * n : 700 * (n + 1)] for n in range(3)}
    victim = Site(links={"/": [f"{VICTIM}{path}" for path in own], **own})
    evil = Site(links={"/": [f"{EVIL}{path}" for path in pages], **pages})
    settings = CrawlSettings(delay_seconds=1, max_pages_per_host=100)
    world = World({"victim.example": victim, "evil.example": evil}, settings, 1, 0.0)
    for seed in (EVIL, VICTIM):
        world.seed(f"{seed}/")
        await world.run()
    assert {f"{VICTIM}{path}" for path in own} <= set(world.pages())


async def test_a_url_counts_once_however_often_it_is_announced() -> None:
    """The queue takes 100 URLs of this stranger. What finds no place is announced anew, and still counts nothing."""
    links = [f"{VICTIM}/search?q={n}" for n in range(200)]
    pages = {f"/{n}": links for n in range(15)}
    evil = Site(links={"/": [f"{EVIL}{path}" for path in pages], **pages})
    settings = CrawlSettings(delay_seconds=60, max_pages_per_host=1_000)
    world = World({"victim.example": Site(links={}), "evil.example": evil}, settings, 1, 0.0)
    world.seed(f"{EVIL}/")
    await world.run(hours=0.4)
    row = await world.frontier_store.host("victim.example")
    assert row
    (counted,) = row.state["traps"]["stranger_queries"].values()
    urls = [await stored_url(world.frontier_store, url) for url in links]
    assert counted == len([url for url in urls if url]) < len(links)


@pytest.mark.parametrize("fields", [{"why": "sitemap"}, {"why": "seed", "depth": 0}, {"purpose": "sitemap"}])
def test_what_a_person_or_a_sitemap_names_is_no_trap(fields: dict[str, Any]) -> None:
    traps = Traps()
    assert take(traps, link("https://a.example/calendar/2099/01", **fields)) is None
    assert traps.row() == {}


def test_the_reason_of_a_url_is_found_again_and_counts_nothing() -> None:
    traps = Traps()
    urls = [f"https://a.example/search?q={n}" for n in range(MAX_QUERIES + 1)]
    taken = [take(traps, link(url)) for url in [*urls, "https://a.example/calendar/2099/01"]]
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
    reason = (await read_in_frontier(store, MemoryBlobs(), ROBOT, url, TODAY * 1_000_000)).left_out
    assert reason.startswith(begin)
    assert bool(reason) == bool(begin)
    if url:
        host = url.split("/")[2]
        await put_urls(store, [FrontierUrl(page_id(url), url, host, "done", at=1)])
        assert not (await read_in_frontier(store, MemoryBlobs(), ROBOT, url, TODAY * 1_000_000)).left_out, (
            "the frontier has it: a person gave it"
        )


def test_memory_is_bounded() -> None:
    traps = Traps()
    for number in range(3 * MAX_PATHS):
        take(traps, link(f"https://a.example/{number}?x"))
    assert len(traps.row()["own_queries"]) == MAX_PATHS


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
    assert await stored_url(world.frontier_store, url) is None
    assert (
        await read_in_frontier(world.frontier_store, MemoryBlobs(), ROBOT, url, world.now)
    ).left_out == "trap: calendar: a month far from today"
