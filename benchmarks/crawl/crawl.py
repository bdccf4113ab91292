"""Frontier, fetch and blob writes on a web of 50 hosts on loopback, beside Scrapy on the same pages, in one run.

    python -m benchmarks crawl MIRROR --pages 2700

MIRROR holds HOST/path pages; they are spread over 50 hosts. Kafka and Cassandra are started for the run, with one
worker of the stages frontier and fetch. No host has a delay. Each program gets the list of URLs, so that neither parses
pages. A page of Riffle counts when it is durable: its body is in Cassandra, its event in Kafka, the state of its URL in
the frontier's tables. Scrapy is as durable as a user would build it: its queue is on disk, each body is in Cassandra
and an event in Kafka, both awaited. And once, for information, it writes bodies into files, keeps its queue in memory,
and loses it when it ends.

The two durable programs run in turns, each ROUNDS times on the same pages under other names of hosts; ratios are
medians of these. A round before them is left out: in it the servers are cold, above all for the program that is first.
A program's CPU time begins with its first request, and ends when it has ended in order, so that all is stored. Nobody
asks the servers anything meanwhile that a crawl doesn't. Without later stages, the worker would keep the last answers
of each host for a minute and a half, in case that their pages are settled.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median
from typing import Annotated, Any
from uuid import uuid4

import psutil
import typer
from confluent_kafka.admin import AdminClient, OffsetSpec

from benchmarks.crawl.frontier import heap_rate
from benchmarks.crawl.seeds import seeds_of_host
from benchmarks.machine import describe, machine, table
from benchmarks.own_servers import end_worker, environment_of, running_worker, server_pids, wait_until
from benchmarks.stack.pipeline import sample
from schemas import PageDiscovered, PageFetched
from streams.commands.console import AsJson, command, err, load_settings, out, print_json
from streams.commands.stack.status import proportional_memory, usage
from streams.crawl.urls import host_of
from streams.errors import UsageError
from streams.local.ports import free_ports
from streams.local.probing import listens
from streams.local.server_set import running_servers
from streams.runtime.connection import client_config
from streams.runtime.lags.offsets import Place, end_offsets, find_places, list_offsets
from streams.runtime.lags.stage_lags import LagReader
from streams.runtime.producer import EventProducer
from streams.runtime.readers.topic_reader import read_topic
from streams.runtime.records import event_of
from streams.settings import Settings
from streams.stores.cassandra.session import CassandraSession, connect
from streams.topology import stage, topics_needed

HOSTS = 50
ROUNDS = 3
"""Number of times that each durable program runs, without the first round."""
ROBOTS = "User-agent: *\nDisallow: /private/\n"
"""The robots.txt of each host. Without one, the local web has one with a delay, which Scrapy ignores."""
HEAP_HOSTS = 100_000
"""Number of hosts in a plain heap: a pop and a push of it are what a page costs at least."""
SERVERS = ("kafka", "cassandra")
STAGES = ("frontier", "fetch")
LOOK_SECONDS = 0.25
IDLE_SECONDS = 120.0
_WRITES = "SELECT keyspace_name, count FROM system_views.local_write_latency"


@command
async def run(
    mirror: Annotated[Path, typer.Argument(exists=True, file_okay=False, metavar="MIRROR")],
    pages: Annotated[int, typer.Option(min=50, help="Number of pages.")] = 2_700,
    as_json: AsJson = False,
) -> int:
    """Measure frontier, fetch and blob writes on a web of 50 hosts on loopback, beside Scrapy on the same pages.

    Example:  python -m benchmarks crawl mirror/ --pages 2700
    """
    settings = load_settings()
    conditions = machine()
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        rounds = spread(mirror, home, pages)
        with _web(home) as port, running_servers(home / "stack", SERVERS, base=settings) as local:
            scrapy = run_scrapy(home, rounds[0], port)
            durable, riffle = [], []
            for urls in rounds:
                durable.append(await asyncio.to_thread(run_durable_scrapy, local, home, urls, port))
                riffle.append(await measure_riffle(local, home, urls, port))
    durable, riffle = durable[1:], riffle[1:]
    heap = {"operations_per_cpu_second": heap_rate(HEAP_HOSTS)}
    result = {"machine": conditions, "hosts": HOSTS, "pages": len(rounds[0])}
    result |= {"riffle": riffle, "scrapy": scrapy, "durable_scrapy": durable, "heap": heap}
    result |= per_page(riffle, scrapy, durable, len(rounds[0]))
    if as_json:
        print_json(result)
    else:
        show(result)
    return 0


def spread(mirror: Path, home: Path, pages: int) -> list[list[str]]:
    """Copy pages of a mirror to `home/web`, spread over the hosts of each round. Return their URLs, by round."""
    sample(mirror, home / "sample", pages)
    sources = sorted(path for path in (home / "sample").rglob("*") if path.is_file())
    return [_spread_round(sources, home / "web", turn) for turn in range(ROUNDS + 1)]


def _spread_round(sources: Sequence[Path], web: Path, turn: int) -> list[str]:
    urls = []
    for number, source in enumerate(sources):
        host = f"h{number % HOSTS:02}.round{turn}.test"
        target = web / host / f"p{number}.html"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.hardlink_to(source)
        (target.parent / "robots.txt").write_text(ROBOTS)
        urls.append(f"https://{host}/p{number}.html")
    return urls


@contextmanager
def _web(home: Path) -> Iterator[int]:
    """Serve `home/web` by a process of its own. Yield its port."""
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "streams.local.web", str(home / "web"), "--port", str(port)]
    process = subprocess.Popen([*command, "--ca-dir", str(home / "ca")], stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: listens(port), "the web")
        yield port
    finally:
        process.terminate()
        process.wait()


def run_durable_scrapy(settings: Settings, home: Path, urls: Sequence[str], port: int) -> dict[str, Any]:
    """Fetch the pages by Scrapy with its queue on disk, bodies in Cassandra and events in Kafka."""
    cassandra = settings.cassandra
    servers = [settings.kafka.bootstrap, cassandra.hosts[0], str(cassandra.port), json.dumps(server_pids())]
    return run_scrapy(home, urls, port, "--durable", *servers)


def run_scrapy(home: Path, urls: Sequence[str], port: int, *options: str) -> dict[str, Any]:
    """Fetch the pages by Scrapy. Raises UsageError if a page is missing."""
    listed, bodies = home / "urls", Path(tempfile.mkdtemp(dir=home))
    listed.write_text("\n".join(url.replace(".test/", f".test:{port}/") for url in urls))
    err.print(" ".join(("Scrapy", *options[:1], "...")), highlight=False)
    command = [sys.executable, "-m", "benchmarks.crawl.scrapy_crawl", str(listed), str(bodies), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    figures: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 and done.stdout else {}
    if figures.get("pages") != len(urls):
        raise UsageError(f"Scrapy wrote {figures.get('pages')} of {len(urls)} pages: {done.stderr[-2_000:]}")
    return figures


async def measure_riffle(settings: Settings, home: Path, urls: Sequence[str], port: int) -> dict[str, Any]:
    """Fetch the pages by a worker of the stages frontier and fetch. Raises UsageError if a page is missing."""
    session = await connect(settings.cassandra)
    try:
        with running_worker(STAGES, _environment(settings, home, urls, port), home / "worker.log") as worker:
            return await _fetch(settings, session, urls, worker)
    finally:
        await session.close()


def _environment(settings: Settings, home: Path, urls: Sequence[str], port: int) -> dict[str, str]:
    hosts = {host_of(url): f"127.0.0.1:{port}" for url in urls}
    return {
        **environment_of(settings, home / "stack"),
        "RIFFLE_CRAWL__DELAY_SECONDS": "0",
        "RIFFLE_CRAWL__LOCAL_HOSTS": json.dumps(hosts),
        "RIFFLE_CRAWL__LOCAL_CA_FILE": str(home / "ca" / "ca.pem"),
    }


async def _fetch(settings: Settings, session: CassandraSession, urls: Sequence[str], worker: int) -> dict[str, Any]:
    answers, pids = Answers(settings), server_pids()
    records, writes = _count_records(settings), await _count_writes(session)
    received = _bytes_written(pids)
    memory: list[int] = []
    before = {name: usage(pid)[1] for name, pid in {"worker": worker, **pids}.items()}
    began = last = time.monotonic()
    err.print("Riffle ...", highlight=False)
    async with EventProducer(settings, "bench") as producer:
        await producer.send_all(_seeds(urls, uuid4().hex[:12]))
        while len(answers.fetched) + len(answers.failed) < len(urls):
            await asyncio.sleep(LOOK_SECONDS)
            memory.append(proportional_memory(worker))
            if await asyncio.to_thread(answers.look, len(urls)):
                last = time.monotonic()
            if time.monotonic() - last > IDLE_SECONDS:
                raise UsageError(f"{len(answers.fetched)} of {len(urls)} pages, and none for {IDLE_SECONDS:g} s")
    # The frontier writes rows of several pages together. A page is durable when its event is acknowledged.
    after = {"worker": await asyncio.to_thread(end_worker, worker), **{n: usage(pid)[1] for n, pid in pids.items()}}
    _require_acknowledged(settings)
    return {
        "pages": len(answers.fetched),
        "failed": sorted(answers.failed)[:5],
        "answers without a page": dict(answers.tries.most_common(5)),
        "seconds": last - began,
        "cpu_seconds": {name: after[name] - before[name] for name in after},
        "kafka_records": _count_records(settings) - records,
        "cassandra_writes": await _count_writes(session) - writes,
        "bytes_written": _bytes_written(pids) - received,
        "memory_bytes": max(memory, default=0),
    }


class Answers:
    """The answers of the crawl. They are read when there may be all, not one by one: nobody reads Scrapy's either."""

    def __init__(self, settings: Settings) -> None:
        self.fetched, self.failed = set[str](), set[str]()
        self.tries = Counter[str]()
        self._settings = settings
        self._admin = AdminClient(client_config(settings.kafka))
        self._places = find_places(self._admin, [PageFetched.topic])
        self._read_to = self._seen = self._ends()

    def look(self, wanted: int) -> bool:
        """Read the answers if there may be as many as are wanted. Return whether there are new ones."""
        ends = self._ends()
        is_new, self._seen = ends != self._seen, ends
        missing = wanted - len(self.fetched) - len(self.failed)
        if sum(ends.values()) - sum(self._read_to.values()) >= missing:
            self._read(ends)
        return is_new

    def _ends(self) -> dict[Place, int]:
        return list_offsets(self._admin, self._places, OffsetSpec.latest())

    def _read(self, ends: dict[Place, int]) -> None:
        starts = {number: offset for (_, number), offset in self._read_to.items()}
        for record in read_topic(self._settings, PageFetched.topic, starts=starts):
            event, _ = event_of([PageFetched], record)
            if record.offset < ends[record.topic, record.partition] and isinstance(event, PageFetched):
                self._note(event)
        self._read_to = ends

    def _note(self, event: PageFetched) -> None:
        if event.purpose != "page":
            return
        if event.outcome == "ok":
            self.fetched.add(event.url)
            return
        self.tries[f"{event.outcome}: {event.error}"[:160]] += 1
        if not event.retryable:
            self.failed.add(event.url)


