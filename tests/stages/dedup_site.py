"""A dedup stage over memory stores, events for it, and stores that fail."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from schemas import Envelope, Event, PageDeduplicated, PageNormalized, PageRemoved, PageSettled
from schemas.envelope import utc_from_micros
from schemas.ids import event_id, page_id
from streams.crawl.urls import host_of
from streams.dedup.agent import DedupAgent
from streams.dedup.sandbox_tasks import TASKS
from streams.pages.document.codec import encode_document
from streams.pages.document.model import Block, Document
from streams.pages.normalize import content_hash
from streams.runtime.agent import Delivery
from streams.stores.opener import Stores, memory_stores
from streams.stores.protocols import FrontierUrl
from streams.topology import VERSIONS
from tests.frontier_rows import put_urls
from tests.inline_sandbox import InlineSandbox

NOW = 1_700_000_000_000_000
SECOND = 1_000_000
MODEL = "feature-hashing"
"""Name of the embedding model in memory."""
BY_THE_MODEL = {"model": MODEL, "model_version": "1", "made": VERSIONS}
"""The facts in the record of a page that this release indexed."""
VOCABULARY = [f"word{number}" for number in range(2_000)]


def text_of(seed: int, words: int = 300) -> str:
    return " ".join(random.Random(seed).choices(VOCABULARY, k=words))


def edited(text: str, count: int, seed: int = 0) -> str:
    """The text with `count` consecutive words replaced."""
    words = text.split()
    start = random.Random(seed).randrange(len(words) - count)
    words[start : start + count] = [f"new{seed}x{number}" for number in range(count)]
    return " ".join(words)


@dataclass
class Site:
    """A stage over memory stores, and events for it."""

    stores: Stores = field(default_factory=memory_stores)

    @property
    def agent(self) -> DedupAgent:
        """A new agent each time, since a stage needs nothing that is in memory only."""
        return DedupAgent(self.stores, InlineSandbox(TASKS))

    async def normalized(
        self, url: str, text: str, at: int = 0, canonical: str | None = None, found_on: str = ""
    ) -> Delivery:
        await self.linked(url, found_on)
        ref = await self.stores.blobs.put(encode_document(Document(url, blocks=(Block("p", text),))))
        event = PageNormalized(
            page_id=page_id(url),
            url=url,
            generation=NOW + at * SECOND,
            document_ref=ref,
            content_hash=content_hash(text),
            canonical_url=canonical,
        )
        return delivery(event, NOW + at * SECOND)

    def removed(self, url: str, reason: str, at: int) -> Delivery:
        event = PageRemoved.model_validate(
            {"page_id": page_id(url), "url": url, "generation": NOW + at * SECOND, "reason": reason}
        )
        return delivery(event, NOW + at * SECOND)

    async def linked(self, url: str, source: str = "") -> None:
        """Note in the frontier that a page links to the URL: by default the start page of the URL's own host."""
        referrer = source or f"https://{host_of(url)}/"
        row = FrontierUrl(page_id(url), url, host_of(url), "done", at=1, why="link", referrer=referrer)
        await put_urls(self.stores.frontier, [row])

    async def normalize(
        self, url: str, text: str, at: int = 0, canonical: str | None = None, found_on: str = ""
    ) -> list[str]:
        return summary(await self.agent.handle(await self.normalized(url, text, at, canonical, found_on)))

    async def representative_of(self, url: str) -> str:
        found = await self.stores.fingerprints.get(page_id(url))
        assert found is not None
        assert found.representative is not None
        representative = await self.stores.fingerprints.get(found.representative)
        assert representative is not None
        return representative.url

    def state(self) -> Any:
        fingerprints: Any = self.stores.fingerprints
        pages: Any = self.stores.pages
        return (
            dict(fingerprints._rows),
            dict(fingerprints._decisions),
            dict(fingerprints._alias_evidence),
            {page: dict(cells) for page, cells in pages._cells.items()},
        )


def delivery(event: Event, at: int) -> Delivery:
    time = utc_from_micros(0) + timedelta(microseconds=at)
    identity = event_id(event.event_type(), str(at), event.key())
    envelope = Envelope(id=identity, type=event.event_type(), source="/riffle/test", time=time)
    return Delivery(event, envelope, event.topic, 0, 0)


def later(one: Delivery, microseconds: int) -> Delivery:
    """The same fetch again, from a normalizer that was restarted or replays it."""
    envelope = one.envelope.model_copy(update={"time": one.time + timedelta(microseconds=microseconds)})
    return replace(one, envelope=envelope)


def summary(events: Sequence[Event]) -> list[str]:
    """One line per event."""
    lines = []
    for event in events:
        if isinstance(event, PageDeduplicated):
            lines.append(f"{event.url} {event.verdict}")
            lines += [f"{event.url} settled {event.settles}"] if event.settles else []
        elif isinstance(event, PageRemoved):
            lines.append(f"{event.url} removed {event.reason}")
        elif isinstance(event, PageSettled):
            lines.append(f"{event.url} settled {event.verdict}")
    return lines


def variants_of(url: str, count: int) -> list[str]:
    """Variants of a URL, from the best to the worst by the election's rules: each has a parameter more."""
    return [url] + [f"{url}?{'&'.join(f'p{number}' for number in range(length))}" for length in range(1, count)]


A, B, C = "https://a.test/page", "https://a.test/page?from=b", "https://a.test/page?from=b&to=c"
"""Three variants of a URL, from the best to the worst by the election's rules."""
TEXT = text_of(1)
NEAR = edited(TEXT, 6)


class Crash(Exception):
    pass


class _Breaking:
    """A store that raises Crash once its budget of calls is used up."""

    def __init__(self, inner: Any, budget: list[int]) -> None:
        self._inner, self._budget = inner, budget

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)

        async def call(*args: Any) -> Any:
            self._budget[0] -= 1
            if self._budget[0] < 0:
                raise Crash
            return await method(*args)

        return call


async def cut_off(stores: Stores, one: Delivery, left: list[int]) -> bool:
    """Handle an event with a budget of store calls (`left[0]`). Returns whether it crashed."""
    breaking = Stores(
        blobs=_Breaking(stores.blobs, left),
        pages=_Breaking(stores.pages, left),
        ledger=_Breaking(stores.ledger, left),
        fingerprints=_Breaking(stores.fingerprints, left),
        frontier=_Breaking(stores.frontier, left),
        embedder=stores.embedder,
    )
    try:
        await DedupAgent(breaking, InlineSandbox(TASKS)).handle(one)
    except Crash:
        return True
    return False
