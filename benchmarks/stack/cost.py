"""Cost of a page in the stores: Kafka records and bytes, Cassandra writes and reads, blobs; by topic and table.

    python -m benchmarks cost

It starts a stack of its own on empty data, crawls the bundled web, waits until no stage is behind, and divides what
Kafka and Cassandra themselves have counted by the number of pages that were fetched. Kafka: the growth of each topic's
end offsets, and of the log segments on disk. Cassandra: the counts of its own latency histograms (`system_views`),
where several rows of one partition in one statement are one write. Bytes are before replication.

Afterwards each page is visited again, with the same text in other bytes: what an unchanged page costs that has no
validator by which its server could say so.
"""

import asyncio
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import typer

from benchmarks.machine import machine, table
from benchmarks.own_servers import RIFFLE
from schemas import EVENTS, PageDiscovered, PageFetched
from streams.commands.console import AsJson, command, err, out, print_json
from streams.crawl.seeds import seed
from streams.errors import UsageError
from streams.local.demo import unpack
from streams.runtime.connection import client_config
from streams.runtime.lags.stage_lags import stage_lags
from streams.runtime.producer import EventProducer
from streams.settings import Settings
from streams.topology import STAGES

DEPTH = 30
QUIET_SECONDS = 15.0
"""Seconds without a new record after which the crawl has ended."""
MAX_SECONDS = 1_200.0
"""Seconds after which the benchmark gives up waiting."""
BROKER_TRIES, BROKER_SECONDS = 30, 2.0
"""Tries to read an offset, and seconds between them."""

Counts = dict[str, int]


