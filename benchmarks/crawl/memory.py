"""The memory of the stages frontier and fetch over a long run, on a local web whose hosts come and go.

    python -m benchmarks crawl-memory --minutes 30 --rate 20

A process of its own serves all hosts over TLS. This process has both stages, with real requests and the pace of each
host, and hands events from one stage to the other. There is no Kafka and no Cassandra: the frontier's rows are kept in
memory until their host is finished, and bodies are dropped. So a growing figure is a leak of the two stages or of the
client library; the clients of Kafka and Cassandra have no part in it.

It prints the memory each minute, and whether the last third of the run is flat (`flatness`). A higher rate makes as
many requests in less time: 5 minutes at 120 pages a second instead of 30 minutes at 20.
"""

import asyncio
import gc
import gzip
import itertools
import json
import random
import ssl
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID, uuid4

import psutil
import typer
from aiohttp import web

from benchmarks.crawl.seeds import seeds_of_host
from benchmarks.machine import machine
from schemas import Envelope, Event, PageFetched, PageScheduled
from schemas.ids import page_id
from streams.commands.console import AsJson, command, err, print_figures
from streams.crawl.fetch.agent import FetchAgent
from streams.crawl.frontier.agent import FrontierAgent
from streams.resources import FULL_AFTER_IN_WORKERS, exempt_loaded_objects, return_freed_memory
from streams.runtime.agent import Delivery
from streams.settings import CrawlSettings
from streams.stores.host_buckets import bucket_of
from streams.stores.memory import (
    MemoryBlobs,
    MemoryFingerprints,
    MemoryFrontier,
    MemoryHostLinks,
    MemoryNotes,
    MemoryPaceHolds,
)
from streams.stores.opener import Stores
from streams.stores.page_record import PageRecord, StoredPart
from streams.stores.protocols import CRAWL_BUCKETS, LinkGroup
from tests.hostile.servers import make_certificate

DOMAINS = 50
PAGES_OF_HOST = 10
DELAY_SECONDS = 1.0
KEPT_SECONDS = 30.0
"""Time for which the rows of a finished host are kept (seconds)."""
MISSING_EVERY, LARGE_EVERY = 20, 50
MEGABYTE = 1_000_000
MINUTE = 60.0
ERRORS = 2.3
"""Standard errors above which a growth is sure (97.5 % by the t distribution, ten points)."""
SURE_KB_A_PAGE = 0.25
"""Maximum standard error of a growth that can be judged (KB a page): 9 MB in 36,000 pages."""
ROBOTS = b"User-agent: *\nDisallow: /private/\n"


class HostsThatEnd(MemoryFrontier):
    """A store in memory, from which finished hosts are removed: the measured process has only what it uses."""

    def forget(self, host: str, urls: list[str]) -> None:
        self._hosts.pop(host, None)
        self._due.pop((bucket_of(host), host), None)
        self._queues.pop(host, None)
        self._held.pop(host, None)
        for url in urls:
            self._urls.pop((host, page_id(url)), None)

    def forget_crawl(self, crawl_id: str) -> None:
        for bucket in range(CRAWL_BUCKETS):
            self._states.pop((crawl_id, bucket), None)
            self._counts.pop((crawl_id, bucket), None)
        for share in [share for share in self._shares if share[1] == crawl_id]:
            del self._shares[share]


class NoPages:
    """Records that are written and never kept."""

    async def get(self, page_id: UUID) -> PageRecord:
        return PageRecord()

    async def put(
        self,
        page_id: UUID,
        part: StoredPart,
        at: int,
        contents: Mapping[str, bytes] | None = None,
        links: Collection[LinkGroup] = (),
    ) -> None: ...


class NoHolds(MemoryPaceHolds):
    """Keys that no other worker wants, so that none needs a row."""

    async def hold(self, key: str, holder: str, seconds: int) -> float:
        return 0.0


class RobotsOnly(MemoryBlobs):
    """Blobs of robots.txt files; all others are hashed and dropped."""

    async def put(self, content: bytes) -> str:
        ref = await super().put(content)
        if content != ROBOTS:
            del self._contents[ref], self.written_at[ref]
        return ref


