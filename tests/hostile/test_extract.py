"""A page that is fetched now for a program: robots.txt, redirects and the guard hold, and the page is read."""

from pathlib import Path
from typing import Any

import pytest

from streams.crawl.rights import RIGHTS_PATH
from streams.gateway.content.web_page import WebPages
from streams.gateway.context import GatewayContext
from streams.gateway.http.metrics import Metrics
from streams.gateway.http.problems import ProblemError
from streams.pages.document.consent import Consent
from streams.settings import Settings
from streams.stores.opener import memory_stores
from tests.hostile.servers import BadServer, Script, bad_server, response
from tests.stages.gateway_fakes import NOW

ROBOTS = response(b"User-agent: *\nDisallow: /private", content_type="text/plain")
PAGE = response(b"<title>Logs</title><p>The log holds the changes. It is read after a crash.", content_type="text/html")


def pages_of(server: BadServer, **crawl: Any) -> WebPages:
    settings = Settings(crawl=server.settings(delay_seconds=0.0, **crawl))
    return WebPages(GatewayContext(settings, memory_stores(), Metrics(), lambda: NOW))


async def test_a_page_is_fetched_behind_its_redirect_and_read(tmp_path: Path) -> None:
    moved = response(b"", status="302 Found", location="/page")
    async with bad_server(tmp_path, {"/robots.txt": ROBOTS, "/old": moved, "/page": PAGE}) as server:
        web = pages_of(server)
        try:
            found = await web.fetch("https://bad.example/old")
        finally:
            await web.close()
    assert (found.url, found.document.title) == ("https://bad.example/page", "Logs")
    assert [each.text for each in found.statements][-1] == "It is read after a crash."


REFUSED = [
    ("/private", "The robots.txt of its host does not allow it."),
    ("/to-private", "The robots.txt of its host does not allow it."),
    ("/loop", "more than 5 redirects"),
    ("/inside", "is not allowed"),
]


@pytest.mark.parametrize(("path", "says"), REFUSED)
async def test_a_page_that_must_not_be_fetched(tmp_path: Path, path: str, says: str) -> None:
    scripts = {
        "/robots.txt": ROBOTS,
        "/private": PAGE,
        "/to-private": response(b"", status="302 Found", location="/private"),
        "/loop": response(b"", status="302 Found", location="/loop"),
        "/inside": response(b"", status="302 Found", location="https://127.0.0.1/"),
    }
    async with bad_server(tmp_path, scripts) as server:
        with pytest.raises(ProblemError) as refused:
            await pages_of(server).fetch(f"https://bad.example{path}")
        asked = b"".join(server.requests)
    assert says in refused.value.problem.detail
    assert b"GET /private" not in asked


RIGHTS = response(b'[{"location": "/page", "tdm-reservation": 1}]', content_type="application/json")
SIGNALS = response(b"User-agent: *\nContent-Signal: ai-input=no\nDisallow: /private", content_type="text/plain")
NO_RIGHTS = response(b"", status="404 Not Found")
# Name, robots.txt, tdmrep.json, setting -> why a model gets no text of the page.
WISHES: list[tuple[str, Script, Script, bool, tuple[str, ...]]] = [
    ("a host without wishes", ROBOTS, NO_RIGHTS, True, ()),
    ("robots.txt has a signal", SIGNALS, NO_RIGHTS, True, ("ai-input=no",)),
    ("a reservation of the path", ROBOTS, RIGHTS, True, ("noai",)),
    ("such files are not read", ROBOTS, RIGHTS, False, ()),
    ("a file that is none", ROBOTS, PAGE, True, ()),
]


@pytest.mark.parametrize(("robots", "rights", "are_read", "reasons"), [row[1:] for row in WISHES],
                         ids=[row[0] for row in WISHES])  # fmt: skip
async def test_the_wishes_of_its_host_keep_a_page_from_models(
    tmp_path: Path, robots: Script, rights: Script, are_read: bool, reasons: tuple[str, ...]
) -> None:
    scripts = {"/robots.txt": robots, RIGHTS_PATH: rights, "/page": PAGE}
    async with bad_server(tmp_path, scripts) as server:
        web = pages_of(server, rights_files=are_read)
        try:
            for _ in range(2):
                found = await web.fetch("https://bad.example/page")
        finally:
            await web.close()
        asked = b"".join(server.requests)
    assert Consent.of_directives(found.directives).reasons == reasons, found.directives
    assert asked.count(RIGHTS_PATH.encode()) == int(are_read), "once, for both pages"
