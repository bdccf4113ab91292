"""Pages that scripts make, in real Chromium: what readers see, and what hostile scripts try."""

import asyncio
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from streams.crawl.fetch.agent import FetchAgent
from streams.crawl.fetch.pace import Window, windows_of
from streams.crawl.fetch.shared_pace import SharedPace
from streams.crawl.polite.client import PoliteClient
from streams.crawl.polite.places import Places
from streams.errors import Refused, StoreUnavailable, TransientError, UsageError
from streams.render import loading
from streams.render.chromium import PROGRAMS, find_chromium
from streams.render.kept_resources import MAX_AGE_SECONDS, MAX_BYTES, KeptResources
from streams.render.loading import ResourceLoader
from streams.render.page import Resource, render
from streams.render.protocol import Pipe, RendererEnded
from streams.settings import CrawlSettings
from streams.stores.memory import MemoryPaceHolds
from streams.stores.opener import memory_stores
from tests.hostile.rendered_pages import (
    ENDLESS_LIMITS,
    HOSTILE_PAGES,
    LIMITS,
    UNREACHABLE,
    URL,
    HostilePage,
    Loader,
    meet,
    script,
)
from tests.hostile.servers import bad_server, response
from tests.sizes import FULL

HAS_CHROMIUM = any(map(shutil.which, PROGRAMS))
browser = pytest.mark.skipif(not HAS_CHROMIUM, reason="needs Debian's package chromium")
pytestmark = pytest.mark.browser
AT_NIGHT = {
    "dialogs without end",
    "a parser that never ends",
    "promises without end",
    "a regular expression that explodes",
    "requests without end",
    "objects without end behind the page",
}
"""Further forms of work and size without end: each takes all of its CPU time, and by day there is one of each kind."""
ANSWERS = {
    "https://app.example/app.js": ("text/javascript", b"""
        document.title = 'Loaded';
        fetch('/data.json').then(answer => answer.json()).then(data => {
            document.querySelector('#app').innerHTML = '<p>' + data.text + '</p>';
            alert('a dialog'); confirm('another');
        });"""),
    "https://app.example/data.json": ("application/json", b'{"text": "The tide comes twice a day."}'),
}  # fmt: skip


def browsers(folder: Path) -> list[int]:
    """The processes with a profile in this folder."""
    found = psutil.process_iter(["cmdline"])
    return [one.pid for one in found if str(folder) in " ".join(one.info["cmdline"] or ())]


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield
    deadline = time.monotonic() + 10
    while browsers(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not browsers(tmp_path)
    assert not list(tmp_path.glob("riffle-render-*"))


@browser
async def test_a_page_is_read_after_its_scripts_ran_and_its_dialogs_are_dismissed() -> None:
    loader, html = Loader(ANSWERS), b"<div id=app></div><img src=/a.png><script src=/app.js></script>"
    found = await render(find_chromium(), URL, html, "text/html", loader.load, LIMITS)
    assert "<p>The tide comes twice a day.</p>" in found.html
    assert "<title>Loaded</title>" in found.html
    assert loader.asked == list(ANSWERS)
    assert found.cpu_seconds > 0
    assert found.memory_bytes > 0


@browser
@pytest.mark.parametrize("path", ["/app.js", "/data.json"])
async def test_a_page_whose_request_could_not_be_answered_for_now_is_tried_again(path: str) -> None:
    """A store is away: without the script or its data the page would be read in part."""
    loader, html = Loader(ANSWERS), b"<div id=app></div><script src=/app.js></script>"

    async def load(url: str, kind: str) -> Resource | None:
        if url.endswith(path):
            raise StoreUnavailable("Cassandra does not answer")
        return await loader.load(url, kind)

    with pytest.raises(TransientError, match="Cassandra"):
        await render(find_chromium(), URL, html, "text/html", load, LIMITS)


@browser
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=[pytest.mark.night] if page.name in AT_NIGHT else [])
        for page in HOSTILE_PAGES
    ],
)
async def test_a_hostile_page_has_its_outcome_and_reaches_nothing(page: HostilePage) -> None:
    found = await meet(page, ENDLESS_LIMITS if page.endless and not FULL else LIMITS)
    assert found.outcome == page.outcome, found
    assert not [url for url in found.asked for part in UNREACHABLE if part in url]
    assert len(found.asked) <= LIMITS.requests
    if found.rendered:
        assert page.shows in found.rendered.html
        assert "chrome" not in found.rendered.html, "a page of the browser itself"
        assert len(found.rendered.html) <= LIMITS.html_bytes