def _require_acknowledged(settings: Settings) -> None:
    """Raise UsageError if an event of the stages is not acknowledged."""
    with closing(LagReader(settings, tuple(map(stage, STAGES)))) as lags:
        if waiting := [lag for lag in lags.read() if lag.events]:
            raise UsageError(f"the worker ended without these: {waiting}")


def _seeds(urls: Sequence[str], crawl_id: str) -> list[PageDiscovered]:
    """Return an event for each host with its URLs."""
    by_host: dict[str, list[str]] = {}
    for url in urls:
        by_host.setdefault(host_of(url), []).append(url)
    return [seeds_of_host(host, listed, crawl_id) for host, listed in by_host.items()]


def _count_records(settings: Settings) -> int:
    """Return the number of records that the topics of both stages have."""
    partitions = {topic.name: settings.kafka.partitions for topic in topics_needed(tuple(map(stage, STAGES)))}
    return sum(end_offsets(settings, partitions).values())


async def _count_writes(session: CassandraSession) -> int:
    """Return the number of writes of the keyspace since the server's start."""
    rows = await session.execute(_WRITES)
    return sum(int(count) for keyspace, count in rows if not str(keyspace).startswith("system"))


def _bytes_written(pids: dict[str, int]) -> int:
    """Return the bytes that the servers have written to disk."""
    return sum(psutil.Process(pids[name]).io_counters().write_bytes for name in SERVERS)


