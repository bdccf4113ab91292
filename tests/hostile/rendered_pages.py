"""Pages whose scripts are hostile, one browser each: what the renderer makes of them, and what that costs.

`tests/hostile/test_rendering.py` renders each of them in real Chromium. `python -m benchmarks zoo` measures how long
each holds a place of the stage `render` and how much memory its processes take. `python -m docs.generate` writes their
rows of docs/reference/hostile-servers.md.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Literal

import psutil

from streams.errors import Refused
from streams.render.chromium import ProcessLimits, Watch, find_chromium
from streams.render.page import Rendered, RenderLimits, Resource, render

URL = "https://app.example/start"
LIMITS = RenderLimits(seconds=40.0, requests=10, request_bytes=100_000, html_bytes=200_000,
                      process=ProcessLimits(6.0, 1_000 << 20))  # fmt: skip
"""Smaller than those of a worker, so that the pages end sooner. A browser by itself takes a second of CPU time."""
ENDLESS_LIMITS = replace(LIMITS, process=ProcessLimits(3.0, LIMITS.process.memory_bytes))
"""For pages of which only the limit of CPU time can be the end: by day the tests let them work half as long."""
LOOK_SECONDS = 0.1
UNREACHABLE = ("file:", "/form", "/beacon", "/popup", "/frame", "/sw.js", "/other", "other.example")
"""Parts of addresses that the crawler's client is never asked for. It refuses private addresses itself."""

Outcome = Literal["rendered", "static document"]
"""`static document`: the page reached a limit, or removed its document."""


@dataclass(frozen=True, slots=True)
class HostilePage:
    """A page with a hostile script."""

    name: str
    html: str
    shows: str = ""
    """A part of the rendered document."""
    outcome: Outcome = "rendered"
    endless: bool = False
    """True if only the limit of CPU time ends it."""


@dataclass(slots=True)
class Meeting:
    """The outcome and the cost of one page."""

    outcome: Outcome = "rendered"
    limit: str = ""
    """The limit that was reached."""
    held_seconds: float = 0.0
    """Time for which the page held a place of the stage."""
    cpu_seconds: float = 0.0
    memory_bytes: int = 0
    """Memory of the page's processes at its highest."""
    asked: list[str] = field(default_factory=list)
    """The addresses that the crawler's client was asked for."""
    rendered: Rendered | None = None


class Loader:
    """Answers the requests of a page from a table, and notes them."""

    def __init__(self, answers: dict[str, tuple[str, bytes]] | None = None) -> None:
        self.asked: list[str] = []
        self._answers = ANSWERS if answers is None else answers

    async def load(self, url: str, kind: str) -> Resource | None:
        self.asked.append(url)
        media_type, body = self._answers.get(url, ("", b""))
        return Resource(200, {"content-type": media_type}, body) if media_type else None


ANSWERS = {
    "https://app.example/large.js": ("text/javascript", b"//" + b"x" * 200_000),
    "https://app.example/data.json": ("application/json", b"{}"),
}


async def meet(page: HostilePage, limits: RenderLimits = LIMITS) -> Meeting:
    """Render a page, as the stage does."""
    loader, found = Loader(), Meeting()
    began = time.monotonic()
    try:
        program = find_chromium()
        found.rendered = await render(program, URL, page.html.encode(), "text/html", loader.load, limits)
    except Refused as refusal:
        found.outcome, found.limit = "static document", _limit(str(refusal))
    found.held_seconds, found.asked = time.monotonic() - began, loader.asked
    return found


async def measure(page: HostilePage) -> Meeting:
    """Render a page, and look at its processes all the time: that alone costs a tenth of a processor."""
    costs = Meeting()
    async with _watched(costs):
        found = await meet(page)
    return replace(found, cpu_seconds=costs.cpu_seconds, memory_bytes=costs.memory_bytes)


def _limit(reason: str) -> str:
    words = ("CPU time", "MiB", "process", "nothing")
    return next((word for word in words if word in reason), "time").replace("MiB", "memory")


@asynccontextmanager
async def _watched(found: Meeting) -> AsyncIterator[None]:
    watching = asyncio.create_task(_watch(found))
    try:
        yield
    finally:
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching


