"""Traps: hosts that make pages or URLs without end, each crawled by the real stages over stores in memory.

The frontier, the fetcher, the normalize and the dedup stage handle one event after the other, with a clock that goes on
by a second for each request: so a crawl of a trap has the same requests each time. The servers are real TLS sockets on
loopback.
`tests/hostile/test_zoo.py` crawls each trap; `python -m docs.generate` writes their rows of the reference.
"""

import random
import re
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from schemas import (
    Event,
    LinkFound,
    PageDeduplicated,
    PageDiscovered,
    PageFetched,
    PageNormalized,
    PageRemoved,
    PageScheduled,
    PageSettled,
)
from schemas.ids import event_id
from streams.crawl.fetch.agent import FetchAgent
from streams.crawl.frontier.agent import FrontierAgent
from streams.crawl.frontier.hosts.host_state import missing_path
from streams.dedup.agent import DedupAgent
from streams.dedup.sandbox_tasks import TASKS
from streams.maintenance.frontier_hosts import view_host
from streams.pages.agent import NormalizeAgent
from streams.pages.sandbox.pool import ParsePool
from streams.runtime.agent import Agent
from streams.settings import CrawlSettings
from streams.stores.opener import memory_stores
from streams.stores.protocols import FrontierUrl
from tests.hostile.servers import Script, bad_server, response
from tests.inline_sandbox import InlineSandbox
from tests.stages.frontier_world import SECOND, START, delivery, discovered

HOST = "bad.example"
MAX_PAGES = 100
"""Budget of a host in a crawl of a trap, before its factor of quality."""
MAX_EVENTS = 100_000
"""Number of events after which a crawl counts as endless."""
OTHER = ("/one", "/two")
"""Pages of each host beside its trap."""
_WORDS = (
    "anchor",
    "barley",
    "candle",
    "donkey",
    "ember",
    "falcon",
    "garden",
    "harbour",
    "island",
    "jacket",
    "kettle",
    "ladder",
    "meadow",
    "needle",
    "orchard",
    "pepper",
    "quarry",
    "ribbon",
    "saddle",
    "timber",
    "umbrella",
    "valley",
    "willow",
    "yellow",
    "zipper",
    "bridge",
    "copper",
    "dinner",
    "engine",
    "forest",
)
_NUMBER = re.compile(r"[0-9]+")


@dataclass(frozen=True, slots=True)
class Trap:
    """A host without end. `page` makes the body for a path with its query."""

    name: str
    page: Callable[[str], bytes]
    outcome: str
    """The record: the reason of the URLs that are left out, or the outcome or verdict of the trapped pages."""
    requests: int
    """Number of requests that the host gets in a crawl, all files included."""
    beyond: str = ""
    """The path of a URL that is left out without a trace. Its reason is recorded if a person gives it as a seed."""
    max_pages: int = MAX_PAGES
    """Budget of the host, before its factor of quality."""
    has_every_name: bool = False
    """The host has a page for a name that can't exist, too."""


@dataclass(slots=True)
class TrapCrawl:
    """The record and the cost of a crawl of a trap."""

    answers: list[PageFetched] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    """Number of URLs that were left out, by the name of the trap, as `riffle frontier show` has them."""
    outcomes: Counter[str] = field(default_factory=Counter)
    """Number of URLs by their outcome in the frontier's store."""
    verdicts: Counter[str] = field(default_factory=Counter)
    """Number of settled pages by their verdict."""
    refused: str = ""
    """The reason of the removal of the URL that lies beyond."""

    @property
    def paths(self) -> list[str]:
        """The paths of all requests, in their order."""
        return [answer.url.removeprefix(f"https://{HOST}") for answer in self.answers]

    @property
    def held_ms(self) -> float:
        """Time for which all requests together held a slot of the fetcher."""
        return sum(answer.elapsed_ms or 0.0 for answer in self.answers)

    @property
    def outcome(self) -> str:
        """The outcome that is recorded of the trap."""
        if self.left_out or self.refused:
            return self.refused or f"trap: {', '.join(self.left_out)}"
        if self.verdicts["soft_404"]:
            return "soft_404"
        return "duplicate" if self.outcomes["held"] else "over_budget" if self.outcomes["over_budget"] else "ok"


