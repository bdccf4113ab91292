"""A process of headless Chromium for one page: a profile of its own, and no way to the network.

Its proxy is an address where nobody listens, also for loopback, WebRTC may only use the proxy, and names are not
resolved. So a request that is not answered over the pipe (`page`) fails. The kernel limits the memory of each process
and the size of files; CPU time and memory of all processes together are watched, and they are all killed at the end.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from streams.errors import UsageError
from streams.render.protocol import MAX_MESSAGE_BYTES, OnEvent, Pipe

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
LOOK_SECONDS = 0.25
"""Time between two looks at the CPU time and memory of the processes (seconds)."""
MAX_FILE_BYTES = 64 * 1024 * 1024
"""Maximum size of a file of a profile (bytes)."""
NO_PROXY = "http://127.0.0.1:9"
"""The proxy of all requests: the port of the service `discard`, where nobody listens."""
FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    f"--proxy-server={NO_PROXY}",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--blink-settings=imagesEnabled=false",
    "--js-flags=--max-old-space-size=256",
    "--renderer-process-limit=1",
    "--disable-site-isolation-trials",
    "--disable-features=IsolateOrigins,site-per-process,Translate,MediaRouter,OptimizationHints,DialMediaRouteProvider",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-sync",
    "--disable-breakpad",
    "--disable-dev-shm-usage",
    "--deny-permission-prompts",
    "--mute-audio",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-pings",
    "--password-store=basic",
    "--window-size=1280,2000",
)


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """The limits of all processes of one page together."""

    cpu_seconds: float
    memory_bytes: int


class LimitReached(Exception):
    """The processes used too much CPU time or memory. The message says which."""


def find_chromium(program: str = "") -> str:
    """Return the path of Chromium. Raises UsageError if there is none."""
    names = (program,) if program else PROGRAMS
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        raise UsageError(
            f"pages can't be rendered: {', '.join(names)} not found. On Debian: apt-get install chromium. Or "
            "RIFFLE_RENDER__CHROMIUM=/path/to/it; or RIFFLE_RENDER__ENABLED=false"
        )
    return found


@asynccontextmanager
async def run_chromium(program: str, on_event: OnEvent, limits: ProcessLimits) -> AsyncIterator[tuple[Pipe, "Watch"]]:
    """Run Chromium with an empty profile, which is deleted at the end. All its processes are killed then."""
    with tempfile.TemporaryDirectory(prefix="riffle-render-", ignore_cleanup_errors=True) as profile, _pipes() as pipes:
        process = await _start(program, Path(profile), pipes, limits.memory_bytes)
        try:
            reader = asyncio.StreamReader(limit=MAX_MESSAGE_BYTES)
            loop = asyncio.get_running_loop()
            answers = os.fdopen(pipes.own_read, "rb", buffering=0)
            transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), answers)
            pipe = Pipe(reader, lambda message: _write_all(pipes.own_write, message), on_event)
            serving = asyncio.ensure_future(pipe.serve())
            try:
                yield pipe, Watch(process.pid, limits)
            finally:
                serving.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await serving
                transport.close()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


class Watch:
    """Looks at the processes of a page until they use too much."""

    def __init__(self, pid: int, limits: ProcessLimits) -> None:
        self._pid = pid
        self._limits = limits
        self.cpu_seconds = 0.0
        self.memory_bytes = 0

    async def until_limit(self) -> None:
        """Return never. Raises LimitReached."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self.look()
            if self.cpu_seconds > self._limits.cpu_seconds:
                raise LimitReached(f"more than {self._limits.cpu_seconds:g} s of CPU time")
            if self.memory_bytes > self._limits.memory_bytes:
                raise LimitReached(f"more than {self._limits.memory_bytes >> 20} MiB")

    def look(self) -> None:
        """Sum up what the processes use."""
        seconds, size = 0.0, 0
        with contextlib.suppress(psutil.Error):
            root = psutil.Process(self._pid)
            for one in (root, *root.children(recursive=True)):
                with contextlib.suppress(psutil.Error):
                    times = one.cpu_times()
                    seconds += times.user + times.system
                    size += one.memory_info().rss - one.memory_info().shared
        self.cpu_seconds, self.memory_bytes = max(self.cpu_seconds, seconds), size


@dataclass(frozen=True, slots=True)
class _Pipes:
    own_write: int
    own_read: int
    its_read: int
    its_write: int


@contextmanager
def _pipes() -> Iterator[_Pipes]:
    its_read, own_write = os.pipe()
    own_read, its_write = os.pipe()
    try:
        yield _Pipes(own_write, own_read, its_read, its_write)
    finally:
        for descriptor in (own_write, its_read, its_write):
            with contextlib.suppress(OSError):
                os.close(descriptor)


async def _start(program: str, profile: Path, pipes: _Pipes, memory_bytes: int) -> asyncio.subprocess.Process:
    """Start Chromium with its ends of the pipes as file descriptors 3 and 4, which a shell arranges with the limits."""
    flags = [*FLAGS, f"--user-data-dir={profile}", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    limits = f"ulimit -d {memory_bytes >> 10}; ulimit -f {MAX_FILE_BYTES >> 10}"
    script = f'{limits}; exec 3<&{pipes.its_read} 4>&{pipes.its_write}; exec "$@"'
    environment = {"HOME": str(profile), "PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8"}
    return await asyncio.create_subprocess_exec(
        "/bin/bash", "-c", script, "chromium", program, *flags, "about:blank",
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        pass_fds=(pipes.its_read, pipes.its_write), env=environment, start_new_session=True,
    )  # fmt: skip


def _write_all(descriptor: int, message: bytes) -> None:
    """Write a message. Chromium reads it at once, so the pipe is never full for long."""
    left = memoryview(message)
    while left:
        left = left[os.write(descriptor, left) :]
