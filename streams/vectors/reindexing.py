"""Writes all pages to a model's collection again: from the statements that Cassandra keeps, without a crawl.

For a new model, whose collection is filled beside the one that searches read, and after a loss of the vector index.
Pages are visited by token, so each part of the ring can go on where it stopped. A page is written if its record
`indexed` is newer than its record `removed`, and if the collection doesn't hold its statements of that generation yet.
Vectors that the embed stage made with the same model are taken from their blob.

Pages may change meanwhile. As in the index stage, a page's points are written first and its records read again
afterwards, and what a newer fetch or a removal has replaced is taken out. Pages that are indexed into another
collection meanwhile are found by a further pass, which writes only what is missing.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import numpy as np

from streams.errors import PoisonError
from streams.statements.codec import PageStatements, decode_statements
from streams.stores.opener import Stores
from streams.stores.protocols import Embedder, ModelInfo, PartProgress, Vectors
from streams.vectors.batching import TextBatcher
from streams.vectors.codec import decode_vectors
from streams.vectors.generations import superseded_below
from streams.vectors.points import points_of, texts_of
from streams.vectors.recall import Recall, recall_of

FIRST_TOKEN, LAST_TOKEN = -(2**63), 2**63 - 1
PARTS = 64
"""Parts of the ring of tokens, each with a progress of its own."""
SCANNED_PAGES = 100
"""Maximum pages of one request of the scan, and between two writes of the progress."""
AT_ONCE = 8
"""Maximum pages in progress."""
SAMPLED_PAGES = 100
"""Maximum pages that are compared with their statements at the end."""
SAMPLED_VECTORS = 50
"""Maximum statements whose nearest vectors are compared with those of an exact search."""

Record = Mapping[str, Any]


@dataclass(slots=True)
class Outcome:
    """The result of one pass over the pages."""

    pages: int = 0
    """Pages of the index that were visited."""
    statements: int = 0
    """Their statements."""
    written: int = 0
    """Pages that the collection lacked."""
    written_statements: int = 0
    embedded: int = 0
    """Statements that passed through the model."""
    failed: list[str] = field(default_factory=list)
    """Pages whose statements are missing or damaged, with the reason."""


@dataclass(frozen=True, slots=True)
class Verification:
    """A comparison of the collection with the records."""

    pages: int
    wrong: tuple[str, ...]
    """URLs of pages whose statements differ."""
    recall: float
    """Share of the exact nearest statements that a search finds."""
    statements: int

    @property
    def passed(self) -> bool:
        return not self.wrong and self.recall >= LEAST_RECALL


LEAST_RECALL = 0.95
"""Minimum recall in a sample for a collection to be searched."""


class Pace:
    """Limits the number of statements in a second. 0: no limit."""

    def __init__(
        self,
        per_second: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._per_second, self._clock, self._sleep = per_second, clock, sleep
        self._next = clock()

    async def wait(self, statements: int) -> None:
        """Return when so many statements may be written."""
        if not self._per_second:
            return
        now = self._clock()
        start = max(self._next, now)
        self._next = start + statements / self._per_second
        if start > now:
            await self._sleep(start - now)


class Reindexer:
    """Fills the collection of one model."""

    def __init__(self, stores: Stores, embedder: Embedder, *, host: str = "", per_second: float = 0.0) -> None:
        self._stores, self._host = stores, host
        self._batcher = TextBatcher(embedder)
        self._embedder = embedder
        self._pace = Pace(per_second)
        self.outcome = Outcome()

    async def run(self, *, again: bool = False) -> AsyncIterator[Outcome]:
        """Visit all pages that are not done yet, or all (`again`), and yield the outcome so far after each request."""
        model = await self._embedder.info()
        collection = await self._stores.vectors.ensure(model)
        if again:
            await self._stores.reindexing.clear(collection, self._host)
        done = await self._stores.reindexing.progress(collection, self._host)
        for part in range(PARTS):
            _, last = part_tokens(part)
            progress = done.get(part) or PartProgress(part_tokens(part)[0])
            while found := await self._stores.pages.scan(progress.token, last, SCANNED_PAGES):
                pages, statements = await self._write_all([page_id for _, page_id in found], model, collection)
                progress = PartProgress(found[-1][0], progress.pages + pages, progress.statements + statements)
                # The progress is written last: a page that was interrupted is visited again.
                await self._stores.reindexing.put(collection, self._host, part, progress)
                yield self.outcome
            await self._stores.reindexing.put(
                collection, self._host, part, PartProgress(last, progress.pages, progress.statements)
            )
        await self._stores.reindexing.clear(collection, self._host)

    async def close(self) -> None:
        await self._batcher.close()

    async def _write_all(self, page_ids: Sequence[UUID], model: ModelInfo, collection: str) -> tuple[int, int]:
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(page_id: UUID) -> int:
            async with slots:
                return await self._write(page_id, model, collection)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(page_id)) for page_id in page_ids]
        counts = [task.result() for task in tasks]
        return sum(count >= 0 for count in counts), sum(max(count, 0) for count in counts)

    async def _write(self, page_id: UUID, model: ModelInfo, collection: str) -> int:
        """Write one page if the collection lacks it. Returns its number of statements, or -1 for a page without any."""
        parts = await self._stores.pages.get(page_id)
        indexed = searchable(parts)
        if indexed is None or not self._wanted(indexed):
            return -1
        count, generation = int(indexed["statements"]), int(indexed["generation"])
        self.outcome.pages += 1
        self.outcome.statements += count
        if await self._stores.vectors.count(collection, page_id, generation) == count:
            return count
        await self._pace.wait(count)
        try:
            page = decode_statements(await self._stores.blobs.get(statements_ref(parts)))
            vectors = await self._vectors(parts, page, model)
        except PoisonError as error:
            self.outcome.failed.append(f"{indexed.get('url', page_id)}: {error}")
            return -1
        points = await asyncio.to_thread(points_of, page, vectors, generation)
        await self._stores.vectors.upsert(collection, points)
        await self._stores.vectors.remove_page(
            collection, page_id, before_generation=generation + 1, keep=[point.id for point in points]
        )
        await self._remove_if_replaced(page_id, generation, collection)
        self.outcome.written += 1
        self.outcome.written_statements += count
        return count

    async def _remove_if_replaced(self, page_id: UUID, generation: int, collection: str) -> None:
        """Take out points that a removal or a newer fetch has replaced since the records were read."""
        below = superseded_below(await self._stores.pages.get(page_id), generation)
        if below is not None:
            await self._stores.vectors.remove_page(collection, page_id, before_generation=below)

    async def _vectors(self, parts: Mapping[Any, Record], page: PageStatements, model: ModelInfo) -> Vectors:
        embedded, reference = parts.get("embedded", {}), statements_ref(parts)
        of_model = (embedded.get("model"), embedded.get("model_version")) == (model.name, model.version)
        if of_model and embedded.get("statements_ref") == reference:
            try:
                return decode_vectors(await self._stores.blobs.get(embedded["vectors_ref"]), reference)
            except PoisonError:
                pass  # the blob is damaged or gone: embed again
        texts = texts_of(page)
        self.outcome.embedded += len(texts)
        return await self._batcher.embed(texts) if texts else np.empty((0, model.dimensions), np.float32)

    def _wanted(self, indexed: Record) -> bool:
        return not self._host or urlsplit(str(indexed.get("url", ""))).netloc == self._host

    async def verify(self, *, seed: int = 0) -> Verification:
        """Compare a sample of pages with their statements, and of statements with an exact search."""
        chance = random.Random(seed)  # noqa: S311 - a sample, no secret
        collection = await self._stores.vectors.ensure(await self._embedder.info())
        sample = await self._sample(chance)
        wrong, texts = [], []
        for page_id in sample:
            parts = await self._stores.pages.get(page_id)
            indexed = searchable(parts)
            if indexed is None:  # removed meanwhile
                continue
            page = decode_statements(await self._stores.blobs.get(statements_ref(parts)))
            held = {hit.id for hit in await self._stores.vectors.scroll(collection, page_id)}
            if held != {statement.id for statement in page.statements}:
                wrong.append(str(indexed.get("url", page_id)))
            texts += [
                statement.in_context for statement in chance.sample(page.statements, min(1, len(page.statements)))
            ]
        recall = await self._recall(collection, texts[:SAMPLED_VECTORS])
        return Verification(len(sample), tuple(wrong), recall, await self._stores.vectors.count(collection))

    async def _sample(self, chance: random.Random) -> list[UUID]:
        """Searchable pages from all parts of the ring."""
        found: list[UUID] = []
        for _ in range(4 * SAMPLED_PAGES):
            if len(found) == SAMPLED_PAGES:
                break
            token = chance.randint(FIRST_TOKEN, LAST_TOKEN)
            rows = await self._stores.pages.scan(token, LAST_TOKEN, 1)
            page_id = rows[0][1] if rows else None
            if page_id is None or page_id in found:
                continue
            indexed = searchable(await self._stores.pages.get(page_id))
            if indexed is not None and self._wanted(indexed):
                found.append(page_id)
        return found

    async def _recall(self, collection: str, texts: Sequence[str]) -> float:
        if not texts:
            return 1.0
        vectors = await self._embedder.embed(texts)
        recalls = [await recall_of(self._stores.vectors, collection, vector.tolist()) for vector in vectors]
        return Recall(sum(each.found for each in recalls), sum(each.expected for each in recalls)).share


def part_tokens(part: int) -> tuple[int, int]:
    """The tokens of a part of the ring: above the first, and at most the second.

    The first part leaves out the lowest token, which no page has: Cassandra's hash never gives it.
    """
    width = 2**64 // PARTS
    first = FIRST_TOKEN + part * width
    return first if part == 0 else first - 1, FIRST_TOKEN + (part + 1) * width - 1


def searchable(parts: Mapping[Any, Record]) -> Record | None:
    """The page's record `indexed`, if nothing has removed the page since."""
    indexed, removed = parts.get("indexed"), parts.get("removed", {})
    if not indexed or "generation" not in indexed or int(removed.get("generation", -1)) >= int(indexed["generation"]):
        return None
    return indexed


def statements_ref(parts: Mapping[Any, Record]) -> str:
    """The reference of the indexed statements. Raises PoisonError for records of a release that didn't keep it."""
    indexed, chunked = parts.get("indexed", {}), parts.get("chunked", {})
    reference = indexed.get("statements_ref")
    if not reference and chunked.get("generation") == indexed.get("generation"):
        reference = chunked.get("statements_ref")
    if not reference:
        raise PoisonError("its record has no reference to its statements: replay it from an earlier stage")
    return str(reference)
