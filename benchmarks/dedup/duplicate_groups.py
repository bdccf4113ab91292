"""Counts the reads of the dedup stage for groups of duplicates of different sizes.

    python -m benchmarks.dedup.duplicate_groups [--cassandra KEYSPACE] [SIZE ...]

For each size a group is stored (half exact duplicates, half near-duplicates). Then three events are handled: one more
duplicate comes, a page with another text comes, and the representative is removed. A read is a fingerprint or a hint
that the store returns, or a call that returns none. Without `--cassandra` the stores are in memory. With it, the reads
are the SELECT statements that are sent to the Cassandra of the settings.
"""

import argparse
import asyncio
import random
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

from schemas import Envelope, PageNormalized, PageRemoved
from schemas.envelope import utc_from_micros
from schemas.ids import event_id, page_id
from streams.dedup.agent import DedupAgent
from streams.dedup.fingerprinting import fingerprint
from streams.dedup.sandbox_tasks import TASKS
from streams.models.memory import MemoryEmbedder
from streams.pages.document.codec import encode_document
from streams.pages.document.model import Block, Document
from streams.runtime.agent import Delivery
from streams.stores.memory import MemoryBlobs, MemoryFingerprints, MemoryFrontier, MemoryLedger, MemoryPages
from streams.stores.opener import Stores
from streams.stores.protocols import Fingerprint
from tests.inline_sandbox import InlineSandbox

SIZES = (50, 500, 5_000)
NOW = 1_700_000_000_000_000
READS = ("get", "get_with_record", "exact", "near", "similar", "look_up", "duplicates", "groups")


class CountingFingerprints:
    """Fingerprints that count what is read from them."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.reads = 0

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        if name not in READS:
            return method

        async def call(*args: Any, **options: Any) -> Any:
            found = await method(*args, **options)
            self.reads += max(1, len(found)) if isinstance(found, list | dict) else 1
            return found

        return call


class Run:
    """One group in one set of stores."""

    def __init__(self, stores: Stores, reads: Callable[[], int], name: str) -> None:
        self.stores = stores
        self._reads = reads
        self._origin = f"https://{name}.test"
        words = random.Random(name).choices([f"word{number}" for number in range(2_000)], k=300)
        self._text, self._near = " ".join(words), " ".join([*words[:290], *"abcdefghij"])

    async def fill(self, size: int) -> None:
        """Store a representative and its duplicates, as decided."""
        prints = [fingerprint(text) for text in (self._text, self._near)]
        set_representative = self.stores.fingerprints.set_representative
        text_of: dict[str, Any] = {}
        for number in range(size + 1):
            url, is_near = f"{self._origin}/{number}", number % 2 == 1
            made = prints[is_near]
            page = Fingerprint(
                page_id=page_id(url),
                content_hash=f"near {number}" if is_near else f"text of {self._origin}",
                simhash=made.simhash,
                url=url,
                generation=NOW + number,
                first_seen=NOW + number,
                words=made.words,
                sketch=made.sketch,
            )
            await self.stores.fingerprints.put(page, page.generation)
            text_of = {"representative_text": f"text of {self._origin}"} if number else {}
            at = page.generation + (1 if number else 0)
            await set_representative(page.page_id, page_id(f"{self._origin}/0"), at, **text_of)

    async def duplicate_comes(self) -> int:
        return await self._count(await self._normalized("/new", self._text, f"text of {self._origin}"))

    async def other_page_comes(self) -> int:
        text = " ".join(f"{number} of {self._origin}" for number in range(100))
        return await self._count(await self._normalized("/other", text, f"other of {self._origin}"))

    async def representative_goes(self) -> int:
        url = f"{self._origin}/0"
        removed = PageRemoved(page_id=page_id(url), url=url, generation=NOW + 10**9, reason="gone")
        return await self._count(_delivery(removed))

    async def _normalized(self, path: str, text: str, content_hash: str) -> Delivery:
        url = self._origin + path
        ref = await self.stores.blobs.put(encode_document(Document(url, blocks=(Block("p", text),))))
        generation = NOW + 10**8
        event = PageNormalized(
            page_id=page_id(url), url=url, generation=generation, document_ref=ref, content_hash=content_hash
        )
        return _delivery(event)

    async def _count(self, delivery: Delivery) -> int:
        before = self._reads()
        await DedupAgent(self.stores, InlineSandbox(TASKS)).handle(delivery)
        return self._reads() - before


def _delivery(event: Any) -> Delivery:
    time = utc_from_micros(0) + timedelta(microseconds=event.generation)
    identity = event_id(event.event_type(), str(event.generation), event.key())
    envelope = Envelope(id=identity, type=event.event_type(), source="/riffle/benchmark", time=time)
    return Delivery(event, envelope, event.topic, 0, 0)


def in_memory(name: str = "memory") -> Run:
    """A run over memory stores."""
    pages = MemoryPages()
    counting: Any = CountingFingerprints(MemoryFingerprints(pages))
    stores = Stores(
        blobs=MemoryBlobs(),
        pages=pages,
        ledger=MemoryLedger(),
        fingerprints=counting,
        frontier=MemoryFrontier(),
        embedder=MemoryEmbedder(),
    )
    return Run(stores, lambda: counting.reads, name)


async def reads(run: Run, size: int) -> dict[str, int]:
    """The reads of the three events with a group of this size."""
    await run.fill(size)
    return {
        "duplicates": size,
        "one more duplicate": await run.duplicate_comes(),
        "another page": await run.other_page_comes(),
        "representative removed": await run.representative_goes(),
    }


async def _over_cassandra(keyspace: str, sizes: list[int]) -> None:
    from streams.settings import Settings
    from streams.stores import cassandra

    settings = Settings().cassandra.model_copy(update={"keyspace": keyspace})
    await cassandra.migrate(settings)
    session = await cassandra.connect(settings)
    count = 0
    execute: Callable[..., Awaitable[Any]] = session.execute

    async def counted(cql: str, *args: Any, **options: Any) -> Any:
        nonlocal count
        count += cql.startswith("SELECT")
        return await execute(cql, *args, **options)

    session.execute = counted  # type: ignore[method-assign]  # of this object only
    stores = Stores(
        blobs=cassandra.CassandraBlobs(session),
        pages=cassandra.CassandraPages(session),
        ledger=cassandra.CassandraLedger(session),
        fingerprints=cassandra.CassandraFingerprints(session),
        frontier=cassandra.CassandraFrontier(session),
        embedder=MemoryEmbedder(),
    )
    try:
        for size in sizes:
            print(await reads(Run(stores, lambda: count, uuid4().hex), size))
    finally:
        await session.close()


async def _main() -> None:
    parser = argparse.ArgumentParser(description="Count the reads of the dedup stage for groups of duplicates.")
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES)
    parser.add_argument("--cassandra", metavar="KEYSPACE")
    options = parser.parse_args()
    if options.cassandra:
        await _over_cassandra(options.cassandra, options.sizes)
        return
    for size in options.sizes:
        print(await reads(in_memory(), size))


if __name__ == "__main__":
    asyncio.run(_main())
