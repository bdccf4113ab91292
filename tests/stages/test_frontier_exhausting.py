"""A page that used up the process that reads it lets its host wait, once: it costs as much as hundreds of pages."""

import pytest

from schemas import PageSettled
from schemas.ids import page_id
from streams.crawl.frontier.intake.answers import EXHAUSTED_SECONDS
from streams.settings import CrawlSettings
from tests.stages.frontier_world import SECOND, Site, World

HOST = "a.example"
PATHS = [f"/{number}" for number in range(4)]


def settled(path: str, *, exhausting: bool) -> PageSettled:
    url = f"https://{HOST}{path}"
    fields = {"page_id": page_id(url), "url": url, "host": HOST, "generation": 1, "verdict": "refused"}
    return PageSettled.model_validate({**fields, "exhausting": exhausting})


@pytest.mark.parametrize("kill", [0.0, 0.02], ids=["", "while the frontier is killed"])
@pytest.mark.parametrize(
    ("events", "waits"),
    [
        ([settled("/bomb", exhausting=False)], 0.0),
        ([settled("/bomb", exhausting=True)], EXHAUSTED_SECONDS),
        ([settled("/bomb", exhausting=True), settled("/ok", exhausting=False)], EXHAUSTED_SECONDS),
        ([settled("/bomb", exhausting=True)] * 3, EXHAUSTED_SECONDS),
    ],
    ids=["refused by its type", "used up its limits", "and another page did not", "the same event again"],
)
async def test_a_host_waits_after_a_page_that_used_up_its_limits(
    events: list[PageSettled], waits: float, kill: float
) -> None:
    made = World({HOST: Site(links={path: [] for path in PATHS})}, CrawlSettings(delay_seconds=1), 1, kill)
    began = made.now
    for event in events:
        made.send(event)
    for path in PATHS:
        made.seed(f"https://{HOST}{path}", max_depth=0)
    await made.run()
    first = min(at for at, *_ in made.fetches[HOST])
    assert (first - began) / SECOND >= waits
    if not kill:
        assert (first - began) / SECOND < waits + 10
    assert {url for *_, url in made.fetches[HOST]} >= {f"https://{HOST}{path}" for path in PATHS}
