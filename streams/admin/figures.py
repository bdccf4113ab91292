"""The figures of the pages of operators, read from Kafka and the records. Each part may be missing, and says why."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeVar
from uuid import UUID

from schemas.envelope import micros_from_utc, utc_from_micros
from streams.admin.letters import LetterPage, read_letter_page
from streams.doctor.overview import Figures, Problem, find_away
from streams.errors import RiffleError
from streams.maintenance.frontier_hosts import HostView, count_waiting, describe_order, view_host
from streams.maintenance.mapping import IndexMap
from streams.maintenance.sampling import FIRST_TOKEN, LAST_TOKEN
from streams.queries.counts import list_unanswered
from streams.runtime.dead_letters import DeadLetters
from streams.runtime.lags.backpressure import describe_shortage
from streams.runtime.lags.stage_lags import Lag, stage_lags, waiting_by_stage
from streams.settings import Settings
from streams.stores.host_buckets import BUCKETS
from streams.stores.index_maps import newest_map, read_map
from streams.stores.job_reports import JobReport, recent_reports
from streams.stores.opener import Stores
from streams.stores.page_record import PageRecord
from streams.stores.protocols import HostOrder

SAMPLED_BUCKETS = 256
"""Number of buckets of hosts that are read for the size of the frontier: a sixteenth."""
SHOWN_HOSTS = 50
COUNTED_HOSTS = 30
"""Number of hosts whose waiting URLs are counted, for the number of all."""
HOST_URLS = 1_000
"""Maximum number of waiting URLs of a host that are counted."""
SHOWN_ORDERS = 200
"""Maximum number of hosts with orders that are shown."""
SAMPLED_PAGES = 400
"""Maximum number of pages that are drawn for the storage of hosts."""
RUN_PAGES = 20
"""Number of pages that are read from one place of the ring."""
EMPTY_DAYS = 7
READ_SECONDS = 10.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DueHost:
    """A host with URLs that wait."""

    name: str
    due: datetime


@dataclass(frozen=True, slots=True)
class FrontierSize:
    """The hosts with waiting URLs."""

    hosts: int
    """Number of hosts, from a sample of the buckets."""
    is_estimate: bool
    overdue: int
    """Number of hosts in the sample whose time has come."""
    shown: tuple[DueHost, ...]
    urls: int = 0
    """Number of waiting URLs, further visits included, from a sample of these hosts."""
    urls_known: Literal["", "about", "at least"] = ""
    """The certainty of `urls`. "at least": a host of the sample has more than were counted."""


@dataclass(frozen=True, slots=True)
class OrderedHosts:
    """The hosts with an order of operators, by name."""

    total: int
    shown: tuple[HostOrder, ...]
    """The first ones, SHOWN_ORDERS at most."""


@dataclass(frozen=True, slots=True)
class HostStorage:
    """A host's part of a random sample of pages."""

    host: str
    pages: int
    body_bytes: int
    share: float
    """The host's part of the bytes of the sample."""


@dataclass(frozen=True, slots=True)
class Overview:
    """The first page. A part that could not be read is None, and `missing` says why."""

    waiting: Mapping[str, int] = field(default_factory=dict)
    """Number of events that wait for each stage."""
    letters: Counter[tuple[str, str]] | None = None
    problems: Sequence[Problem] = ()
    frontier: FrontierSize | None = None
    newest_page: datetime | None = None
    storage: Sequence[HostStorage] = ()
    sampled_pages: int = 0
    """Number of pages of the sample that `storage` is of."""
    reports: Sequence[JobReport] = ()
    """The last report of each long job, wherever it runs."""
    empty_queries: Sequence[tuple[str, str, float]] | None = None
    """Language, query, and how often it had no result. None: queries are not collected."""
    missing: Sequence[str] = ()

    @property
    def is_well(self) -> bool:
        """True if nothing is wrong, as far as everything could be read."""
        return not self.problems and not self.missing


def read_letters(settings: Settings) -> Counter[tuple[str, str]]:
    """Return the number of dead letters of each stage and type of error. Raises StoreUnavailable."""
    return DeadLetters(settings).kinds()


