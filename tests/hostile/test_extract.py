"""A page that is fetched now for a program: robots.txt, redirects and the guard hold, and the page is read."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from schemas.envelope import micros_from_utc
from streams.crawl.polite.client import PoliteClient
from streams.crawl.rights import RIGHTS_PATH
from streams.gateway.content.web_page import WebPages
from streams.gateway.context import GatewayContext
from streams.gateway.http.metrics import Metrics
from streams.gateway.http.problems import ProblemError
from streams.pages.document.consent import Consent
from streams.seen.stores import SeenStores
from streams.settings import Settings
from streams.statements.sandbox_tasks import DRAFT
from streams.stores.opener import memory_stores
from tests.hostile.servers import BadServer, Script, bad_server, response
from tests.inline_sandbox import InlineSandbox, inline_parse_pool
from tests.stages.gateway_fakes import NOW

ROBOTS = response(b"User-agent: *\nDisallow: /private", content_type="text/plain")
NO_RIGHTS = response(b"", status="404 Not Found")
PAGE = response(b"<title>Logs</title><p>The log holds the changes. It is read after a crash.", content_type="text/html")


def pages_of(server: BadServer, hosts: Sequence[str] = (), **crawl: Any) -> WebPages:
    """The fetcher of a gateway. It reads pages in this process: its own ones take a second of CPU time to start."""
    made: Any = with_processes(server, *hosts, **crawl)
    made._parsing, made._drafting = inline_parse_pool(), InlineSandbox((DRAFT,))
    web: WebPages = made
    return web


def with_processes(server: BadServer, *hosts: str, **crawl: Any) -> WebPages:
    settings = Settings(crawl=server.settings("bad.example", *hosts, delay_seconds=0.0, **crawl))
    stores = memory_stores()
    context = GatewayContext(settings, SeenStores(stores), Metrics(), lambda: NOW)
    return WebPages(context, lambda: PoliteClient(settings.crawl, stores, now=lambda: micros_from_utc(NOW)))


async def test_a_page_is_fetched_behind_its_redirect_and_read(tmp_path: Path) -> None:
    moved = response(b"", status="302 Found", location="/page")
    async with bad_server(
        tmp_path, {"/robots.txt": ROBOTS, RIGHTS_PATH: NO_RIGHTS, "/old": moved, "/page": PAGE}
    ) as server:
        web = with_processes(server)
        try:
            found = await web.fetch("https://bad.example/old", "a client", everything)
        finally:
            await web.close()
    assert (found.url, found.document.title) == ("https://bad.example/page", "Logs")
    assert [each.text for each in found.statements][-1] == "It is read after a crash."


def everything(url: str) -> bool:
    return True


def visible(url: str) -> bool:
    """Says whether a client without a key of the private site may see a page."""
    return "/intern" not in url


REFUSED = [
    ("/private", "The robots.txt of its host does not allow it."),
    ("/to-private", "The robots.txt of its host does not allow it."),
    ("/loop", "more than 5 redirects"),
    ("/inside", "is an IP address"),
    ("/elsewhere", "It leads to another site: https://other.example/"),  # a stranger's page is no way to a victim
    ("/to-intern", "The index has no document of https://bad.example/to-intern."),  # as if there were none
    ("/picture.png", "is not a page"),
]


# Locations that a client may read as the page's own host, and that lead away from it (RFC 9110, section 10.2.2, and the
# URL Standard, sections 4.4 and 3.5).
LEADING_AWAY = [
    "//other.example/", "https:other.example/", "\\\\other.example/", "/\\other.example/", "https:\\\\other.example/",
    "https://bad.example@other.example/", "https://bad.example:443@other.example/", "https://other.example\t/",
    "https://other.example/?bad.example", "https://other.example#bad.example", "https://bad.example.other.example/",
    "https://OTHER.example./", "https://www.other.example/", "https://xn--bad.example/", "https://b\u00e0d.example/",
    "https://bad.example%2eother.example/", "https://2130706433/", "https://0x7f.1/", "https://[::1]/",
    "https://bad.example:9042/", "http://bad.example/", "ftp://bad.example/", "file:///etc/passwd", "javascript:1",
    "data:text/html,x", "https://", "https://bad.example\u3002other.example/",
]  # fmt: skip


async def test_no_redirect_leads_to_another_site_whatever_its_form(tmp_path: Path) -> None:
    """Each location is given once. What is asked for then is only robots.txt, the rights, and pages of the host."""
    scripts: dict[str, Script] = {"/robots.txt": ROBOTS, RIGHTS_PATH: NO_RIGHTS}
    for number, location in enumerate(LEADING_AWAY):
        scripts[f"/go{number}"] = response(b"", status="302 Found", location=location.encode().decode("latin-1"))
    others = ["other.example", "www.other.example", "bad.example.other.example", "xn--bad.example"]
    async with bad_server(tmp_path, scripts, more_hosts=others) as server:
        web = pages_of(server, others)
        problems = []
        try:
            for number in range(len(LEADING_AWAY)):
                try:
                    await web._follow(f"https://bad.example/go{number}", everything)
                    problems.append("fetched")
                except ProblemError as error:
                    problems.append(error.problem.kind)
        finally:
            await web.close()
        heads = [request.decode("latin-1").lower() for request in server.requests]
    assert set(problems).isdisjoint({"fetched", "internal-error"}), dict(zip(LEADING_AWAY, problems, strict=True))
    assert [head for head in heads if "\r\nhost: bad.example\r\n" not in head] == []


@pytest.mark.parametrize(("path", "says"), REFUSED)
async def test_a_page_that_must_not_be_fetched(tmp_path: Path, path: str, says: str) -> None:
    scripts = {
        "/robots.txt": ROBOTS,
        RIGHTS_PATH: NO_RIGHTS,
        "/private": PAGE,
        "/to-private": response(b"", status="302 Found", location="/private"),
        "/loop": response(b"", status="302 Found", location="/loop"),
        "/inside": response(b"", status="302 Found", location="https://127.0.0.1/"),
        "/elsewhere": response(b"", status="302 Found", location="https://other.example/"),
        "/to-intern": response(b"", status="302 Found", location="/intern/salaries"),
        "/intern/salaries": PAGE,
    }
    async with bad_server(tmp_path, scripts) as server:
        web = pages_of(server)
        try:
            with pytest.raises(ProblemError) as refused:
                await web.fetch(f"https://bad.example{path}", "a client", visible)
        finally:
            await web.close()
        asked = b"".join(server.requests)
    assert says in refused.value.problem.detail
    assert b"GET /private" not in asked
    assert b"GET /intern" not in asked


async def test_a_client_has_one_page_fetched_at_a_time_and_slow_hosts_hold_nobody_else(tmp_path: Path) -> None:
    """Eight clients wait for slow pages; a ninth one gets its page."""
    asked = asyncio.Event()

    async def slow(writer: asyncio.StreamWriter) -> None:
        asked.set()
        await asyncio.sleep(20)

    hosts = [f"slow{number}.example" for number in range(8)]
    scripts = {"/robots.txt": ROBOTS, RIGHTS_PATH: NO_RIGHTS, "/slow": slow, "/page": PAGE}
    async with bad_server(tmp_path, scripts, more_hosts=hosts) as server:
        web = pages_of(server, hosts)
        waiting = [asyncio.ensure_future(web._follow(f"https://{host}/slow", everything)) for host in hosts[1:]]
        first = asyncio.ensure_future(web.fetch(f"https://{hosts[0]}/slow", "0", everything))
        try:
            await asyncio.wait_for(asked.wait(), 20)
            with pytest.raises(ProblemError) as refused:
                await web.fetch("https://bad.example/page", "0", everything)
            found = await web.fetch("https://bad.example/page", "another client", everything)
        finally:
            for task in (first, *waiting):
                task.cancel()
            await asyncio.gather(first, *waiting, return_exceptions=True)
            await web.close()
    assert refused.value.problem.kind == "too-many-requests"
    assert found.document.title == "Logs"


RIGHTS = response(b'[{"location": "/page", "tdm-reservation": 1}]', content_type="application/json")
SIGNALS = response(b"User-agent: *\nContent-Signal: ai-input=no\nDisallow: /private", content_type="text/plain")
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
                found = await web.fetch("https://bad.example/page", "a client", everything)
        finally:
            await web.close()
        asked = b"".join(server.requests)
    assert Consent.of_directives(found.directives).reasons == reasons, found.directives
    assert asked.count(RIGHTS_PATH.encode()) == int(are_read), "once, for both pages"
