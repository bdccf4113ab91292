"""Reindexing: write all pages to a model's collection, from the statements that Cassandra keeps, without a crawl.

It fills the collection of a new model while searches read the former one, and restores a lost vector index.
Pages are visited by token, so each part of the ring can go on where it stopped. A page is written if its record
`indexed` is newer than its record `removed`, and if the collection doesn't hold it as recorded
(`streams.maintenance.page_writer`).

Pages may change meanwhile. Those that are indexed into another collection are found by a further pass, which writes
only what is missing. The verification writes them too: during a crawl, there are always some since the last pass.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, TypeAlias
from urllib.parse import urlsplit
from uuid import UUID

from streams.errors import PoisonError
from streams.maintenance.mending import Mended, Mender
from streams.maintenance.page_writer import Outcome, Pace, PageWriter, Target
from streams.maintenance.recomputing import Recomputer, read_statements
from streams.maintenance.sampling import FIRST_TOKEN, sample_pages
from streams.models.protocols import Embedder
from streams.statements.statement import PageStatements
from streams.stores.opener import Stores
from streams.stores.protocols import Notes
from streams.stores.rows import pack_row, unpack_row
from streams.vectors.page_records import IndexedPage, indexed_page
from streams.vectors.recall import Recall, recall_of

PARTS = 64
"""Parts of the ring of tokens, each with a progress of its own."""
SCANNED_PAGES = 100
"""Maximum pages of one request of the scan. The progress is written after each request."""
AT_ONCE = 8
"""Maximum pages in progress."""
SAMPLED_PAGES = 100
"""Maximum pages that the verification compares with their statements."""
SAMPLED_VECTORS = 50
"""Maximum statements whose nearest vectors are compared with the results of an exact search."""
LEAST_RECALL = 0.95
"""Minimum recall in a sample for a collection to be searched."""

Fault: TypeAlias = Literal["no-pages", "wrong-pages", "low-recall", "failed-pages"]
"""The reasons why searches must not read a collection."""


KEPT_SECONDS = 30 * 86_400
"""Time after which a run that was stopped begins anew (seconds)."""


@dataclass(frozen=True, slots=True)
class PartProgress:
    """The progress of one part of the ring of tokens."""

    token: int
    """The last token that is done."""
    pages: int = 0
    """Number of pages of this part that were written."""
    statements: int = 0


async def read_progress(notes: Notes, collection: str, host: str) -> dict[int, PartProgress]:
    """Return the progress of each part of the ring of tokens that was begun."""
    found = await notes.of_shelf(_shelf(collection, host))
    return {int(part): unpack_row(PartProgress, value) for part, value in found.items()}


async def put_progress(notes: Notes, collection: str, host: str, part: int, progress: PartProgress) -> None:
    await notes.put(_shelf(collection, host), str(part), pack_row(progress), seconds=KEPT_SECONDS)


async def clear_progress(notes: Notes, collection: str, host: str) -> None:
    await notes.clear(_shelf(collection, host))


def _shelf(collection: str, host: str) -> str:
    return f"reindex {collection} {host}"


@dataclass(frozen=True, slots=True)
class Verification:
    """A comparison of the collection with the records."""

    pages: int
    """Pages that were compared."""
    wrong: tuple[str, ...]
    """URLs of pages that the collection doesn't hold as recorded."""
    failed: tuple[str, ...]
    """Pages whose statements are missing or damaged, so that they can't be compared, with the reason."""
    recall: float
    """Share of the exact nearest statements that a search finds."""
    statements: int

    @property
    def faults(self) -> list[Fault]:
        """The reasons why searches must not read the collection. Pages that can't be read are left out: an operator may
        accept them."""
        found: dict[Fault, bool] = {
            "no-pages": self.pages == 0,
            "wrong-pages": len(self.wrong) > 0,
            "low-recall": self.recall < LEAST_RECALL,
        }
        return [fault for fault, is_so in found.items() if is_so]

    @property
    def passed(self) -> bool:
        return not self.faults


