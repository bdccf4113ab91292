"""No host, registrable domain or address is asked faster than it allows: the log of a real crawl decides.

120 hosts of 30 domains (at night 200 of 50) are served on ten loopback addresses. Two workers crawl them. Each is
killed at some moment, and the workers after them find that the clock jumped by an hour.

The fetcher guarantees the distances of the moments at which requests begin, by the machine's steady clock, which all
processes share. So these moments are compared, without a tolerance, over all workers. Between that moment and the
request's arrival are a lookup, a connection and a busy machine: nobody guarantees that time, and a distance of arrivals
is shorter than that of beginnings by the time that the earlier request took. What the server saw only shows that
every request had begun by then: none came without a place.
"""

import asyncio
import json
import os
import re
import ssl
import subprocess
import sys
import time
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest

from schemas import PageDiscovered
from schemas.ids import page_id
from streams.crawl.domains import registrable_domain
from streams.runtime.producer import EventProducer
from streams.settings import Settings
from tests.hostile.servers import make_certificate
from tests.sizes import FULL

pytestmark = [pytest.mark.integration("kafka", "cassandra"), pytest.mark.timeout(600)]

DELAY_SECONDS = 2.0
PER_DOMAIN, PER_ADDRESS = 3, 8
SLOW_HOST, SLOW_SECONDS = "h3.d7.test", 6.0
ROUNDING_SECONDS = 1e-6
"""Maximum error of the difference of two times, which are floating-point numbers. Nothing else is tolerated."""
HOSTS = [f"h{number % 4}.d{number // 4}.test" for number in range(200 if FULL else 120)]
PATHS = ("/1",)
WAIT_SECONDS = 300.0
HEALTH_SECONDS = 5.0
STALL_SECONDS = 60
"""Time without progress after which a worker is not healthy (seconds)."""
_HEALTH = re.compile(r"health=\S*http://[^:]+:(\d+)")
LOG_LINES = 40
"""Number of the last lines of each worker's log in a failure."""
CLOCK_JUMP_SECONDS = 3_600.0


def steady() -> float:
    """Return the machine's steady clock, which the workers have, too: `time.monotonic` of tests is another one."""
    return time.clock_gettime(time.CLOCK_MONOTONIC)


class Begun(NamedTuple):
    """A request that a worker began."""

    at: float
    windows: tuple[tuple[str, int, float], ...]

    @property
    def host(self) -> str:
        return self.windows[0][0].removeprefix("host ")


class Request(NamedTuple):
    """A request that arrived at a server."""

    at: float
    address: str
    host: str
    path: str


@dataclass
class Web:
    """The servers of all hosts, and the log of their requests."""

    ports: dict[str, int] = field(default_factory=dict)
    log: list[Request] = field(default_factory=list)

    def address(self, host: str) -> str:
        return list(self.ports)[HOSTS.index(host) % len(self.ports)]

    def pages(self) -> set[str]:
        return {f"https://{request.host}{request.path}" for request in self.log if request.path in PATHS}

    async def until(self, pages: int, workers: "Workers") -> None:
        """Wait until so many different pages were asked for."""
        end = time.monotonic() + WAIT_SECONDS
        while len(self.pages()) < pages:
            await workers.restart_failed()
            if time.monotonic() > end:
                pytest.fail(
                    f"{len(self.pages())} of {pages} pages were asked for\n{self.describe()}\n{workers.describe()}"
                )
            await asyncio.sleep(0.05)

    def describe(self) -> str:
        """Return which hosts miss which requests, and how long ago the last request came."""
        asked = {request.host for request in self.log}
        done = {request.host for request in self.log if request.path in PATHS}
        last = f"{steady() - self.log[-1].at:.1f} s ago" if self.log else "never"
        waiting = ", ".join(sorted(asked - done))
        return f"last request: {last}; never asked: {len(HOSTS) - len(asked)} hosts; asked, but for no page: {waiting}"


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[Web]:
    web, tasks = Web(), set[asyncio.Task[None]]()
    certificate, key, _ = make_certificate(folder, *HOSTS)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        with suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError, asyncio.CancelledError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            host = next(line[6:] for line in head.split("\r\n") if line.lower().startswith("host: "))
            request = Request(steady(), writer.get_extra_info("sockname")[0], host, head.split(" ")[1])
            web.log.append(request)
            writer.write(_response(request))
            await writer.drain()
        writer.close()
        with suppress(ConnectionError, ssl.SSLError, asyncio.CancelledError):
            await writer.wait_closed()

    servers = []
    for number in range(2, 12):
        server = await asyncio.start_server(answer, f"127.0.0.{number}", 0, ssl=context)
        servers.append(server)
        web.ports[f"127.0.0.{number}"] = server.sockets[0].getsockname()[1]
    try:
        yield web
    finally:
        for server in servers:
            server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for server in servers:
            await server.wait_closed()


