"""All stages from a fetched body to the index over memory stores, with a count of what they write and compute."""

from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from schemas import (
    Envelope,
    Event,
    PageChunked,
    PageDeduplicated,
    PageEmbedded,
    PageFetched,
    PageNormalized,
    PageRemoved,
    PageSettled,
)
from schemas.envelope import utc_from_micros
from schemas.ids import event_id, page_id
from streams.crawl.urls import host_of
from streams.dedup.agent import DedupAgent
from streams.dedup.sandbox_tasks import TASKS
from streams.ledger.agent import LedgerAgent
from streams.pages.agent import NormalizeAgent
from streams.pages.sandbox.pool import ParsePool
from streams.runtime.agent import Agent, Delivery
from streams.statements.agent import StatementsAgent
from streams.statements.sandbox_tasks import DRAFT
from streams.stores.blobs import PartWriter
from streams.stores.opener import Stores, memory_stores
from streams.stores.page_record import Fetched
from streams.vectors.embed_agent import EmbedAgent
from streams.vectors.index_agent import IndexAgent
from tests.inline_sandbox import InlineSandbox

START = 1_700_000_000_000_000
SECOND = 1_000_000


def settlements(events: Sequence[Event]) -> list[PageSettled]:
    """Return the final results of fetches, of the events that settle one."""
    found = (event.settled() if isinstance(event, PageDeduplicated) else event for event in events)
    return [event for event in found if isinstance(event, PageSettled)]


Interrupt = tuple[type[Event], Callable[[], Awaitable[object]]]


class _Counting:
    """A store that counts its calls by name."""

    def __init__(self, store: Any, name: str, calls: Counter[str]) -> None:
        self._store, self._name, self._calls = store, name, calls

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if callable(found):
            self._calls[f"{self._name}.{name}"] += 1
        return found


@dataclass
class WholeJourney:
    """The stages, their stores, and the calls of the stores."""

    pool: ParsePool
    stores: Stores = field(default_factory=memory_stores)
    calls: Counter[str] = field(default_factory=Counter)
    ordinal: int = 0
    now: int = START
    """The time at which events are handled, microseconds since 1970 UTC."""
    with_record: bool = True
    """False: the blobs of pages that are fetched now are stored by themselves, as of pages that are visited often."""

    def __post_init__(self) -> None:
        counted = Stores(**{name: getattr(self.stores, name) for name in Stores.__slots__})
        for name in ("blobs", "pages", "fingerprints", "embedder", "vectors"):
            setattr(counted, name, _Counting(getattr(self.stores, name), name, self.calls))
        dedup, index = DedupAgent(counted, InlineSandbox(TASKS)), IndexAgent(counted)
        self._stages: dict[type[Event], list[Agent]] = {
            PageFetched: [NormalizeAgent(counted, self.pool, now=lambda: self.now)],
            PageNormalized: [dedup],
            PageDeduplicated: [StatementsAgent(counted, InlineSandbox((DRAFT,)))],
            PageChunked: [EmbedAgent(counted)],
            PageEmbedded: [index],
            PageRemoved: [dedup, index],
        }
        self._ledger = LedgerAgent(counted.ledger, max_gathering_seconds=0)

    async def fetch(self, url: str, body: str, at: int, **headers: str) -> list[Event]:
        """A page is fetched, and all stages handle what follows. Returns the events."""
        writer = PartWriter(self.stores.blobs, self.stores.pages, page_id(url), with_record=self.with_record)
        ref = await writer.add(body.encode())
        event = PageFetched(
            page_id=page_id(url),
            url=url,
            host=host_of(url),
            outcome="ok",
            generation=START + at * SECOND,
            body_ref=ref,
            headers={name.replace("_", "-"): value for name, value in headers.items()},
        )
        await writer.put(Fetched.of_event(event), event.generation)
        return await self.handle(event, at)

    async def remove(self, url: str, at: int, reason: str = "request") -> list[Event]:
        fields = {"page_id": page_id(url), "url": url, "generation": START + at * SECOND, "reason": reason}
        return await self.handle(PageRemoved.model_validate(fields), at)

    async def handle(self, first: Event, at: int, interrupt: Interrupt | None = None) -> list[Event]:
        """All stages handle an event and what follows. Returns these events.

        `interrupt`: a type, and what happens before the first event of this type is handled.
        """
        waiting, handled = deque([first]), []
        self.now = START + at * SECOND
        while waiting:
            event = waiting.popleft()
            if interrupt and isinstance(event, interrupt[0]):
                await interrupt[1]()
                interrupt = None
            handled.append(event)
            delivery = self._delivery(event, at)
            if hasattr(event, "page_id"):
                await self._ledger.handle(delivery)
            outputs: Sequence[Event] = ()
            for agent in self._stages.get(type(event), ()):
                outputs = await agent.handle(delivery)
                waiting.extend(outputs)
        return handled

    def _delivery(self, event: Event, at: int) -> Delivery:
        self.ordinal += 1
        time = utc_from_micros(START + at * SECOND) + timedelta(microseconds=self.ordinal)
        identity = event_id(event.event_type(), str(self.ordinal), event.key())
        envelope = Envelope(id=identity, type=event.event_type(), source="/test", time=time)
        return Delivery(event, envelope, event.topic, 0, 0)
