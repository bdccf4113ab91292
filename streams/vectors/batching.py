"""Statements of several pages become vectors, in batches that keep the model busy and hold each text once.

Between the pages that are being read and the model is a bounded queue: a page waits for room in it, so memory doesn't
grow with the waiting pages. Batches are made of texts of about the same length, of any pages, so that there is little
padding even where pages are short. The oldest text is always in the next batch.

A text that is waiting or was embedded lately is not embedded again (licences, lists of the same values on many pages).
Equal texts have equal vectors, so this only saves time. Nothing here outlives the process: after a crash the events are
delivered again.

Long pages take turns: a worker works on one at a time.
"""

import asyncio
from bisect import insort
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from time import perf_counter
from typing import Literal

import numpy as np

from streams.caches import RecentCache
from streams.models.protocols import Embedder, ModelInfo, Vectors
from streams.runtime.agent import Delivery
from streams.statements.statement import Key, text_key
from streams.tracing import INTERNAL, span
from streams.vectors.brought import Half

BATCH_TEXTS = 64
"""Maximum texts of a batch: as many as the local model takes at once."""
IN_FLIGHT = 4
"""Maximum batches at the model: two that run on two cores, and the next two, so that no instance waits for a batch."""
IDLE_BELOW = 2
"""Number of batches at the model below which an instance may be idle."""
WAITING_TEXTS = 1_024
"""Maximum texts that wait for the model. A page with more statements hands its statements over part by part."""
RECENT_TEXTS = 32_768
"""Maximum recent texts whose vectors are kept: 768 bytes each at 384 dimensions, about 30 MB in all."""
LONG_STATEMENTS = 4_000
"""Minimum number of statements of a long page. Of 540 pages of manuals, the longest had 3,100."""
LOOK_SECONDS = 60.0
"""Time after which a page that waits for its turn says so (seconds)."""

Source = Literal["embedded", "repeated", "recent", "former"]
"""The origin of a text's vector: the model; an equal text that was waiting; an equal text that was embedded lately; the
page's earlier fetch, or the index that handed the page on."""


@dataclass(slots=True, eq=False)
class _Waiting:
    """A text that waits for its vector, and the number of pages' tasks that wait for the vector."""

    key: Key
    text: str
    order: int
    vector: asyncio.Future[Half]
    users: int = 0


@dataclass(slots=True)
class Counts:
    """Numbers since the start of the process."""

    texts: dict[Source, int] = field(
        default_factory=lambda: dict.fromkeys(("embedded", "repeated", "recent", "former"), 0)
    )
    batches: int = 0
    busy_seconds: float = 0.0
    """Seconds in which the model had at least one batch."""


