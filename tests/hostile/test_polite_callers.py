"""All that ask the web are equally polite: one table of hosts, on a real TLS server, for the crawl, "fetch now" and the
renderer."""

import asyncio
import ssl
import time
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from schemas.ids import page_id
from streams.crawl.fetch.http import close_session, get, limits_of, open_session
from streams.crawl.polite.client import Asking, PoliteClient
from streams.crawl.polite.hosts import MAX_CHARS, KnownHosts
from streams.crawl.polite.refusals import NotAsked
from streams.crawl.rights import RIGHTS_PATH
from streams.crawl.robots import MAX_ROBOTS_BYTES, parse
from streams.robot_name import ROBOT
from streams.settings import CrawlSettings
from streams.stores.opener import Stores, memory_stores
from streams.stores.page_record import Removed
from streams.stores.protocols import HostOrder
from tests.hostile.callers import CALLERS, Ask, crawl, fetch_now, render
from tests.hostile.servers import BadServer, Script, bad_server, make_certificate, raw, response

HOST, OTHER = "bad.example", "other.example"
PAGE = response(b"<p>Text")
NOTHING = response(status="404 Not Found")
OWN, ALL = "User-agent: RiffleBot\n", "User-agent: *\n"
FORBIDDEN = "Disallow: /page\n"
DELAY, TOLERANCE = 0.5, 0.25
"""On a loaded machine a request may arrive some time after it began. Without a pace two follow within 0.05 s."""
TWO = ("/page", "/page2")


def text(content: str) -> Script:
    return response(content.encode(), content_type="text/plain")


def moved(to: str) -> Script:
    return response(status="302 Found", location=to)


async def silence(writer: Any) -> None:
    await asyncio.sleep(5)


def closed_now() -> str:
    """Return a visit time that begins in two hours."""
    hour = time.gmtime().tm_hour
    return f"{(hour + 2) % 24:02}00-{(hour + 3) % 24:02}00"


