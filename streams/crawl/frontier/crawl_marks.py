"""The state of each URL in its crawl, and the counts of these states. Only the frontier writes them.

States and counts of all hosts of a bucket are in one partition of the store, and one write changes both: so the counts
are exact, whenever the process ends. (Not if the store executes a write only after the worker that sent it was
replaced.) States that come during a write are written together in the next write. A reader of a crawl's progress only
reads the counts.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import get_args
from uuid import UUID

from streams.crawl.frontier.fence import Fence
from streams.crawl.frontier.url_table import NUMBERS, UrlTable
from streams.errors import TransientError
from streams.stores.host_buckets import bucket_of
from streams.stores.protocols import CRAWL_BUCKETS, CrawlCounts, CrawlState, FrontierStore

MAX_STATES = 1 << 17
"""Maximum number of states in memory: 1 MB. The state of any other URL is read before it is changed."""
MAX_STATES_PER_WRITE = 400
"""Maximum number of states in one write."""
MAX_WRITERS = 1_024
"""Maximum number of buckets in memory, of all crawls."""
_STATES: tuple[CrawlState, ...] = get_args(CrawlState)
_NUMBERS = {state: number for number, state in enumerate(_STATES)}
assert len(_STATES) <= NUMBERS


@dataclass(slots=True)
class _Batch:
    """States that are written together."""

    states: dict[UUID, CrawlState] = field(default_factory=dict)
    written: bool = False
    error: BaseException | None = None


class _Writer:
    """One worker's writes to one bucket of a crawl."""

    def __init__(self, marks: "CrawlMarks", crawl_id: str, bucket: int, partition: int) -> None:
        self._marks = marks
        self._key = (crawl_id, bucket)
        self._partition = partition
        self._lock = asyncio.Lock()
        self._next = _Batch()
        self._counts: CrawlCounts | None = None
        """None: to be read."""
        self.outdated = False
        """Another worker may have changed the store, so the counts must be read again."""

    async def write(self, states: Mapping[UUID, CrawlState]) -> None:
        batch = self._next
        batch.states.update(states)
        async with self._lock:
            if not batch.written and batch.error is None:
                self._next = _Batch()
                await self._write(batch)
        if batch.error:
            raise TransientError(f"states of a crawl's URLs were not written: {batch.error!r}")

    async def _write(self, batch: _Batch) -> None:
        pages = list(batch.states)
        if self.outdated:
            self._counts, self.outdated = None, False
        try:
            for start in range(0, len(pages), MAX_STATES_PER_WRITE):
                states = {page: batch.states[page] for page in pages[start : start + MAX_STATES_PER_WRITE]}
                self._counts = await self._marks.put(*self._key, self._partition, self._counts, states)
        except BaseException as error:
            # The store may have executed the write, or may execute it later: so the next write has these states again.
            self._counts = None
            self._marks.forget_states(self._key[0], batch.states)
            self._next.states = {**batch.states, **self._next.states}
            batch.error = error
            raise
        batch.written = True

    @property
    def idle(self) -> bool:
        return not self._lock.locked() and not self._next.states


class CrawlMarks:
    """Writes the state of URLs in their crawls."""

    def __init__(
        self, store: FrontierStore, fence: Fence, now: Callable[[], int], partitions: Callable[[], int]
    ) -> None:
        self._store = store
        self._fence = fence
        self._now = now
        self._partitions = partitions
        self._writers: dict[tuple[str, int, int], _Writer] = {}
        """The one first that was used longest ago."""
        self._states = UrlTable(MAX_STATES)
        self._last_at = 0

    async def mark(self, crawl_id: str, host: str, partition: int, states: Mapping[UUID, CrawlState]) -> None:
        """Write the states of URLs of a host in a crawl. A URL without a crawl has no state."""
        if not crawl_id or not states:
            return
        key = (crawl_id, bucket_of(host) % CRAWL_BUCKETS, partition)
        writer = self._writers.pop(key) if key in self._writers else _Writer(self, *key)
        self._writers[key] = writer
        self._forget_idle()
        await writer.write(states)

    async def put(
        self, crawl_id: str, bucket: int, partition: int, counts: CrawlCounts | None, states: Mapping[UUID, CrawlState]
    ) -> CrawlCounts:
        """Write states together with the new counts, and return the counts."""
        owner = f"{partition}/{self._partitions()}"
        await self._fence.require(partition)
        if counts is None:
            counts = await self._store.owner_counts(crawl_id, bucket, owner)
        former = await self._former(crawl_id, bucket, states)
        changed = {page_id: state for page_id, state in states.items() if former.get(page_id) != state}
        if not changed:
            return counts
        number = Counter(counts.urls)
        number.subtract(former[page_id] for page_id in changed if page_id in former)
        number.update(changed.values())
        # Greater than the version of a failed write, too: it may still be executed.
        self._last_at = max(self._now(), counts.at + 1, self._last_at + 1)
        later = replace(counts, urls={state: count for state, count in number.items() if count}, at=self._last_at)
        await self._store.put_states(crawl_id, bucket, changed, owner, later)
        for page_id, state in changed.items():
            self._states.put(crawl_id, page_id, _NUMBERS[state])
        return later

    async def _former(self, crawl_id: str, bucket: int, states: Mapping[UUID, CrawlState]) -> dict[UUID, CrawlState]:
        numbers = {page: self._states.get(crawl_id, page) for page in states}
        known = {page: _STATES[number] for page, number in numbers.items() if number is not None}
        unknown = [page for page in states if page not in known]
        return {**known, **(await self._store.states(crawl_id, bucket, unknown) if unknown else {})}

    def forget_states(self, crawl_id: str, states: Mapping[UUID, CrawlState]) -> None:
        """Forget states that may or may not have been written."""
        for page_id in states:
            self._states.discard(crawl_id, page_id)

    def forget(self) -> None:
        """Forget all that is in memory, after another worker may have changed the store."""
        for writer in self._writers.values():
            writer.outdated = True
        self._states.clear()

    def _forget_idle(self) -> None:
        while len(self._writers) > MAX_WRITERS:
            key = next((key for key, writer in self._writers.items() if writer.idle), None)
            if key is None:
                return
            del self._writers[key]
