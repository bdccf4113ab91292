"""The same pages fetched by Scrapy, each body written to disk: a process of its own, which `crawl` starts.

    python -m benchmarks.crawl.scrapy_crawl URLS FOLDER

URLS is a file with one URL a line, whose hosts are all on loopback. The process prints the number of written bodies and
the CPU seconds between its first request and its last body, as JSON.
"""

import hashlib
import json
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.resolver import CachingThreadedResolver
from twisted.internet import defer

LOOPBACK = "127.0.0.1"
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

    async def start(self) -> AsyncIterator[Any]:
        for url in self.urls:
            yield scrapy.Request(url, dont_filter=False)

    def parse(self, response: Any) -> Any:
        yield {"url": response.url, "body": response.body}


class FilesPipeline:
    """The pipeline that writes each body into a file, named by the hash of its URL."""

    folder: Path
    written = 0

    def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        (self.folder / hashlib.sha256(item["url"].encode()).hexdigest()).write_bytes(item["body"])
        FilesPipeline.written += 1
        return item


def main() -> None:
    urls, folder = Path(sys.argv[1]).read_text().split(), Path(sys.argv[2])
    PagesSpider.urls, FilesPipeline.folder = urls, folder
    process = CrawlerProcess(
        {
            "LOG_LEVEL": "ERROR",
            "ROBOTSTXT_OBEY": True,
            "CONCURRENT_REQUESTS": CONCURRENCY,
            "DNS_RESOLVER": f"{__name__}.LoopbackResolver" if __name__ != "__main__" else LoopbackResolver,
            "ITEM_PIPELINES": {FilesPipeline: 300},
            "TELNETCONSOLE_ENABLED": False,
            "DOWNLOAD_DELAY": 0,
        }
    )
    process.crawl(PagesSpider)
    began, cpu_began = time.monotonic(), time.process_time()
    process.start()
    sys.stdout.write(
        json.dumps(
            {
                "pages": FilesPipeline.written,
                "seconds": time.monotonic() - began,
                "cpu_seconds": time.process_time() - cpu_began,
            }
        )
    )


if __name__ == "__main__":
    main()