async def _watch(found: Meeting) -> None:
    watches: dict[int, Watch] = {}
    while True:
        for pid in _browsers():
            watch = watches.setdefault(pid, Watch(pid, LIMITS.process))
            watch.look()
            found.memory_bytes = max(found.memory_bytes, watch.memory_bytes)
        found.cpu_seconds = sum(watch.cpu_seconds for watch in watches.values())
        await asyncio.sleep(LOOK_SECONDS)


def _browsers() -> Iterator[int]:
    """Yield the browsers that this process has started."""
    for one in psutil.Process(os.getpid()).children():
        with contextlib.suppress(psutil.Error):
            if "--remote-debugging-pipe" in one.cmdline():
                yield one.pid


def script(code: str) -> str:
    """Return a page whose script may write into it by `done`."""
    return f"<p id=o></p><script>function done(t) {{ document.querySelector('#o').textContent = t }}\n{code}</script>"


def page_of(name: str, code: str, shows: str = "", outcome: Outcome = "rendered") -> HostilePage:
    return HostilePage(name, script(code), shows, outcome)


def endless(name: str, code: str) -> HostilePage:
    return HostilePage(name, script(code), outcome=LIMIT, endless=True)


READ = ".then(() => done('read'), () => done('refused'))"
REFUSED = '<p id="o">refused</p>'
TEXT = "<p>Text</p>"
LIMIT: Outcome = "static document"
VARIABLES = "".join(f"--a{n}:var(--a{n - 1}) var(--a{n - 1});" for n in range(1, 40))
WEB_ASSEMBLY = "0,97,115,109,1,0,0,0,1,4,1,96,0,0,3,2,1,0,7,5,1,1,102,0,0,10,9,1,7,0,3,64,12,0,11,11"
ENDED_HEAP = "const all = []; while (true) all.push({a: [all.length]})"
HOSTILE_PAGES = (
    # Ways to the network
    page_of("a service worker", f"navigator.serviceWorker.register('/sw.js'){READ}", REFUSED),
    page_of("a shared worker", "new SharedWorker('/sw.js').onerror = () => done('refused')", REFUSED),
    page_of("a socket", "new WebSocket('wss://app.example/s').onerror = () => done('refused')", REFUSED),
    page_of("events of a server", "new EventSource('/events').onerror = () => done('refused')", REFUSED),
    page_of("WebTransport", f"new WebTransport('https://app.example/t').ready{READ}", REFUSED),
    page_of("WebRTC", """const c = new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:3478'}]}); let n = 0;
        c.onicecandidate = e => e.candidate ? n++ : done('gathered ' + n); c.createDataChannel('x');
        c.createOffer().then(o => c.setLocalDescription(o)); setTimeout(() => done('gathered ' + n), 1500)""",
        "gathered 0"),
    page_of("the metadata of a cloud", f"fetch('http://169.254.169.254/latest/'){READ}", REFUSED),
    page_of("a port of this machine", f"fetch('http://127.0.0.1:9042/'){READ}", REFUSED),
    page_of("a file of this machine", f"fetch('file:///etc/passwd'){READ}", REFUSED),
    page_of("a post", f"fetch('/form', {{method: 'POST', body: 'x'}}){READ}", REFUSED),
    page_of("a beacon", "navigator.sendBeacon('/beacon', 'x'); done('went on')", "went on"),
    HostilePage("a form that is sent", f"{TEXT}<form action=/form method=post></form>"
        "<script>document.forms[0].submit()</script>", TEXT),
    HostilePage("names that are looked up ahead",
        f"<link rel=dns-prefetch href=//a.example><link rel=preconnect href=//b.example>{TEXT}", TEXT),
    HostilePage("frames and plug-ins",
        f"{TEXT}<iframe src=/frame></iframe><object data=/frame></object><embed src=/frame>", TEXT),
    HostilePage("downloads", f"{TEXT}<a id=d download href='data:text/plain,x'>d</a>"
        "<script>for (let n = 0; n < 99; n++) d.click()</script>", TEXT),
    # Windows and addresses
    page_of("three hundred windows", "let n = 0; while (n++ < 300) open('/popup'); done('went on')", "went on"),
    page_of("dialogs", "alert(1); confirm(2); prompt(3); print(); done('went on')", "went on"),
    endless("dialogs without end", "while (true) alert('again')"),
    page_of("a dialog that keeps the page", "done('text'); onbeforeunload = () => 'stay'; location = '/other'", "text"),
    page_of("another page", "done('text'); location = 'https://other.example/'", "text"),
    HostilePage("a refresh to another page",
        f"<meta http-equiv=refresh content='0; url=https://other.example/'>{TEXT}", TEXT),
    page_of("reloads without end", "done('text'); location.reload()", "text"),
    page_of("an address that changes without end", "let n = 0; setInterval(() => history.pushState(0, '', '/' + n++))"),
    page_of("permissions", """Notification.requestPermission();
        navigator.geolocation.getCurrentPosition(() => done('found'), () => done('refused'))""", REFUSED),
    page_of("a camera", f"navigator.mediaDevices.getUserMedia({{video: true}}){READ}", REFUSED),
    page_of("the full screen", f"document.body.requestFullscreen(){READ}", REFUSED),
    # Work without end
    endless("a loop without end", "while (true) {}"),
    HostilePage("a parser that never ends",
        "<script>document.write('<script>document.write(1); while(1){}<' + '/script>')</script>",
        outcome=LIMIT, endless=True),
    endless("promises without end", "const next = () => Promise.resolve().then(next); next()"),
    page_of("a worker without end", "new Worker(URL.createObjectURL(new Blob(['while (1) {}'])))"),
    page_of("timers without end", "const next = () => { for (let n = 0; n < 1e6; n++); setTimeout(next) }; next()"),
    endless("a regular expression that explodes", "/^(a+)+$/.test('a'.repeat(40) + 'b')"),
    endless("WebAssembly without end", f"""WebAssembly.instantiate(new Uint8Array([{WEB_ASSEMBLY}]))
        .then(made => made.instance.exports.f())"""),
    page_of("five hundred requests", """let n = 0;
        const next = () => { if (n < 500) fetch('/x' + n++).catch(() => 0).then(next) }; next()"""),
    endless("requests without end", """while (true) {
        const asked = new XMLHttpRequest(); asked.open('GET', '/x', false); try { asked.send() } catch (e) {} }"""),
    endless("messages without end", "while (true) console.log('a'.repeat(100))"),
    page_of("a breakpoint", "debugger; done('went on')", "went on"),
    # Size without end
    page_of("a document that grows", "for (let n = 0; n < 1e5; n++) document.body.append(document.createElement('i'))"),
    page_of("nested elements", """let e = document.body;
        for (let n = 0; n < 5e3; n++) { e.append(document.createElement('b')); e = e.firstChild }"""),
    page_of("buffers without end", "const all = []; while (true) all.push(new Uint8Array(1e7).fill(1))"),
    page_of("objects without end", ENDED_HEAP, outcome=LIMIT),
    page_of("objects without end behind the page", f"setTimeout(() => {{ {ENDED_HEAP} }}, 100)", outcome=LIMIT),
    page_of("a string without end", "let s = 'x'; try { while (true) s += s } catch (e) { done('ended') }", "ended"),
    HostilePage("styles that explode",
        f"<style>:root{{--a0:x x;{VARIABLES}}} p::before{{content:var(--a39)}}</style>{TEXT}", TEXT),
    page_of("storage without end", """(async () => { const kept = await caches.open('x');
        while (true) await kept.put('/' + Math.random(), new Response(new Uint8Array(5e6))) })()"""),
    page_of("a post that is too large", "fetch('/form', {method: 'POST', body: 'x'.repeat(9e7)})", outcome=LIMIT),
    HostilePage("a script that is too large", f"{TEXT}<script src=/large.js></script>", TEXT),
    # Nothing at its end
    HostilePage("a document that is removed", f"{TEXT}<script>document.documentElement.remove()</script>",
        outcome=LIMIT),
    HostilePage("a body that is emptied", f"{TEXT}<script>onload = () => document.body.replaceChildren()</script>",
        outcome=LIMIT),
    HostilePage("a document that is written anew without text",
        f"{TEXT}<script>onload = () => {{ document.open(); document.close() }}</script>", outcome=LIMIT),
)  # fmt: skip
