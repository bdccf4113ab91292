"""The frontier on a real Cassandra: the cost of its reads after many completed URLs of one host, and its partitions.

    python -m benchmarks frontier-store --urls 100000

Cassandra is started for the run. One host gets N URLs in its queue, in batches as a page with many links makes them;
all are taken, 64 at a time, and trimmed as the frontier does. The head of the queue is read at the beginning and
at the end. Another host gets as many URLs that stay in its queue, with their rows, and one bucket of a crawl as many
states. Then URLs of many hosts are scheduled and answered by a frontier without Kafka, and another frontier is assigned
many hosts (their rows, without queues, which no assignment reads). Cassandra is started again at last: that writes its
memory to files, whose largest partitions it then names.
"""

import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.crawl.frontier import assign, heap_rate
from benchmarks.crawl.seeds import answer
from benchmarks.machine import machine
from schemas import Event, PageScheduled
from schemas.ids import page_id
from streams.clock import now_micros
from streams.commands.console import AsJson, command, load_settings, print_figures
from streams.crawl.frontier.agent import FrontierAgent
from streams.crawl.frontier.hosts.host_state import Host
from streams.crawl.frontier.hosts.live_host import HEAD_ENTRIES
from streams.crawl.frontier.hosts.live_hosts import TRIM_ENTRIES
from streams.crawl.frontier.hosts.robots_state import Robots
from streams.crawl.frontier.intake.answers import take_fetched
from streams.local.server_set import running_servers
from streams.settings import CrawlSettings, Settings
from streams.stores.cassandra.frontier import CassandraFrontier
from streams.stores.cassandra.session import CassandraSession, connect
from streams.stores.host_buckets import bucket_of
from streams.stores.memory import MemoryBlobs, MemoryFingerprints, MemoryHostLinks, MemoryNotes
from streams.stores.opener import Stores
from streams.stores.protocols import (
    FIRST_URLS,
    CrawlCounts,
    FrontierHost,
    FrontierUrl,
    HostRows,
    QueueEntry,
    further_part_of,
)

HOST, WAITING_HOST = "large.example", "waiting.example"
BATCH, READS = 200, 500
STATES_AT_ONCE = 400
HOSTS, PER_HOST = 200, 5
HOSTS_AT_ONCE = 200
SIZES = "SELECT table_name, mebibytes FROM system_views.max_partition_size"
TOMBSTONES = "SELECT table_name, p99th, max FROM system_views.tombstones_per_read"
ROWS = "SELECT table_name, p99th, max FROM system_views.rows_per_read"


@command
async def run(
    urls: Annotated[int, typer.Option(min=1_000, help="Completed URLs of one host.")] = 100_000,
    hosts: Annotated[int, typer.Option(min=0, help="Hosts that a frontier reads when it starts.")] = 100_000,
    as_json: AsJson = False,
) -> None:
    """Measure the frontier on a Cassandra of its own: reads after many completed URLs, partitions, sustained rate.

    Example:  python -m benchmarks frontier-store --urls 100000
    """
    print_figures("The frontier's store", await measure(load_settings(), urls, hosts), as_json)


async def measure(settings: Settings, urls: int, hosts: int) -> dict[str, Any]:
    """Return all figures."""
    conditions = machine()
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        with running_servers(home, ("cassandra",), base=settings) as local:
            session = await connect(local.cassandra)
            try:
                store = CassandraFrontier(session)
                figures = await _fill_and_empty(store, urls) | await _fill(store, urls) | await _sustained(store)
                figures |= await _assign(store, hosts)
                figures["tombstones of a read: table, 99th percentile, most"] = await read_metric(session, TOMBSTONES)
                figures["rows of a read: table, 99th percentile, most"] = await read_metric(session, ROWS)
            finally:
                await session.close()
        with running_servers(home, ("cassandra",), base=settings) as local:
            session = await connect(local.cassandra)
            try:
                sizes = await read_metric(session, SIZES)
            finally:
                await session.close()
    return {"machine": conditions, "urls": urls, **figures, "largest partition (MiB), by table": sizes}


async def _assign(store: CassandraFrontier, hosts: int) -> dict[str, Any]:
    """Write rows of hosts that wait, and let a frontier read them as after its start. Queues are not read by it."""
    now, begin = now_micros(), time.perf_counter()
    for first in range(0, hosts, HOSTS_AT_ONCE):
        names = (f"waiting{number}.example" for number in range(first, min(first + HOSTS_AT_ONCE, hosts)))
        rows = (Host(bucket_of(name), name, robots=Robots("allowed", fetched_at=now)) for name in names)
        await asyncio.gather(*(put_host(store, row.to_row(now, now)) for row in rows))
    written = time.perf_counter() - begin
    agent = new_agent(store, CrawlSettings())

    async def emit(_event: Event, _cause: str) -> None: ...

    agent.connect(emit)
    return {
        "hosts written a second": round(hosts / written),
        **await assign(agent),
        "hosts": len(agent.state.hosts.due),
    }


def new_agent(store: CassandraFrontier, settings: CrawlSettings) -> FrontierAgent:
    stores = Stores(
        blobs=MemoryBlobs(),
        frontier=store,
        fingerprints=MemoryFingerprints(),
        host_links=MemoryHostLinks(),
        notes=MemoryNotes(),
    )
    return FrontierAgent(settings, stores)


async def read_metric(session: CassandraSession, statement: str) -> dict[str, list[Any]]:
    rows = await session.execute(statement, {})
    return {str(name): list(values) for name, *values in rows if str(name).startswith("frontier_")}


