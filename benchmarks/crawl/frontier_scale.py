"""A frontier with millions of URLs over many hosts, and a host with a million completed URLs, in one real Cassandra.

    python -m benchmarks frontier-scale --hosts 100000 --urls 100 --completed 1000000

Cassandra is started for the run, with the settings of `riffle up`. Each host gets a row and N URLs in its queue; only
the first ones get rows (`--rows`), since a row costs ten times as much to write as an entry of a queue, and a frontier
reads it when the URL's turn comes. One more host has its URLs completed: they were in its queue, and were trimmed as
the frontier does; the last ones wait.

Then Cassandra is started again, so that all rows are in files, and a new process, whose memory holds nothing of the
loading, is the frontier: it is assigned all hosts, visits hosts until it has some leases, and reads queues. Largest
partitions, rows and tombstones of reads are what Cassandra has counted since it was started again.
"""

import asyncio
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import psutil
import typer

from benchmarks.crawl.frontier import assign
from benchmarks.crawl.frontier_store import ROWS, SIZES, TOMBSTONES, new_agent, read_metric, read_milliseconds
from benchmarks.crawl.seeds import url_of
from benchmarks.machine import machine, percentile
from benchmarks.own_servers import environment_of
from schemas import Event, PageScheduled
from schemas.ids import page_id
from streams.clock import now_micros
from streams.commands.console import AsJson, command, err, load_settings, print_figures, print_json
from streams.crawl.frontier.hosts.host_state import Host
from streams.crawl.frontier.hosts.live_host import HEAD_ENTRIES
from streams.crawl.frontier.hosts.live_hosts import TRIM_ENTRIES
from streams.crawl.frontier.hosts.robots_state import Robots
from streams.local.server_set import running_servers
from streams.settings import CassandraSettings, CrawlSettings, Settings
from streams.stores.cassandra.frontier import CassandraFrontier
from streams.stores.cassandra.session import connect
from streams.stores.host_buckets import bucket_of
from streams.stores.protocols import FrontierUrl, HostRows, QueueEntry

LARGE = "large.example"
HOSTS_AT_ONCE = 40
ENTRIES_AT_ONCE = 400
PATIENCE_SECONDS = 120.0
MEGABYTE = 1_000_000


@command
async def run(
    hosts: Annotated[int, typer.Option(min=100, help="Number of hosts.")] = 100_000,
    urls: Annotated[int, typer.Option(min=1, help="URLs in the queue of each host.")] = 100,
    rows: Annotated[int, typer.Option(min=2, help="URLs of each host that also have a row.")] = 2,
    completed: Annotated[int, typer.Option(min=1_000, help="Completed URLs of one more host.")] = 1_000_000,
    leases: Annotated[int, typer.Option(min=1, help="Maximum number of URLs under way.")] = 1_000,
    as_json: AsJson = False,
) -> None:
    """Measure a frontier with millions of URLs over many hosts, and one host with many completed URLs, in Cassandra.

    Example:  python -m benchmarks frontier-scale --hosts 100000 --urls 100
    """
    settings, conditions = load_settings(), machine()
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        with running_servers(home, ("cassandra",), base=settings) as local:
            loaded = await _load(local, hosts, urls, min(rows, urls), completed)
        loaded["MB of files"] = _megabytes(home)
        with running_servers(home, ("cassandra",), base=settings) as local:
            measured = await asyncio.to_thread(_measured, local, home, hosts, leases, loaded.pop("cursor"))
            session = await connect(local.cassandra)
            try:
                of_reads = {
                    "tombstones of a read: table, 99th percentile, most": await read_metric(session, TOMBSTONES),
                    "rows of a read: table, 99th percentile, most": await read_metric(session, ROWS),
                    "largest partition (MiB), by table": await read_metric(session, SIZES),
                }
            finally:
                await session.close()
    print_figures("A large frontier", {"machine": conditions, **loaded, **measured, **of_reads}, as_json)


def _megabytes(home: Path) -> int:
    return round(sum(path.stat().st_size for path in home.rglob("*.db")) / MEGABYTE)