class StagesCrawl:
    """The stages of a crawl, and the events that wait."""

    def __init__(self, settings: CrawlSettings, pool: ParsePool) -> None:
        self.stores = stores = memory_stores()
        self.now = START
        self.found = TrapCrawl()
        self.removed: list[PageRemoved] = []
        self._pages: dict[UUID, str] = {}
        self._waiting: deque[tuple[Event, UUID]] = deque()
        self._frontier = FrontierAgent(settings, stores, now=lambda: self.now, random=lambda: 0.5)
        self._frontier.connect(self._emit)
        self._frontier.dispatcher.assign(frozenset({0}))
        self.fetcher = FetchAgent(settings, stores, now=lambda: self.now)
        normalize, dedup = NormalizeAgent(stores, pool), DedupAgent(stores, InlineSandbox(TASKS))
        self._stages: dict[type[Event], Sequence[Agent]] = {
            PageDiscovered: [self._frontier],
            LinkFound: [self._frontier],
            PageScheduled: [self.fetcher],
            PageFetched: [self._frontier, normalize],
            PageNormalized: [dedup],
            PageRemoved: [dedup],
            PageSettled: [self._frontier],
            PageDeduplicated: [self._frontier],
        }

    async def seed(self, path: str) -> None:
        """Crawl from a seed until nothing is left to do."""
        await self.send(discovered(f"https://{HOST}{path}", why="seed", depth=0, force=True, crawl_id="c"))

    async def send(self, seed: PageDiscovered, seconds: int | None = None) -> None:
        """Crawl from a seed until nothing is left to do, or nothing within this time."""
        path = seed.url.removeprefix(f"https://{HOST}")
        self._waiting.append((seed, event_id(seed.event_type(), path, seed.key())))
        until = self.now + (seconds or 0) * SECOND
        for _ in range(MAX_EVENTS):
            if self._waiting:
                await self._handle(*self._waiting.popleft())
                continue
            when = await self._frontier.dispatcher.visit_due()
            if when is None and not self._waiting:
                return
            if not self._waiting:
                if seconds is not None and (when or 0) > until:
                    return
                self.now = max(self.now + 1, when or 0)
        raise AssertionError(f"the crawl of {path} did not end")

    async def rows(self) -> list[FrontierUrl]:
        """Return the frontier's rows of all URLs that were found."""
        rows = [await self.stores.frontier.url(host, page) for page, host in self._pages.items()]
        return [row for row in rows if row]

    async def record(self) -> TrapCrawl:
        """Return what was recorded so far."""
        view = await view_host(self.stores.frontier, HOST, self.now)
        self.found.left_out = view.left_out if view else {}
        self.found.outcomes = Counter(row.outcome for row in await self.rows())
        self.found.outcomes["held"] = len(await self.stores.frontier.held(HOST, None, 1_000))
        return self.found

    async def _emit(self, event: Event, cause: str) -> None:
        self._waiting.append((event, event_id(event.event_type(), cause, event.key())))

    async def _handle(self, event: Event, id_: UUID) -> None:
        match event:
            case PageScheduled():
                self.now += SECOND
            case PageDiscovered():
                self._pages.update((one.page_id, one.host) for one in event.each())
            case LinkFound() if found := event.followed():
                self._pages.update((one.page_id, one.host) for one in found.each())
            case PageFetched():
                self.found.answers.append(event)
            case PageSettled():
                self.found.verdicts[event.verdict] += 1
            case PageDeduplicated(settles=str() as verdict):
                self.found.verdicts[verdict] += 1
            case PageRemoved():
                self.removed.append(event)
        for agent in self._stages.get(type(event), ()):
            outputs = await agent.handle(delivery(event, id_, self.now))
            for ordinal, output in enumerate(outputs):
                name = event_id(output.event_type(), str(id_), output.key(), ordinal)
                self._waiting.append((output, name))


async def crawl(trap: Trap, folder: Path, pool: ParsePool) -> TrapCrawl:
    """Crawl a trap from its first page, and then the URL that lies beyond."""
    async with bad_server(folder, _Scripts(trap)) as server:
        settings = server.settings(
            delay_seconds=0, max_depth=1_000, max_pages_per_host=trap.max_pages, recrawl=False, sitemaps=False
        )
        made = StagesCrawl(settings, pool)
        try:
            await made.seed("/")
            found = await made.record()
            if trap.beyond:
                before = len(made.removed)
                await made.seed(trap.beyond)
                found.refused = ", ".join(event.detail or "" for event in made.removed[before:])
            return found
        finally:
            await made.fetcher.stop()


class _Scripts(dict[str, Script]):
    """The answers of a trap to all paths."""

    def __init__(self, trap: Trap) -> None:
        super().__init__({"/robots.txt": response(status="404 Not Found")})
        if not trap.has_every_name:
            self[missing_path(HOST)] = response(status="404 Not Found")
        self._trap = trap

    def __missing__(self, path: str) -> Script:
        return response(self._trap.page(path))


