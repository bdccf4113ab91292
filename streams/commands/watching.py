"""The progress of pages to the index, as `riffle crawl`, `riffle import` and the benchmark show it."""

import asyncio
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from schemas import Event, PageDeduplicated, PageDiscovered, PageFetched, PageIndexed, PageRemoved, PageSettled
from streams.ledger.descriptions import describe_searchable
from streams.stores.page_record import PageRecord
from streams.stores.protocols import Pages

LOOK_SECONDS = 0.5
IDLE_SECONDS = 360.0
"""Maximum time without an event before a crawl counts as stuck (seconds).

This time is longer than the time after which a worker without progress is restarted.
"""
BUSY_WEIGHT = 0.1
"""Weight of a second without an event on a busy machine. A machine that is busy for most of a silence explains it, also
if it is idle at its end."""
BUSY_LOAD = 1.5
"""Minimum load of each processor of a busy machine: other processes wait for the processor, too."""
SLOW_SECONDS = 10.0
"""Seconds without an event after which the progress says that the machine is busy."""
LONG_SECONDS = 20.0
"""Seconds after which the progress names the page that waits longest for a stage."""
MAX_TIMED = 10_000
"""Maximum number of pages under way whose time is noted."""
FOLLOWED = (PageFetched, PageDeduplicated, PageIndexed, PageRemoved, PageSettled)
MAX_HOSTS = 5_000
"""Maximum number of hosts of a crawl that are noted."""
MAX_RECORDS_READ = 200
"""Maximum number of records of unchanged pages that are read at one look."""
BAR_CHARS = 20
"""Length of a bar."""
LINE_SECONDS = 10.0
"""Seconds between two lines of progress where there is no terminal."""


class Bars(Progress):
    """The bars of a long command. Without a terminal, such as in a log, their numbers are a line now and then.

    The field `note` of a task says more about its numbers, on lines of its own below all bars.
    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(BAR_CHARS), MofNCompleteColumn())
        super().__init__(*columns, TimeElapsedColumn(), console=console, disable=not console.is_terminal)
        self._clock, self._next_line = clock, clock() + LINE_SECONDS

    def get_renderables(self) -> Iterable[RenderableType]:
        """Yield the bars, and below them their notes over the whole width of the terminal."""
        yield self.make_tasks_table(self.tasks)
        for note in (part for task in self.tasks for part in task.fields["note"].split("\n") if part):
            yield Padding(Text(note, style="dim"), (0, 0, 0, 2))

    def add_task(self, *arguments: Any, **values: Any) -> TaskID:
        return super().add_task(*arguments, **{"note": "", **values})

    def update(self, task_id: TaskID, **values: Any) -> None:
        super().update(task_id, **values)
        if self.console.is_terminal or self._clock() < self._next_line:
            return
        self._next_line = self._clock() + LINE_SECONDS
        numbers = (_describe(one) for one in self.tasks)
        self.console.print(", ".join(numbers))


class BrokersAway:
    """Says once above the bars that the brokers don't answer any more, and once that they do again."""

    def __init__(self, console: Console) -> None:
        self._console, self._is_away = console, False

    def look(self, away_since: float | None, now: float) -> float:
        """Return how long the brokers have not answered (seconds). `away_since`: as of `Follower`."""
        if (away_since is not None) != self._is_away:
            self._is_away = not self._is_away
            self._console.print("Kafka does not answer any more." if self._is_away else "Kafka answers again.")
        return 0.0 if away_since is None else now - away_since


def _describe(task: Task) -> str:
    of = "" if task.total is None else f" of {task.total:,.0f}"
    note = f" ({'; '.join(note.splitlines())})" if (note := task.fields["note"]) else ""
    return f"{task.description}: {task.completed:,.0f}{of}{note}"


def machine_load() -> float:
    """Return the load of each processor in the last minute; 0 where the system has no such figure."""
    try:
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    except (AttributeError, OSError):
        return 0.0


