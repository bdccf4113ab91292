"""The sustained rate of the frontier on a real Kafka and a real Cassandra, beside a plain heap in the same run.

    python -m benchmarks frontier-rate --urls 30000 --hosts 500

Kafka and Cassandra are started for the run, with a worker that has only the stage frontier, as `riffle worker` runs it.
URLs arrive as `pages.discovered`, some of one host in each event, as sitemaps name them. The worker sends
each lease as `pages.scheduled`, and this process answers it at once with a `pages.fetched`: no request is made, no body
is stored. No host has a delay, and each has one lease at a time.

So each URL is three operations: it is discovered, leased and answered. The run ends when the counts of the crawl in
Cassandra say that all are fetched. A plain heap with dictionaries does the same three operations for as many URLs of as
many hosts: it keeps seen URLs, a queue of each host, the times of hosts and the leases in memory.

CPU times are of whole processes. The time of this process (decoding of leases, making of answers) is given by itself.
"""

import asyncio
import heapq
import statistics
import tempfile
import time
from collections import Counter, deque
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID, uuid4

import typer

from benchmarks.crawl.seeds import answer, seeds_of_host, url_of
from benchmarks.machine import describe, machine, table
from benchmarks.own_servers import environment_of, running_worker, server_pids
from schemas import PageDiscovered, PageFetched, PageScheduled
from streams.commands.console import AsJson, command, err, load_settings, out, print_json
from streams.commands.stack.status import proportional_memory, usage
from streams.crawl.frontier.progress import crawl_progress
from streams.errors import UsageError
from streams.local.server_set import running_servers
from streams.runtime.lags.stage_lags import LagReader
from streams.runtime.producer import EventProducer
from streams.runtime.readers.topic_reader import Follower
from streams.settings import Settings
from streams.stores.opener import Stores, open_stores
from streams.topology import stage

SERVERS = ("kafka", "cassandra")
POLL_SECONDS = 0.02
LOOK_SECONDS = 1.0
IDLE_SECONDS = 120.0
EVENTS_AT_ONCE = 500
HEAP_RUNS = 9


