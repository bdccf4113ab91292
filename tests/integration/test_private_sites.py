"""A private site on the real stores: its name, addresses and words are in the answers of its own key alone.

One index on Cassandra and Qdrant goes through what may happen to a site. After each step every route that reads pages
is asked by nobody, by a key of another site, and by a key of the site. `tests/stages/test_private_sites.py` compares
whole answers with those of an index without the site, over memory stores: here the canaries are looked for.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import unquote

import pytest

from streams.pages.sandbox.pool import ParsePool
from streams.settings import QdrantSettings, Settings
from streams.stores import cassandra
from streams.stores.opener import Stores, fields_of, memory_stores, open_stores
from streams.stores.protocols import Site
from tests.integration.qdrant_process import QdrantProcess, RealQdrantProcess, real_qdrant
from tests.sizes import FULL
from tests.stages.test_gateway_tools import connected, served
from tests.stages.test_private_sites import (
    ACCESS,
    OF_THE_SITE,
    QUERIES,
    SUBJECTS,
    answers,
    owner_of,
    requests,
    strangers,
)
from tests.stages.two_worlds import CANARIES, INTERN, SITES, Journey, World

pytestmark = [pytest.mark.integration("cassandra"), pytest.mark.timeout(600)]
OPENED = Site(INTERN.name, INTERN.title, INTERN.hosts)
STEP = 1 if FULL else 3
"""By day each third value is asked for here; all of them over memory stores, and at night."""


@pytest.fixture
async def stores(stack: Settings, fresh_name: str, tmp_path: Path) -> AsyncIterator[Stores]:
    """Records and vectors on servers, where there is one in a real Qdrant; models in memory."""
    records = stack.cassandra.model_copy(update={"keyspace": fresh_name, "request_timeout_seconds": 60.0})
    await cassandra.migrate(records)
    qdrant = (RealQdrantProcess if real_qdrant() else QdrantProcess)(tmp_path / "qdrant")
    qdrant.start()
    settings = stack.model_copy(update={"cassandra": records, "qdrant": QdrantSettings(url=qdrant.url)})
    try:
        async with open_stores(settings, ("records", "vectors")) as opened:
            made = memory_stores()
            for name in (*fields_of("records"), *fields_of("vectors")):
                setattr(made, name, getattr(opened, name))
            yield made
    finally:
        qdrant.stop()


async def find_canaries(world: World) -> dict[str, list[str]]:
    """Ask every route for every client. Returns the canaries that the answers have, and the request has not."""
    clients = {**await strangers(world), "owner": await owner_of(world)}
    found = await answers(world, *clients.values(), paths=[*requests(STEP), *OF_THE_SITE])
    assert not [path for each in found for path, (status, _) in each.items() if status >= 500]
    return {
        who: [f"{path}: {word}" for path, (_, text) in each.items() for word in new_canaries(unquote(path), text)]
        for who, each in zip(clients, found, strict=True)
    }


def new_canaries(asked: str, answer: str) -> list[str]:
    return [word for word in CANARIES if word in answer and word not in asked]


async def test_only_its_own_key_learns_of_a_private_site(stores: Stores) -> None:
    async with ParsePool(1) as pool:
        world = World(Journey(pool, stores), has_private=True)
        for site in SITES:
            await stores.api_keys.put_site(site, 1)

        async def visit(day: int) -> None:
            world.journey.restart()
            await world.visit(day)

        async def close() -> None:
            await world.put_site(INTERN, 3)

        everybody = {"nobody", "tenant", "owner"}  # pages for people don't ask for a key
        steps: list[tuple[str, Callable[[], Awaitable[object]], set[str]]] = [
            ("its pages are indexed", lambda: visit(0), {"owner"}),
            ("a reindex", lambda: visit(1), {"owner"}),
            ("everybody may see it", lambda: world.put_site(OPENED, 2), everybody),
            ("a visit while everybody may see it", lambda: visit(2), everybody),
            ("it becomes private", close, {"owner"}),
            ("a visit since then", lambda: visit(3), {"owner"}),
            ("a removal on request", lambda: world.remove_private(4), set()),
        ]
        for step, happen, learn in steps:
            await happen()
            found = await find_canaries(world)
            hidden = {who: found[who] for who in found.keys() - learn if who != "owner"}
            assert not any(hidden.values()), (step, hidden)
            assert all(found[who] for who in learn), step
            if learn == {"owner"}:
                assert not await find_in_tools(world), step


async def find_in_tools(world: World) -> list[str]:
    """Return the canaries in the answers of tools to nobody and to a key of another site."""
    found = []
    async with AsyncExitStack() as stack:
        address = await stack.enter_async_context(served(world.stores, access=ACCESS))
        for who, headers in (await strangers(world)).items():
            tools = await stack.enter_async_context(connected(address, **headers))
            asked = [
                *(("search", {"query": query}) for query in QUERIES[:2]),
                *((tool, {"page": page}) for tool in ("page", "similar") for page in SUBJECTS),
            ]
            for tool, given in asked:
                text = str(await tools.call_tool(tool, given))
                found += [f"{who} {tool} {given}: {word}" for word in new_canaries(str(given), text)]
    return found
