"""A small web that changes while a crawl reads it, and all stages over memory stores, in an order that a seed chooses.

Each stage has two workers. At any moment one handles the first event of a topic's key, or two handle events side by
side, one store call after the other. A worker may be killed at any store call, and an event that was handled may come
again. Leases expire: a page is scheduled again before the frontier has read the answer.
"""

import asyncio
import hashlib
import random
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from schemas import (
    Envelope,
    Event,
    LinkFound,
    PageChunked,
    PageDeduplicated,
    PageDiscovered,
    PageEmbedded,
    PageFetched,
    PageNormalized,
    PageRemoved,
    PageScheduled,
)
from schemas.envelope import utc_from_micros
from schemas.ids import event_id, page_id
from streams.crawl.audiences import Audiences, audience_of, change_audiences
from streams.crawl.fetch.agent import FetchAgent
from streams.crawl.fetch.http import Answer
from streams.crawl.fetch.outcomes import Verdict
from streams.crawl.frontier import decisions, outputs
from streams.crawl.frontier.policy import Policy
from streams.crawl.urls import host_of
from streams.dedup.agent import DedupAgent
from streams.dedup.sandbox_tasks import TASKS
from streams.errors import TransientError
from streams.ledger.agent import LedgerAgent
from streams.ledger.history import history_of
from streams.ledger.status import PageStatus, status_of
from streams.maintenance.erasure import Eraser
from streams.pages.agent import NormalizeAgent
from streams.pages.sandbox.pool import ParsePool
from streams.pages.sandbox.worker_messages import EXPLAIN, NORMALIZE, SITEMAP
from streams.runtime.agent import Agent, Delivery
from streams.settings import CrawlSettings
from streams.statements.agent import StatementsAgent
from streams.statements.sandbox_tasks import DRAFT
from streams.stores.opener import Stores, memory_stores
from streams.stores.protocols import FrontierUrl, Site
from streams.stores.removals import is_held_back, withdrawal, withdrawn
from streams.topology import PAGE_EVENTS
from streams.vectors.embed_agent import EmbedAgent
from streams.vectors.index_agent import IndexAgent
from tests.inline_sandbox import InlineSandbox

START = 1_700_000_000_000_000
SECOND = 1_000_000
URLS = ("https://a.test/one", "https://a.test/two", "https://b.test/three")
TEXTS = ("amber", "beryl", "coral")
PRIVATE_HOST = "b.test"
KILLED, AGAIN, AT_ONCE = 0.1, 0.1, 0.2
"""Shares of the events whose worker is killed, that come again, and that are handled beside another one."""
MAX_STEPS = 5_000
"""Number of handled events after which a run has no end."""
SETTINGS = CrawlSettings(delay_seconds=0)
POLICY = Policy.of(SETTINGS)
_READ: dict[str, tuple[type[Event], ...]] = {
    "frontier": (PageDiscovered, PageFetched),
    "fetch": (PageScheduled,),
    "normalize": (PageFetched,),
    "dedup": (PageNormalized, PageRemoved),
    "statements": (PageDeduplicated,),
    "embed": (PageChunked,),
    "index": (PageEmbedded, PageRemoved),
    "ledger": tuple(event for event in PAGE_EVENTS if event not in (PageDiscovered, LinkFound)),
}
_SENTENCES = {
    "en": "The {words} near the {text} was seen by {people} people.",
    "de": "Die Leute haben dort neben dem {text} auch {words} gesehen, und zwar an {people} Tagen.",
}
"""A sentence of a page in each language that it may be in."""
_WORDS = ("fox", "harbour", "lantern", "meadow", "needle", "orchard", "pebble", "quarry", "ribbon", "saddle", "valley")
Lane = tuple[str, str, str]
"""A stage, a topic and a key: events that stay in order."""


class Killed(BaseException):
    """The worker's process ended."""