def _response(request: Request) -> bytes:
    delay = f"User-agent: *\nCrawl-delay: {SLOW_SECONDS}\n" if request.host == SLOW_HOST else "User-agent: *\n"
    body = delay if request.path == "/robots.txt" else f"<p>{request.path}</p>"
    kind = "text/plain" if request.path == "/robots.txt" else "text/html"
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return (head + body).encode()


@dataclass
class Worker:
    """A process of the stages frontier and fetch, with the log that it writes."""

    process: subprocess.Popen[bytes]
    log: Path
    clock_ahead: float
    wanted: bool = True
    """False after the test has killed it."""
    asked_at: float = 0.0

    async def failure(self) -> str:
        """Return why its supervisor would start it again: it ended by itself, or says that it is stuck; or ""."""
        if (status := self.process.poll()) is not None:
            return f"ended with status {status}"
        if time.monotonic() - self.asked_at < HEALTH_SECONDS or not (url := _HEALTH.search(self.log.read_text())):
            return ""
        self.asked_at = time.monotonic()
        with suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", int(url[1]))
            try:
                writer.write(b"GET /healthz HTTP/1.0\r\n\r\n")
                answer = (await reader.read()).decode()
            finally:
                writer.close()
            return "" if " 503 " not in answer.partition("\r\n")[0] else f"is not healthy: {answer[-500:]}"
        return ""

    def kill(self) -> None:
        self.wanted = False
        self.process.kill()
        self.process.wait()


@dataclass
class Workers:
    """Workers, and their supervisor: it starts a worker again that failed, as Kubernetes or `riffle up` does."""

    folder: Path
    environment: dict[str, str]
    started: list[Worker] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def start(self, clock_ahead: float = 0.0) -> Worker:
        command = [sys.executable, "-m", "tests.faults.skewed_worker", str(clock_ahead), "worker", "frontier", "fetch"]
        path = self.folder / f"worker-{len(self.started)}.log"
        with path.open("wb") as log:
            process = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log)
        self.started.append(Worker(process, path, clock_ahead))
        return self.started[-1]

    async def restart_failed(self) -> None:
        for number, worker in list(enumerate(self.started)):
            if worker.wanted and (failure := await worker.failure()):
                worker.kill()
                self.failures.append(f"worker {number} {failure}")
                self.start(worker.clock_ahead)

    def describe(self) -> str:
        """Return the failures, the state of each worker, and the end of its log."""
        lines = [f"failed: {'; '.join(self.failures) or 'none'}"]
        for number, worker in enumerate(self.started):
            state = "runs" if worker.process.poll() is None else f"ended with status {worker.process.returncode}"
            log = worker.log.read_text(errors="replace").splitlines()
            lines += [f"worker {number} {state}:", *(f"    {line}" for line in log[-LOG_LINES:])]
        return "\n".join(lines)

    def kill(self) -> None:
        for worker in self.started:
            worker.kill()


def environment(stack: Settings, folder: Path, web: Web) -> dict[str, str]:
    crawl = {
        "DELAY_SECONDS": DELAY_SECONDS,
        "REQUESTS_PER_DOMAIN": PER_DOMAIN,
        "REQUESTS_PER_ADDRESS": PER_ADDRESS,
        "CLOCK_BOUND_SECONDS": 2 * CLOCK_JUMP_SECONDS,
        "RECRAWL": "false",
        "LOCAL_HOSTS": json.dumps({host: f"{web.address(host)}:{web.ports[web.address(host)]}" for host in HOSTS}),
        "LOCAL_CA_FILE": folder / "ca.pem",
    }
    return {
        **os.environ,
        "RIFFLE_TEST_BEGUN": str(folder / "begun"),
        "RIFFLE_HOME": str(stack.home),
        "RIFFLE_KAFKA__BOOTSTRAP": stack.kafka.bootstrap,
        "RIFFLE_CASSANDRA__HOSTS": json.dumps(list(stack.cassandra.hosts)),
        "RIFFLE_CASSANDRA__PORT": str(stack.cassandra.port),
        "RIFFLE_CASSANDRA__KEYSPACE": stack.cassandra.keyspace,
        "RIFFLE_RUNTIME__SESSION_TIMEOUT_SECONDS": "6",
        "RIFFLE_RUNTIME__STALL_SECONDS": str(STALL_SECONDS),
        **{f"RIFFLE_CRAWL__{name}": str(value) for name, value in crawl.items()},
    }


