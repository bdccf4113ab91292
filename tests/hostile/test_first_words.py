"""A web of hosts that disappoint on the first day: what `riffle crawl` says of each, and what would help.

Each host is crawled by the real stages over TLS on loopback, with stores in memory.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from schemas import Event, PageIndexed
from schemas.ids import page_id
from streams.commands.console import EXIT_NO, EXIT_WAITS
from streams.commands.pages.crawl_report import CrawlEnd, report
from streams.commands.pages.left_out import LeftOutLinks, describe_left_out
from streams.commands.pages.pauses import find_pauses
from streams.commands.pages.seed_reasons import explain_seeds
from streams.commands.watching import Seen
from streams.crawl.frontier.progress import CrawlProgress, crawl_progress
from streams.crawl.seeds import as_sitemap, seed
from streams.ledger.agent import LedgerAgent
from streams.pages.sandbox.pool import ParsePool
from streams.stores.opener import Stores
from tests.hostile.servers import Script, bad_server, response
from tests.hostile.traps import HOST, StagesCrawl, page
from tests.stages.frontier_world import delivery
from tests.stages.test_failed_visits import in_turn

SITE = f"https://{HOST}"
NOT_FOUND = response(status="404 Not Found")
SHELL = b"<html><title>App</title><div id=root></div><script src=/app.js></script></html>"
SIGN_IN = b"<title>Sign in</title><form><p>Your name and password<input name=u><input type='Password' name=p></form>"
UNREAD = f"Waiting: the robots.txt of {HOST} can't be read"


@dataclass(frozen=True)
class Host:
    """A host, and the words about its first page."""

    name: str
    words: str
    scripts: dict[str, Script] = field(default_factory=dict)
    help: str = ""
    """The words about what would help."""
    server: dict[str, Any] = field(default_factory=dict)
    sitemap_only: bool = False
    is_empty: bool = False
    """The page is indexed without a statement."""
    status: int = EXIT_NO
    """The exit status of the command."""


HOSTS = [
    Host("a cookie wall", "Redirects to itself: servers do so that wait for a cookie",
         {"/": response(location="/", status="302 Found")}),
    Host("https that leads to http", "Redirects to itself: it sends https back to http",
         {"/": response(location=f"http://{HOST}/", status="302 Found")}, "RIFFLE_CRAWL__ALLOWED_ORIGINS"),
    Host("a circle", f"Redirects in a circle: {SITE}/ to {SITE}/a to {SITE}/",
         {"/": response(location="/a", status="302 Found"), "/a": response(location="/", status="302 Found")}),
    Host("a sign-in page", f"Redirects to {SITE}/sign-in: a sign-in page",
         {"/": response(location="/sign-in", status="302 Found"), "/sign-in": response(SIGN_IN)},
         "RIFFLE_CRAWL__SIGN_INS_FILE"),
    Host("an expired certificate", f"{UNREAD} (TLS: the certificate has expired)",
         server={"expired": True}),
    Host("a missing intermediate certificate", f"{UNREAD} (TLS: the chain of certificates is incomplete",
         help="the server must also send the intermediate", server={"trusted": False}),
    Host("a certificate of another name", f"{UNREAD} (TLS: the certificate is for other names",
         server={"host": "other.example"}),
    Host("http alone: https is refused", f"{UNREAD} (the connection is refused; a site with http alone needs",
         help="RIFFLE_CRAWL__ALLOWED_ORIGINS", server={"listens": False}),
    Host("http alone, on the port of https", f"{UNREAD} (TLS: the server does not speak TLS on this port; a site with",
         {"/robots.txt": response(b"User-agent: *")}, "RIFFLE_CRAWL__ALLOWED_ORIGINS", server={"tls": False}),
    Host("a server that fails", f"{UNREAD} (status 503), so nothing else is requested",
         {"/robots.txt": response(status="503 Busy")}, "It is asked again at"),
    Host("a long pause", f"Waiting: {HOST} asks for fewer requests (status 429). It is asked again at 20",
         {"/": response(status="429 Too Many", retry_after="7200")}, "UTC", status=EXIT_WAITS),
    Host("a delay of hours", f"Waiting for {HOST} (its robots.txt asks for 9,999 s between two requests). It is asked",
         {"/robots.txt": response(b"User-agent: *\nCrawl-delay: 9999", content_type="text/plain")}, "UTC",
         status=EXIT_WAITS),
    Host("an application of scripts", "Nothing of it can be found, since it has no statement",
         {"/": response(SHELL)}, "RIFFLE_RENDER__ENABLED=true", is_empty=True),
    Host("a page of pictures", "Nothing of it can be found, since it has no statement",
         {"/": response(b"<title>Pictures</title><img src=/a.jpg>")}, is_empty=True),
    Host("a sitemap that is a page", "It names no page of its own domain",
         {"/s.xml": response(b"<html>Not found</html>")}, "it is no sitemap, it is damaged", sitemap_only=True),
    Host("an error", "Not indexed: Gone (status 404)"),
]  # fmt: skip


class Scripts(dict[str, Script]):
    """The answers of a host: what it has not is not found."""

    def __missing__(self, path: str) -> Script:
        return NOT_FOUND


@pytest.fixture(scope="module")
async def pool() -> AsyncIterator[ParsePool]:
    async with ParsePool(1) as started:
        yield started


def indexed(stages: StagesCrawl, statements: int) -> PageIndexed:
    """Return the event of the index, whose stages are not here."""
    last = stages.found.answers[-1]
    fields = {"page_id": last.page_id, "url": last.url, "generation": last.generation, "crawl_id": "c"}
    return PageIndexed(**fields, statements=statements, model="m", model_version="1", collection="c")


async def note(stores: Stores, events: list[Event], now: int) -> Seen:
    """Give the events to the ledger, and to what the command sees."""
    ledger, seen = LedgerAgent(stores.ledger, max_gathering_seconds=0), Seen("c")
    for n, event in enumerate(events):
        await ledger.handle(delivery(event, UUID(int=n), now))
    seen.note(events, 0.0)
    return seen


@pytest.mark.parametrize("host", HOSTS, ids=[host.name for host in HOSTS])
async def test_the_command_says_what_happened_and_what_would_help(
    host: Host, pool: ParsePool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with bad_server(tmp_path, Scripts(host.scripts), **host.server) as server:
        stages = StagesCrawl(server.settings(HOST, delay_seconds=0, rights_files=False), pool)
        first = seed(f"{SITE}/s.xml" if host.sitemap_only else f"{SITE}/", 1)
        first = (as_sitemap(first, 9) if host.sitemap_only else first).model_copy(update={"crawl_id": "c"})
        try:
            await stages.send(first, seconds=600)
        finally:
            await stages.fetcher.stop()
    events: list[Event] = [*stages.found.answers, *stages.removed, *([indexed(stages, 0)] if host.is_empty else [])]
    seen = await note(stages.stores, events, stages.now)
    found = explain_seeds(stages.stores, [first], has_listed=False, now=lambda: stages.now)
    reasons = {url: why async for url, why in found}
    assert reasons[first.url].startswith(host.words), reasons
    assert host.help in reasons[first.url]
    progress = await crawl_progress(stages.stores, "c")
    pauses = await find_pauses(stages.stores.frontier, [HOST], stages.now)
    assert bool(pauses) == (host.status == EXIT_WAITS)
    assert report(CrawlEnd("c", seen, progress, reasons, pauses=pauses), as_json=False) == host.status
    shown = " ".join(capsys.readouterr().out.split())
    assert f"{first.url}: {host.words}" in shown
    assert "0 pages searchable" in shown
    assert "not answer" not in shown


async def test_a_known_seed_that_leads_to_a_sign_in_page_keeps_its_content(pool: ParsePool, tmp_path: Path) -> None:
    answers = in_turn(response(page("/")), response(location="/sign-in", status="302 Found"))
    async with bad_server(tmp_path, Scripts({"/": answers, "/sign-in": response(SIGN_IN)})) as server:
        stages = StagesCrawl(server.settings(HOST, delay_seconds=0, rights_files=False), pool)
        first = seed(f"{SITE}/", 1).model_copy(update={"crawl_id": "c"})
        try:
            await stages.send(first, seconds=600)
            stages.now += 86_400 * 1_000_000
            again = first.model_copy(update={"crawl_id": "d", "force": True})
            await stages.send(again, seconds=600)
        finally:
            await stages.fetcher.stop()
    read, *later = [event for event in stages.found.answers if event.purpose == "page"]
    assert not stages.removed
    assert [event.outcome for event in later if event.outcome != "gone"] == ["redirect", "ok"]
    known = PageIndexed.following(read, statements=3, model="m", model_version="1", collection="c")
    await note(stages.stores, [read, known, *later], stages.now)
    ((_, why),) = [one async for one in explain_seeds(stages.stores, [first], now=lambda: stages.now)]
    assert why.startswith(f"Its last content stays, but it redirects to {SITE}/sign-in now: a sign-in page")
    assert "RIFFLE_CRAWL__SIGN_INS_FILE" in why


async def test_a_known_seed_that_answers_with_a_sign_in_page_keeps_its_content(pool: ParsePool, tmp_path: Path) -> None:
    answers = in_turn(response(page("/")), response(SIGN_IN))
    async with bad_server(tmp_path, Scripts({"/": answers})) as server:
        stages = StagesCrawl(server.settings(HOST, delay_seconds=0, rights_files=False), pool)
        first = seed(f"{SITE}/", 0).model_copy(update={"crawl_id": "c"})
        try:
            await stages.send(first, seconds=600)
            stages.now += 86_400 * 1_000_000
            await stages.send(first.model_copy(update={"crawl_id": "d", "force": True}), seconds=600)
        finally:
            await stages.fetcher.stop()
    assert not stages.removed
    ((_, why),) = [one async for one in explain_seeds(stages.stores, [first], now=lambda: stages.now)]
    assert why.startswith("Its last content stays, but it answers with a page to sign in now: a sign-in page")
    assert "RIFFLE_CRAWL__SIGN_INS_FILE" in why


async def test_links_that_were_left_out_are_counted_by_reason(pool: ParsePool, tmp_path: Path) -> None:
    links = ["https://other.example/1", "https://other.example/2", "/a", "/b.zip", "mailto:x@y.example", "/print"]
    body = page("/", *links, "https://www.bad.example/own")
    async with bad_server(tmp_path, Scripts({"/": response(body)})) as server:
        stages = StagesCrawl(server.settings(HOST, delay_seconds=0, rights_files=False), pool)
        first = seed(f"{SITE}/", 0).model_copy(update={"crawl_id": "c", "patterns": ("-/print",)})
        try:
            await stages.send(first, seconds=600)
        finally:
            await stages.fetcher.stop()
    left_out = LeftOutLinks([first], server.settings().origins)
    for _ in range(2):
        await left_out.look(stages.stores, [page_id(f"{SITE}/")])
        assert left_out.counts == {"host": 2, "depth": 2, "type": 1, "pattern": 1}
    assert not left_out.is_part
    assert describe_left_out(left_out.counts) == (
        "2 to other hosts (--any-host follows them); 2 beyond the depth (--depth); "
        "1 outside of --include and --exclude; 1 that no page has (files, other schemes, traps)"
    )
    assert describe_left_out({"host": 2}, with_help=False) == "2 to other hosts"
    assert describe_left_out({}) == ""


def test_a_crawl_that_brought_a_page_or_a_copy_ends_with_status_0(capsys: pytest.CaptureFixture[str]) -> None:
    seen = Seen("c", indexed={UUID(int=1)})
    assert report(CrawlEnd("c", seen, CrawlProgress(discovered=1, fetched=1)), as_json=False) == 0
    seen = Seen("c", removed={UUID(int=1): "duplicate"})
    assert report(CrawlEnd("c", seen, CrawlProgress(discovered=1, fetched=1)), as_json=False) == 0
    seen = Seen("c", indexed={UUID(int=1)}, empty={UUID(int=1)})
    assert report(CrawlEnd("c", seen, CrawlProgress(discovered=1, fetched=1)), as_json=False) == EXIT_NO
    assert "1 page without any statement: no search finds them." in capsys.readouterr().out