@dataclass(frozen=True, slots=True)
class Site:
    """A host that behaves in some way, and the requests that it gets then."""

    name: str
    robots: Script
    asked: tuple[str, ...]
    """The paths in the order of the requests. One of another host has the host's name before it."""
    paths: tuple[str, ...] = ("/page",)
    """The pages that the callers want."""
    scripts: dict[str, Script] = field(default_factory=dict)
    order: HostOrder | None = None
    removed: bool = False
    gap_seconds: float = 0.0
    """Minimum time between two pages."""
    settings: dict[str, Any] = field(default_factory=dict)
    differs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Callers that ask for something else, with a reason in the table."""


ROBOTS, PAGES = ("/robots.txt",), ("/robots.txt", "/page")
SITES = [
    Site("a group names us and forbids", text(f"{OWN}{FORBIDDEN}\n{ALL}Allow: /\n"), ROBOTS),
    Site("a group names us and allows", text(f"{ALL}Disallow: /\n\n{OWN}Allow: /page\n"), PAGES),
    Site("all are forbidden", text(f"{ALL}{FORBIDDEN}"), ROBOTS),
    # Section 2.3.1.2 of RFC 9309: redirects, also to another host.
    Site("robots.txt moved, and forbids", moved("/r"), ("/robots.txt", "/r"), scripts={"/r": text(ALL + FORBIDDEN)}),
    Site("robots.txt moved to another host", moved(f"https://{OTHER}/robots.txt"),
         ("/robots.txt", f"{OTHER}/robots.txt", "/page"), scripts={f"{OTHER}/robots.txt": text(f"{ALL}Allow: /\n")}),
    Site("robots.txt is moved without end", moved("/robots.txt"), (*["/robots.txt"] * 6, "/page")),
    # Section 2.5: 500 KiB are read.
    Site("a long robots.txt that forbids first", text(f"{ALL}{FORBIDDEN}{'#' * MAX_ROBOTS_BYTES}\n"), ROBOTS),
    Site("a long robots.txt that forbids behind the limit", text(f"{'#' * MAX_ROBOTS_BYTES}\n{ALL}{FORBIDDEN}"), PAGES),
    # Section 2.3.1.3: unavailable. 2.3.1.4: unreachable, and not asked again at once.
    Site("robots.txt is not there", NOTHING, PAGES),
    Site("robots.txt is refused", response(status="403 Forbidden"), PAGES),
    Site("robots.txt fails", response(status="503 Service Unavailable"), ROBOTS, TWO),
    Site("robots.txt asks for time", response(status="429 Too Many Requests", retry_after="60"), ROBOTS, TWO),
    Site("robots.txt does not answer", silence, ROBOTS, TWO, settings={"timeout_seconds": 0.3}),
    Site("robots.txt is no HTTP", raw(b"nonsense\r\n\r\n"), ROBOTS, TWO),
    # The pace and the hours that a host asks for.
    Site("a delay", text(f"{ALL}Crawl-delay: {DELAY}\n"), (*PAGES, "/page2"), TWO, gap_seconds=DELAY),
    Site("a page asks for time", NOTHING, PAGES, TWO,
         {"/page": response(status="429 Too Many Requests", retry_after="60")}),
    Site("a page fails and asks for time", NOTHING, PAGES, TWO,
         {"/page": response(status="503 Service Unavailable", retry_after="60")}),
    Site("it is asked only at night", text(f"{ALL}Visit-time: {closed_now()}\n"), ROBOTS),
    # Orders of the operator.
    Site("blocked", NOTHING, (), order=HostOrder(HOST, blocked=True, at=1)),
    Site("an ordered delay", NOTHING, (*PAGES, "/page2"), TWO, order=HostOrder(HOST, delay_seconds=DELAY, at=1),
         gap_seconds=DELAY),
    # The crawl reads robots.txt before it looks at the record of the page.
    Site("removed on request", NOTHING, (), removed=True, differs={"crawl": ROBOTS}),
    # What a script loads is no page whose rights are reserved: the crawl has asked for that of the page itself.
    Site("reservations of rights", NOTHING, ("/robots.txt", RIGHTS_PATH, "/page"), settings={"rights_files": True},
         differs={"renderer": PAGES}),
    Site("reservations of rights that robots.txt forbids", text(f"{ALL}Disallow: /.well-known/\n"), PAGES,
         settings={"rights_files": True}),
]  # fmt: skip


def requested(server: BadServer) -> list[str]:
    found = []
    for head in server.requests:
        lines = head.decode("latin-1").split("\r\n")
        host = next(line[6:] for line in lines if line.lower().startswith("host: "))
        found.append(("" if host == HOST else host) + lines[0].split(" ")[1])
    return found


def gaps(server: BadServer) -> list[float]:
    """The times between the requests for pages (seconds)."""
    at = [moment for moment, path in zip(server.times, requested(server), strict=True) if "/page" in path]
    return [later - earlier for earlier, later in pairwise(at)]


async def prepared(site: Site) -> Stores:
    stores = memory_stores()
    if site.order:
        await stores.frontier.put_order(site.order)
    if site.removed:
        removed = Removed.of_row({"url": f"https://{HOST}/page", "generation": 1, "reason": "request"})
        await stores.pages.put(page_id(f"https://{HOST}/page"), removed, 1)
    return stores


@pytest.mark.parametrize("caller", CALLERS.items(), ids=CALLERS)
@pytest.mark.parametrize("site", SITES, ids=[site.name for site in SITES])
async def test_a_host_is_asked_the_same_by_all(tmp_path: Path, site: Site, caller: tuple[str, Ask]) -> None:
    name, ask = caller
    scripts = {"/robots.txt": site.robots, RIGHTS_PATH: NOTHING, "/page": PAGE, "/page2": PAGE, **site.scripts}
    async with bad_server(tmp_path, scripts, host=HOST, more_hosts=[OTHER]) as server:
        settings = server.settings(HOST, OTHER, **{"delay_seconds": 0.05, "rights_files": False, **site.settings})
        await ask(settings, await prepared(site), [f"https://{HOST}{path}" for path in site.paths])
        assert requested(server) == list(site.differs.get(name, site.asked))
        assert all(gap >= site.gap_seconds - TOLERANCE for gap in gaps(server)), gaps(server)


@pytest.mark.parametrize(
    ("one", "other"), [(partial(crawl, quiet_seconds=15), fetch_now), (fetch_now, render), (fetch_now, fetch_now)],
    ids=["crawl and fetch now", "fetch now and renderer", "two gateways"],
)  # fmt: skip
async def test_two_that_ask_at_once_share_the_pace(tmp_path: Path, one: Ask, other: Ask) -> None:
    scripts = {"/robots.txt": NOTHING, **{f"/page{number}": PAGE for number in range(4)}}
    async with bad_server(tmp_path, scripts, host=HOST) as server:
        settings, stores = server.settings(delay_seconds=DELAY, rights_files=False), memory_stores()
        urls = [f"https://{HOST}/page{number}" for number in range(4)]
        found = await asyncio.gather(one(settings, stores, urls[:2]), other(settings, stores, urls[2:]))
        times = gaps(server)
    assert list(found) == [dict.fromkeys(urls[:2], True), dict.fromkeys(urls[2:], True)]
    assert min(times) >= DELAY - TOLERANCE, times


async def test_names_of_one_domain_share_its_pace(tmp_path: Path) -> None:
    """A wildcard of DNS gives nobody more requests."""
    hosts = [f"n{number}.{HOST}" for number in range(6)]
    async with bad_server(tmp_path, {"/robots.txt": NOTHING, "/page": PAGE}, host=HOST, more_hosts=hosts) as server:
        settings = server.settings(*hosts, delay_seconds=DELAY, requests_per_domain=2, rights_files=False)
        await fetch_now(settings, memory_stores(), [f"https://{host}/page" for host in hosts])
        third = [later - earlier for earlier, later in zip(server.times, server.times[2:], strict=False)]
    assert len(server.requests) == 2 * len(hosts)
    assert min(third) >= DELAY - TOLERANCE, third


async def test_what_the_frontier_knows_of_a_host_is_not_asked_again(tmp_path: Path) -> None:
    """A gateway that just started reads robots.txt in the frontier's store."""
    scripts = {"/robots.txt": text(f"{ALL}Disallow: /page2\n"), "/page": PAGE, "/page2": PAGE}
    async with bad_server(tmp_path, scripts, host=HOST) as server:
        settings, stores = server.settings(delay_seconds=0.05, rights_files=False), memory_stores()
        for ask in (crawl, fetch_now, render):
            await ask(settings, stores, [f"https://{HOST}/page", f"https://{HOST}/page2"])
        assert requested(server) == ["/robots.txt", "/page", "/page", "/page"]