def _measured(settings: Settings, home: Path, *arguments: Any) -> dict[str, Any]:
    """Return the figures of a frontier in a process of its own."""
    script = f"from benchmarks.crawl.frontier_scale import measure; measure(*{arguments!r})"
    environment = environment_of(settings, home)
    done = subprocess.run([sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE, check=True)
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


async def _load(settings: Settings, hosts: int, urls: int, rows: int, completed: int) -> dict[str, Any]:
    session = await connect(_patient(settings))
    try:
        store, start = CassandraFrontier(session), now_micros()
        began = time.monotonic()
        cursor = await _load_large(store, completed, start)
        one_host = time.monotonic() - began
        for first in range(0, hosts, HOSTS_AT_ONCE):
            names = [name_of(number) for number in range(first, min(first + HOSTS_AT_ONCE, hosts))]
            await asyncio.gather(*(_load_host(store, name, urls, rows, start) for name in names))
            _report(first, hosts, began)
    finally:
        await session.close()
    return {
        "hosts": hosts,
        "URLs in queues": hosts * urls,
        "rows of them": hosts * rows,
        "completed URLs of one host": completed,
        "seconds of loading: the one host, all others": [round(one_host), round(time.monotonic() - began - one_host)],
        "cursor": (cursor.position, str(cursor.page_id)),
    }


def _report(done: int, total: int, began: float) -> None:
    if done % (total // 20 or 1) < HOSTS_AT_ONCE:
        err.print(f"{done:,} of {total:,} hosts after {time.monotonic() - began:.0f} s", highlight=False)


def _patient(settings: Settings) -> CassandraSettings:
    """Return the settings of Cassandra with a long deadline: the benchmark writes as fast as a busy server can."""
    return settings.cassandra.model_copy(update={"request_timeout_seconds": PATIENCE_SECONDS})


async def _load_host(store: CassandraFrontier, name: str, urls: int, rows: int, start: int) -> None:
    entries = [_entry(name, number, start) for number in range(urls)]
    waiting = [_row(name, number, entry) for number, entry in enumerate(entries[:rows])]
    state = _host(name, start).to_row(start, start)
    await asyncio.gather(store.write(HostRows(name, state, waiting, entries, start)), store.put_due(state))


async def _load_large(store: CassandraFrontier, completed: int, start: int) -> QueueEntry:
    """Write a host whose URLs are completed but for the last HEAD_ENTRIES, and return its cursor.

    The completed ones were trimmed, TRIM_ENTRIES at a time, as the frontier does. Only URLs that wait get rows.
    """
    entries = [_entry(LARGE, number, start) for number in range(completed + HEAD_ENTRIES)]
    batches = [entries[first : first + ENTRIES_AT_ONCE] for first in range(0, len(entries), ENTRIES_AT_ONCE)]
    for first in range(0, len(batches), HOSTS_AT_ONCE):
        some = batches[first : first + HOSTS_AT_ONCE]
        await asyncio.gather(*(store.write(HostRows(LARGE, entries=batch, at=start)) for batch in some))
    for taken in range(TRIM_ENTRIES, completed + 1, TRIM_ENTRIES):
        await store.trim(LARGE, entries[taken - 1], now_micros())
    rows = [_row(LARGE, number, entries[number]) for number in range(completed, len(entries))]
    host = _host(LARGE, start)
    host.cursor, host.queued = entries[completed - 1], HEAD_ENTRIES
    state = host.to_row(start, start)
    await store.write(HostRows(LARGE, state, rows))
    await store.put_due(state)
    return host.cursor


def name_of(number: int) -> str:
    return f"host{number}.example"


def _entry(host: str, number: int, start: int) -> QueueEntry:
    return QueueEntry(start + number, page_id(url_of(host, number)))


def _row(host: str, number: int, entry: QueueEntry) -> FrontierUrl:
    url = url_of(host, number)
    return FrontierUrl(entry.page_id, url, host, "queued", at=1, position=entry.position, crawl_id="c")


def _host(name: str, start: int) -> Host:
    return Host(bucket_of(name), name, robots=Robots("allowed", fetched_at=start))


def measure(hosts: int, leases: int, cursor: tuple[int, str]) -> None:
    """Print the figures of a frontier in this process, as JSON."""
    position, page = cursor
    print_json(asyncio.run(_measure(hosts, leases, QueueEntry(position, UUID(page)))))


async def _measure(hosts: int, leases: int, cursor: QueueEntry) -> dict[str, Any]:
    session = await connect(_patient(load_settings()))
    sent: list[PageScheduled] = []

    async def emit(event: Event, _cause: str) -> None:
        if isinstance(event, PageScheduled):
            sent.append(event)

    try:
        store = CassandraFrontier(session)
        agent = new_agent(store, CrawlSettings(in_flight=leases, rights_files=False))
        agent.connect(emit)
        assigned = await assign(agent)
        due = len(agent.state.hosts.due)
        agent.dispatcher.assign(frozenset({0}))
        begin, cpu = time.perf_counter(), time.process_time()
        await agent.dispatcher.visit_due()
        visits, cpu = time.perf_counter() - begin, time.process_time() - cpu
        chosen = [name_of(number) for number in random.Random(1).sample(range(hosts), min(hosts, 500))]
        return {
            **assigned,
            "hosts that are due": due,
            "leases": len(sent),
            "leases a second": round(len(sent) / visits),
            "leases per CPU second of the frontier": round(len(sent) / cpu),
            "ms until a host's next URL is read: median, 95th, 99th percentile, most": await _read_hosts(store, chosen),
            "ms of a read of the large host's head: median, 95th, 99th percentile, most": await read_milliseconds(
                store, LARGE, cursor
            ),
            "ms until the large host's next URL is read": await _read_hosts(store, [LARGE] * 100),
            "mb_of_the_worker": round(psutil.Process().memory_info().rss / MEGABYTE, 1),
        }
    finally:
        await session.close()


async def _read_hosts(store: CassandraFrontier, names: list[str]) -> list[float]:
    """Read the row of each host, the head of its queue, and the row of its next URL, as a visit does (milliseconds)."""
    times = []
    for name in names:
        begin = time.perf_counter()
        row = await store.host(name)
        assert row, name
        head = await store.queued(name, Host.from_row(row).cursor, HEAD_ENTRIES)
        assert await store.urls(name, [head[0].page_id], further=False), name
        times.append(1_000 * (time.perf_counter() - begin))
    values = (statistics.median(times), percentile(times, 0.95), percentile(times, 0.99), max(times))
    return [round(value, 2) for value in values]