SORRY = "We are sorry. The page that you asked for is not here any more, or it never was. Try the search box."


def page(path: str, *links: str, text: str = "") -> bytes:
    """Return a page with words of its own, which follow from its path, and with links."""
    rng = random.Random(path)
    words = text or " ".join(rng.choices(_WORDS, k=80))
    listed = "".join(f'<li><a href="{link}">{" ".join(rng.choices(_WORDS, k=3))}</a>' for link in links)
    return f"<html lang=en><title>{path}</title><main><p>{words}.</p><ul>{listed}</ul></main>".encode()


def _with_others(path: str, *links: str) -> bytes:
    """Return a page; the first page links to the other pages of the host, too, behind the trap."""
    return page(path, *links, *(OTHER if path == "/" else ()))


def _deeper(path: str) -> bytes:
    depth = path.count("/")
    return page(path) if path in OTHER else _with_others(path, f"{path.removesuffix('/')}/level{depth}/")


def _repeated(path: str) -> bytes:
    return page(path) if path in OTHER else _with_others(path, "shop/")


def _longer_query(path: str) -> bytes:
    number = path.count("=")
    query = path.partition("?")[2]
    return page(path) if path in OTHER else _with_others(path, f"/list?{query}{'&' if query else ''}f{number}={number}")


def _exploding_query(path: str) -> bytes:
    results = (f"/find?q={_number(path)}{n:04}" for n in range(600 if path.startswith("/find") else 1))
    return page(path) if path in OTHER else _with_others(path, *results)


def _calendar(path: str) -> bytes:
    month = _number(path) if path.startswith("/calendar") else 202701
    after = month + 1 if month % 100 < 12 else month + 89
    links = [f"/calendar/{after // 100}/{after % 100:02}"] if path not in OTHER else []
    return _with_others(path, *links)


def _number(path: str) -> int:
    return int("".join(_NUMBER.findall(path))[:9] or "0")


def _session_ids(path: str) -> Iterator[int]:
    rng = random.Random(path)
    while True:
        yield rng.randrange(10**12, 10**13)


def _sessions(path: str) -> bytes:
    ids = _session_ids(path)
    return page(path, f"/;jsessionid={next(ids)}", *(f"{other}?PHPSESSID={next(ids)}" for other in OTHER))


def _unknown_sessions(path: str) -> bytes:
    ids, places = _session_ids(path), ("/", *OTHER, *(f"/article/{word}" for word in _WORDS[:9]))
    return page(path.partition("?")[0], *(f"{place}?visit={next(ids)}" for place in places))


def _no_new_content(path: str) -> bytes:
    if path in OTHER:
        return page(path)
    if path == "/":
        return _with_others(path, "/item/1", "/item/2")
    text = " ".join(random.Random("the same").choices(_WORDS, k=120))
    return page(path, *(f"/item/{_number(path) * 10 + n}" for n in range(1, 11)), text=text)


def _soft_404(path: str) -> bytes:
    if path == "/":
        return _with_others(path, *(f"/there/{n}" for n in range(24)), *(f"/gone/{n}" for n in range(8)))
    if path in OTHER or path.startswith("/there/"):
        return page(path)
    links = "".join(f"<a href=/gone/{_number(path)}{n}>Perhaps this one</a> " for n in range(5))
    return f"<html lang=en><title>A site</title><main><p>{SORRY}</p><p>{links}</p></main>".encode()


TRAPS = (
    Trap("a path without end", _deeper, "trap: more than 24 path segments", 29, f"/{'a/' * 30}"),
    Trap("a path that repeats itself", _repeated, "trap: a path segment that repeats more than 3 times", 8,
         "/shop/shop/shop/shop/"),
    Trap("a query that grows", _longer_query, "trap: more than 16 query parameters", 21,
         f"/list?{'&'.join(f'f{n}={n}' for n in range(17))}"),
    Trap("a query that explodes", _exploding_query, "trap: query explosion", 11, max_pages=10),
    Trap("a calendar without end", _calendar, "trap: calendar", 18),
    Trap("session ids", _sessions, "ok", 5),
    Trap("session ids by a name that nobody knows", _unknown_sessions, "duplicate", 27, max_pages=30),
    Trap("a host that grows without new content", _no_new_content, "over_budget", 25, max_pages=40),
    Trap("a page for every name (soft 404)", _soft_404, "soft_404", 38, has_every_name=True),
)  # fmt: skip