@command
async def run(
    urls: Annotated[int, typer.Option(min=100, help="Number of URLs.")] = 30_000,
    hosts: Annotated[int, typer.Option(min=1, help="Number of hosts.")] = 500,
    per_event: Annotated[int, typer.Option(min=1, max=1_000, help="URLs of one host in an event.")] = 10,
    leases: Annotated[int, typer.Option(min=1, help="Maximum number of URLs under way.")] = 500,
    as_json: AsJson = False,
) -> int:
    """Measure the frontier's rate with Kafka and Cassandra: URLs discovered, leased and answered, beside a plain heap.

    Example:  python -m benchmarks frontier-rate --urls 30000
    """
    settings = load_settings()
    conditions = machine()
    listed = {f"host{number}.example": urls_of(number, urls // hosts) for number in range(hosts)}
    events = discoveries(listed, per_event, uuid4().hex[:12])
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        with running_servers(home / "stack", SERVERS, base=settings) as local:
            environment = _environment(local, home / "stack", leases)
            with running_worker(("frontier",), environment, home / "worker.log") as pid:
                async with open_stores(local, ["records"]) as stores:
                    measured = await Run(local, stores, events, {"worker": pid, **server_pids()}).measure()
    result = {"machine": conditions, "hosts": hosts, "per_event": per_event, "leases_at_once": leases, **measured}
    result["heap"] = heap(listed)
    if as_json:
        print_json(result)
    else:
        show(result)
    return 0


def urls_of(host: int, count: int) -> list[str]:
    return [url_of(f"host{host}.example", number) for number in range(count)]


def discoveries(listed: dict[str, list[str]], per_event: int, crawl_id: str) -> list[PageDiscovered]:
    """Return the events with all URLs: the first ones of each host, then the next ones, as a crawl finds them."""
    most = max(len(urls) for urls in listed.values())
    return [
        seeds_of_host(host, urls[first : first + per_event], crawl_id)
        for first in range(0, most, per_event)
        for host, urls in listed.items()
        if urls[first:]
    ]


def _environment(settings: Settings, home: Path, leases: int) -> dict[str, str]:
    return {
        **environment_of(settings, home),
        "RIFFLE_CRAWL__DELAY_SECONDS": "0",
        "RIFFLE_CRAWL__IN_FLIGHT": str(leases),
        "RIFFLE_CRAWL__MAX_STAGE_LAG_EVENTS": "100000000",  # no other stage runs, so all are behind
    }


class Run:
    """One run on servers and a worker that are ready."""

    def __init__(
        self, settings: Settings, stores: Stores, events: Sequence[PageDiscovered], pids: dict[str, int]
    ) -> None:
        self._settings, self._stores, self._events, self._pids = settings, stores, events, pids
        self._crawl_id = events[0].crawl_id
        self._urls = sum(1 + len(event.more_urls) for event in events)
        self._leases: Counter[str] = Counter()
        self._leased: set[UUID] = set()
        self._memory: list[int] = []
        self._intake_seconds = 0.0

    async def measure(self) -> dict[str, Any]:
        """Send all URLs, answer all leases, and return the figures. Raises UsageError if nothing happens for long."""
        follower = await asyncio.to_thread(Follower, self._settings, (PageScheduled,))
        before, own = {name: usage(pid)[1] for name, pid in self._pids.items()}, time.process_time()
        self._began = time.monotonic()
        try:
            async with EventProducer(self._settings, "bench") as producer, asyncio.TaskGroup() as group:
                looking = group.create_task(self._look())
                group.create_task(self._send(producer))
                await self._answer_all(follower, producer)
                await self._until_all_are_counted()
                seconds = time.monotonic() - self._began
                cpu = {name: usage(pid)[1] - before[name] for name, pid in self._pids.items()}
                looking.cancel()
        finally:
            await asyncio.to_thread(follower.close)
        rates = {"worker": self._urls / cpu["worker"], "all": self._urls / sum(cpu.values())}
        return {
            "urls": self._urls,
            "seconds": round(seconds, 2),
            "urls_per_second": round(self._urls / seconds),
            "urls_per_cpu_second": {name: round(rate) for name, rate in rates.items()},
            "seconds_until_all_were_discovered": round(self._intake_seconds, 2),
            "leases": dict(self._leases),
            "cpu_seconds": {**cpu, "the benchmark": time.process_time() - own},
            "memory_of_the_worker_mb": round(max(self._memory, default=0) / 1e6),
        }

    async def _send(self, producer: EventProducer) -> None:
        for first in range(0, len(self._events), EVENTS_AT_ONCE):
            await producer.send_all(self._events[first : first + EVENTS_AT_ONCE])

    async def _answer_all(self, follower: Follower, producer: EventProducer) -> None:
        last = time.monotonic()
        while len(self._leased) < self._urls:
            found = await asyncio.to_thread(lambda: list(follower.poll(POLL_SECONDS)))
            answered = [_answer(event) for event in found if isinstance(event, PageScheduled)]
            await producer.send_all(answered)
            self._leases.update(event.purpose for event in answered)
            self._leased.update(event.page_id for event in answered if event.purpose == "page" and event.status == 200)
            last = time.monotonic() if answered else last
            if time.monotonic() - last > IDLE_SECONDS:
                raise UsageError(f"{len(self._leased)} of {self._urls} URLs, and none for {IDLE_SECONDS:g} s")

    async def _until_all_are_counted(self) -> None:
        deadline = time.monotonic() + IDLE_SECONDS
        while (await crawl_progress(self._stores, self._crawl_id)).digesting < self._urls:
            if time.monotonic() > deadline:
                raise UsageError(f"after {IDLE_SECONDS:g} s not all answers are counted")
            await asyncio.sleep(POLL_SECONDS)

    async def _look(self) -> None:
        """Note the worker's memory, and when the last event with URLs was handled."""
        reader = LagReader(self._settings, (stage("frontier"),))
        try:
            while True:
                self._memory.append(proportional_memory(self._pids["worker"]))
                if not self._intake_seconds:
                    lags = await asyncio.to_thread(reader.read)
                    handled = sum(lag.handled for lag in lags if lag.topic == PageDiscovered.topic)
                    if handled >= len(self._events):
                        self._intake_seconds = time.monotonic() - self._began
                        err.print(f"all discovered after {self._intake_seconds:.0f} s", highlight=False)
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            reader.close()


def _answer(scheduled: PageScheduled) -> PageFetched:
    return answer(scheduled, found="/page-" in scheduled.url and scheduled.purpose == "page")


def heap(listed: dict[str, list[str]]) -> dict[str, float]:
    """Discover, lease and answer the URLs in a plain heap with dictionaries, several times. Return the median rate."""
    urls = sum(map(len, listed.values()))
    seconds = [_heap_seconds(listed) for _ in range(HEAP_RUNS)]
    return {
        "urls_per_cpu_second": round(urls / statistics.median(seconds)),
        "slowest": round(urls / max(seconds)),
        "fastest": round(urls / min(seconds)),
    }


def _heap_seconds(listed: dict[str, list[str]]) -> float:
    begin = time.process_time()
    states: dict[str, str] = {}
    queues: dict[str, deque[str]] = {}
    times: list[tuple[int, str]] = []
    for host, urls in listed.items():
        queues[host] = deque()
        heapq.heappush(times, (0, host))
        for url in urls:
            if url not in states:
                states[url] = "queued"
                queues[host].append(url)
    leases: deque[tuple[str, str]] = deque()
    answered = 0
    while answered < len(states):
        if times:
            _, host = heapq.heappop(times)
            url = queues[host].popleft()
            states[url] = "leased"
            leases.append((url, host))
            if len(leases) < len(queues) and times:
                continue
        url, host = leases.popleft()
        states[url] = "fetched"
        answered += 1
        if queues[host]:
            heapq.heappush(times, (answered, host))
    return time.process_time() - begin


def show(result: dict[str, Any]) -> None:
    out.print(describe(result["machine"]), highlight=False)
    urls, cpu, heap_rate = result["urls"], result["cpu_seconds"], result["heap"]["urls_per_cpu_second"]
    leases = sum(result["leases"].values())
    servers = sum(seconds for name, seconds in cpu.items() if name != "the benchmark")
    rates = result["urls_per_cpu_second"]
    rows = table(f"{urls:,} URLs of {result['hosts']} hosts, each discovered, leased and answered", "", "")
    rows.add_row("seconds, until all were discovered", f"{result['seconds_until_all_were_discovered']:.1f}")
    rows.add_row("seconds, until all were answered", f"{result['seconds']:.1f}")
    rows.add_row("URLs a second", f"{result['urls_per_second']}")
    rows.add_row("leases a second, of files of hosts, too", f"{leases / result['seconds']:.0f}")
    for name, seconds in cpu.items():
        rows.add_row(f"CPU ms a URL, {name}", f"{1000 * seconds / urls:.2f}")
    rows.add_row("URLs per CPU second, the worker", f"{rates['worker']}")
    rows.add_row("URLs per CPU second, worker, Kafka and Cassandra", f"{rates['all']}")
    rows.add_row("URLs per CPU second, a plain heap", f"{heap_rate:,}")
    rows.add_row("the heap's rate by the worker's", f"{heap_rate * cpu['worker'] / urls:,.0f}")
    rows.add_row("the heap's rate by all processes'", f"{heap_rate * servers / urls:,.0f}")
    rows.add_row("memory of the worker at its peak", f"{result['memory_of_the_worker_mb']} MB")
    out.print(rows)
