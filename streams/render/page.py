"""One page in Chromium: its requests are answered from here, and its document is read when it is quiet.

The page itself is not fetched again: Chromium gets the stored body. Scripts, style sheets and data are fetched by the
crawler's own client, so that the guard on addresses, robots.txt, and the limits hold for them. All other requests
(pictures, media, fonts, frames, sockets, downloads, forms) are refused.
"""

import asyncio
import time
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from streams.errors import Refused, TransientError
from streams.render.chromium import LimitReached, ProcessLimits, Watch, run_chromium
from streams.render.protocol import Pipe, RendererEnded
from streams.render.seen_text import READ_DOCUMENT, arguments_of

ANSWERED_TYPES = frozenset({"Script", "XHR", "Fetch", "Stylesheet", "Preflight"})
"""Kinds of requests that are answered. A frame is a Document, and is not."""
LOOK_SECONDS = 0.1
CPU_SECONDS = 10.0
"""Maximum CPU time of all processes of a page's browser (seconds): a small application takes one."""


@dataclass(frozen=True, slots=True)
class RenderLimits:
    """The limits of one page."""

    seconds: float = 60.0
    """Maximum duration from the start of Chromium to the document. Its requests wait for the pace of their hosts."""
    quiet_seconds: float = 0.5
    """Duration without a request after which the page is read."""
    requests: int = 60
    request_bytes: int = 8 * 1024 * 1024
    """Maximum bytes of all answers together."""
    html_bytes: int = 5 * 1024 * 1024
    process: ProcessLimits = field(default_factory=lambda: ProcessLimits(CPU_SECONDS, 1_500 * 1024 * 1024))


@dataclass(frozen=True, slots=True)
class Resource:
    """The answer to a request of a page."""

    status: int
    headers: Mapping[str, str]
    body: bytes


Load = Callable[[str, str], Awaitable[Resource | None]]
"""Fetches a URL of a kind (`Script`, `Stylesheet`, `XHR`, `Fetch`). Returns None if that is not allowed, or fails."""


@dataclass(slots=True)
class Rendered:
    """A page after its scripts ran, with what that took."""

    html: str
    seconds: float
    cpu_seconds: float
    memory_bytes: int
    requests: int
    refused: int
    bytes: int


@dataclass(slots=True)
class _Traffic:
    requests: int = 0
    refused: int = 0
    bytes: int = 0
    pending: int = 0
    last_at: float = field(default_factory=time.monotonic)


async def render(program: str, url: str, body: bytes, content_type: str, load: Load, limits: RenderLimits) -> Rendered:
    """Render a page. Raises Refused if it reaches a limit or has no document at its end, RendererEnded, and
    TransientError if one of its requests could not be answered for now: without the answer it would be incomplete."""
    began = time.monotonic()
    page = _Page(url, body, content_type, load, limits)
    async with run_chromium(program, page.on_event, limits.process) as (pipe, watch):
        page.pipe = pipe
        try:
            async with asyncio.timeout(limits.seconds):
                html = await _first(
                    page.read(), watch.until_limit(), page.until_crash(), page.until_failure(), pipe.until_overrun()
                )
        except TimeoutError:
            raise Refused("render", f"its scripts ran longer than {limits.seconds:g} s") from None
        except LimitReached as reached:
            raise Refused("render", f"its scripts used {reached}") from None
        watch.look()
    return _result(page, html, watch, began)


def _result(page: "_Page", html: str, watch: Watch, began: float) -> Rendered:
    traffic = page.traffic
    return Rendered(
        html=html,
        seconds=time.monotonic() - began,
        cpu_seconds=watch.cpu_seconds,
        memory_bytes=watch.memory_bytes,
        requests=traffic.requests,
        refused=traffic.refused,
        bytes=traffic.bytes,
    )


async def _first(reading: Awaitable[str], *watching: Awaitable[None]) -> str:
    """Return what was read, or raise what ended it before."""
    read, watched = asyncio.ensure_future(reading), [asyncio.ensure_future(one) for one in watching]
    try:
        await asyncio.wait({read, *watched}, return_when=asyncio.FIRST_COMPLETED)
        for ended in watched:
            if ended.done():
                ended.result()
        return read.result()
    finally:
        for task in (read, *watched):
            task.cancel()
        await asyncio.gather(read, *watched, return_exceptions=True)