@dataclass(frozen=True, slots=True)
class State:
    """The answer of a server for one of its pages."""

    kind: str
    """`page`, `noindex` (by its markup), `unlisted` (by a header), `gone` or `moved`."""
    text: str = ""
    target: str = ""
    language: str = "en"
    canonical: str = ""
    """The address that the page names as its canonical URL."""

    @property
    def is_searchable(self) -> bool:
        return self.kind == "page"

    def answer(self, url: str, etag: str | None) -> Answer:
        if self.kind == "gone":
            return Answer(Verdict("gone"), 410)
        if self.kind == "moved":
            return Answer(Verdict("redirect", redirect_to=self.target), 301, {"location": self.target})
        own = hashlib.sha1(repr(self).encode()).hexdigest()
        headers = {"etag": own, "content-type": "text/html", **self._robots()}
        if etag == own:
            return Answer(Verdict("not_modified"), 304, headers)
        return Answer(Verdict("ok"), 200, headers, self._body().encode())

    def _robots(self) -> dict[str, str]:
        return {"x-robots-tag": "noindex"} if self.kind == "unlisted" else {}

    def _body(self) -> str:
        chance = random.Random(self.text)
        lists = [" ".join(chance.choices(_WORDS, k=9)) for _ in range(5)]
        sentence = _SENTENCES[self.language]
        paragraphs = [f"<p>{sentence.format(words=words, text=self.text, people=len(words))}</p>" for words in lists]
        meta = "<meta name=robots content=noindex>" if self.kind == "noindex" else ""
        link = f'<link rel=canonical href="{self.canonical}">' if self.canonical else ""
        head = f"<title>Of {self.text}</title>{meta}{link}"
        return f"<html lang={self.language}>{head}<main><h1>Of {self.text}</h1>{''.join(paragraphs)}</main></html>"


STATES = tuple(State("page", text) for text in TEXTS)


_results: dict[tuple[str, bytes], bytes] = {}


class KnownResults(InlineSandbox):
    """A sandbox that runs each task once for each payload: many runs read the same pages."""

    async def run(self, task: str, payload: bytes) -> bytes:
        key = (task, payload)
        if key not in _results:
            _results[key] = await super().run(task, payload)
        return _results[key]


class _Web:
    """The place of a fetcher's thread."""

    has_ended = False

    def __init__(self, world: "World") -> None:
        self._world = world

    async def get(self, scheduled: PageScheduled, _: object = None) -> Answer:
        return self._world.site[scheduled.url].answer(scheduled.url, scheduled.etag)


class _Watched:
    """A store, each call of which lets others go first, and may be the last of its worker."""

    def __init__(self, store: Any, turn: Callable[[], Any]) -> None:
        self._store, self._turn = store, turn

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        if not asyncio.iscoroutinefunction(method):
            return method

        async def call(*args: Any, **kwargs: Any) -> Any:
            await self._turn()
            return await method(*args, **kwargs)

        return call