def per_page(
    riffle: Sequence[dict[str, Any]], scrapy: dict[str, Any], durable: Sequence[dict[str, Any]], pages: int
) -> dict[str, Any]:
    """Return what a page costs, by process, and the rates: medians of the rounds."""
    ours, theirs = (_cpu_ms(rounds, pages) for rounds in (riffle, durable))
    ratios = [other["all"] / own["all"] for own, other in zip(ours, theirs, strict=True)]
    middle = {name: median(each[name] for each in ours) for name in ours[0]}
    cpu_ms = {**middle, "scrapy": scrapy["cpu_seconds"]["worker"] * 1_000 / pages}
    return {
        "rate_of_durable_scrapy": round(median(ratios), 2),
        "rates_of_durable_scrapy": [round(ratio, 2) for ratio in ratios],
        "cpu_ms_per_page": {
            name: round(value, 2)
            for name, value in {**cpu_ms, "durable_scrapy": median(each["all"] for each in theirs)}.items()
        },
        "cpu_ms_per_page_of_durable_scrapy": {
            name: round(median(each[name] for each in theirs), 2) for name in theirs[0]
        },
        "pages_per_second": round(median(pages / each["seconds"] for each in riffle)),
        "pages_per_cpu_second": round(1_000 / middle["all"]),
        "kafka_records_per_page": round(median(each["kafka_records"] / pages for each in riffle), 1),
        "cassandra_writes_per_page": round(median(each["cassandra_writes"] / pages for each in riffle), 1),
        "memory_bytes": max(each["memory_bytes"] for each in riffle),
    }