class _Page:
    """The page's session: it answers events, and reads the document when no request is under way."""

    def __init__(self, url: str, body: bytes, content_type: str, load: Load, limits: RenderLimits) -> None:
        self._url, self._body, self._content_type = url, body, content_type
        self._load, self._limits = load, limits
        self._loaded, self._crashed = asyncio.Event(), asyncio.Event()
        self._served = False
        self._failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._frame = ""  # the id of the page's own frame, which its target has, too
        self.pipe: Pipe | None = None
        self.traffic = _Traffic()

    async def read(self) -> str:
        """Open the page, wait until it is quiet, and return its HTML. Raises Refused and RendererEnded."""
        pipe = self._need_pipe()
        await pipe.call("Browser.setDownloadBehavior", behavior="deny")
        self._frame = (await pipe.call("Target.createTarget", url="about:blank")).get("targetId", "")
        session = (await pipe.call("Target.attachToTarget", targetId=self._frame, flatten=True)).get("sessionId", "")
        if not session:
            raise RendererEnded("the browser opened no page")
        await pipe.call("Page.enable", session)
        await pipe.call("Inspector.enable", session)
        await pipe.call("Network.enable", session)
        await pipe.call("Network.setBypassServiceWorker", session, bypass=True)
        await pipe.call("Fetch.enable", session, patterns=[{"urlPattern": "*"}])
        await pipe.call("Page.navigate", session, url=self._url)
        await self._loaded.wait()
        while not self._is_quiet():  # noqa: ASYNC110 - quiet is a duration, not an event
            await asyncio.sleep(LOOK_SECONDS)
        html = (await self._read_html(session))[: self._limits.html_bytes]
        if not html:
            raise Refused("render", "its scripts left nothing of its document")
        return html

    async def _read_html(self, session: str) -> str:
        """Return the document, as a world without the page's scripts sees it. They run no more."""
        pipe = self._need_pipe()
        await pipe.call("Emulation.setScriptExecutionDisabled", session, value=True)
        world = (await pipe.call("Page.createIsolatedWorld", session, frameId=self._frame)).get("executionContextId", 0)
        answer = await pipe.call(
            "Runtime.callFunctionOn",
            session,
            functionDeclaration=READ_DOCUMENT,
            arguments=[{"value": arguments_of(self._limits.html_bytes)}],
            executionContextId=world,
            returnByValue=True,
        )
        html = (answer.get("result") or {}).get("value")
        if "exceptionDetails" in answer or not isinstance(html, str):
            raise Refused("render", "its document could not be read")
        return html

    async def until_crash(self) -> None:
        """Return never. Raises Refused if the process of the page ends, as it does without memory for its scripts."""
        await self._crashed.wait()
        raise Refused("render", "its scripts ended its process")

    async def until_failure(self) -> None:
        """Return never. Raises the TransientError of one of the page's requests."""
        await self._failure

    def _is_quiet(self) -> bool:
        traffic = self.traffic
        return not traffic.pending and time.monotonic() - traffic.last_at >= self._limits.quiet_seconds

    async def on_event(self, name: str, parameters: Mapping[str, Any], session: str) -> None:
        """Answer one event of Chromium."""
        match name:
            case "Fetch.requestPaused":
                await self._answer(parameters, session)
            case "Page.javascriptDialogOpening":
                await self._need_pipe().call("Page.handleJavaScriptDialog", session, accept=False)
            case "Inspector.targetCrashed" | "Inspector.detached":
                self._crashed.set()
            case "Page.loadEventFired":
                self.traffic.last_at = time.monotonic()
                self._loaded.set()

    async def _answer(self, parameters: Mapping[str, Any], session: str) -> None:
        pipe, traffic = self._need_pipe(), self.traffic
        request = parameters["request"]
        traffic.pending += 1
        traffic.last_at = time.monotonic()
        try:
            resource = await self._resource(str(request["url"]), request["method"], parameters.get("resourceType", ""))
            if resource is None:
                traffic.refused += 1
                await self._refuse(parameters, session)
                return
            await pipe.call(
                "Fetch.fulfillRequest",
                session,
                requestId=parameters["requestId"],
                responseCode=resource.status,
                responseHeaders=[{"name": name, "value": value} for name, value in resource.headers.items()],
                body=b64encode(resource.body).decode(),
            )
        except TransientError as error:
            if not self._failure.done():
                self._failure.set_exception(error)
        finally:
            traffic.pending -= 1
            traffic.last_at = time.monotonic()

    async def _refuse(self, parameters: Mapping[str, Any], session: str) -> None:
        """Refuse a request. Another page is answered by a status without a page: else Chromium's own page of an error
        would take the place of the document. A document that was to be left while it loaded never says that it did.
        """
        pipe, refused = self._need_pipe(), parameters["requestId"]
        if parameters.get("resourceType") == "Document":
            await pipe.call("Fetch.fulfillRequest", session, requestId=refused, responseCode=204)
            if parameters.get("frameId") == self._frame:
                self._loaded.set()
        else:
            await pipe.call("Fetch.failRequest", session, requestId=refused, errorReason="BlockedByClient")

    async def _resource(self, url: str, method: str, kind: str) -> Resource | None:
        """Return the answer to a request; None if it is refused."""
        if kind == "Document":
            if self._served or url.partition("#")[0] != self._url:
                return None  # a frame, or the page leads itself to another one
            self._served = True
            return Resource(200, {"content-type": self._content_type}, self._body)
        traffic, limits = self.traffic, self._limits
        if kind not in ANSWERED_TYPES or method != "GET" or not url.startswith(("https://", "http://")):
            return None
        if traffic.requests >= limits.requests or traffic.bytes >= limits.request_bytes:
            return None
        traffic.requests += 1
        found = await self._load(url, kind)
        traffic.bytes += len(found.body) if found else 0
        return found if traffic.bytes <= limits.request_bytes else None

    def _need_pipe(self) -> Pipe:
        if self.pipe is None:
            raise RendererEnded("the browser is not there yet")
        return self.pipe