class TextBatcher:
    """The embedder of one process's texts, for one model at a time."""

    def __init__(
        self,
        embedder: Embedder,
        *,
        batch_texts: int = BATCH_TEXTS,
        in_flight: int = IN_FLIGHT,
        waiting_texts: int = WAITING_TEXTS,
        recent_texts: int = RECENT_TEXTS,
    ) -> None:
        self.embedder = embedder
        self.counts = Counts()
        self._batch_texts, self._in_flight = batch_texts, in_flight
        self._room = asyncio.Semaphore(waiting_texts)
        self._recent: RecentCache[Key, Half] = RecentCache(recent_texts)
        self._recent_model: ModelInfo | None = None
        self._waiting: dict[Key, _Waiting] = {}
        self._queue: list[tuple[int, int, _Waiting]] = []
        """The texts that wait, by length and order of arrival."""
        self._order = 0
        self._start_is_due = False
        self._running: set[asyncio.Task[None]] = set()
        self._busy_since = 0.0

    @property
    def waiting(self) -> int:
        """Number of texts that wait for the model."""
        return len(self._queue)

    async def embed(self, texts: Sequence[str], former: Mapping[Key, Half] | None = None) -> Vectors:
        """Return the vectors: shape (len(texts), dimensions), in the precision of stored vectors (float16).

        `former` has the vectors that this model made of the page's earlier statements. Raises the model's errors.
        """
        model = await self.embedder.info()
        if model != self._recent_model:
            self._recent.clear()
            self._recent_model = model
        known: dict[Key, Half] = {}
        keys = [text_key(text) for text in texts]
        mine: list[_Waiting] = []
        try:
            for key, text in zip(keys, texts, strict=True):
                if key not in known:
                    await self._look_up(key, text, known, former or {}, mine)
                else:
                    self.counts.texts["repeated"] += 1
            with span("model batches", {"riffle.texts": len(mine)}, INTERNAL) if mine else nullcontext():
                for one in mine:
                    known[one.key] = await asyncio.shield(one.vector)
        finally:
            self._leave(mine)
        if not keys:
            return np.empty((0, model.dimensions), np.float32)
        return np.stack([known[key] for key in keys]).astype(np.float32)

    async def _look_up(
        self, key: Key, text: str, known: dict[Key, Half], former: Mapping[Key, Half], mine: list[_Waiting]
    ) -> None:
        """Find the vector, or queue its text: then `mine` gets an entry."""
        known[key] = _NOT_YET
        if key in former:
            known[key] = former[key]
            self.counts.texts["former"] += 1
        elif (recent := self._recent.get(key)) is not None:
            known[key] = recent
            self.counts.texts["recent"] += 1
        elif key in self._waiting:
            self._join(self._waiting[key], mine)
            self.counts.texts["repeated"] += 1
        else:
            await self._room.acquire()
            if key in self._waiting or key in self._recent:  # another page brought the text meanwhile
                self._room.release()
                await self._look_up(key, text, known, former, mine)
                return
            self._order += 1
            one = _Waiting(key, text, self._order, asyncio.get_running_loop().create_future())
            self._waiting[key] = one
            insort(self._queue, (len(text), one.order, one))
            self._join(one, mine)
            self.counts.texts["embedded"] += 1
            if not self._start_is_due:
                # Start once the page has handed over as many texts as there is room for: then batches are full.
                self._start_is_due = True
                asyncio.get_running_loop().call_soon(self._start)

    def _join(self, one: _Waiting, mine: list[_Waiting]) -> None:
        one.users += 1
        mine.append(one)

    def _leave(self, mine: Sequence[_Waiting]) -> None:
        """Take out the texts that nobody waits for any more: their event was cancelled, or has failed."""
        for one in mine:
            one.users -= 1
            entry = (len(one.text), one.order, one)
            if not one.users and entry in self._queue:
                self._queue.remove(entry)
                self._waiting.pop(one.key, None)
                self._room.release()

    def _start(self) -> None:
        """Start batches while there are texts for them and the model has room."""
        self._start_is_due = False
        while self._queue and len(self._running) < self._in_flight:
            # A batch that isn't full is sent only where an instance may be idle: more texts are being read meanwhile.
            if len(self._running) >= IDLE_BELOW and len(self._queue) < self._batch_texts:
                return
            if not self._running:
                self._busy_since = perf_counter()
            task = asyncio.create_task(self._run(self._next_batch()))
            self._running.add(task)
            task.add_done_callback(self._note_end)

    def _note_end(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not self._running:
            self.counts.busy_seconds += perf_counter() - self._busy_since
        self._start()

    def _next_batch(self) -> list[_Waiting]:
        """Return the oldest text, with the texts that are nearest to it in length."""
        oldest = min(range(len(self._queue)), key=lambda index: self._queue[index][1])
        first = max(0, min(oldest - self._batch_texts // 2, len(self._queue) - self._batch_texts))
        batch = self._queue[first : first + self._batch_texts]
        del self._queue[first : first + self._batch_texts]
        return [one for _, _, one in batch]

    async def _run(self, batch: Sequence[_Waiting]) -> None:
        self.counts.batches += 1
        try:
            vectors = (await self.embedder.embed([one.text for one in batch], "passage")).astype(np.float16)
        except BaseException as error:
            for one in batch:
                self._release(one)
                if isinstance(error, asyncio.CancelledError):
                    one.vector.cancel()
                elif not one.vector.done():
                    one.vector.set_exception(error)
                    one.vector.exception()  # perhaps nobody waits for the vector any more
            if not isinstance(error, Exception):
                raise
            return
        for one, vector in zip(batch, vectors, strict=True):
            self._release(one)
            self._recent.put(one.key, vector)
            if not one.vector.done():
                one.vector.set_result(vector)

    def _release(self, one: _Waiting) -> None:
        self._waiting.pop(one.key, None)
        self._room.release()

    async def close(self) -> None:
        """Cancel the batches at the model. The tasks that wait for their vectors fail."""
        self._queue.clear()
        for task in list(self._running):
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)


_NOT_YET: Half = np.empty(0, np.float16)


class LongPages:
    """The turn of the long pages of one worker: one takes as much memory as a hundred others.

    A page that waits says now and then that it does, so that its event is not overdue. Other pages go on meanwhile.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def turn(self, delivery: Delivery, statements: int) -> AsyncIterator[None]:
        """Wait for the turn of a long page, and keep it meanwhile. Other pages don't wait."""
        if statements < LONG_STATEMENTS:
            yield
            return
        while not await self._took_turn():
            delivery.note_part()
        try:
            yield
        finally:
            self._turn.release()

    async def _took_turn(self) -> bool:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                return await self._turn.acquire()
        except TimeoutError:
            return False
