"""Pages that scripts make, in real Chromium: what readers see, and what hostile scripts try."""

import asyncio
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from streams.errors import Refused, UsageError
from streams.render.chromium import PROGRAMS, ProcessLimits, find_chromium
from streams.render.loading import ResourceLoader
from streams.render.page import Rendered, RenderLimits, Resource, render
from tests.hostile.servers import bad_server, response

URL = "https://app.example/start"
HAS_CHROMIUM = any(map(shutil.which, PROGRAMS))
browser = pytest.mark.skipif(not HAS_CHROMIUM, reason="needs Debian's package chromium")
pytestmark = pytest.mark.browser
LIMITS = RenderLimits(seconds=40.0, requests=10, request_bytes=100_000, process=ProcessLimits(6.0, 1_500 << 20))
ANSWERS = {
    "https://app.example/app.js": ("text/javascript", b"""
        document.title = 'Loaded';
        fetch('/data.json').then(answer => answer.json()).then(data => {
            document.querySelector('#app').innerHTML = '<p>' + data.text + '</p>';
            alert('a dialog'); confirm('another');
        });"""),
    "https://app.example/data.json": ("application/json", b'{"text": "The tide comes twice a day."}'),
}  # fmt: skip


class Loader:
    """Answers the requests of a page from a table, and notes them."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def load(self, url: str) -> Resource | None:
        self.asked.append(url)
        kind, body = ANSWERS.get(url, ("", b""))
        return Resource(200, {"content-type": kind}, body) if kind else None


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


async def run(html: str, limits: RenderLimits = LIMITS, loader: Loader | None = None) -> Rendered:
    return await render(find_chromium(), URL, html.encode(), "text/html", (loader or Loader()).load, limits)


@browser
async def test_a_page_is_read_after_its_scripts_ran_and_its_dialogs_are_dismissed() -> None:
    loader = Loader()
    found = await run("<div id=app></div><img src=/a.png><script src=/app.js></script>", loader=loader)
    assert "<p>The tide comes twice a day.</p>" in found.html
    assert "<title>Loaded</title>" in found.html
    assert loader.asked == list(ANSWERS)
    assert found.cpu_seconds > 0
    assert found.memory_bytes > 0


READ = ".then(() => done('read'), () => done('refused'))"
SCRIPTS = {
    # what a script tries, and what it writes into the page if it may go on
    "a service worker": f"navigator.serviceWorker.register('/sw.js'){READ}",
    "a socket": "const s = new WebSocket('wss://app.example/s'); s.onerror = () => done('refused')",
    "WebRTC": """const c = new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:3478'}]}); const found = [];
        c.onicecandidate = e => e.candidate ? found.push(e.candidate.candidate) : done('gathered ' + found.length);
        c.createDataChannel('x'); c.createOffer().then(o => c.setLocalDescription(o));
        setTimeout(() => done('gathered ' + found.length), 1500)""",
    "the metadata of a cloud": f"fetch('http://169.254.169.254/latest/'){READ}",
    "a port of this machine": f"fetch('http://127.0.0.1:9042/'){READ}",
    "a post": f"fetch('/form', {{method: 'POST', body: 'x'}}){READ}",
    "a file": f"fetch('file:///etc/passwd'){READ}",
}


@browser
@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
async def test_scripts_reach_nothing_but_what_is_loaded_for_them(script: str) -> None:
    loader = Loader()
    html = f"<p id=o></p><script>function done(t) {{ document.querySelector('#o').textContent = t }}\n{script}</script>"
    limits = RenderLimits(seconds=40.0, quiet_seconds=2.0, process=LIMITS.process)
    found = await run(html, limits, loader)
    assert "refused" in found.html.partition("<script>")[0] or "gathered 0" in found.html
    assert not {url for url in loader.asked if "169.254" in url or "127.0.0.1" in url or "/form" in url} - {
        "http://169.254.169.254/latest/",
        "http://127.0.0.1:9042/",
    }, "the crawler's client refuses these two by their address"


@browser
async def test_downloads_frames_and_other_pages_are_not_opened() -> None:
    loader = Loader()
    found = await run(
        "<p>Text</p><iframe src=/frame></iframe><a id=d download href='data:text/plain,x'>d</a>"
        "<script>d.click(); window.open('/popup'); setTimeout(() => location = 'https://other.example/', 10)</script>",
        loader=loader,
    )
    assert loader.asked == []
    assert found.refused >= 1


ENDLESS = {
    "a loop": "<script>while (true) {}</script>",
    "a parser": "<script>document.write('<script>document.write(1); while(1){}<' + '/script>')</script>",
}


@browser
@pytest.mark.parametrize("html", ENDLESS.values(), ids=ENDLESS)
async def test_scripts_without_end_are_refused_by_their_cpu_time(html: str) -> None:
    limits = RenderLimits(seconds=60.0, process=ProcessLimits(3.0, 1_500 << 20))
    with pytest.raises(Refused, match="CPU time"):
        await run(html, limits)


@browser
async def test_requests_without_end_are_bounded() -> None:
    loader = Loader()
    script = "let n = 0; function next() { if (n < 500) fetch('/x' + n++).catch(() => 0).then(next) }; next()"
    html = f"<script>{script}</script>"
    found = await run(html, loader=loader)
    assert len(loader.asked) == found.requests == LIMITS.requests


async def test_a_machine_without_chromium_says_what_to_install() -> None:
    with pytest.raises(UsageError, match="apt-get install chromium"):
        find_chromium("no-such-browser")


async def test_requests_keep_to_robots_and_to_the_guard(tmp_path: Path) -> None:
    scripts: dict[str, Any] = {
        "/robots.txt": response(b"User-agent: *\nDisallow: /private/", content_type="text/plain"),
        "/app.js": response(b"1", content_type="text/javascript"),
        "/moved.js": response(status="302 Found", location="/private/x.js"),
        "/private/x.js": response(b"2", content_type="text/javascript"),
    }
    async with bad_server(tmp_path, scripts) as server:
        loader = ResourceLoader(server.settings())
        try:
            found = await loader.load("https://bad.example/app.js")
            assert found
            assert (found.body, found.headers["content-type"]) == (b"1", "text/javascript")
            for refused in ("/private/x.js", "/moved.js", "/none.js"):
                assert await loader.load(f"https://bad.example{refused}") is None
            for refused in (
                "http://127.0.0.1:9042/",
                "https://localhost/",
                "http://169.254.169.254/",
                "file:///etc/passwd",
            ):
                assert await loader.load(refused) is None
        finally:
            await loader.close()
        asked = [request.split(b" ")[1] for request in server.requests]
    assert asked.count(b"/robots.txt") == 1
    assert b"/private/x.js" not in asked
    await asyncio.sleep(0)
