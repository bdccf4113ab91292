"""The two journeys as traces of calls: no module calls back into a module of its room that waits for it."""

from pathlib import Path
from typing import Any

from streams.pages.sandbox.pool import ParsePool
from streams.pages.sandbox.worker_messages import EXPLAIN, NORMALIZE
from streams.settings import CrawlSettings
from streams.topology import STAGES
from tests.hostile.servers import response
from tests.inline_sandbox import InlineSandbox
from tests.stages import test_fetch
from tests.stages.call_trace import call_trace
from tests.stages.frontier_world import Site, World
from tests.stages.gateway_fakes import client, gateway, searchable
from tests.stages.test_gateway_search import STATEMENTS
from tests.stages.whole_journey import WholeJourney

PAGE = """<html lang=en><head><title>Write-Ahead Logging</title></head><body><nav><a href=/>Home</a></nav><main>
<h1>Write-Ahead Logging</h1><p>The default method by which SQLite implements atomic commit is a rollback journal.
<h2>Overview</h2><p>It has advantages. WAL is faster in most scenarios, and readers do not block writers.
<table><tr><th>Mode<th>Reads</tr><tr><td>WAL<td>many</tr></table><ul><li>See the <a href=other.html>other page</a>.
</ul></main><footer>Copyright</footer></body></html>"""


class InlinePool(ParsePool):
    """A pool that reads pages in this process, where their calls are seen."""

    def __init__(self) -> None:
        self.sandbox: Any = InlineSandbox((NORMALIZE, EXPLAIN))


async def test_a_url_is_queued_and_leased_without_a_call_back() -> None:
    site = Site(links={"/": ["https://sqlite.test/wal.html"]})
    world = World({"sqlite.test": site}, CrawlSettings(), seed=1, kill_probability=0)
    world.seed("https://sqlite.test/")
    with call_trace() as trace:
        await world.run()
    assert len(world.pages()) == 2
    assert trace.rooms >= {"crawl/frontier", "crawl/frontier/intake", "stores/memory"}
    assert not trace.back


async def test_a_page_is_fetched_without_a_call_back(tmp_path: Path) -> None:
    with call_trace() as trace:
        ([fetched],), _, _ = await test_fetch.run(tmp_path, response(PAGE.encode()), test_fetch.scheduled())
    assert fetched.outcome == "ok"
    assert trace.rooms >= {"crawl/fetch", "stores/memory"}
    assert not trace.back


def room_of(agent: str) -> str:
    """Return the room of a stage's agent, such as "pages"."""
    return agent.partition(":")[0].removeprefix("streams.").replace(".", "/").rpartition("/")[0]


async def test_a_page_passes_all_stages_without_a_call_back() -> None:
    journey = WholeJourney(InlinePool())
    with call_trace() as trace:
        await journey.fetch("https://sqlite.test/wal.html", PAGE, 1)
    journey_rooms = {room_of(stage.agent) for stage in STAGES if not stage.beside_journey}
    assert trace.rooms >= journey_rooms - {"crawl/frontier", "crawl/fetch"}
    assert trace.rooms >= {"pages/parse", "pages/content", "pages/assemble", "pages/metadata"}
    assert not trace.back


async def test_a_query_is_answered_without_a_call_back() -> None:
    app = gateway(await searchable(STATEMENTS), deadline_seconds=60)  # traced calls are slow
    async with client(app) as web:
        with call_trace() as trace:
            await web.get("/api/v1/search", params={"q": "what holds the changes?"})
            await web.get("/search", params={"q": "what holds the changes?"})
        await app.state.gateway.search.drain()
    assert trace.rooms >= {"gateway/http", "gateway/search", "search", "search/ranking", "vectors"}
    assert not trace.back
    into_the_core = {called for caller, called in trace.calls if is_gateway(caller) and called.startswith("search/")}
    assert into_the_core == {"search/core:SearchCore.start"}
    assert not {call for call in trace.calls if call[0].startswith("search/") and is_gateway(call[1])}


def is_gateway(place: str) -> bool:
    return place.startswith("gateway/")
