"""Crawls that programs begin: the seeds as events, and a small row that says who began what.

The frontier keeps the counts of a crawl, as for `riffle crawl`. A row is kept for as long as Kafka keeps events.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from schemas import Event, PageDiscovered
from streams.crawl.cancelled import cancel_crawl
from streams.crawl.frontier.progress import CrawlProgress, crawl_progress, describe_results
from streams.crawl.scope import make_patterns
from streams.crawl.seeds import as_sitemap, seed
from streams.errors import StoreUnavailable, UsageError
from streams.settings import CrawlSettings
from streams.stores.opener import Stores
from streams.stores.protocols import ALL_HOSTS
from streams.stores.rows import Row, pack_row, unpack_row
from streams.writing.rights import Writer
from streams.writing.searchable import NOT_LOOKED, Looked, look

KEPT_SECONDS = 7 * 86_400
"""Time for which a crawl can be asked for after its begin (seconds): Kafka keeps events as long."""
MAX_SEEDS = 100
MAX_DEPTH = 20
MAX_PAGES = 100
"""Pages of each host of a crawl that names no number."""
SHOWN_CRAWLS = 100
LOOKED_CRAWLS = 5
"""Maximum number of crawls of a list whose pages are looked at."""
CrawlStatus = Literal["queued", "running", "waiting", "done", "cancelled"]
"""queued: the frontier has not seen it yet. waiting: only hosts that do not answer now are left. done: each address has
its final result, and its pages are searchable."""


class Publisher(Protocol):
    """The sender of a gateway's events. Raises StoreUnavailable."""

    async def send_ahead(self, events: Iterable[Event], cause: str | None = None) -> None:
        """Send events, and copies that their stages handle before all other events. One cause gives the same ids."""

    async def __call__(self, event: Event, cause: str | None = None, /) -> None: ...


class NoKafka:
    """The publisher of a gateway without Kafka."""

    async def send_ahead(self, events: Iterable[Event], cause: str | None = None) -> None:
        raise StoreUnavailable("this gateway has no Kafka")

    async def __call__(self, event: Event, cause: str | None = None, /) -> None:
        raise StoreUnavailable("this gateway has no Kafka")


@dataclass(frozen=True, slots=True)
class CrawlOrder:
    """A crawl that a program wants."""

    seeds: tuple[str, ...]
    depth: int = 2
    max_pages: int = MAX_PAGES
    """Maximum number of pages of each host."""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    any_host: bool = False
    sitemap_only: bool = False


@dataclass(frozen=True, slots=True)
class Crawl:
    """A crawl that a key began. Times are in microseconds since 1970 UTC."""

    id: str
    key: str
    seeds: tuple[str, ...]
    """The canonical URLs."""
    depth: int
    max_pages: int
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    any_host: bool = False
    sitemap_only: bool = False
    created: int = 0
    cancelled: int = 0
    """0: it was not cancelled."""
    looked: Looked = NOT_LOOKED
    """The pages that are known to be searchable."""
    stored: Row | None = field(default=None, repr=False, compare=False)


def seeds_of(order: CrawlOrder, writer: Writer, settings: CrawlSettings) -> list[PageDiscovered]:
    """Return the events of the seeds, each once. Raises UsageError with the seed at fault, or NotWritable.

    A key of some domains follows links only to the hosts of its seeds, which are its own.
    """
    if order.any_host and writer.is_bound:
        raise UsageError("`any_host` needs a key for every domain (`riffle keys add NAME --host '*'`)")
    try:
        patterns = make_patterns(order.include, order.exclude)
    except ValueError as error:
        raise UsageError(str(error)) from None
    urls = dict.fromkeys(writer.address_of(text, settings.origins) for text in order.seeds)
    made = [seed(url, order.depth, order.max_pages, any_host=order.any_host, origins=settings.origins) for url in urls]
    if order.sitemap_only:
        made = [as_sitemap(one, order.max_pages) for one in made]
    return [one.model_copy(update={"patterns": patterns}) for one in made]


def cost_of(seeds: Sequence[PageDiscovered], max_pages: int) -> int:
    """Return the pages that a crawl takes of its key's quota: as many as it may fetch of the hosts of its seeds."""
    return max_pages * len({one.host for one in seeds})


def _status_of(crawl: Crawl, progress: CrawlProgress) -> CrawlStatus:
    """Return the status by the counts, which tell nothing of the index."""
    if crawl.cancelled:
        return "cancelled"
    if not progress.discovered:
        return "queued"
    if progress.pending or progress.digesting:
        return "running"
    return "waiting" if progress.deferred else "done"