class Reindexer:
    """The job that fills the collection of one model. It may also mend what is stored of the pages."""

    def __init__(
        self,
        stores: Stores,
        embedder: Embedder,
        *,
        host: str = "",
        per_second: float = 0.0,
        recomputer: Recomputer | None = None,
    ) -> None:
        """With a `recomputer`, the first pass also compares each page with the models' answers, and mends the page."""
        self._stores = stores
        self.host = host
        """The only host with pages to visit, as in their URLs. Empty: all hosts."""
        self._embedder = embedder
        self._pace = Pace(per_second)
        self._writer = PageWriter(stores, embedder, self._pace)
        self._mender = Mender(stores, recomputer, self._writer) if recomputer else None
        self.share = 0.0
        """The part of the ring of tokens that the present pass has visited."""
        self._visited: list[UUID] = []
        """The first pages of the index that the present pass visited."""

    @property
    def outcome(self) -> Outcome:
        return self._writer.outcome

    @property
    def mended(self) -> Mended | None:
        """The result of the comparison with the models' answers; None without a comparison."""
        return self._mender.outcome if self._mender else None

    async def run(self, *, again: bool = False) -> AsyncIterator[Outcome]:
        """Visit the pages not done yet, or all pages (`again`). Yield the outcome so far after each request."""
        target = await self._target()
        mender = None if again else self._mender
        self._visited.clear()
        job = f"{target.collection} recomputed" if mender else target.collection
        if again:
            await clear_progress(self._stores.notes, job, self.host)
        done = await read_progress(self._stores.notes, job, self.host)
        for part in range(PARTS):
            self.share = part / PARTS
            _, last = part_tokens(part)
            progress = done.get(part) or PartProgress(part_tokens(part)[0])
            while found := await self._stores.pages.scan(progress.token, last, SCANNED_PAGES):
                pages, statements = await self._visit_all([page_id for _, page_id in found], target, mender)
                progress = PartProgress(found[-1][0], progress.pages + pages, progress.statements + statements)
                # The progress is written last: a page that was interrupted is visited again.
                await put_progress(self._stores.notes, job, self.host, part, progress)
                yield self.outcome
            done_part = PartProgress(last, progress.pages, progress.statements)
            await put_progress(self._stores.notes, job, self.host, part, done_part)
        await clear_progress(self._stores.notes, job, self.host)

    async def texts(self) -> AsyncIterator[Sequence[str]]:
        """Yield the texts of each page that a run would embed now. Pages that can't be read are left out."""
        target = await self._target()
        token, last = part_tokens(0)[0], part_tokens(PARTS - 1)[1]
        while found := await self._stores.pages.scan(token, last, SCANNED_PAGES):
            token = found[-1][0]
            for _, page_id in found:
                record = await self._stores.pages.get(page_id)
                page = indexed_page(page_id, record)
                if page is not None and self._wanted(page):
                    with suppress(PoisonError):  # the run names it
                        yield await self._writer.texts_to_embed(page, record, target)

    async def close(self) -> None:
        await self._writer.close()

    async def _target(self) -> Target:
        model = await self._embedder.info()
        return Target(await self._stores.vectors.ensure(model), model)

    async def _visit_all(self, page_ids: Sequence[UUID], target: Target, mender: Mender | None) -> tuple[int, int]:
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(page_id: UUID) -> int:
            async with slots:
                return await self._visit(page_id, target, mender)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(page_id)) for page_id in page_ids]
        counts = [task.result() for task in tasks]
        written = [page_id for page_id, count in zip(page_ids, counts, strict=True) if count >= 0]
        self._visited += written[: SAMPLED_PAGES - len(self._visited)]
        return len(written), sum(max(count, 0) for count in counts)

    async def _visit(self, page_id: UUID, target: Target, mender: Mender | None) -> int:
        """Write one page if the collection lacks it. Return its number of statements; -1 for a page without any."""
        record = await self._stores.pages.get(page_id)
        page = indexed_page(page_id, record)
        if page is None or not self._wanted(page):
            return -1
        self.outcome.pages += 1
        self.outcome.statements += page.statements
        try:
            if mender:
                await self._pace.wait(page.statements)
                record = await mender.mend(page, record, target)
                page = indexed_page(page_id, record) or page
            await self._writer.write(page, record, target)
        except PoisonError as error:
            # A page that was removed on request since has no statements any more.
            if await self._writer.read_recorded(page_id) == page:
                self.outcome.failed.append(_failure(page, error))
            return -1
        return page.statements

    def _wanted(self, page: IndexedPage) -> bool:
        return not self.host or urlsplit(page.url).netloc == self.host

    async def verify(self, *, seed: int = 0) -> Verification:
        """Compare a sample of pages with their statements, and of statements with an exact search."""
        chance = random.Random(seed)  # noqa: S311 - a sample, no secret
        target = await self._target()
        compared: list[PageStatements] = []
        wrong, failed = [], []
        for page_id in await self._sample(chance):
            page = await self._writer.read_recorded(page_id)
            if page is None:  # removed meanwhile
                continue
            try:
                statements = await read_statements(self._stores, page)
                is_right = await self._is_right(page, statements, target)
            except PoisonError as error:
                if await self._writer.read_recorded(page_id) == page:
                    failed.append(_failure(page, error))
                continue
            compared.append(statements)
            if not is_right:
                wrong.append(page.url)
        texts = [chance.choice(page.statements).in_context for page in compared if page.statements]
        recall = await self._recall(target.collection, texts[:SAMPLED_VECTORS])
        count = await self._stores.vectors.count(target.collection)
        return Verification(len(compared), tuple(wrong), tuple(failed), recall, count)

    async def _is_right(self, page: IndexedPage, statements: PageStatements, target: Target) -> bool:
        """Return True if the collection holds the page as recorded, or if the page changed since the last pass.

        A page that differs from what the passes saw was indexed since, by a worker with the former model. It is
        written here, as in the next pass. A page that the passes wrote, and that is no longer there, is a fault.
        """
        if not self._writer.knows(page):
            await self._writer.write(page, await self._stores.pages.get(page.page_id), target)
        right = await self._writer.holds(page, statements, target)
        return right or await self._writer.read_recorded(page.page_id) != page

    async def _sample(self, chance: random.Random) -> list[UUID]:
        """Return searchable pages from all parts of the ring. A host has few: its first visited pages are added."""
        found = await sample_pages(self._stores.pages, chance, SAMPLED_PAGES, self._wanted)
        visited = [page_id for page_id in self._visited if page_id not in found]
        return found + visited[: SAMPLED_PAGES - len(found)]

    async def _recall(self, collection: str, texts: Sequence[str]) -> float:
        if not texts:
            return 1.0
        vectors = await self._embedder.embed(texts, "passage")
        recalls = [await recall_of(self._stores.vectors, collection, vector.tolist()) for vector in vectors]
        return Recall(sum(each.found for each in recalls), sum(each.expected for each in recalls)).share


def part_tokens(part: int) -> tuple[int, int]:
    """Return the tokens of a part of the ring: above the first, and at most the second.

    The first part leaves out the lowest token: Cassandra's hash never gives it, so no page has it.
    """
    width = 2**64 // PARTS
    first = FIRST_TOKEN + part * width
    return first if part == 0 else first - 1, FIRST_TOKEN + (part + 1) * width - 1


def _failure(page: IndexedPage, error: PoisonError) -> str:
    return f"{page.url}: {error}"
