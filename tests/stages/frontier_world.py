"""A simulated web with its own clock, for the frontier's tests: servers, fetchers, and topics in memory.

The agent may be killed at any await: each call of the store and each send can be its last, before or after it took
effect. Events that were not acknowledged are delivered again to the next agent.
"""

import asyncio
import heapq
import random
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from schemas import Envelope, Event, LinkFound, OriginChanged, PageDiscovered, PageFetched, PageRemoved, PageScheduled
from schemas.envelope import micros_from_utc, utc_from_micros
from schemas.ids import event_id, page_id
from streams.crawl.frontier.agent import FrontierAgent
from streams.crawl.frontier.hosts.live_host import LiveHost
from streams.crawl.frontier.policy import MAX_ATTEMPTS, SITEMAP_PAGES, Policy
from streams.crawl.rights import RIGHTS_PATH
from streams.crawl.robots import ROBOTS_TTL_SECONDS
from streams.crawl.scope import CrawlScope
from streams.errors import StoreUnavailable, TransientError
from streams.runtime.agent import Delivery
from streams.settings import CrawlSettings
from streams.stores.host_buckets import partition_of
from streams.stores.memory import MemoryBlobs, MemoryFingerprints, MemoryFrontier, MemoryHostLinks, MemoryNotes
from streams.stores.opener import Stores
from tests.stages.found_links import found

START = 1_800_000_000_000_000
EXPIRED: dict[str, Any] = {"outcome": "timeout", "retryable": True, "lease_expired": True}
"""Fields of the answer to an expired lease."""
SECOND = 1_000_000
FRONTIER_INPUTS = ("pages.discovered", "links.found", "pages.fetched", "pages.settled")


class Killed(BaseException):
    """The process was killed: none of its code runs any more."""


class Process:
    """A process that is killed at a random call. From then on each call raises. Other calls fail once by chance."""

    def __init__(self, rng: random.Random, probability: float, flaky: float = 0.0) -> None:
        self._rng = rng
        self._probability = probability
        self._flaky = flaky
        self.dead = False
        self.failures = 0

    async def call(self, work: Callable[[], Awaitable[Any]]) -> Any:
        await asyncio.sleep(0)
        self._may_be_killed()
        answer = await work()
        self._may_be_killed()
        return answer

    def _may_be_killed(self) -> None:
        if self.dead or self._rng.random() < self._probability:
            self.dead = True
            raise Killed
        if self._rng.random() < self._flaky:
            self.failures += 1
            raise StoreUnavailable("the store is not available")


class StoreOfProcess:
    """A store behind a process that may be killed."""

    def __init__(self, store: Any, process: Process) -> None:
        self._store = store
        self._process = process

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self._store, name)
        return lambda *args, **kwargs: self._process.call(lambda: method(*args, **kwargs))


def discovered(url: str, **fields: Any) -> PageDiscovered:
    host = url.removeprefix("https://").partition("/")[0]
    return PageDiscovered(page_id=page_id(url), url=url, host=host, **{"why": "link", "depth": 1, **fields})


def discovered_together(urls: Sequence[str], **fields: Any) -> list[PageDiscovered]:
    """Return one event for each host of some URLs."""
    hosts: dict[str, list[str]] = {}
    for url in dict.fromkeys(urls):
        hosts.setdefault(url.removeprefix("https://").partition("/")[0], []).append(url)
    return [discovered(first, more_urls=tuple(more), **fields) for first, *more in hosts.values()]


class CrawlOptions(CrawlSettings):
    """The settings of a crawl, and the constants of its policy."""

    max_attempts: int = MAX_ATTEMPTS
    robots_ttl_seconds: float = ROBOTS_TTL_SECONDS
    sitemap_pages: int = SITEMAP_PAGES


CONSTANTS = CrawlOptions.model_fields.keys() - CrawlSettings.model_fields.keys()


@dataclass
class Site:
    """The pages of one host."""

    robots: str | None = None
    """Content of robots.txt. None: 404."""
    rights: str | None = None
    """Content of /.well-known/tdmrep.json. None: 404."""
    links: dict[str, list[str]] = field(default_factory=dict)
    """URLs on a page, by path."""
    script: dict[str, list[dict[str, Any] | None]] = field(default_factory=dict)
    """Answers to the first requests, by path: fields of a PageFetched, or None if no answer ever comes."""
    redirects: dict[str, str] = field(default_factory=dict)
    down: bool = False
    outages: list[tuple[int, int]] = field(default_factory=list)
    """Begin and end of times at which the host does not answer."""

    def is_down(self, now: int) -> bool:
        return self.down or any(begin <= now < end for begin, end in self.outages)