def describe_crawl(progress: CrawlProgress, *, paused: bool = False) -> str:
    """Return the counts in a sentence, as `riffle crawl` says them."""
    waiting = progress.pending + progress.deferred + progress.digesting
    parts = [describe_results(progress), f"{waiting:,} waiting" if waiting else ""]
    addresses = f"{progress.discovered:,} address{'' if progress.discovered == 1 else 'es'}"
    says = f"{addresses}: {', '.join(filter(None, parts)) or 'none is finished'}."
    return f"{says} All crawls are paused by the operator." if paused and waiting else says


class Crawls:
    """The crawls of programs. The fields of `stores` may be filled, or exchanged, later. Raises StoreUnavailable."""

    def __init__(self, stores: Stores, publish: Publisher, settings: CrawlSettings, now: Callable[[], int]) -> None:
        self._stores, self._publish, self._settings, self._now = stores, publish, settings, now

    async def begin(self, crawl_id: str, order: CrawlOrder, seeds: Sequence[PageDiscovered], writer: Writer) -> Crawl:
        """Store the crawl, and send its seeds. The same id again sends the same events, which are known as copies."""
        known = await self.get(crawl_id, writer.key)
        crawl = known or Crawl(
            id=crawl_id,
            key=writer.key,
            seeds=tuple(one.url for one in seeds),
            depth=order.depth,
            max_pages=order.max_pages,
            include=order.include,
            exclude=order.exclude,
            any_host=order.any_host,
            sitemap_only=order.sitemap_only,
            created=self._now(),
        )
        await self._put(crawl)
        await self._publish.send_ahead([one.model_copy(update={"crawl_id": crawl_id}) for one in seeds], crawl_id)
        return crawl

    async def get(self, crawl_id: str, key: str) -> Crawl | None:
        """Return a crawl of this key."""
        found = (await self._stores.notes.of_shelf(_shelf(crawl_id))).get(key)
        return unpack_row(Crawl, found) if found else None

    async def of_key(self, key: str) -> list[Crawl]:
        """Return the crawls of a key, the newest first: SHOWN_CRAWLS at most."""
        ids = await self._stores.notes.of_shelf(_list(key))
        newest = sorted(ids, key=lambda name: (int.from_bytes(ids[name], "big"), name), reverse=True)[:SHOWN_CRAWLS]
        found = [await self.get(crawl_id, key) for crawl_id in newest]
        return [crawl for crawl in found if crawl]

    async def cancel(self, crawl: Crawl) -> Crawl:
        """Cancel a crawl: what waits is not fetched any more. A second time changes nothing."""
        if crawl.cancelled:
            return crawl
        await cancel_crawl(self._stores.notes, crawl.id)
        crawl = replace(crawl, cancelled=self._now())
        await self._put(crawl)
        return crawl

    async def progress(self, crawl: Crawl) -> CrawlProgress:
        return await crawl_progress(self._stores, crawl.id)

    async def statuses(self, crawls: Iterable[Crawl]) -> list[tuple[Crawl, CrawlProgress, CrawlStatus]]:
        """Return the progress and the status of each crawl. The pages of some are looked at: it takes many reads."""
        found, left = list[tuple[Crawl, CrawlProgress, CrawlStatus]](), LOOKED_CRAWLS
        for crawl in crawls:
            progress = await self.progress(crawl)
            status = _status_of(crawl, progress)
            if status == "done" and not crawl.looked.knows(progress.discovered):
                status, left = (await self.status(crawl, progress) if left else "running"), max(left - 1, 0)
            found.append((crawl, progress, status))
        return found

    async def status(self, crawl: Crawl, progress: CrawlProgress) -> CrawlStatus:
        """Return the status of a crawl. Its pages are looked at when each address has its result."""
        status = _status_of(crawl, progress)
        if status != "done" or crawl.looked.knows(progress.discovered):
            return status
        looked = await look(self._stores, crawl.id, crawl.looked, progress.discovered, self._now())
        if looked != crawl.looked:
            await self._put(replace(crawl, looked=looked))
        return "done" if looked.knows(progress.discovered) else "running"

    async def is_paused(self) -> bool:
        """Return whether the operator has paused all crawls."""
        order = await self._stores.frontier.order(ALL_HOSTS)
        return bool(order and order.paused)

    async def _put(self, crawl: Crawl) -> None:
        notes, created = self._stores.notes, crawl.created.to_bytes(8, "big")
        await notes.put(_shelf(crawl.id), crawl.key, pack_row(crawl), seconds=KEPT_SECONDS)
        await notes.put(_list(crawl.key), crawl.id, created, seconds=KEPT_SECONDS)


def _shelf(crawl_id: str) -> str:
    return f"crawl {crawl_id}"


def _list(key: str) -> str:
    return f"crawls of {key}"
