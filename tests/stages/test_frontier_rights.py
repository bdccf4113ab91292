"""A host's reservations of rights are read once a day before its pages, and go with each page that they reserve."""

import json

import pytest

from streams.crawl.rights import RIGHTS_PATH
from streams.settings import CrawlSettings
from tests.stages.frontier_world import Site, World

RIGHTS = json.dumps([{"location": "/art/*", "tdm-reservation": 1}])
PATHS = ("/", "/art/1", "/art/2", "/news")


def world(rights: str | None, robots: str | None = None, kill: float = 0.0) -> World:
    site = Site(robots=robots, rights=rights, links={path: [] for path in PATHS})
    made = World({"a.example": site}, CrawlSettings(delay_seconds=1, rights_files=True), 1, kill)
    for path in PATHS:
        made.seed(f"https://a.example{path}", max_depth=0)
    return made


@pytest.mark.parametrize("kill", [0.0, 0.01], ids=["", "while the frontier is killed"])
async def test_reserved_pages_say_so(kill: float) -> None:
    made = world(RIGHTS, kill=kill)
    await made.run()
    requests = [url.removeprefix("https://a.example") for _, _, url in sorted(made.fetches["a.example"])]
    assert requests[:2] == ["/robots.txt", RIGHTS_PATH]
    assert sorted(requests[2:]) == sorted(PATHS)
    reserved = {event.url: event.tdm_reserved for event in made.scheduled if event.purpose == "page"}
    assert reserved == {f"https://a.example{path}": path.startswith("/art") for path in PATHS}


@pytest.mark.parametrize(("rights", "robots"), [(None, None), (RIGHTS, "User-agent: *\nDisallow: /.well-known/\n")])
async def test_a_host_without_such_a_file_reserves_nothing(rights: str | None, robots: str | None) -> None:
    made = world(rights, robots)
    await made.run()
    assert not any(event.tdm_reserved for event in made.scheduled)
    assert len(made.fetches["a.example"]) == len(PATHS) + (1 if robots else 2)