STRANGER = "stranger.example"


async def ask_for(client: PoliteClient, url: str, page: str = "") -> str:
    """Ask for a URL, perhaps for the scripts of a page. Returns the outcome, or why the host is not asked."""
    try:
        return (await client.get(url, Asking(page))).verdict.outcome
    except NotAsked as refusal:
        return refusal.reason


@pytest.mark.parametrize("status", ["503 Service Unavailable", "429 Too Many Requests"])
async def test_what_fails_for_a_strangers_page_lets_only_strangers_wait(tmp_path: Path, status: str) -> None:
    """A page may choose any URL of another site, such as one that always fails. A page of the site itself may not."""
    scripts = {"/robots.txt": NOTHING, "/page": PAGE, "/fails": response(status=status, retry_after="600")}
    async with bad_server(tmp_path, scripts, host=HOST, more_hosts=[STRANGER]) as server:
        settings, stores = server.settings(HOST, STRANGER, delay_seconds=0.05, rights_files=False), memory_stores()
        client, other = PoliteClient(settings, stores), PoliteClient(settings, stores)
        by_stranger, by_own = f"https://{STRANGER}/", f"https://{HOST}/"
        try:
            assert await ask_for(client, f"https://{HOST}/fails", by_stranger) in ("server_error", "rate_limited")
            assert await ask_for(other, f"https://{HOST}/page", by_stranger) == "resting", "in all processes"
            assert await ask_for(client, f"https://{HOST}/page") == "ok"
            assert await ask_for(client, f"https://{HOST}/page", by_own) == "ok"
            assert await ask_for(client, f"https://{HOST}/fails", by_own) in ("server_error", "rate_limited")
            assert await ask_for(other, f"https://{HOST}/page") == "resting"
        finally:
            await client.close()
            await other.close()


async def test_a_host_to_which_a_robots_txt_moved_keeps_its_visit_times(tmp_path: Path) -> None:
    scripts = {
        f"{HOST}/robots.txt": moved(f"https://{OTHER}/robots.txt"),
        f"{OTHER}/robots.txt": text(f"{ALL}Visit-time: {closed_now()}\n"),
        "/page": PAGE,
    }
    async with bad_server(tmp_path, scripts, host=HOST, more_hosts=[OTHER]) as server:
        client = PoliteClient(server.settings(HOST, OTHER, delay_seconds=0.05, rights_files=False), memory_stores())
        try:
            assert await ask_for(client, f"https://{OTHER}/page") == "closed"
            assert await ask_for(client, f"https://{HOST}/page") == "closed"
        finally:
            await client.close()
        assert requested(server) == [f"{OTHER}/robots.txt", "/robots.txt"]


async def test_the_files_of_known_hosts_have_a_bound_in_memory() -> None:
    hosts = KnownHosts(CrawlSettings(), memory_stores(), lambda: 0)
    large = parse(b"User-agent: *\n" + b"".join(b"Disallow: /%06d\n" % n for n in range(20_000)), ROBOT)
    for number in range(100):
        known = await hosts.find(f"n{number}.example")
        known.rules = large
        hosts.keep(known)
    assert hosts._hosts.size <= MAX_CHARS < 100 * large.chars
    assert (await hosts.find("n99.example")).rules is large
    assert (await hosts.find("n0.example")).rules is not large


async def test_a_kept_connection_that_ends_is_not_asked_again_without_a_turn(tmp_path: Path) -> None:
    asked = 0

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        while await reader.readuntil(b"\r\n\r\n"):
            asked += 1
            if asked == 2:
                break  # the server ends the connection when the second request comes
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nHi")
        writer.close()

    certificate, key, ca_file = make_certificate(tmp_path, HOST)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=context)
    local = {HOST: f"127.0.0.1:{server.sockets[0].getsockname()[1]}"}
    session = open_session(CrawlSettings(local_hosts=local, local_ca_file=ca_file))
    try:
        limits = limits_of(CrawlSettings())
        urls = [f"https://{HOST}/1", f"https://{HOST}/2"]
        found = [await get(session, url, purpose="page", limits=limits, monotonic=time.monotonic) for url in urls]
        assert [answer.verdict.outcome for answer in found] == ["ok", "network_error"]
        assert (found[1].verdict.retryable, asked) == (True, 2)
    finally:
        await close_session(session)
        server.close()
        await server.wait_closed()