def seeds() -> list[PageDiscovered]:
    urls = [(host, f"https://{host}{path}") for host in HOSTS for path in PATHS]
    return [
        PageDiscovered(page_id=page_id(url), url=url, host=host, why="seed", depth=0, max_depth=0, force=True)
        for host, url in urls
    ]


def read_begun(path: Path) -> list[Begun]:
    """Return the requests to the hosts of this web that all workers began, by time.

    The stack is shared: the workers also get the events of other tests.
    """
    lines = map(json.loads, path.read_text().splitlines())
    begun = sorted(Begun(at, tuple(map(tuple, windows))) for at, windows in lines)
    return [request for request in begun if request.host in HOSTS]


def too_fast(begun: list[Begun]) -> list[str]:
    """Return the requests that began before their host, domain or address had a place for them."""
    before: defaultdict[str, list[float]] = defaultdict(list)
    found = []
    for request in begun:
        for key, requests, seconds in request.windows:
            times = before[key]
            if len(times) >= requests and request.at - times[-requests] < seconds - ROUNDING_SECONDS:
                found.append(f"{key}: {requests} requests in {request.at - times[-requests]:.6f} s")
            times.append(request.at)
    return found


def wrong_windows(begun: list[Begun], web: Web) -> list[str]:
    """Return the requests that took their places in other windows than those of their host, domain and address."""
    found = []
    for request in begun:
        host, *others = request.windows
        right = [
            (f"domain {registrable_domain(request.host)}", PER_DOMAIN, DELAY_SECONDS),
            (f"address {web.address(request.host)}", PER_ADDRESS, DELAY_SECONDS),
        ]
        delays = (DELAY_SECONDS, SLOW_SECONDS) if request.host == SLOW_HOST else (DELAY_SECONDS,)
        if others != right or host[1] != 1 or host[2] not in delays:
            found.append(f"{request.host}: {request.windows}")
    return found


def without_place(log: list[Request], begun: list[Begun]) -> list[str]:
    """Return the requests that arrived before as many had begun for their host."""
    began: defaultdict[str, list[float]] = defaultdict(list)
    for beginning in begun:
        began[beginning.host].append(beginning.at)
    arrived: Counter[str] = Counter()
    found = []
    for request in sorted(log):
        arrived[request.host] += 1
        if bisect_right(began[request.host], request.at) < arrived[request.host]:
            found.append(f"{request.host}{request.path}: request {arrived[request.host]}")
    return found


async def test_nothing_is_asked_too_fast_by_workers_that_are_killed_and_whose_clock_jumps(
    stack: Settings, tmp_path: Path
) -> None:
    async with serving(tmp_path) as web:
        workers = Workers(tmp_path, environment(stack, tmp_path, web))
        try:
            killed, _ = workers.start(), workers.start()
            async with EventProducer(stack, "test") as producer:
                await producer.send_all(seeds())
            await web.until(len(HOSTS) // 5, workers)
            killed.kill()  # its partitions move
            await web.until(len(HOSTS) // 2, workers)
            workers.kill()
            for _ in range(2):
                workers.start(CLOCK_JUMP_SECONDS)
            await web.until(len(HOSTS) * len(PATHS), workers)
        finally:
            workers.kill()
    asked = Counter(request.path for request in web.log)
    begun = read_begun(tmp_path / "begun")
    assert too_fast(begun) == []
    assert wrong_windows(begun, web) == []
    assert without_place(web.log, begun) == []
    assert any(window == (f"host {SLOW_HOST}", 1, SLOW_SECONDS) for request in begun for window in request.windows)
    assert {request.address for request in web.log} == set(web.ports)
    assert asked["/robots.txt"] >= len(HOSTS), "each host has its own robots.txt"