class World:
    """Everything around the frontier."""

    def __init__(
        self, sites: dict[str, Site], settings: CrawlSettings, seed: int, kill_probability: float, flaky: float = 0.0
    ) -> None:
        self.sites = sites
        # Most tests are about first visits, run for days, and count the requests for pages and robots.txt.
        unset = {"recrawl", "rights_files"} - settings.model_fields_set
        self.settings = settings.model_copy(update=dict.fromkeys(unset, False))
        self.rng = random.Random(seed)
        self.now = START
        self.frontier_store = MemoryFrontier()
        self.fingerprints = MemoryFingerprints()
        self.host_links = MemoryHostLinks()
        self.blobs = MemoryBlobs()
        self.notes = MemoryNotes()
        self.inputs: list[tuple[Event, UUID]] = []
        self.removed: dict[UUID, PageRemoved] = {}
        self.fetches: defaultdict[str, list[tuple[int, int, str]]] = defaultdict(list)
        """Begin, end and URL of each request that reached a server, by host."""
        self.answers: list[PageFetched] = []
        self.scheduled: list[PageScheduled] = []
        self.kills = 0
        self.urgent: set[UUID] = set()
        """Ids of events that arrive in the frontier's urgent topic."""
        self._answers: list[tuple[int, int, PageFetched, UUID]] = []
        self.origins: list[OriginChanged] = []
        self._leases: dict[UUID, PageFetched] = {}
        self._ends: dict[UUID, int] = {}
        """End of the request for each lease: its answer never arrives earlier, though it is sent again."""
        self.fetchers_away: list[tuple[int, int]] = []
        """Begin and end of times at which no fetcher runs. Events wait in their topic meanwhile."""
        self._waiting: list[PageScheduled] = []
        self.partitions = 1
        """Number of partitions of each topic. One worker owns them all."""
        self.fetch_clock_ahead = 0
        """Microseconds by which the fetchers' clock is ahead of the true time."""
        self.frontier_clock_ahead = 0
        self.generations_by_clock = False
        """The fetchers take the generation from their clock instead of the lease."""
        self.expired_are_answered = True
        """The fetchers answer expired leases, too."""
        self._probability, self._flaky = kill_probability, flaky
        self._process = Process(self.rng, 0)
        self.agent = self._new_agent()

    max_gathering_seconds = 0.0
    """Maximum time that rows of the agent wait for others, in true seconds."""

    def restart(self) -> None:
        """Replace the agent, as after a crash."""
        self.agent = self._new_agent()

    def _new_agent(self) -> FrontierAgent:
        self._process = Process(self.rng, self._probability, self._flaky)
        stores = Stores(
            blobs=self.blobs,
            notes=self.notes,
            host_links=self.host_links,
            frontier=StoreOfProcess(self.frontier_store, self._process),  # type: ignore[arg-type] # forwards all calls
            fingerprints=StoreOfProcess(self.fingerprints, self._process),  # type: ignore[arg-type]  # forwards all calls
        )
        constants = {name: getattr(self.settings, name) for name in CONSTANTS & type(self.settings).model_fields.keys()}
        agent = FrontierAgent(
            self.settings,
            stores,
            now=lambda: self.now + self.frontier_clock_ahead,
            random=self.rng.random,
            policy=replace(Policy.of(self.settings), **constants),
            max_gathering_seconds=self.max_gathering_seconds,
        )
        agent.connect(self._emitter(self._process))
        agent.partition_count = self.partitions
        agent.dispatcher.assign(frozenset(range(self.partitions)))
        return agent

    def _emitter(self, process: Process) -> Callable[[Event, str], Awaitable[None]]:
        async def emit(event: Event, cause: str) -> None:
            async def send() -> None:
                self._send(event, event_id(event.event_type(), cause, event.key()))

            await process.call(send)

        return emit

    def _send(self, event: Event, id_: UUID) -> None:
        """Deliver an event to its consumers."""
        if isinstance(event, PageScheduled):
            self.scheduled.append(event)
            self._fetch(event)
        elif isinstance(event, PageRemoved):
            self.removed[id_] = event
        elif isinstance(event, OriginChanged):
            self.origins.append(event)
        elif event.topic in FRONTIER_INPUTS:
            self.inputs.append((event, id_))

    def in_memory(self, host: str) -> LiveHost | None:
        """Return a host as the agent has it in memory."""
        hosts = self.agent.state.hosts
        return hosts._live.get(host) or next((live for live in hosts._idle.hosts() if live.name == host), None)

    def pages(self) -> list[str]:
        """Return the URLs of all requests but those for robots.txt, in the order of time."""
        requests = sorted(request for of_host in self.fetches.values() for request in of_host)
        return [url for _, _, url in requests if not url.endswith("/robots.txt")]

    def seed_ahead(self, url: str, **fields: Any) -> None:
        """Send a seed as `riffle crawl` does: to the urgent topic."""
        event = discovered(url, **{"why": "seed", "depth": 0, "force": True, "crawl_id": "ahead", **fields})
        id_ = event_id(event.event_type(), f"ahead {url} {self.now}", event.key())
        self.urgent.add(id_)
        self._send(event, id_)

    def seed(self, url: str, **fields: Any) -> None:
        event = discovered(url, **{"why": "seed", "depth": 0, "force": True, "crawl_id": "c", **fields})
        self._send(event, event_id(event.event_type(), f"seed {url} {self.now}", event.key()))

    def send(self, event: Event) -> None:
        """Send an event of another stage."""
        self._send(event, event_id(event.event_type(), f"sent {self.now}", event.key()))

    def _fetchers_return_at(self) -> int | None:
        """Return when the fetchers are back, or None if they are there."""
        return next((end for begin, end in self.fetchers_away if begin <= self.now < end), None)

    def _fetch(self, scheduled: PageScheduled) -> None:
        """Fetch as the fetch stage does: a known lease is answered again, an expired lease is not fetched."""
        if self._fetchers_return_at() is not None:
            self._waiting.append(scheduled)
            return
        known = self._leases.get(scheduled.lease_id)
        bound = round(self.settings.clock_bound_seconds * SECOND)
        if known is None and micros_from_utc(scheduled.lease_until) + bound <= self.now + self.fetch_clock_ahead:
            if not self.expired_are_answered:
                return
            known = self._answer(scheduled, self.now, EXPIRED)
        seconds = self.rng.uniform(0.01, 0.5)
        begin, end = self.now, self.now + round(seconds * SECOND)
        if known is None:
            host = scheduled.url.removeprefix("https://").partition("/")[0]
            self.fetches[host].append((begin, end, scheduled.url))
            scripted = self.sites[host].script.get(scheduled.url.removeprefix(f"https://{host}"))
            fields = scripted.pop(0) if scripted else {}
            if fields is None:
                return
            known = self._leases[scheduled.lease_id] = self._answer(scheduled, end, fields)
        id_ = event_id(known.event_type(), str(scheduled.lease_id), known.key())
        end = max(end, self._ends.setdefault(scheduled.lease_id, end))
        heapq.heappush(self._answers, (end, self.rng.getrandbits(30), known, id_))

    def _answer(self, scheduled: PageScheduled, at: int, scripted: dict[str, Any]) -> PageFetched:
        host, _, path = scheduled.url.removeprefix("https://").partition("/")
        site, path = self.sites[host], f"/{path}"
        fields: dict[str, Any] = {"outcome": "ok", "status": 200}
        if scripted:
            fields = scripted
        elif site.is_down(at):
            fields = {"outcome": "network_error", "retryable": True}
        elif path in site.redirects:
            fields = {"outcome": "redirect", "status": 301, "redirect_to": site.redirects[path]}
        elif path == "/robots.txt":
            fields = {"outcome": "gone", "status": 404} if site.robots is None else fields
        elif path == RIGHTS_PATH:
            fields = {"outcome": "gone", "status": 404} if site.rights is None else fields
        elif path not in site.links:
            fields = {"outcome": "gone", "status": 404}
        names = ("page_id", "url", "host", "purpose", "lease_id", "attempt")
        return PageFetched(
            **{name: getattr(scheduled, name) for name in names},
            **CrawlScope.of(scheduled).fields(),
            generation=at + self.fetch_clock_ahead if self.generations_by_clock else scheduled.generation,
            **fields,
        )

    async def _arrive(self, fetched: PageFetched, id_: UUID) -> None:
        """Deliver an answer to the frontier, and to the normalizer, which finds the links."""
        host, _, path = fetched.url.removeprefix("https://").partition("/")
        site = self.sites[host]
        self.answers.append(fetched)
        if fetched.purpose == "robots" and fetched.outcome == "ok":
            content = site.rights if path == RIGHTS_PATH.removeprefix("/") else site.robots
            ref = await self.blobs.put((content or "").encode())
            fetched = fetched.model_copy(update={"body_ref": ref})
        self._send(fetched, id_)
        if fetched.purpose == "page" and fetched.outcome == "ok":
            scope = CrawlScope.of(fetched).at_depth(fetched.depth + 1).fields()
            for n, event in enumerate(discovered_together(site.links[f"/{path}"], referrer=fetched.url, **scope)):
                self._send(found(event), event_id(LinkFound.event_type(), id_.hex, event.subject(), n))

    async def run(self, hours: float = 48) -> None:
        """Run until no event is on its way any more, or `hours` of the world's time have passed."""
        end = self.now + round(hours * 3_600 * SECOND)
        while self.now < end:
            when = await self._act()
            moments = [self._answers[0][0]] if self._answers else []
            when = None if when is None else when - self.frontier_clock_ahead
            fetchers_return_at = self._fetchers_return_at() if self._waiting else None
            moments += [moment for moment in (when, fetchers_return_at) if moment is not None]
            if not moments and not self.inputs and not self._end_waiting():
                return
            self.now = max(self.now + 1, min(moments, default=self.now))
            if self._fetchers_return_at() is None:
                waiting, self._waiting = self._waiting, []
                for scheduled in waiting:
                    self._fetch(scheduled)
            while self._answers and self._answers[0][0] <= self.now:
                _, _, fetched, id_ = heapq.heappop(self._answers)
                await self._arrive(fetched, id_)

    def _end_waiting(self) -> bool:
        """Let the events that wait for later ones go on. Return False if there are none."""
        return False

    async def _act(self) -> int | None:
        """Let the agent handle all that is due now. If it is killed, another agent replaces it."""
        while True:
            try:
                self.agent.dispatcher.woken.clear()
                batch, self.inputs = self.inputs, []
                work = [self._consume(batch), self.agent.dispatcher.visit_due()]
                results = await asyncio.gather(*work, return_exceptions=True)
                for result in results:
                    if isinstance(result, BaseException):
                        raise result
                if not self.inputs and not self.agent.dispatcher.woken.is_set():
                    return results[1]  # type: ignore[return-value] # of the round
            except TransientError:
                continue  # the round failed, and the dispatcher's loop begins another one
            except Killed:
                self.kills += 1
                self.agent = self._new_agent()

    async def _consume(self, batch: list[tuple[Event, UUID]]) -> None:
        """Handle hosts side by side, and the events of each in order. Unfinished events are delivered again."""
        by_key: defaultdict[str, list[tuple[Event, UUID]]] = defaultdict(list)
        for event, id_ in batch:
            by_key[event.key()].append((event, id_))
        results = await asyncio.gather(*map(self._consume_key, by_key.values()), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result

    async def _consume_key(self, events: list[tuple[Event, UUID]]) -> None:
        for n, (event, id_) in enumerate(events):
            try:
                outputs = await self._handle(event, id_)
                for ordinal, output in enumerate(outputs):
                    self._send(output, event_id(output.event_type(), str(id_), output.key(), ordinal))
                if self._process.dead:
                    raise Killed
            except Killed:
                self.inputs.extend(events[n:])
                raise

    async def _handle(self, event: Event, id_: UUID) -> Sequence[Event]:
        """Handle as the runtime does: an event is tried again while the store is not available."""
        while True:
            try:
                topic = "frontier.urgent" if id_ in self.urgent else event.topic
                return await self.agent.handle(replace(delivery(event, id_, self.now, self.partitions), topic=topic))
            except TransientError:
                continue


def delivery(event: Event, id_: UUID, now: int, partitions: int = 1) -> Delivery:
    envelope = Envelope(id=id_, type=event.event_type(), source="/riffle/test", time=utc_from_micros(now))
    return Delivery(event, envelope, event.topic, partition_of(event.key(), partitions), offset=0)
