"""Own pages of programs: a file becomes a page as in `riffle import`, and a removed one leaves the index.

A page that a program removes is `gone`, as one whose file was deleted: a later version of it brings it back, and no
crawl does. What was removed on request (`riffle remove`) stays away.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from uuid import UUID

from schemas import PageRemoved
from schemas.ids import page_id
from streams.allowed_origins import origin_of
from streams.crawl.archives.readers import Limits, Placing, Skipped, make_page
from streams.crawl.archives.sending import Sender
from streams.crawl.file_kinds import kind_of
from streams.crawl.urls import host_of
from streams.dedup.generations import SAME_FETCH
from streams.settings import CrawlSettings
from streams.stores.opener import Stores
from streams.stores.page_record import PageRecord
from streams.stores.protocols import FIRST_URLS, FURTHER_PARTS, FrontierUrl
from streams.stores.removals import BY_PROGRAM, is_held_back, removals
from streams.writing.crawls import Publisher
from streams.writing.rights import Writer

MAX_REMOVED = 1_000
"""Maximum number of pages that one request removes."""
LISTED_AT_ONCE = 500
_LEFT = frozenset({"gone", "noindex", "refused", "request"})
_FIRST = UUID(int=0)


@dataclass(frozen=True, slots=True)
class Written:
    """A page that was sent, or why it was not."""

    url: str
    page_id: UUID
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Below:
    """The pages that a removal by prefix sent away."""

    removed: int
    more: bool
    """True if there are more of them: ask again."""


class OwnPages:
    """Writes pages. The fields of `stores` may be filled, or exchanged, later. Raises StoreUnavailable."""

    def __init__(self, stores: Stores, publish: Publisher, settings: CrawlSettings, now: Callable[[], int]) -> None:
        self._stores, self._publish, self._settings, self._now = stores, publish, settings, now

    def address_of(self, writer: Writer, text: str) -> str:
        """Return the canonical URL. Raises UsageError, and NotWritable for one of another domain."""
        return writer.address_of(text, self._settings.origins)

    async def put(self, url: str, content_type: str, body: bytes) -> Written:
        """Send a file as the page at a canonical URL. It is as new as this call."""
        now = self._now()
        if kind_of(body, content_type, url) is None:
            what = content_type or "a file without a media type"
            advice = "send HTML, Markdown, text, PDF or an office file with its media type"
            return Written(url, page_id(url), f"{what[:100]} can't be read: {advice}")
        limits = Limits(self._settings.max_body_bytes, now, place=Placing(origin_of(url)))
        page = make_page(url, now, body, "html", limits, headers={"content-type": content_type})
        sender = Sender(self._stores.blobs, self._publish, limits=limits, is_held_back=self._is_held_back)
        sent = await sender.send(page)
        return Written(url, page_id(url), sent.reason if isinstance(sent, Skipped) else "")

    async def remove(self, writer: Writer, url: str) -> Written:
        """Remove the page at a canonical URL, whether it is known or not."""
        record = await self._stores.pages.get(page_id(url))
        await self._publish.send_ahead([self._removal(writer, url, record)])
        return Written(url, page_id(url))

    async def remove_below(self, writer: Writer, prefix: str) -> Below:
        """Remove the pages whose canonical URLs begin with a prefix, which names a host: MAX_REMOVED at most."""
        events: list[PageRemoved] = []
        async for url in self._urls_below(prefix):
            record = await self._stores.pages.get(url.page_id)
            if not record.rows or _has_left(record):
                continue
            if len(events) == MAX_REMOVED:
                await self._publish.send_ahead(events)
                return Below(len(events), more=True)
            events.append(self._removal(writer, url.url, record))
        await self._publish.send_ahead(events)
        return Below(len(events), more=False)

    async def _urls_below(self, prefix: str) -> AsyncIterator[FrontierUrl]:
        """Yield the URLs of the prefix's host that begin with it, as the frontier knows them: fetched or imported."""
        host = host_of(prefix)
        for part in range(1 + FURTHER_PARTS):
            after, seen = _FIRST, 0
            while found := await self._stores.frontier.urls_of_part(host, part, after, LISTED_AT_ONCE):
                for url in found:
                    if url.url.startswith(prefix):
                        yield url
                after, seen = found[-1].page_id, seen + len(found)
            if part == 0 and seen < FIRST_URLS:
                return  # only a host with more URLs has further parts

    def _removal(self, writer: Writer, url: str, record: PageRecord) -> PageRemoved:
        # So much later that it is no removal within the fetch that a program sent a moment ago.
        generation = max([self._now(), *(part.generation + SAME_FETCH for part in record.parts())])
        why = f"{BY_PROGRAM} (key {writer.key})"
        return PageRemoved(page_id=page_id(url), url=url, generation=generation, reason="gone", detail=why)

    async def _is_held_back(self, page: UUID) -> bool:
        return is_held_back(await self._stores.pages.get(page))


def _has_left(record: PageRecord) -> bool:
    """Return whether a page was removed since all that is known of it, and not as a duplicate."""
    last = max(removals(record), key=lambda removal: removal.generation)
    newest = max(part.generation for part in record.parts())
    return last.reason in _LEFT and last.generation >= newest
