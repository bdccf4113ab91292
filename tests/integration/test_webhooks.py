"""A program crawls, is told by a webhook, and asks: the guide's own program, on the real servers with all stages.

Kafka, Cassandra and Qdrant are the servers of the run; the gateway and the stages are processes, the site and the
receiver are on this machine.
"""

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import httpx2
import pytest
from aiohttp import web

from docs.generate import ROOT
from streams.client import AsyncRiffle
from streams.local.ports import free_ports
from streams.settings import Settings
from streams.topology import STAGES
from tests.conftest import fresh_name
from tests.integration.test_operations import environment as addresses
from tests.integration.test_operations import run_command
from tests.integration.test_programs import running, until
from tests.short_lives import NO_SPELLING

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

(PROGRAM,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "guide" / "write.md").read_text(), re.DOTALL)
MAX_LINES = 20
QUESTION = "which animal carries the lantern of the lighthouse keeper?"
ANSWER = "The old otter carries the lantern of the lighthouse keeper every evening."
OTHER_QUESTION = "who winds the clock of the fire station?"
OTHER_ANSWER = "The youngest apprentice winds the clock of the fire station on each Monday."
OTHER_PAGE = f"<title>The fire station</title><h1>The fire station</h1><p>{OTHER_ANSWER}</p>"
PAGE = f"""<!doctype html><html lang="en"><title>The lighthouse</title><h1>The lighthouse</h1>
<p>This page tells how people live at the lighthouse of the northern coast through the winter.</p>
<p>{ANSWER}</p>
<p>In the morning the keeper writes the times of the tides into a book of blue paper.</p></html>"""


@pytest.fixture
async def site() -> AsyncIterator[str]:
    """A site with one page on this machine. Yields its address."""

    async def handler(request: web.Request) -> web.Response:
        if request.path == "/robots.txt":
            return web.Response(text="User-agent: *\n")
        text = {"/": PAGE, "/other": OTHER_PAGE}.get(request.path)
        return web.Response(text=text, content_type="text/html") if text else web.Response(status=404)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://localhost:{runner.addresses[0][1]}/"
    await runner.cleanup()


async def test_a_program_crawls_waits_for_its_webhook_and_finds_the_page(
    stack: Settings, site: str, tmp_path: Path, client_packages: Path
) -> None:
    assert sum(bool(line) for line in PROGRAM.splitlines()) <= MAX_LINES
    home, (port,) = stack.home / fresh_name("webhooks"), free_ports(1)
    home.mkdir()
    environment = {
        **addresses(stack),
        **NO_SPELLING,
        "RIFFLE_HOME": str(home),
        "RIFFLE_TRITON__URL": stack.triton.url,
        "RIFFLE_GATEWAY__PORT": str(port),
        "RIFFLE_GATEWAY__DEADLINE_SECONDS": "60",
        "RIFFLE_GATEWAY__KEYS": json.dumps([uuid4().hex * 2]),
        "RIFFLE_RUNTIME__HEALTH_PORT": "0",
        "RIFFLE_CRAWL__ALLOW_LOOPBACK": "true",
        "RIFFLE_CRAWL__CONTACT_URL": "https://riffle.test/contact",
    }
    made = await run_command(
        environment, "keys", "add", "guide", "--json", "--host", "localhost",
        "--scope", "search", "--scope", "write", "--scope", "changes", "--scope", "pages",
    )  # fmt: skip
    key, gateway = json.loads(made.stdout)["key"], f"http://127.0.0.1:{port}"
    stages = [stage.name for stage in STAGES if stage.name != "render"]
    async with (
        running(home, environment, "gateway"),
        running(home, environment, "worker", *stages),
        httpx2.AsyncClient(base_url=gateway, timeout=60) as client,
    ):

        async def answers() -> bool:
            try:
                return (await client.get("/readyz")).status_code == 200
            except httpx2.TransportError:
                return False

        await until(answers)
        (tmp_path / "crawl.py").write_text(PROGRAM)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "crawl.py", cwd=tmp_path, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={
                **environment, "GATEWAY": gateway, "KEY": key, "SITE": site, "QUESTION": QUESTION,
                "PYTHONPATH": str(client_packages),
            },
        )  # fmt: skip
        async with asyncio.timeout(600):
            output, log = [part.decode() for part in await process.communicate()]
        assert process.returncode == 0, output + log
        async with AsyncRiffle(gateway, key) as riffle:
            (begun,) = (await riffle.list_crawls())["crawls"]
            crawl = await riffle.wait_for_crawl(begun["id"], timeout_seconds=120)
            hooks = await riffle.list_hooks()
            # A second site, without a receiver: when its crawl is done, its page is found.
            other = await riffle.begin_crawl([f"{site}other"], depth=0)
            await riffle.wait_for_crawl(other["id"], timeout_seconds=120)
            found = await riffle.search(OTHER_QUESTION)
            # A page that a program removes stays away when a crawl finds it again, until it is written again.
            await riffle.delete_pages(url=f"{site}other")
            await until(lambda: is_status(riffle, f"{site}other", "removed"))
            third = await riffle.begin_crawl([f"{site}other"], depth=0)
            refused = await riffle.wait_for_crawl(third["id"], timeout_seconds=120)
            away = await riffle.page(f"{site}other")
            await riffle.put_page(f"{site}other", OTHER_PAGE)
            await until(lambda: is_status(riffle, f"{site}other", "indexed"))
    assert output.splitlines()[0] == f"riffle.pages.indexed.v1 {site}"
    assert output.splitlines()[1] == f"{site} {ANSWER}"
    assert (crawl["state"], crawl["counts"]["discovered"]) == ("done", 1)
    assert hooks == {"hooks": []}, "the program removed its own"
    assert found["results"][0]["statements"][0]["text"] == OTHER_ANSWER, "done means searchable"
    assert (refused["counts"]["refused"], away["status"]) == (1, "removed")


async def is_status(riffle: AsyncRiffle, url: str, status: str) -> bool:
    return (await riffle.page(url))["status"] == status