def test_each_page_of_the_night_is_there() -> None:
    assert {page.name for page in HOSTILE_PAGES} >= AT_NIGHT


async def test_a_message_that_is_too_long_refuses_its_page() -> None:
    async def ignore(*_: object) -> None:
        """No event comes."""

    reader = asyncio.StreamReader(limit=1_000)
    pipe = Pipe(reader, lambda message: None, ignore)
    reader.feed_data(b"x" * 5_000)
    read = asyncio.ensure_future(pipe.call("Runtime.evaluate"))
    await asyncio.sleep(0)
    with pytest.raises(RendererEnded):
        await pipe.serve()
    with pytest.raises(Refused, match="at once"):
        await pipe.until_overrun()
    with pytest.raises(RendererEnded):
        await read


async def test_a_machine_without_chromium_says_what_to_install() -> None:
    with pytest.raises(UsageError, match="apt-get install chromium"):
        find_chromium("no-such-browser")


def fetchers_pace(holds: MemoryPaceHolds) -> SharedPace:
    return SharedPace(holds, "a worker", time.monotonic)


class NotedPace(SharedPace):
    """A pace in which each request waits once, and which notes the keys of each."""

    def __init__(self) -> None:
        super().__init__(MemoryPaceHolds(), "renderer", time.monotonic)
        self.places: list[list[str]] = []
        self._refused = False

    async def take(self, windows: Sequence[Window]) -> float:
        self._refused = not self._refused
        if self._refused:
            return 0.001
        self.places.append([window.key for window in windows])
        return 0.0


def loader_of(settings: CrawlSettings, pace: SharedPace | None = None) -> ResourceLoader:
    client = PoliteClient(settings, memory_stores())
    client._pace = pace or client._pace
    return ResourceLoader(client)


async def test_each_request_of_a_page_takes_its_place_in_the_pace(tmp_path: Path) -> None:
    pace, asked = NotedPace(), list[tuple[bytes, int]]()

    def noted(script: Any) -> Any:
        async def note(writer: asyncio.StreamWriter) -> None:
            asked.append((server.requests[-1].split(b" ")[1], len(pace.places)))
            await script(writer)

        return note

    scripts = {
        "/robots.txt": noted(response(b"User-agent: *\nCrawl-delay: 3\n", content_type="text/plain")),
        "/app.js": noted(response(status="302 Found", location="/moved.js")),
        "/moved.js": noted(response(b"1", content_type="text/javascript")),
        "/data": noted(response(b"{}", content_type="application/json")),
    }
    async with bad_server(tmp_path, scripts) as server:
        loader = loader_of(server.settings(), pace)
        load = loader.of_page("https://bad.example/", b"")
        try:
            for path, kind in (("/app.js", "Script"), ("/app.js", "Script"), ("/data", "Fetch"), ("/data", "XHR")):
                assert await load(f"https://bad.example{path}", kind)
        finally:
            await loader.close()
    paths = (b"/robots.txt", b"/app.js", b"/moved.js", b"/data", b"/data")
    assert asked == [(path, number) for number, path in enumerate(paths, start=1)], "a script is asked for once"
    assert pace.places == [["host bad.example", "domain bad.example", "address 127.0.0.1"]] * len(paths)


async def test_a_page_whose_host_a_fetcher_holds_waits_without_a_browser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "HOST_WAIT_SECONDS", 0.05)
    holds = MemoryPaceHolds(lambda: 0.0)
    async with bad_server(tmp_path, {}) as server:
        settings = server.settings()
        windows = windows_of("bad.example", ["127.0.0.1"], settings, None)
        assert await fetchers_pace(holds).take(windows) == 0
        loader = loader_of(settings, SharedPace(holds, "renderer", time.monotonic))
        try:
            with pytest.raises(Refused, match=r"bad\.example is asked by others just now"):
                await loader.wait_for_host("https://bad.example/")
            assert await holds.left("waiting domain bad.example"), "the fetcher sees that another worker waits"
        finally:
            await loader.close()
        assert server.requests == []