class Crawl:
    """Both stages, and the events between them."""

    def __init__(self, settings: CrawlSettings) -> None:
        self.store = HostsThatEnd()
        stores = Stores(
            blobs=RobotsOnly(),
            frontier=self.store,
            fingerprints=MemoryFingerprints(),
            host_links=MemoryHostLinks(),
            pages=NoPages(),  # type: ignore[arg-type] # the fetch stage calls these two
            pace_holds=NoHolds(),
            notes=MemoryNotes(),
        )
        self.frontier = FrontierAgent(settings, stores)
        self.fetch = FetchAgent(settings, stores)
        self.outcomes: Counter[str] = Counter()
        self._waiting: dict[str, int] = {}
        self.ended: asyncio.Queue[tuple[str, float]] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._offset = itertools.count()

    async def start(self) -> None:
        for agent in (self.frontier, self.fetch):
            agent.partition_count = 1
            await agent.start(self._emit)
            await agent.assigned(frozenset({0}))

    async def stop(self) -> None:
        await self.frontier.stop()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.fetch.stop()

    async def _emit(self, event: Event, _cause: str) -> None:
        if isinstance(event, PageScheduled):
            task = asyncio.create_task(self._request(event))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _request(self, scheduled: PageScheduled) -> None:
        for event in await self.fetch.handle(self._delivery(scheduled)):
            assert isinstance(event, PageFetched)
            self.outcomes[f"{event.purpose}: {event.outcome}"] += 1
            await self.frontier.handle(self._delivery(event))
            if event.purpose == "page" and event.outcome != "rate_limited":
                self._waiting[event.host] -= 1
                if not self._waiting[event.host]:
                    del self._waiting[event.host]
                    await self.ended.put((event.host, time.monotonic()))

    @property
    def hosts_in_progress(self) -> int:
        return len(self._waiting)

    async def seed(self, host: str, urls: list[str], crawl_id: str) -> None:
        self._waiting[host] = len(urls)
        await self.frontier.handle(self._delivery(seeds_of_host(host, urls, crawl_id)))

    def _delivery(self, event: Event) -> Delivery:
        envelope = Envelope(id=uuid4(), type=event.event_type(), source="/bench", time=datetime.now(UTC))
        return Delivery(event, envelope, event.topic, 0, next(self._offset))


def hosts_of(number: int) -> str:
    return f"h{number // DOMAINS}.d{number % DOMAINS}.example"


def urls_of(host: str) -> list[str]:
    return [f"https://{host}/{page}" for page in range(PAGES_OF_HOST)]


