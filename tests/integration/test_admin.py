"""`riffle admin` on real Kafka and Cassandra: each page is opened, each action has its effect and its audit entry."""

import asyncio
import re
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from uuid import uuid4

import httpx2
import pytest

from streams.admin.actions import AuditLog
from streams.local.ports import free_ports
from streams.settings import Settings
from streams.stores.opener import open_stores
from streams.stores.protocols import HostOrder
from tests.integration.test_operations import NOW, RIFFLE, dead_letter, environment, fetched, in_topic, send

pytestmark = [pytest.mark.integration("kafka", "cassandra", "qdrant"), pytest.mark.timeout(900)]

KEY = "the key of operators in this test"
ACTOR = f"Ada {uuid4().hex[:6]}"
LOOK_SECONDS = 0.5
WAIT_SECONDS = 300.0


@pytest.fixture
async def web(stack: Settings) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a running `riffle admin`."""
    (port,) = free_ports(1)
    process = await asyncio.create_subprocess_exec(
        *RIFFLE, "admin", "--port", str(port), env={**environment(stack), "RIFFLE_ADMIN__KEY": KEY},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    address, credentials = f"http://127.0.0.1:{port}", httpx2.BasicAuth(ACTOR, KEY)
    try:
        async with httpx2.AsyncClient(base_url=address, auth=credentials, timeout=60, trust_env=False) as client:
            await until(lambda: listens(client))
            yield client
    finally:
        process.terminate()
        await process.wait()


async def listens(client: httpx2.AsyncClient) -> bool:
    with suppress(httpx2.TransportError):
        return (await client.get("/admin/audit")).status_code == 200
    return False


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while not await is_so():
            await asyncio.sleep(LOOK_SECONDS)


async def until_jobs_ended(web: httpx2.AsyncClient) -> list[str]:
    """Wait until no job of the page runs. Return how each ended, the newest first."""
    states: list[str] = []

    async def have_ended() -> bool:
        shown = (await web.get("/admin")).text.partition("Started elsewhere")[0]
        states[:] = re.findall(r"</span>\s*(runs|done|ended with status -?\d+)", shown)
        return "runs" not in states

    await until(have_ended)
    return states


async def act(web: httpx2.AsyncClient, action: str, **fields: str) -> str:
    """Send a form of a host's page, and return the sentence that the page shows afterwards."""
    page = (await web.get("/admin/host", params={"name": "any.test"})).text
    token = re.search(r'name="token" value="([0-9a-f]{64})"', page)
    assert token
    form = {"token": token[1], "back": "host", **fields}
    answer = await web.post(f"/admin/do/{action}", data=form, follow_redirects=True)
    assert answer.status_code == 200, answer.text
    note = re.search(r'role="status">([^<]*)<', answer.text)
    assert note
    return note[1]


async def test_orders_for_a_host_are_in_the_frontier_and_on_its_page(
    web: httpx2.AsyncClient, stack: Settings, fresh_name: str
) -> None:
    host = fresh_name.replace("_", "-") + ".test"
    async with open_stores(stack, ["records"]) as stores:

        async def order() -> HostOrder:
            return await stores.frontier.order(host) or HostOrder(host)

        for action, fields in (("delay", {"seconds": "7.5"}), ("budget", {"pages": "12"}), ("block", {})):
            await act(web, action, host=host, **fields)
            await until_jobs_ended(web)
        overview = (await web.get("/admin")).text
        assert "delay 7.5 s" in overview
        assert "at most 12 pages" in overview
        assert ((await order()).delay_seconds, (await order()).max_pages, (await order()).blocked) == (7.5, 12, True)
        page = (await web.get("/admin/host", params={"name": host})).text
        assert "blocked, delay 7.5 s, at most 12 pages" in page
        assert "Block it" not in page
        for action in ("unblock", "purge"):
            await act(web, action, host=host)
            await until_jobs_ended(web)
        assert (await order()).blocked is False
        assert (await order()).purged_at > 0
    entries = await asyncio.to_thread(AuditLog(stack).read, NOW)
    own = [(entry.event.actor, entry.event.action) for entry in reversed(entries) if host in entry.event.target]
    assert own == [(ACTOR, f"start {name}") for name in ("delay", "budget", "block", "unblock", "purge")]


async def letters_of(web: httpx2.AsyncClient, kind: dict[str, str]) -> set[str]:
    """The ids of the letters of a kind, as their page lists them."""
    page = (await web.get("/admin/letters", params=kind)).text
    return set(re.findall(r'name="id" value="([^"]+)"', page))


async def test_letters_are_replayed_pages_crawled_and_erased_and_jobs_run(
    web: httpx2.AsyncClient, stack: Settings, fresh_name: str
) -> None:
    host = fresh_name.replace("_", "-") + ".test"
    letter, _ = await dead_letter(stack, host)
    single, _ = await dead_letter(stack, host)
    await send(stack, [fetched(host)])
    overview = (await web.get("/admin")).text
    assert f"<td>{letter.error_type}</td>" in overview
    assert "of embed failed for good" in overview

    kind = {"stage": "embed", "error": letter.error_type}
    listed = await letters_of(web, kind)
    assert {letter.id, single.id} <= listed
    assert f"{single.id} was sent back" in await act(web, "replay-letter", id=single.id, back="letters", **kind)
    assert len(await in_topic(stack, "embed.replay", host)) == 1
    assert await letters_of(web, kind) == listed - {single.id}

    assert "sent back to embed" in await act(web, "replay-letters", stage="embed", error=letter.error_type)
    assert len(await in_topic(stack, "embed.replay", host)) == 2
    assert letter.id not in await letters_of(web, kind)

    for action, fields in (
        ("crawl", {"url": f"https://{host}/", "depth": "0"}),
        ("replay", {"host": host}),
        ("remove", {"url": f"https://{host}/erase"}),
    ):
        await act(web, action, **fields)

    async def all_sent() -> bool:
        topics = ("pages.discovered", "normalize.replay", "pages.removed")
        return all([await in_topic(stack, topic, host) for topic in topics])

    await until(all_sent)
    await act(web, "stop", number="3")  # it would wait for the stages, and no worker runs
    for action in ("sweep", "rank"):
        await act(web, action)
    states = await until_jobs_ended(web)
    assert [state for state in states if state != "done"] == [states[2]], "newest first: the third was stopped"
    assert len(states) == 5
    ranking = await asyncio.create_subprocess_exec(*RIFFLE, "links", "rank", env=environment(stack))
    assert await ranking.wait() == 0
    shown = (await web.get("/admin")).text.partition("Started elsewhere")[2]
    assert "riffle links rank" in shown, "a command of another process"
    assert "riffle blobs sweep" not in shown
    assert "There is no map yet" in (await web.get("/admin/map")).text
    shown = (await web.get("/admin/audit")).text
    assert shown.count(ACTOR) >= 6
    assert "replay dead letters" in shown
    assert (await web.get("/admin/audit", auth=httpx2.BasicAuth(ACTOR, "another key"))).status_code == 401
