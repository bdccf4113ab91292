"""Measures the frontier's memory and speed over many hosts: assignment of partitions, and scheduling.

    python -m benchmarks frontier --hosts 100000 --urls 100

The store is generated: it answers as if each host had that many URLs in its queue and a robots.txt that allows all, and
holds nothing. So the figures are the frontier's own memory and time, without Cassandra and Kafka. A plain heap of
(time, URL) pairs does the same work in the same run: pop what is due, push it back after the host's delay.
"""

import asyncio
import gc
import heapq
import time
from collections.abc import Sequence
from typing import Annotated, Any
from uuid import UUID

import psutil
import typer

from benchmarks.machine import machine
from schemas import Event
from schemas.ids import page_id
from streams.commands.console import AsJson, command, print_figures
from streams.crawl.frontier.agent import FrontierAgent
from streams.crawl.frontier.hosts.host_state import Host
from streams.crawl.frontier.hosts.robots_state import Robots
from streams.settings import CrawlSettings
from streams.stores.host_buckets import bucket_of
from streams.stores.memory import MemoryBlobs, MemoryFingerprints, MemoryFrontier, MemoryHostLinks, MemoryNotes
from streams.stores.opener import Stores
from streams.stores.protocols import FrontierHost, FrontierUrl, HostRows, QueueEntry

START = 1_800_000_000_000_000
SECOND = 1_000_000
MEGABYTE = 1_000_000


class GeneratedStore(MemoryFrontier):
    """A frontier's store with hosts and URLs that are generated when they are read. Writes of URLs are dropped."""

    def __init__(self, hosts: int, urls: int) -> None:
        super().__init__()
        self._urls_of_host = urls
        self._written: dict[str, FrontierHost] = {}
        self._entries: dict[UUID, FrontierUrl] = {}
        self._names: dict[int, list[str]] = {}
        for number in range(hosts):
            name = f"host{number}.example"
            self._names.setdefault(bucket_of(name), []).append(name)

    async def active_hosts(self, buckets: Sequence[int]) -> list[tuple[str, int]]:
        return [(name, START) for bucket in buckets for name in self._names.get(bucket, ())]

    async def host(self, host: str) -> FrontierHost | None:
        if host in self._written:
            return self._written[host]
        new = Host(bucket_of(host), host, robots=Robots("allowed", fetched_at=START))
        return new.to_row(START, START)

    async def write(self, rows: HostRows) -> None:
        if rows.state:
            self._written[rows.host] = rows.state

    async def queued(self, host: str, after: QueueEntry | None, limit: int) -> list[QueueEntry]:
        first = 0 if after is None else after.position - START + 1
        found = []
        for number in range(first, min(first + limit, self._urls_of_host)):
            url = f"https://{host}/{number}"
            entry = QueueEntry(START + number, page_id(url))
            self._entries[entry.page_id] = FrontierUrl(
                entry.page_id, url, host, "queued", at=1, position=entry.position, why="link", depth=1
            )
            found.append(entry)
        return found

    async def urls(self, host: str, page_ids: Sequence[UUID], *, further: bool = True) -> dict[UUID, FrontierUrl]:
        found = ((page_id, self._entries.pop(page_id, None)) for page_id in page_ids)
        return {page_id: url for page_id, url in found if url}


@command
def run(
    hosts: Annotated[int, typer.Option(min=1)] = 100_000,
    urls: Annotated[int, typer.Option(min=1, help="URLs in the queue of each host.")] = 100,
    leases: Annotated[int, typer.Option(min=1, help="Maximum number of URLs under way.")] = 5_000,
    as_json: AsJson = False,
) -> int:
    """Measure the frontier's memory and scheduling over a generated store, beside a plain heap.

    Example:  python -m benchmarks frontier --hosts 100000
    """
    print_figures("Frontier", measure(hosts, urls, leases), as_json)
    return 0


def measure(hosts: int, urls: int, leases: int) -> dict[str, Any]:
    """All figures, on one core."""
    return asyncio.run(_measure(hosts, urls, leases))


async def _measure(hosts: int, urls: int, leases: int) -> dict[str, Any]:
    store = GeneratedStore(hosts, urls)
    stores = Stores(
        blobs=MemoryBlobs(),
        frontier=store,
        fingerprints=MemoryFingerprints(),
        host_links=MemoryHostLinks(),
        notes=MemoryNotes(),
    )
    sent: list[Event] = []
    now = START + SECOND

    async def emit(event: Event, _cause: str) -> None:
        sent.append(event)

    agent = FrontierAgent(CrawlSettings(in_flight=leases), stores, now=lambda: now, random=lambda: 0.5)
    agent.connect(emit)
    before = _memory()
    assigned = await assign(agent)
    agent.dispatcher.assign(frozenset({0}))
    begin = time.process_time()
    await agent.dispatcher.visit_due()
    scheduling_seconds = time.process_time() - begin
    store._written.clear()
    store._entries.clear()
    in_flight = _memory() - before
    return {
        "machine": machine(),
        "hosts": hosts,
        "urls": hosts * urls,
        **assigned,
        "leases": len(sent),
        "leases_per_cpu_second": round(len(sent) / scheduling_seconds),
        "mb_with_leases": round(in_flight / MEGABYTE, 1),
        "heap_operations_per_cpu_second": heap_rate(hosts),
        "peak_mb_of_the_process": round(psutil.Process().memory_info().rss / MEGABYTE, 1),
    }


async def assign(agent: FrontierAgent) -> dict[str, float]:
    """Assign all hosts to the frontier, as when a worker starts. Return the time and the memory that it takes."""
    agent.partition_count = 1
    before, begin, begin_cpu = _memory(), time.perf_counter(), time.process_time()
    await agent.state.hosts.own(frozenset({0}))
    while await agent.state.hosts.read_more():
        pass
    return {
        "assignment_seconds": round(time.perf_counter() - begin, 2),
        "assignment_cpu_seconds": round(time.process_time() - begin_cpu, 2),
        "assignment_mb": round((_memory() - before) / MEGABYTE, 1),
    }


def heap_rate(hosts: int) -> int:
    """Return how many pops and pushes a plain heap of N hosts does in a CPU second."""
    heap = [(START, f"https://host{number}.example/0") for number in range(hosts)]
    heapq.heapify(heap)
    begin = time.process_time()
    for _ in range(hosts):
        when, url = heapq.heappop(heap)
        heapq.heappush(heap, (when + SECOND, url))
    return round(hosts / (time.process_time() - begin))


def _memory() -> int:
    gc.collect()
    return int(psutil.Process().memory_info().rss)