async def _fill_and_empty(store: CassandraFrontier, urls: int) -> dict[str, Any]:
    start = now_micros()
    await _push(store, HOST, urls, start)
    cursor: QueueEntry | None = None
    await read_milliseconds(store, HOST, cursor)  # until Java has compiled it
    before = await read_milliseconds(store, HOST, cursor)
    taken = 0
    while head := await store.queued(HOST, cursor, HEAD_ENTRIES):
        cursor, taken = head[-1], taken + len(head)
        if taken % TRIM_ENTRIES < HEAD_ENTRIES:
            await store.trim(HOST, cursor, now_micros())
        if taken + HEAD_ENTRIES > urls:
            break
    return {
        "ms of a read of the head, first: median, 95th, 99th percentile, most": before,
        "ms of a read of the head, last: median, 95th, 99th percentile, most": await read_milliseconds(
            store, HOST, cursor
        ),
        "taken": taken,
    }


async def put_host(store: CassandraFrontier, host: FrontierHost) -> None:
    """Write a host, and list it as due."""
    await store.write(HostRows(host.host, host))
    await store.put_due(host)


async def _push(store: CassandraFrontier, host: str, urls: int, start: int, *, with_rows: bool = False) -> None:
    for first in range(0, urls, BATCH):
        entries = [_entry(start, number) for number in range(first, min(first + BATCH, urls))]
        rows = [_row(host, number, entry) for number, entry in enumerate(entries, first)] if with_rows else []
        await store.write(HostRows(host, urls=rows, entries=entries, at=start))


def _row(host: str, number: int, entry: QueueEntry) -> FrontierUrl:
    """Return the row of a URL, about as large as the row of a page with a usual address."""
    url = f"https://{host}/{number}/{'a-usual-title-of-a-page/':.24}"
    part = 0 if number < FIRST_URLS else further_part_of(entry.page_id)
    return FrontierUrl(
        entry.page_id, url, host, "queued", at=1, position=entry.position, crawl_id="c", referrer=url, part=part
    )


async def _fill(store: CassandraFrontier, urls: int) -> dict[str, Any]:
    """Write a queue whose URLs wait, and the states of as many URLs in one bucket of a crawl."""
    start, begin = now_micros(), time.monotonic()
    await _push(store, WAITING_HOST, urls, start, with_rows=True)
    pushed = time.monotonic() - begin
    for first in range(0, urls, STATES_AT_ONCE):
        pages = [_entry(start, number).page_id for number in range(first, min(first + STATES_AT_ONCE, urls))]
        counts = CrawlCounts({"queued": first + len(pages)}, start + first)
        await store.put_states("large", 0, dict.fromkeys(pages, "queued"), "owner", counts)
    marked = time.monotonic() - begin - pushed
    return {"queued URLs a second": round(urls / pushed), "states a second": round(urls / marked)}


def _entry(start: int, number: int) -> QueueEntry:
    return QueueEntry(start + number, page_id(f"https://{HOST}/{number}"))


async def read_milliseconds(store: CassandraFrontier, host: str, cursor: QueueEntry | None) -> list[float]:
    times = []
    for _ in range(READS):
        begin = time.perf_counter()
        await store.queued(host, cursor, HEAD_ENTRIES)
        times.append(1_000 * (time.perf_counter() - begin))
    cuts = statistics.quantiles(times, n=100)
    return [round(value, 2) for value in (cuts[49], cuts[94], cuts[98], max(times))]


async def _sustained(store: CassandraFrontier) -> dict[str, Any]:
    """Schedule and answer URLs of many hosts. Kafka has no part in it."""
    start = now_micros()
    for number in range(HOSTS):
        await _add_host(store, f"host{number}.example", start)
    settings = CrawlSettings(in_flight=HOSTS, delay_seconds=0, recrawl=False, rights_files=False)
    agent = new_agent(store, settings)
    agent.partition_count = 1
    answered = 0

    async def emit(event: Event, _cause: str) -> None:
        if isinstance(event, PageScheduled) and event.purpose == "page":
            waiting.append(event)

    waiting: list[PageScheduled] = []
    agent.connect(emit)
    agent.dispatcher.assign(frozenset({0}))
    begin, cpu, assigned = time.monotonic(), time.process_time(), 0.0
    while answered < HOSTS * PER_HOST:
        await agent.dispatcher.visit_due()
        assigned = assigned or time.monotonic() - begin
        batch, waiting[:] = list(waiting), []
        await asyncio.gather(*(take_fetched(agent.state, answer(scheduled), 0) for scheduled in batch))
        answered += len(batch)
    return {
        "pages scheduled and answered": answered,
        "seconds": round(time.monotonic() - begin, 2),
        "pages per CPU second of the frontier": round(answered / (time.process_time() - cpu)),
        "heap operations per CPU second": heap_rate(100_000),
    }


async def _add_host(store: CassandraFrontier, name: str, start: int) -> None:
    entries, rows = [], []
    for number in range(PER_HOST):
        url = f"https://{name}/{number}"
        entry = QueueEntry(start + number, page_id(url))
        entries.append(entry)
        rows.append(FrontierUrl(entry.page_id, url, name, "queued", at=1, position=entry.position, crawl_id="c"))
    await store.write(HostRows(name, urls=rows, entries=entries, at=1))
    await put_host(store, Host(bucket_of(name), name, robots=Robots("allowed", fetched_at=start)).to_row(start, start))