@command
async def run(
    minutes: Annotated[float, typer.Option(min=0.5, help="Duration.")] = 30.0,
    rate: Annotated[float, typer.Option(min=1, help="Pages a second.")] = 20.0,
    look_seconds: Annotated[float, typer.Option(min=1, help="Time between two looks at the memory.")] = 10.0,
    progress: Annotated[Path | None, typer.Option(dir_okay=False, help="File that each look is written to.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure the memory of frontier and fetch over a long run, on a local web whose hosts come and go.

    Example:  python -m benchmarks crawl-memory --minutes 30
    """
    print_figures("Memory of a crawl", await measure(minutes, rate, look_seconds, progress), as_json)


async def measure(minutes: float, rate: float, look_seconds: float, progress: Path | None = None) -> dict[str, Any]:
    """Return all figures."""
    conditions = machine()
    return_freed_memory()  # as a worker does
    hosts = [hosts_of(number) for number in range(round(minutes * 60 * rate / PAGES_OF_HOST) + DOMAINS)]
    with tempfile.TemporaryDirectory() as made:
        async with _web(Path(made)) as (port, server):
            settings = CrawlSettings(
                local_hosts=dict.fromkeys(hosts, f"127.0.0.1:{port}"),
                local_ca_file=Path(made) / "ca.pem",
                delay_seconds=DELAY_SECONDS,
                requests_per_domain=0,
                requests_per_address=0,
                recrawl=False,
            )
            crawl = Crawl(settings)
            await crawl.start()
            exempt_loaded_objects(full_after=FULL_AFTER_IN_WORKERS)
            try:
                samples = await _measure(crawl, hosts, minutes * 60, rate, look_seconds, progress)
            finally:
                await crawl.stop()
            connections = _count(server)
    return {"machine": conditions, "minutes": minutes, **_figures(samples, crawl), "connections": connections}


async def _measure(
    crawl: Crawl, hosts: list[str], seconds: float, rate: float, look_seconds: float, progress: Path | None
) -> list[tuple[float, float, int]]:
    """Seed hosts at a rate for some seconds. Return time, memory (MB) and number of pages at each look.

    On a busy machine the rate is lower: else the hosts that wait would be measured.
    """
    began, samples = time.monotonic(), list[tuple[float, float, int]]()
    beside = [
        asyncio.create_task(_forget(crawl)),
        asyncio.create_task(_look(crawl, samples, began, look_seconds, progress)),
    ]
    try:
        for number, host in enumerate(hosts):
            at = number * PAGES_OF_HOST / rate
            while (now := time.monotonic() - began) < seconds and (now < at or crawl.hosts_in_progress > 2 * rate):
                pause = min(0.05, max(at - now, 0.001))
                await asyncio.sleep(pause)
            if now >= seconds:
                return samples
            await crawl.seed(host, urls_of(host), f"c{number // 100}")
            if number >= 300 and number % 100 == 0:
                crawl.store.forget_crawl(f"c{number // 100 - 3}")
        return samples
    finally:
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)


async def _look(
    crawl: Crawl, samples: list[tuple[float, float, int]], began: float, look_seconds: float, progress: Path | None
) -> None:
    process, shown = psutil.Process(), -1.0
    while True:
        now = time.monotonic() - began
        samples.append((now, process.memory_info().rss / MEGABYTE, sum(crawl.outcomes.values())))
        if now // MINUTE > shown:
            shown = now // MINUTE
            _, size, pages = samples[-1]
            err.print(f"minute {shown:.0f}: {size:.0f} MB after {pages:,} answers", highlight=False)
        if progress:
            await asyncio.to_thread(progress.write_text, json.dumps(samples))
        await asyncio.sleep(look_seconds)


async def _forget(crawl: Crawl) -> None:
    """Remove the rows of finished hosts, a while after their last answer."""
    while True:
        host, ended_at = await crawl.ended.get()
        await asyncio.sleep(max(0.0, ended_at + KEPT_SECONDS - time.monotonic()))
        crawl.store.forget(host, urls_of(host))


def _figures(samples: list[tuple[float, float, int]], crawl: Crawl) -> dict[str, Any]:
    gc.collect()
    tenths = [samples[round(share / 10 * (len(samples) - 1))] for share in range(11)]
    times = psutil.Process().cpu_times()
    return {
        "answers": dict(crawl.outcomes.most_common()),
        "MB at each tenth of the time": [round(size) for _, size, _ in tenths],
        "MB at most": round(max(size for _, size, _ in samples)),
        "KB a page, over the last third": flatness([(pages, size * 1_000) for _, size, pages in samples]),
        "CPU ms an answer": round(1_000 * (times.user + times.system) / max(sum(crawl.outcomes.values()), 1), 1),
    }


def flatness(samples: Sequence[tuple[float, float]]) -> str:
    """Return the growth of the last third of a run with its standard error, and whether it is flat.

    Samples are pages and KB. The memory of a moment depends on the one before it, so a point is the median of a tenth
    of the third. It grows if the growth is above ERRORS standard errors.
    """
    third = samples[2 * len(samples) // 3 :]
    size = max(len(third) // 10, 1)
    groups = [third[start : start + size] for start in range(0, len(third), size)]
    points = [(statistics.median(x for x, _ in group), statistics.median(y for _, y in group)) for group in groups]
    if len(points) < 4:
        return "unknown: the run is too short"
    line = statistics.linear_regression(*zip(*points, strict=True))
    around = sum((y - line.intercept - line.slope * x) ** 2 for x, y in points) / (len(points) - 2)
    middle = statistics.fmean(x for x, _ in points)
    error = (around / sum((x - middle) ** 2 for x, _ in points)) ** 0.5
    verdict = "grows" if line.slope > ERRORS * error else "unknown: too unsure" if error > SURE_KB_A_PAGE else "flat"
    return f"{line.slope:.2f} ± {error:.2f} ({verdict})"


@asynccontextmanager
async def _web(folder: Path) -> AsyncIterator[tuple[int, asyncio.subprocess.Process]]:
    script = f"from benchmarks.crawl.memory import serve; serve({str(folder)!r})"
    server = await asyncio.create_subprocess_exec(sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE)
    try:
        assert server.stdout
        yield int(await server.stdout.readline()), server
    finally:
        server.terminate()
        await server.wait()


def _count(server: asyncio.subprocess.Process) -> int:
    return len(psutil.Process(server.pid).net_connections("tcp"))


def serve(folder: str) -> None:
    """Serve all hosts in this process, until it is ended."""
    asyncio.run(_serve(Path(folder)))


async def _serve(folder: Path) -> None:
    certificate, key, _ = make_certificate(folder, *(f"*.d{number}.example" for number in range(DOMAINS)))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    words = [f"word{number} " for number in range(5_000)]

    async def answer(request: web.BaseRequest) -> web.Response:
        if request.path == "/robots.txt":
            return web.Response(body=ROBOTS, content_type="text/plain")
        if request.path.startswith("/.well-known/"):  # a host without such files: a page would be asked for again
            return web.Response(status=404)
        chance = random.Random(f"{request.host}{request.path}")
        if not chance.randrange(MISSING_EVERY):
            return web.Response(status=404, text="<p>nothing</p>", content_type="text/html")
        count = 150_000 if not chance.randrange(LARGE_EVERY) else chance.randrange(100, 8_000)
        text = "<p>" + "".join(chance.choices(words, k=count))
        body = await asyncio.to_thread(gzip.compress, text.encode(), 1)
        return web.Response(body=body, headers={"Content-Type": "text/html", "Content-Encoding": "gzip"})

    runner = web.ServerRunner(web.Server(answer, access_log=None))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    sys.stdout.write(f"{runner.addresses[0][1]}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()