@dataclass(slots=True)
class Reader:
    """Reads the figures."""

    settings: Settings
    stores: Stores
    now: Callable[[], datetime]
    chance: random.Random
    read_lags: Callable[[Settings], list[Lag]] = stage_lags
    read_letters: Callable[[Settings], Counter[tuple[str, str]]] = read_letters
    find_away: Callable[[Settings], Sequence[Problem]] = find_away
    read_letter_page: Callable[[Settings, str, str, str], LetterPage] = read_letter_page
    _map: tuple[int, IndexMap | None] = (0, None)
    """When the last map was drawn that was read, and that map."""

    async def overview(self) -> Overview:
        """Read all figures at once, each with a deadline."""
        missing: list[str] = []
        (away, lags), letters, frontier, sample, empty, reports = await asyncio.gather(
            asyncio.gather(
                _part(asyncio.to_thread(self.find_away, self.settings), "the answers of the servers", missing),
                _part(asyncio.to_thread(self.read_lags, self.settings), "the lags of the stages", missing),
            ),
            _part(asyncio.to_thread(self.read_letters, self.settings), "the dead letters", missing),
            _part(self.frontier(), "the frontier", missing),
            _part(self.sample(), "the sample of pages", missing),
            _part(self.empty_queries(), "the queries without results", missing),
            _part(recent_reports(self.stores.notes), "the reports of jobs", missing),
        )
        figures = Figures((), lags or (), letters or {}, describe_shortage(self.settings), away or ())
        storage, newest = _storage(sample or ()), _newest(sample or ())
        return Overview(
            waiting=waiting_by_stage(lags or ()),
            letters=letters,
            problems=figures.problems(),
            frontier=frontier,
            newest_page=newest,
            storage=storage,
            sampled_pages=sum(bool(_body_bytes(record)) for record in sample or ()),
            reports=reports or (),
            empty_queries=empty,
            missing=tuple(missing),
        )

    async def frontier(self) -> FrontierSize:
        """Count the hosts with waiting URLs in a sample of the buckets."""
        buckets = sorted(self.chance.sample(range(BUCKETS), SAMPLED_BUCKETS))
        found = await self.stores.frontier.active_hosts(buckets)
        few = len(found) < SHOWN_HOSTS
        if few:  # of a small frontier, all hosts are shown
            found = await self.stores.frontier.active_hosts(range(BUCKETS))
        now = self.now()
        due = sorted((DueHost(name, utc_from_micros(at)) for name, at in found), key=lambda host: host.due)
        hosts = len(found) if few else len(found) * BUCKETS // SAMPLED_BUCKETS
        urls, known = await self._waiting_urls([name for name, _ in found], hosts)
        overdue = sum(host.due <= now for host in due)
        return FrontierSize(hosts, not few, overdue, tuple(due[:SHOWN_HOSTS]), urls, known)

    async def _waiting_urls(self, names: list[str], hosts: int) -> tuple[int, Literal["", "about", "at least"]]:
        """Count the waiting URLs of some of the hosts, and return their number for all hosts."""
        sample = self.chance.sample(names, min(len(names), COUNTED_HOSTS))
        counts = await asyncio.gather(*(count_waiting(self.stores.frontier, name, HOST_URLS) for name in sample))
        urls = round(sum(counts) * hosts / len(counts)) if counts else 0
        if max(counts, default=0) == HOST_URLS:
            return urls, "at least"
        return urls, "about" if len(counts) < hosts else ""

    async def host(self, name: str) -> HostView | None:
        """Return what the frontier knows of a host, or None if it knows nothing."""
        return await view_host(self.stores.frontier, name, micros_from_utc(self.now()))

    async def orders(self) -> OrderedHosts:
        """Return the hosts with an order in force. An order that was taken back is left out, as is a former purge."""
        found = [order for order in await self.stores.frontier.orders() if describe_order(order)]
        found.sort(key=lambda order: order.host)
        return OrderedHosts(len(found), tuple(found[:SHOWN_ORDERS]))

    async def sample(self) -> list[PageRecord]:
        """Draw pages from all parts of the ring of tokens, each once: the runs of a small index overlap."""
        drawn: dict[UUID, PageRecord] = {}
        for _ in range(SAMPLED_PAGES // RUN_PAGES):
            rows = await self.stores.pages.scan(self.chance.randint(FIRST_TOKEN, LAST_TOKEN), LAST_TOKEN, RUN_PAGES)
            new = [page_id for _, page_id in rows if page_id not in drawn]
            drawn |= zip(new, await asyncio.gather(*map(self.stores.pages.get, new)), strict=True)
        return list(drawn.values())

    async def index_map(self) -> IndexMap | None:
        """Return the last map that `riffle map` drew, on any machine, or None. Raises ValueError for a damaged one.

        It is read once: each zoom and each search within it is a request.
        """
        made = await newest_map(self.stores.notes)
        if made != self._map[0] and (packed := await read_map(self.stores.notes, made)):
            self._map = made, await asyncio.to_thread(IndexMap.unpack, packed)
        return self._map[1] if made else None

    async def empty_queries(self) -> list[tuple[str, str, float]] | None:
        """Return the queries of the last days that most often had no result. None: no queries are collected.

        The setting is the gateways': where it is missing here, counts that are stored are shown all the same.
        """
        found = await list_unanswered(self.stores.query_counts, self.now(), EMPTY_DAYS)
        if not found and not self.settings.queries.collect:
            return None
        return [(language, query, counts.empty) for language, query, counts in found[:SHOWN_HOSTS]]


async def _part(reading: Awaitable[T], name: str, missing: list[str]) -> T | None:
    """Return what was read, or None with the reason in `missing`."""
    try:
        async with asyncio.timeout(READ_SECONDS):
            return await reading
    except TimeoutError:
        missing.append(f"{name}: no answer in {READ_SECONDS:g} s")
    except RiffleError as error:
        missing.append(f"{name}: {error}")
    return None


def _storage(records: Sequence[PageRecord]) -> list[HostStorage]:
    """Return the hosts with most bytes in the sample."""
    pages: Counter[str] = Counter()
    size: Counter[str] = Counter()
    for record in records:
        if own := _body_bytes(record):
            host = record.rows["fetched"]["host"]
            pages[host] += 1
            size[host] += own
    total = size.total()
    return [HostStorage(host, pages[host], own, own / total) for host, own in size.most_common(SHOWN_HOSTS // 2)]


def _body_bytes(record: PageRecord) -> int:
    row: dict[str, Any] = dict(record.rows.get("fetched", {}))
    return int(row.get("body_bytes") or 0)


def _newest(records: Sequence[PageRecord]) -> datetime | None:
    """Return the newest fetch of a searchable page in the sample. A fetch that found the page unchanged counts, too."""
    found = [
        _content_seen(record) for record in records if record.indexed.generation > max(record.removed.generation, 0)
    ]
    return utc_from_micros(max(found)) if found else None


def _content_seen(record: PageRecord) -> int:
    """Return the last fetch that found the page's content; the index has the fetch that brought it."""
    has_content = record.fetched.outcome in ("ok", "not_modified")
    return max(record.indexed.generation, record.fetched.generation if has_content else 0)
