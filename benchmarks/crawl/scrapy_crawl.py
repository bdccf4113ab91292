"""The same pages fetched by Scrapy: a process of its own, which `crawl` starts.

    python -m benchmarks.crawl.scrapy_crawl URLS FOLDER
    python -m benchmarks.crawl.scrapy_crawl URLS FOLDER --durable KAFKA_BOOTSTRAP CASSANDRA_HOST CASSANDRA_PORT PIDS

URLS is a file with one URL a line, whose hosts are all on loopback. The first form writes each body into a file and
keeps its queue in memory. The second is what a user would build to lose nothing: Scrapy's queue on disk (JOBDIR), each
body in Cassandra, and then an event in Kafka; both are awaited before the item is done. The process prints the number
of written bodies, and CPU seconds between its first request and its last body by process, as JSON: of itself and
of each server whose id is in PIDS, a JSON object by name.
"""

import asyncio
import hashlib
import json
import sys
import threading
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import scrapy
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from scrapy.crawler import CrawlerProcess
from scrapy.resolver import CachingThreadedResolver
from twisted.internet import defer

from streams.commands.stack.status import usage

LOOPBACK = "127.0.0.1"
KEYSPACE, TOPIC = "scrapy", "scrapy.pages"
CONCURRENCY = 32
"""Concurrent requests, as in a worker of the fetch stage."""


class LoopbackResolver(CachingThreadedResolver):
    """Every host is on this machine."""

    def getHostByName(self, name: str, timeout: Any = None) -> Any:  # noqa: N802 - Twisted's name
        return defer.succeed(LOOPBACK)


class PagesSpider(scrapy.Spider):
    """A spider that requests the listed pages, and follows nothing."""

    name = "pages"
    urls: list[str]
    servers: dict[str, int]
    began = 0.0
    cpu_began: dict[str, float]
    """Times of the first request (seconds): the pipeline is open, and its client imported and connected."""

    async def start(self) -> AsyncIterator[Any]:
        PagesSpider.began, PagesSpider.cpu_began = time.monotonic(), cpu_times(self.servers)
        for url in self.urls:
            yield scrapy.Request(url, dont_filter=False)

    def parse(self, response: Any) -> Any:
        yield {"url": response.url, "body": response.body}


def cpu_times(servers: Mapping[str, int]) -> dict[str, float]:
    """Return the CPU time of this process, under the name `worker`, and of each server (seconds)."""
    return {"worker": time.process_time(), **{name: usage(pid)[1] for name, pid in servers.items()}}


class FilesPipeline:
    """The pipeline that writes each body into a file, named by the hash of its URL."""

    folder: Path
    written = 0

    def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        (self.folder / hashlib.sha256(item["url"].encode()).hexdigest()).write_bytes(item["body"])
        FilesPipeline.written += 1
        return item


class DurablePipeline:
    """The pipeline that stores each body in Cassandra, and then sends an event to Kafka. Both are awaited."""

    kafka, host, port = "", "", 0
    written = 0

    def open_spider(self) -> None:
        from cassandra.cluster import Cluster  # its import installs another reactor, unless Scrapy's is there

        self._cluster = Cluster([self.host], port=self.port)
        self._session = self._cluster.connect()
        replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        self._session.execute(f"CREATE KEYSPACE IF NOT EXISTS {KEYSPACE} WITH replication = {replication}")
        self._session.execute(f"CREATE TABLE IF NOT EXISTS {KEYSPACE}.bodies (url text PRIMARY KEY, body blob)")
        self._put = self._session.prepare(f"INSERT INTO {KEYSPACE}.bodies (url, body) VALUES (?, ?)")
        admin = AdminClient({"bootstrap.servers": self.kafka})
        if TOPIC not in admin.list_topics().topics:
            admin.create_topics([NewTopic(TOPIC, 4)])[TOPIC].result()
        self._producer = Producer({"bootstrap.servers": self.kafka, "acks": "all", "linger.ms": 5})
        self._ended = threading.Event()
        self._polling = threading.Thread(target=self._poll)
        self._polling.start()

    def _poll(self) -> None:
        while not self._ended.is_set():
            self._producer.poll(0.1)

    def close_spider(self) -> None:
        self._ended.set()
        self._polling.join()
        self._producer.flush()
        self._cluster.shutdown()

    async def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        await self._store(item["url"], item["body"])
        event = {"url": item["url"], "bytes": len(item["body"]), "fetched_at": time.time()}
        await self._send(item["url"], json.dumps(event).encode())
        DurablePipeline.written += 1
        return item

    async def _store(self, url: str, body: bytes) -> None:
        loop, done = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()
        request = self._session.execute_async(self._put, (url, body))
        request.add_callbacks(
            lambda _: loop.call_soon_threadsafe(done.set_result, None),
            lambda error: loop.call_soon_threadsafe(done.set_exception, error),
        )
        await done

    async def _send(self, url: str, event: bytes) -> None:
        loop, done = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()

        def delivered(error: Any, _: Any) -> None:
            if error:
                loop.call_soon_threadsafe(done.set_exception, KafkaException(error))
            else:
                loop.call_soon_threadsafe(done.set_result, None)

        self._producer.produce(TOPIC, event, url, on_delivery=delivered)
        await done


def main() -> None:
    urls, folder = Path(sys.argv[1]).read_text().split(), Path(sys.argv[2])
    PagesSpider.urls, FilesPipeline.folder = urls, folder
    pipeline: type[FilesPipeline | DurablePipeline] = FilesPipeline
    durable: dict[str, Any] = {}
    PagesSpider.servers = {}
    if sys.argv[3:4] == ["--durable"]:
        kafka, host, port, pids = sys.argv[4:8]
        PagesSpider.servers = json.loads(pids)
        DurablePipeline.kafka, DurablePipeline.host, DurablePipeline.port = kafka, host, int(port)
        pipeline, durable = DurablePipeline, {"JOBDIR": str(folder / "job")}
    process = CrawlerProcess(
        {
            **durable,
            "LOG_LEVEL": "ERROR",
            "ROBOTSTXT_OBEY": True,
            "CONCURRENT_REQUESTS": CONCURRENCY,
            "DNS_RESOLVER": f"{__name__}.LoopbackResolver" if __name__ != "__main__" else LoopbackResolver,
            "ITEM_PIPELINES": {pipeline: 300},
            "TELNETCONSOLE_ENABLED": False,
            "DOWNLOAD_DELAY": 0,
        }
    )
    process.crawl(PagesSpider)
    process.start()
    sys.stdout.write(
        json.dumps(
            {
                "pages": pipeline.written,
                "seconds": time.monotonic() - PagesSpider.began,
                "cpu_seconds": {
                    name: seconds - PagesSpider.cpu_began[name]
                    for name, seconds in cpu_times(PagesSpider.servers).items()
                },
            }
        )
    )


if __name__ == "__main__":
    main()