def _cpu_ms(rounds: Sequence[dict[str, Any]], pages: int) -> list[dict[str, float]]:
    """Return the CPU time of a page by process (ms), of each round."""
    of_processes = [{name: value * 1_000 / pages for name, value in each["cpu_seconds"].items()} for each in rounds]
    return [{**each, "all": sum(each.values())} for each in of_processes]


def show(result: dict[str, Any]) -> None:
    out.print(describe(result["machine"]), highlight=False)
    pages, own, other = result["pages"], result["cpu_ms_per_page"], result["cpu_ms_per_page_of_durable_scrapy"]
    rows = table(f"{pages} pages of {HOSTS} hosts, {ROUNDS} times", "", "Riffle", "Scrapy, durable", "Scrapy, files")
    durable_seconds = median(each["seconds"] for each in result["durable_scrapy"])
    rates = [f"{pages / seconds:.0f}" for seconds in (durable_seconds, result["scrapy"]["seconds"])]
    rows.add_row("pages/s", f"{result['pages_per_second']}", *rates)
    milliseconds = (own["all"], other["all"], own["scrapy"])
    rows.add_row("pages per CPU second, all processes", *(f"{1_000 / value:.0f}" for value in milliseconds))
    rows.add_row("the same, as a multiple of a durable Scrapy's", f"{result['rate_of_durable_scrapy']}",
                 " ".join(map(str, result["rates_of_durable_scrapy"])))  # fmt: skip
    rows.add_row("a plain heap, pops and pushes per CPU second", f"{result['heap']['operations_per_cpu_second']:,}")
    for name in other:
        rows.add_row(f"CPU ms a page, {name}", f"{own[name]:.1f}", f"{other[name]:.1f}")
    rows.add_row("Kafka records a page", f"{result['kafka_records_per_page']}")
    rows.add_row("Cassandra writes a page", f"{result['cassandra_writes_per_page']}")
    written = median(each["bytes_written"] for each in result["riffle"])
    rows.add_row("bytes written a page", f"{written / pages:,.0f}")
    rows.add_row("memory of the worker at its peak", f"{result['memory_bytes'] / 1e6:.0f} MB")
    out.print(rows)
