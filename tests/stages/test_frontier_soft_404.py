"""A host with many pages is asked for a name that can't exist, within its rules. Its answer goes with its pages."""

from itertools import pairwise

import pytest

from schemas import PageScheduled, PageSettled
from schemas.ids import page_id
from streams.crawl.frontier.hosts.host_state import PROBE_AFTER_PAGES, missing_path
from streams.settings import CrawlSettings
from tests.stages.frontier_world import Site, World

HOST = "a.example"
MISSING = missing_path(HOST)
A_PAGE = {"outcome": "ok", "status": 200}
PATHS = [f"/{number}" for number in range(8)]


def world(answer: dict[str, object] | None, robots: str | None = None, kill: float = 0.0, **settings: bool) -> World:
    site = Site(robots=robots, links={path: [] for path in PATHS}, script={MISSING: [answer] * 9} if answer else {})
    return World({HOST: site}, CrawlSettings(delay_seconds=1, **settings), 1, kill)


def settle(made: World, pages: int) -> None:
    for number in range(pages):
        url = f"https://{HOST}/former/{number}"
        made.send(PageSettled(page_id=page_id(url), url=url, host=HOST, generation=number + 1, verdict="changed"))


async def crawl(made: World, crawl_id: str = "c") -> list[PageScheduled]:
    """Crawl all pages again, and return what was scheduled meanwhile."""
    before = len(made.scheduled)
    for path in PATHS:
        made.seed(f"https://{HOST}{path}", max_depth=0, crawl_id=crawl_id)
    await made.run()
    return made.scheduled[before:]


def probes(made: World) -> int:
    return sum(url.endswith(MISSING) for _, _, url in made.fetches[HOST])


async def test_a_small_host_is_not_asked() -> None:
    made = world(A_PAGE)
    settle(made, PROBE_AFTER_PAGES - 1)
    assert all(event.not_found_ref is None for event in await crawl(made))
    assert probes(made) == 0


@pytest.mark.parametrize("kill", [0.0, 0.01], ids=["", "while the frontier is killed"])
async def test_the_page_for_no_page_goes_with_each_page(kill: float) -> None:
    made = world(A_PAGE, kill=kill)
    settle(made, PROBE_AFTER_PAGES)
    scheduled = await crawl(made)
    refs = {event.not_found_ref for event in scheduled if event.purpose == "page"}
    assert len(refs) == 1
    assert None not in refs
    assert {event.not_found_ref for event in scheduled if event.purpose != "page"} == {None}
    assert probes(made) == 1
    requests = sorted(made.fetches[HOST])
    assert all(later - earlier >= 1_000_000 for (earlier, *_), (later, *_) in pairwise(requests))


async def test_it_is_asked_again_after_thirty_days() -> None:
    made = world(A_PAGE)
    settle(made, PROBE_AFTER_PAGES)
    for number, days in enumerate((0, 29, 2)):
        made.now += days * 86_400 * 1_000_000
        await crawl(made, f"c{number}")
        assert probes(made) == (1, 1, 2)[number]


@pytest.mark.parametrize(
    ("answer", "robots", "asked"),
    [
        (None, None, 1),  # 404
        ({"outcome": "redirect", "status": 302, "redirect_to": f"https://{HOST}/"}, None, 1),
        ({"outcome": "server_error", "status": 500, "retryable": True}, None, 1),
        (A_PAGE, f"User-agent: *\nDisallow: {MISSING[:9]}\n", 0),
    ],
)
async def test_other_hosts_have_no_such_page(answer: dict[str, object] | None, robots: str | None, asked: int) -> None:
    made = world(answer, robots)
    settle(made, PROBE_AFTER_PAGES)
    scheduled = await crawl(made)
    assert {event.not_found_ref for event in scheduled} == {None}
    assert probes(made) == asked
    assert {event.url for event in scheduled} >= {f"https://{HOST}{path}" for path in PATHS}


async def test_a_setting_turns_it_off() -> None:
    made = world(A_PAGE, soft_404_probes=False)
    settle(made, PROBE_AFTER_PAGES)
    await crawl(made)
    assert probes(made) == 0
