"""Headless Chromium, driven over its own DevTools protocol: no driver program, and nothing but loopback."""

import asyncio
import base64
import contextlib
import itertools
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp

START_SECONDS = 60
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--disable-features=BackForwardCache,ProactivelySwapBrowsingInstance,SpareRendererForSitePerProcess",
    "--renderer-process-limit=1",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    # Whatever a page asks for, nothing but this machine is reached.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    "--remote-debugging-port=0",
    "--remote-allow-origins=*",
)


def chromium() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Tab:
    """One page. Its scripts are off unless a test switches them on: what is tested works without them."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._page = ""
        """The browser's id of the page that was loaded last."""
        self._reader = asyncio.create_task(self._read())

    async def command(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        arriving = self._waiting[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": params})
        answer = await asyncio.wait_for(arriving, START_SECONDS)
        assert "error" not in answer, f"{method}: {answer['error']}"
        result: dict[str, Any] = answer["result"]
        return result

    async def open(self, url: str) -> None:
        loader = (await self.command("Page.navigate", url=url))["loaderId"]
        while self._page != loader:
            await self._loaded()

    async def follow(self, expression: str) -> None:
        """Evaluate an expression that leads to another page, and wait for that page."""
        await self.evaluate(expression)
        await self._loaded()

    async def resources(self) -> list[str]:
        """Return the addresses of all that the page has loaded, without its own icon.

        The browser asks for the icon when it likes, which is before or after the page is looked at.
        """
        icon = await self.evaluate("document.querySelector('link[rel=icon]').href")
        assert icon.startswith(await self.evaluate("location.origin"))
        loaded: list[str] = await self.evaluate("performance.getEntriesByType('resource').map(each => each.name)")
        return [each for each in loaded if each != icon]

    async def run_scripts(self, *, on: bool) -> None:
        """Switch the scripts of pages on or off. Pages that are opened from then on follow it."""
        await self.command("Emulation.setScriptExecutionDisabled", value=not on)

    async def until(self, expression: str) -> None:
        """Wait until an expression is true."""
        async with asyncio.timeout(START_SECONDS):
            while not await self.evaluate(expression):
                await asyncio.sleep(0.02)

    async def look(self, *, width: int = 1280, height: int = 800, dark: bool = False) -> None:
        """Be a screen of this size, of a reader with this preference."""
        await self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.command("Emulation.setEmulatedMedia", features=[scheme])

    async def evaluate(self, expression: str) -> Any:
        """The value of an expression, by the inspector: it works with the page's scripts switched off."""
        answer = await self.command("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    async def type(self, text: str) -> None:
        """Type a text where the focus is. A page with `autofocus` may get it after the event of its load."""
        await self.until("document.activeElement?.matches('input, textarea')")
        await self.command("Input.insertText", text=text)

    async def press(self, key: str, *, navigates: bool = False) -> None:
        """Press and release a key; with `navigates`, wait for the page that it leads to."""
        code = {"Backspace": 8, "Tab": 9, "Enter": 13, "Escape": 27, "ArrowUp": 38, "ArrowDown": 40}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            extra = text if kind == "keyDown" else {}
            await self.command(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **extra
            )
        if navigates:
            await self._loaded()

    async def click(self, selector: str) -> None:
        """Click on the first element that the selector finds, and wait for the page that it leads to."""
        box = await self.evaluate(
            f"(e => {{ e.scrollIntoView({{block: 'center'}}); const b = e.getClientRects()[0]; "
            f"return [b.x + b.width / 2, b.y + b.height / 2] }})(document.querySelector({selector!r}))"
        )
        for kind in ("mousePressed", "mouseReleased"):
            await self.command("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)
        await self._loaded()

    async def screenshot(self) -> bytes:
        """A PNG of the whole page, as far as it goes."""
        answer = await self.command("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        return base64.b64decode(answer["data"])

    async def close(self) -> None:
        self._reader.cancel()
        await self._socket.close()

    async def _loaded(self) -> None:
        """Wait until another page is loaded than the last one, whose events may come late."""
        async with asyncio.timeout(START_SECONDS):
            while True:
                event = await self._events.get()
                params = event["params"]
                is_load = event["method"] == "Page.lifecycleEvent" and params["name"] == "load"
                if is_load and params["loaderId"] != self._page:
                    self._page = params["loaderId"]
                    return

    async def _read(self) -> None:
        async for message in self._socket:
            content = message.json()
            if "id" in content:
                self._waiting.pop(content["id"]).set_result(content)
            else:
                self._events.put_nowait(content)


@contextlib.asynccontextmanager
async def browser(program: str) -> AsyncIterator[Tab]:
    """A browser with an empty profile of its own, and one tab in it."""
    with tempfile.TemporaryDirectory(prefix="riffle-browser-", ignore_cleanup_errors=True) as profile:
        process = await asyncio.create_subprocess_exec(
            program,
            *FLAGS,
            f"--user-data-dir={profile}",
            "about:blank",
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            async with aiohttp.ClientSession() as session:
                port = await _debugging_port(Path(profile))
                async with session.get(f"http://127.0.0.1:{port}/json/list") as response:
                    targets = await response.json(content_type=None)
                address = next(each["webSocketDebuggerUrl"] for each in targets if each["type"] == "page")
                async with session.ws_connect(address, max_msg_size=0) as socket:
                    tab = Tab(socket)
                    await tab.command("Page.enable")
                    await tab.command("Page.setLifecycleEventsEnabled", enabled=True)
                    await tab.command("Emulation.setScriptExecutionDisabled", value=True)
                    yield tab
                    await tab.close()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


async def _debugging_port(profile: Path) -> int:
    """Chromium writes the port that it chose into its profile."""
    written = profile / "DevToolsActivePort"
    async with asyncio.timeout(START_SECONDS):
        while True:
            lines = written.read_text().splitlines() if written.exists() else []
            if len(lines) >= 2:
                return int(lines[0])
            await asyncio.sleep(0.05)