class UnderWay(NamedTuple):
    """A page that is neither searchable nor set aside yet."""

    url: str
    stages: str
    """The stages that it may wait for."""
    since: float


class CutPage(NamedTuple):
    """A page that is too long: only its first statements are searchable."""

    url: str
    statements: int
    left_out: int


@dataclass(slots=True)
class Seen:
    """The pages of one crawl or import, counted from their events."""

    crawl_id: str
    fetched: set[UUID] = field(default_factory=set)
    hosts: dict[str, None] = field(default_factory=dict)
    """Hosts of the seeds, and those that were asked: some at most."""
    indexed: set[UUID] = field(default_factory=set)
    removed: dict[UUID, str] = field(default_factory=dict)
    unchanged: set[UUID] = field(default_factory=set)
    """Pages whose content was found unchanged, and which are searchable since an earlier crawl."""
    older: set[UUID] = field(default_factory=set)
    """Pages of which a later visit or removal is stored: their text is not."""
    unread: dict[UUID, int] = field(default_factory=dict)
    """Pages with unchanged content whose record has not been read yet, or says nothing final, with the generation."""
    listed: set[UUID] = field(default_factory=set)
    """Pages that sitemaps name."""
    empty: set[UUID] = field(default_factory=set)
    """Indexed pages without a statement: no search finds them."""
    cut: dict[UUID, CutPage] = field(default_factory=dict)
    """Indexed pages of which only the first statements are searchable."""
    sign_ins: set[UUID] = field(default_factory=set)
    """Pages that answered with a sign-in page, so that their last content stays."""
    last_event_at: float = 0.0
    _timed: dict[UUID, UnderWay] = field(default_factory=dict)
    _looked_at: float = 0.0
    _silent_seconds: float = 0.0
    """Time without an event until the last look, with the weight of each part."""

    def note(self, events: Iterable[Event], now: float) -> None:
        """Count these events of the crawl."""
        for event in events:
            if getattr(event, "crawl_id", None) != self.crawl_id:
                continue
            self.last_event_at = now
            self._note_time(event, now)
            if isinstance(event, PageFetched) and len(self.hosts) < MAX_HOSTS:
                self.hosts[event.host] = None
            match event:
                case PageFetched(purpose="page", outcome="ok"):
                    self.fetched.add(event.page_id)
                case (
                    PageFetched(purpose="page", outcome="not_modified")
                    | PageSettled(purpose="page", verdict="unchanged")
                    | PageDeduplicated(settles="unchanged")
                ):
                    self.unread[event.page_id] = event.generation
                case PageSettled(purpose="page", in_place="sign_in"):
                    self.unread[event.page_id] = event.generation
                    self.sign_ins.add(event.page_id)
                case PageDiscovered(why="sitemap", purpose="page"):
                    self.listed.update(one.page_id for one in event.each())
                case PageIndexed():
                    self.indexed.add(event.page_id)
                    (self.empty.discard if event.statements else self.empty.add)(event.page_id)
                    self._note_cut(event.page_id, CutPage(event.url, event.statements, event.left_out))
                case PageRemoved():
                    self.removed[event.page_id] = event.reason

    def _note_time(self, event: Event, now: float) -> None:
        match event:
            case PageFetched(purpose="page", outcome="ok") if len(self._timed) < MAX_TIMED:
                self._timed[event.page_id] = UnderWay(event.url, "normalize, dedup", now)
            case PageDeduplicated(settles=None | "changed") if event.page_id in self._timed:
                self._timed[event.page_id] = UnderWay(event.url, "statements, embed, index", now)
            case PageSettled(verdict="changed"):
                pass  # its statements are under way
            case PageDeduplicated() | PageIndexed() | PageRemoved() | PageSettled():
                self._timed.pop(event.page_id, None)

    def longest(self, now: float) -> str:
        """Return which page waits longest, and for which stages, if it is long; empty if none does."""
        first = min(self._timed.values(), key=lambda page: page.since, default=None)
        if first is None or now - first.since < LONG_SECONDS:
            return ""
        return f"longest under way: {first.url} ({first.stages}: {now - first.since:.0f} s)"

    def is_stuck(self, now: float, load: float) -> bool:
        """Return True if no event came for too long. `load`: of each processor, since the last look."""
        since = max(self._looked_at, self.last_event_at)
        before = self._silent_seconds if self._looked_at > self.last_event_at else 0.0
        self._silent_seconds = before + (now - since) * (BUSY_WEIGHT if load > BUSY_LOAD else 1.0)
        self._looked_at = now
        return self._silent_seconds > IDLE_SECONDS

    def why_slow(self, now: float, load: float) -> str:
        """Return the reason why no event came for a while, for the progress; empty if one came."""
        if now - self.last_event_at < SLOW_SECONDS or load <= BUSY_LOAD:
            return ""
        return f"the machine is busy: {load:.1f} processes for each processor"

    def notes(self, now: float, load: float) -> str:
        """Return what the progress says about pages under way, a line each."""
        return "\n".join(filter(None, (self.why_slow(now, load), self.longest(now))))

    @property
    def searchable(self) -> int:
        """Number of pages that became searchable, or still are, and were not removed since."""
        return len((self.indexed | self.unchanged) - self.empty - self.removed.keys())

    @property
    def brought(self) -> bool:
        """True if the crawl brought a page: a searchable one, or another copy of one."""
        return bool(self.searchable) or "duplicate" in self.removed.values()

    @property
    def settled(self) -> int:
        """Number of pages that became searchable, still are, were removed, or are older than what is stored."""
        return len(self.indexed | self.unchanged | self.older | self.removed.keys())

    def reasons(self) -> dict[str, int]:
        """Number of removed pages by reason."""
        counts: dict[str, int] = {}
        for reason in self.removed.values():
            counts[reason] = counts.get(reason, 0) + 1
        return dict(sorted(counts.items()))

    def _note_cut(self, page_id: UUID, page: CutPage) -> None:
        self.cut.pop(page_id, None)
        if page.left_out:
            self.cut[page_id] = page

    def describe_cut(self) -> str:
        """Return which pages are searchable in part, in a sentence; empty if none is."""
        cut = [page for identity, page in self.cut.items() if identity not in self.removed]
        if not cut:
            return ""
        longest = max(cut, key=lambda page: page.left_out)
        which = "One page" if len(cut) == 1 else f"{len(cut):,} pages, such as this one,"
        searchable = describe_searchable(longest.statements, longest.left_out)
        verb = "is" if len(cut) == 1 else "are"
        return f"{which} {verb} searchable in part: {longest.url} ({searchable})."

    @property
    def under_way(self) -> int:
        """Number of fetched pages that are neither searchable nor removed yet."""
        return len(self.fetched - self.indexed - self.unchanged - self.older - self.removed.keys())

    async def look_at_all_unchanged(self, pages: Pages) -> None:
        """Read the record of each page that `look_at_unchanged` has left, once."""
        for _ in range(0, len(self.unread), MAX_RECORDS_READ):
            await self.look_at_unchanged(pages)

    async def look_at_unchanged(self, pages: Pages) -> None:
        """Read from some records of unchanged pages which pages are searchable: no event says it again."""
        taken = list(self.unread)[:MAX_RECORDS_READ]
        for page_id, record in zip(taken, await asyncio.gather(*map(pages.get, taken)), strict=True):
            generation = self.unread.pop(page_id)
            if max(record.normalized.generation, record.removed.generation) > generation:
                self.older.add(page_id)
            if is_searchable(record):
                self.unchanged.add(page_id)
                known = record.indexed
                self._note_cut(page_id, CutPage(known.url, known.statements, known.left_out))
                if not known.statements:
                    self.empty.add(page_id)
            elif not record.removed.stored and page_id not in self.older:
                self.unread[page_id] = generation  # its content of an earlier fetch is under way


def is_searchable(record: PageRecord) -> bool:
    """Return whether the page is in the index, and was not removed since."""
    return record.indexed.generation > record.removed.generation