class World:
    """The web, the stages, and the events under way."""

    def __init__(
        self, seed: int, *, has_translations: bool = False, has_canonicals: bool = False, stores: Stores | None = None
    ) -> None:
        self.chance = random.Random(seed)
        self.has_translations, self.has_canonicals = has_translations, has_canonicals
        self.now, self.site, self.rows = START, dict.fromkeys(URLS, State("gone")), dict[str, FrontierUrl]()
        self.counts = Counter[str]()
        self._is_read_anew = False
        self._lives: dict[object, int | None] = {}
        self._queues: dict[Lane, deque[Delivery]] = defaultdict(deque)
        self.stores = stores or memory_stores()
        watched = Stores(**{name: getattr(self.stores, name) for name in Stores.__slots__})
        for name in ("blobs", "pages", "fingerprints", "vectors"):
            setattr(watched, name, _Watched(getattr(self.stores, name), self._turn))
        self._workers = [self._agents(watched), self._agents(watched)]
        self._ledger = LedgerAgent(self.stores.ledger, max_gathering_seconds=0)

    def _agents(self, stores: Stores) -> dict[str, Agent]:
        pool = ParsePool(1)
        pool.sandbox = KnownResults((NORMALIZE, EXPLAIN, SITEMAP))
        fetch, index = FetchAgent(SETTINGS, stores, now=lambda: self.now), IndexAgent(stores)
        fetch._thread = _Web(self)  # type: ignore[assignment]  # the place of a real one
        index._audiences = Audiences(stores.api_keys, True, self._later)
        return {
            "fetch": fetch,
            "normalize": NormalizeAgent(
                stores, pool, monotonic=self._later, now=lambda: self.now, has_private_sites=True
            ),
            "dedup": DedupAgent(stores, KnownResults(TASKS)),
            "statements": StatementsAgent(stores, KnownResults((DRAFT,))),
            "embed": EmbedAgent(stores),
            "index": index,
        }

    def _later(self) -> float:
        """Return a time at which nothing that was read before is fresh."""
        self.counts["clock"] += 60
        return self.counts["clock"]

    async def _turn(self) -> None:
        task = asyncio.current_task()
        left = self._lives.get(task)
        if left is not None:
            if left == 0:
                raise Killed
            self._lives[task] = left - 1
        for _ in range(self.chance.randint(1, 4)):
            await asyncio.sleep(0)

    def send(self, event: Event, cause: str, ordinal: int = 0) -> None:
        """Put an event into the queues of the stages that read it."""
        self.now += self.chance.randint(100, 3_000)
        identity = event_id(event.event_type(), cause, event.subject(), ordinal)
        envelope = Envelope(id=identity, type=event.event_type(), source="/test", time=utc_from_micros(self.now))
        delivery = Delivery(event, envelope, event.topic, 0, 0)
        for stage, kinds in _READ.items():
            if isinstance(event, kinds):
                self._queues[stage, event.topic, event.key()].append(delivery)

    def visit(self, url: str, crawl_id: str = "", redirects: int = 0) -> None:
        """Schedule a page, whether its last lease was answered or not."""
        self.now += self.chance.randint(1, 3) * SECOND
        row = self.rows.get(url) or FrontierUrl(page_id(url), url, host_of(url), "queued", at=self.now)
        row = replace(
            row,
            state="queued",
            position=self.now,
            attempt=0,
            forced=True,
            redirects=redirects,
            crawl_id=crawl_id,
            at=decisions.next_version(row, self.now),
        )
        if row.host == PRIVATE_HOST and self._is_read_anew:
            row = decisions.without_validators(row)
        lease = decisions.lease_of(row, POLICY, self.now)
        self.rows[url] = replace(row, lease_generation=lease.generation)
        self.send(outputs.page_scheduled(row, lease, "", 0.0), str(lease.lease_id))

    def _apply(self, event: Event) -> Sequence[Event]:
        """Return what the frontier sends after an event."""
        if isinstance(event, PageDiscovered):
            if event.why == "redirect" and event.redirects <= 3:
                self.visit(event.url, event.crawl_id, event.redirects)
            return []
        assert isinstance(event, PageFetched)
        row = self.rows[event.url]
        later = decisions.apply_fetch(row, event, self.now, POLICY, self.now)
        self.rows[event.url] = later
        return [] if later is row else outputs.fetch_outputs(event, later)

    async def _handle_first(self, lane: Lane) -> None:
        queue, stage = self._queues[lane], lane[0]
        delivery = queue[0]
        try:
            found = await self._outputs(stage, delivery)
        except Killed:
            self.counts["killed"] += 1
            return
        except TransientError:
            self.counts["tried again"] += 1
            queue.rotate(-1)  # through the retry topic
            return
        for ordinal, event in enumerate(found):
            self.send(event, str(delivery.envelope.id), ordinal)
        if self.chance.random() < AGAIN:
            self.counts["again"] += 1
        elif queue and queue[0] is delivery:
            queue.popleft()

    async def _outputs(self, stage: str, delivery: Delivery) -> Sequence[Event]:
        if stage == "frontier":
            return self._apply(delivery.event)
        if stage == "ledger":
            return await self._ledger.handle(delivery)
        task = asyncio.current_task()
        self._lives[task] = self.chance.randint(0, 12) if self.chance.random() < KILLED else None
        try:
            return await self.chance.choice(self._workers)[stage].handle(delivery)
        finally:
            self._lives.pop(task)

    async def run(self, steps: int = MAX_STEPS, *, without: Collection[str] = ()) -> None:
        """Handle events in any order, until none is under way or after this number of steps.

        `without`: the stages whose workers are stopped.
        """
        for _ in range(steps):
            ready = [lane for lane, queue in self._queues.items() if queue and lane[0] not in without]
            if not ready:
                return
            one = self.chance.choice(ready)
            others = [lane for lane in ready if lane[:2] != one[:2] or lane[2] != one[2]]
            if others and self.chance.random() < AT_ONCE:
                await asyncio.gather(self._handle_first(one), self._handle_first(self.chance.choice(others)))
            else:
                await self._handle_first(one)
        assert steps < MAX_STEPS, "the run has no end"

    async def remove(self, url: str) -> None:
        """A person asks for the removal of a page, as `riffle remove` does."""
        record = await self.stores.pages.get(page_id(url))
        self.now += 1
        generation = max([self.now, *(part.generation for part in record.parts()), withdrawn(record) + 1])
        self.send(PageRemoved(page_id=page_id(url), url=url, generation=generation, reason="request"), "remove")

    async def erase(self, url: str) -> bool:
        """Erase a page if all stages have removed it. Returns whether it was erased."""
        eraser = Eraser(self.stores, _report)
        record = await self.stores.pages.get(page_id(url))
        if not is_held_back(record) or not await eraser.is_removed(page_id(url), record.removed.generation):
            return False
        try:
            await eraser.erase([page_id(url)], self.now)
        except TransientError:  # a visit under way wrote the page again: the command says so
            return False
        return True

    async def withdraw(self, url: str) -> None:
        record = await self.stores.pages.get(page_id(url))
        if is_held_back(record):
            part = withdrawal(record, self.now)
            await self.stores.pages.put(page_id(url), part, part.at)

    async def set_private(self, *, private: bool) -> None:
        """Make a host private or public, as `riffle sites add` does. Its pages are read anew then, as by a replay."""
        self._is_read_anew = True
        site = Site("inside", "Inside", (PRIVATE_HOST,), is_private=private)
        self.now += 1
        await self.stores.api_keys.put_site(site, self.now)
        await change_audiences(self.stores.vectors, [PRIVATE_HOST], [site])

    async def status(self, url: str) -> PageStatus:
        return status_of(await history_of(self.stores, page_id(url), url))

    async def faults(self) -> list[str]:
        """Return what is wrong now that no event is under way: pages that are neither right nor explained."""
        found = []
        sites = await self.stores.api_keys.sites()
        searchable, expected = await self._searchable(), dict[str, State]()
        for url, state in self.site.items():
            held_back = is_held_back(await self.stores.pages.get(page_id(url)))
            if url in self.rows and state.is_searchable and not held_back:
                expected[url] = state
        groups: dict[tuple[str, str, str], list[str]] = defaultdict(list)
        for url, state in expected.items():
            groups[state.text, state.language, audience_of(url, sites)].append(url)
        for (text, *_), urls in groups.items():
            if len([url for url in urls if searchable[url]]) != 1:
                found.append(f"{text}: {[url for url in urls if searchable[url]]} of {urls} are searchable")
        for url, points in searchable.items():
            status = await self.status(url)
            says = f"{url} {status.status}/{status.reason}"
            if status.waits_for and url in self.rows:
                found.append(f"{says} waits for {status.waits_for}")
            if (status.status == "indexed") != bool(points):
                found.append(f"{says}, with {len(points)} points")
            newest = {(expected[url].text, expected[url].language)} if url in expected else set()
            shown = {(text, one.payload.language) for text in TEXTS for one in points if text in one.payload.text}
            if points and shown != newest:
                found.append(f"{says}: {points[0].payload.text[:60]}, {shown} instead of {newest}")
            if url in expected and not points and status.status != "duplicate":
                found.append(f"{says} explains no page with a text")
            if len({one.payload.generation for one in points}) > 1:
                found.append(f"{says}: points of several fetches")
            if {one.payload.audience for one in points} - {audience_of(url, sites)}:
                found.append(f"{says}: points for others")
        return found

    async def _searchable(self) -> dict[str, list[Any]]:
        collections = await self.stores.vectors.collections()
        return {
            url: [hit for name in collections for hit in await self.stores.vectors.scroll(name, page_id(url))]
            for url in URLS
        }


async def _report(_: str, __: float) -> None: ...