@command
async def run(
    web: Annotated[
        Path | None,
        typer.Option(exists=True, file_okay=False, help="A folder of HOST/path pages. Default: the demo's."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Count the Kafka records, Cassandra writes and reads, and bytes that a page costs, on a stack of its own.

    Example:  python -m benchmarks cost
    """
    conditions = machine()
    with tempfile.TemporaryDirectory() as folder:
        home, pages = Path(folder), Path(folder) / "pages"
        shutil.copytree(web or unpack(home / "web" / "demo"), pages)
        with _stack(home, pages) as settings:
            figures = await measure(settings, pages)
    if as_json:
        print_json({"machine": conditions, **figures})
    else:
        show(figures)
    return 0


@contextmanager
def _stack(home: Path, web: Path) -> Iterator[Settings]:
    environment = {**os.environ, "RIFFLE_HOME": str(home), "RIFFLE_LOCAL_WEB": str(web)}
    err.print("Starting a stack with empty data ...")
    started = subprocess.run([*RIFFLE, "up"], env=environment, capture_output=True, text=True)
    if started.returncode:
        raise UsageError(f"the stack did not start:\n{started.stdout}{started.stderr}")
    try:
        yield Settings.load(home=home)
    finally:
        subprocess.run([*RIFFLE, "down"], env=environment, capture_output=True)


async def measure(settings: Settings, web: Path) -> dict[str, Any]:
    """Crawl all local hosts, and return the counts of each topic and table, per fetched page; then visit all again."""
    counts = await _crawl(settings, [seed(f"https://{host}/", DEPTH) for host in sorted(settings.crawl.local_hosts)])
    urls = _fetched_pages(settings)
    first = {
        "pages": len(urls),
        **_per_page(counts, len(urls)),
        "kafka_bytes_per_page": round(_log_bytes(settings.home) / len(urls)),
        "blob_bytes_per_page": round(_blob_bytes(settings) / len(urls)),
    }
    change_bytes(web)
    counts = await _crawl(settings, [seed(url, 0) for url in sorted(urls)])
    return {**first, "unchanged": _per_page(counts, len(urls))}


async def _crawl(settings: Settings, seeds: Sequence[PageDiscovered]) -> dict[str, Counts]:
    """Crawl to the end, and return by how much the records, writes and reads have grown."""
    kafka_before, cassandra_before = _records(settings), _operations(settings)
    crawl_id = uuid4().hex[:12]
    async with EventProducer(settings, "crawl") as producer:
        await producer.send_all([each.model_copy(update={"crawl_id": crawl_id}) for each in seeds], cause=crawl_id)
    await asyncio.to_thread(_wait_until_quiet, settings)
    operations = _operations(settings)
    grown = {kind: _grown(operations[kind], cassandra_before[kind]) for kind in ("writes", "reads")}
    return {"records": _grown(_records(settings), kafka_before), **grown}


def _per_page(counts: Mapping[str, Counts], pages: int) -> dict[str, dict[str, float]]:
    return {f"{kind}_per_page": _per(each, pages) for kind, each in counts.items()}


def change_bytes(web: Path) -> None:
    """Give each page of a folder other bytes with the same text, so that no validator is right any more."""
    for page in web.rglob("*.html"):
        with page.open("ab") as file:
            file.write(b"<!-- visited again -->")


def _wait_until_quiet(settings: Settings) -> None:
    started = quiet_since = time.monotonic()
    last: Counts = {}
    while time.monotonic() - quiet_since < QUIET_SECONDS:
        if time.monotonic() - started > MAX_SECONDS:
            raise UsageError(f"the crawl has not ended after {MAX_SECONDS:.0f} s: look at `riffle status`")
        time.sleep(1)
        records = _records(settings)
        if records != last or any(lag.events for lag in stage_lags(settings)):
            last, quiet_since = records, time.monotonic()


def _records(settings: Settings) -> Counts:
    """The end offset of each topic of the topology, summed over its partitions."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({**client_config(settings.kafka), "group.id": "bench-cost"})
    try:
        topics = consumer.list_topics(timeout=30).topics
        names = [event.topic for event in EVENTS] + [t for s in STAGES for t in (s.retry_topic, s.dead_topic)]
        return {
            name: sum(_end_offset(consumer, TopicPartition(name, number)) for number in topics[name].partitions)
            for name in names
            if name in topics
        }
    finally:
        consumer.close()


def _end_offset(consumer: Any, partition: Any) -> int:
    """The end offset of a partition. A busy broker may lose its leadership for a moment: then it is asked again."""
    from confluent_kafka import KafkaException

    for _ in range(BROKER_TRIES):
        try:
            return int(consumer.get_watermark_offsets(partition, timeout=30)[1])
        except KafkaException as error:
            err.print(f"Kafka: {error}. Asking again ...", highlight=False, markup=False)
            time.sleep(BROKER_SECONDS)
    raise UsageError(f"Kafka gives no end offset of {partition.topic}: look at the stack's logs")


def _fetched_pages(settings: Settings) -> set[str]:
    """The URLs of pages that were fetched with success; all else that was fetched is part of their cost."""
    from confluent_kafka import Consumer

    consumer = Consumer({**client_config(settings.kafka), "group.id": uuid4().hex, "auto.offset.reset": "earliest"})
    consumer.subscribe([PageFetched.topic])
    pages = set()
    try:
        while messages := consumer.consume(500, timeout=10):
            for message in messages:
                event = _event(message.value())
                if event.get("outcome") == "ok" and event.get("purpose") == "page":
                    pages.add(event["url"])
    finally:
        consumer.close()
    if not pages:
        raise UsageError("no page was fetched: look at the stack's logs")
    return pages


def _event(value: bytes | None) -> dict[str, Any]:
    import orjson

    data: dict[str, Any] = orjson.loads(value) if value else {}
    payload: dict[str, Any] = data.get("data", data)
    return payload


def _operations(settings: Settings) -> dict[str, Counts]:
    """Cassandra's own counts of local writes and reads by table of Riffle's keyspace."""
    with _session(settings) as session:
        return {
            kind: {
                name: count
                for keyspace, name, count in session.execute(
                    f"SELECT keyspace_name, table_name, count FROM system_views.{view}"
                )
                if keyspace == settings.cassandra.keyspace
            }
            for kind, view in (("writes", "local_write_latency"), ("reads", "local_read_latency"))
        }


def _blob_bytes(settings: Settings) -> int:
    """Bytes of all stored blobs."""
    keyspace = settings.cassandra.keyspace
    with _session(settings) as session:
        tables = [session.execute(f"SELECT content FROM {keyspace}.{name}") for name in ("blobs", "pages")]
        return sum(len(content) for rows in tables for (content,) in rows if content)


@contextmanager
def _session(settings: Settings) -> Iterator[Any]:
    from streams.stores.cassandra.driver import new_cluster

    cluster = new_cluster(settings.cassandra)
    try:
        yield cluster.connect()
    finally:
        cluster.shutdown()


def _log_bytes(home: Path) -> int:
    """Bytes of the log segments of Riffle's topics on the local broker's disk."""
    prefixes = tuple(f"{event.topic}-" for event in EVENTS) + tuple(
        f"{topic}-" for stage in STAGES for topic in (stage.retry_topic, stage.dead_topic)
    )
    return sum(
        file.stat().st_size
        for folder in (home / "data" / "kafka").rglob("*-*")
        if folder.is_dir() and folder.name.startswith(prefixes)
        for file in folder.glob("*.log")
    )


def _grown(after: Counts, before: Counts) -> Counts:
    return {name: count - before.get(name, 0) for name, count in after.items()}


def _per(counts: Counts, pages: int) -> dict[str, float]:
    """Counts per page, the largest first, with their sum as `total`."""
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    shares = {name: round(count / pages, 2) for name, count in ordered if count}
    return {"total": round(sum(counts.values()) / pages, 1), **shares}


def show(figures: dict[str, Any]) -> None:
    out.print(f"{figures['pages']} pages of the bundled web, empty stores at the start", highlight=False)
    for title, name in (
        ("Kafka records", "records_per_page"),
        ("Cassandra writes", "writes_per_page"),
        ("Cassandra reads", "reads_per_page"),
    ):
        again = figures["unchanged"][name]
        rows = table(f"\n{title}", "", "per page", "visited again, same text")
        for label in {**figures[name], **again}:
            rows.add_row(label, *(str(counts.get(label, 0)) for counts in (figures[name], again)))
        out.print(rows)
    out.print(
        f"\nBytes per page: {figures['kafka_bytes_per_page']} in Kafka's logs, "
        f"{figures['blob_bytes_per_page']} in blobs",
        highlight=False,
    )