def test_a_fetcher_gives_hosts_up_if_others_ask_them_too() -> None:
    held = [FetchAgent(CrawlSettings(), memory_stores(), shares=shares) for shares in (False, True)]
    for agent in held:
        asyncio.run(agent.assigned(frozenset({0})))
    assert [agent._pace.is_alone for agent in held] == [True, False]


def test_kept_scripts_are_bounded_and_end() -> None:
    now = [0.0]
    kept = KeptResources(lambda: now[0])
    script = Resource(200, {"content-type": "text/javascript"}, b"x" * (MAX_BYTES // 2))
    for number in range(3):
        kept.put(f"{number}", script)
    kept.put("data", Resource(200, {"content-type": "application/json"}, b"{}"))
    assert [kept.get(url) is None for url in ("0", "1", "2", "data")] == [True, False, False, True]
    now[0] = MAX_AGE_SECONDS
    assert kept.get("2") is None


async def test_requests_keep_to_robots_and_to_the_guard(tmp_path: Path) -> None:
    scripts: dict[str, Any] = {
        "/robots.txt": response(b"User-agent: *\nDisallow: /private/", content_type="text/plain"),
        "/app.js": response(b"1", content_type="text/javascript"),
        "/moved.js": response(status="302 Found", location="/private/x.js"),
        "/private/x.js": response(b"2", content_type="text/javascript"),
    }
    async with bad_server(tmp_path, scripts) as server:
        loader = loader_of(server.settings(delay_seconds=0))
        load = loader.of_page("https://bad.example/", b"")
        try:
            found = await load("https://bad.example/app.js", "Script")
            assert found
            assert (found.body, found.headers["content-type"]) == (b"1", "text/javascript")
            for refused in ("/private/x.js", "/moved.js", "/none.js"):
                assert await load(f"https://bad.example{refused}", "Script") is None
            for refused in (
                "http://127.0.0.1:9042/",
                "https://localhost/",
                "http://169.254.169.254/",
                "file:///etc/passwd",
            ):
                assert await load(refused, "Script") is None
        finally:
            await loader.close()
        asked = [request.split(b" ")[1] for request in server.requests]
    assert asked.count(b"/robots.txt") == 1
    assert b"/private/x.js" not in asked
    await asyncio.sleep(0)


OPEN, OWN_ONLY = {"access_control_allow_origin": "*"}, {"access_control_allow_origin": "https://app.example"}
# What a page of app.example asks for, its kind, the headers of the answer -> whether it is asked for, and handed on.
FOREIGN = [
    ("https://app.example/data", "Fetch", {}, True),
    ("https://api.app.example/data", "Fetch", OWN_ONLY, True),  # of its domain: Chromium judges by the headers
    ("https://cdn.example/named.js?a=1&b=2", "Script", {}, True),  # the static HTML names it
    ("https://cdn.example/style.css", "Stylesheet", {}, True),
    ("https://cdn.example/made.js", "Script", {}, False),  # only a script names it
    ("https://cdn.example/data", "Fetch", OPEN, True),
]


@pytest.mark.parametrize(("url", "kind", "headers", "is_asked"), FOREIGN)
async def test_what_a_page_may_ask_of_other_sites(
    tmp_path: Path, url: str, kind: str, headers: dict[str, str], is_asked: bool
) -> None:
    html = b"<script src='https://cdn.example/named.js?a=1&amp;b=2'></script><link href=//cdn.example/style.css>"
    path = url.partition(".example")[2]
    scripts = {"/robots.txt": response(status="404 Not Found"), path: response(b"1", **headers)}
    hosts = ["app.example", "api.app.example", "cdn.example"]
    async with bad_server(tmp_path, scripts, more_hosts=hosts) as server:
        pace = NotedPace()
        loader = loader_of(server.settings(*hosts), pace)
        try:
            found = await loader.of_page("https://app.example/page", html)(url, kind)
        finally:
            await loader.close()
    asked = [request for request in server.requests if path.encode() in request]
    assert (found is not None) is is_asked is bool(asked)
    if found:
        handed_on = {name: value for name, value in found.headers.items() if name != "content-type"}
        assert handed_on == {name.replace("_", "-"): value for name, value in headers.items()}
        is_own = url.startswith("https://app.example/")
        assert (b"Origin: https://app.example" in asked[0]) is not is_own
        assert "host app.example" in pace.places[-1], "what another host is asked for also takes a turn of the page's"


async def test_a_page_asks_other_sites_for_little_data(tmp_path: Path) -> None:
    scripts = {"/robots.txt": response(status="404 Not Found"), "/data": response(b"1")}
    async with bad_server(tmp_path, scripts, host="victim.example") as server:
        loader = loader_of(server.settings("victim.example", delay_seconds=0))
        load = loader.of_page("https://app.example/page", b"")
        try:
            found = [await load("https://victim.example/data", "Fetch") for _ in range(60)]
        finally:
            await loader.close()
    assert sum(each is not None for each in found) == loading.MAX_FOREIGN_DATA
    assert len(server.requests) == loading.MAX_FOREIGN_DATA + 1


async def test_a_victims_own_page_waits_for_one_request_of_strangers_at_most() -> None:
    order, places = list[str](), Places()

    async def ask(name: str, *, is_stranger: bool) -> None:
        async with places.take("victim.example", 5, is_stranger=is_stranger):
            order.append(name)
            await asyncio.sleep(0)

    strangers = [ask(f"stranger {number}", is_stranger=True) for number in range(60)]
    await asyncio.gather(*strangers, ask("own page", is_stranger=False))
    assert order.index("own page") <= 1


SECRET = "<p>The text that only subscribers read.</p>"
LIES = [
    "'x'.repeat(40e6)",
    "(() => { throw 1 })()",
    "({slice: () => 'x'.repeat(40e6)})",
    "({toString: () => 'x'.repeat(40e6)})",
    "({toJSON: () => 'x'.repeat(40e6), length: 1})",
    "new Proxy({}, {get: () => 'x'.repeat(40e6)})",
    "Symbol('x')",
    "Promise.resolve('x'.repeat(40e6))",
]


@browser
@pytest.mark.parametrize("lie", LIES)
async def test_the_document_is_read_as_it_is_whatever_the_page_says(lie: str) -> None:
    code = f"Object.defineProperty(Element.prototype, 'outerHTML', {{get() {{ return {lie} }}}})"
    html = f"<p>Text</p><script>{code}; String.prototype.slice = () => 'lies'</script>".encode()
    found = await render(find_chromium(), URL, html, "text/html", Loader().load, LIMITS)
    assert "<p>Text</p>" in found.html
    assert len(found.html) < 1_000


@browser
@pytest.mark.parametrize(
    ("allowed", "says"),
    [
        (None, "refused"),
        ("https://other.example", "refused"),
        ("https://app.example", "subscribers"),
        ("*", "subscribers"),
        ("null", "refused"),
        ("http://app.example", "refused"),
        ("https://app.example:8443", "refused"),
        ("https://app.example.evil.example", "refused"),
        ("https://app.example, https://paid.example", "refused"),
        ("*.app.example", "refused"),
    ],
)
async def test_a_page_reads_another_site_only_if_that_site_lets_it(allowed: str | None, says: str) -> None:
    """The crawler may read behind a paywall that is open to it. A stranger's page does not get that text."""

    async def load(url: str, kind: str) -> Resource | None:
        asked.append(url)
        headers = {"access-control-allow-origin": allowed} if allowed else {}
        return Resource(200, {"content-type": "text/html", **headers}, SECRET.encode())

    asked = list[str]()
    code = """fetch('https://paid.example/article').then(a => a.text()).then(t => done(t), () => done('refused'))
        .then(() => fetch('/steal?' + document.querySelector('#o').textContent))"""
    found = await render(find_chromium(), URL, script(code).encode(), "text/html", load, LIMITS)
    assert says in found.html
    assert any("subscribers" in url for url in asked) is (says == "subscribers")
