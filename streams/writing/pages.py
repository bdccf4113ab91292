"""Own pages of programs: a file becomes a page as in `riffle import`, and a removed one leaves the index.

A page that a program removes is `gone`, as one whose file was deleted: a later version of it brings it back, and no
crawl does. What was removed on request (`riffle remove`) stays away.

A fetch may be under way. It has the generation of its lease, by the clock of the frontier. So a removal is ahead of the
clock: it is later than each fetch that began before the page's record says that the page is withheld, and from then on
none begins. What a program writes next is later than the removal.
"""

from collections.abc import AsyncIterator, Callable, Sequence
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
from streams.stores.page_record import PageRecord, Withheld
from streams.stores.protocols import FIRST_URLS, FURTHER_PARTS, FrontierUrl
from streams.stores.removals import BY_PROGRAM, is_held_back, removals, was_removed_by_program
from streams.writing.crawls import Publisher
from streams.writing.rights import Writer

WRITE_SECONDS = 20.0
"""Maximum time until the stores and Kafka have what a request writes (seconds)."""
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
        record, now = await self._stores.pages.get(page_id(url)), self._now()
        generation = max(now, record.withheld.generation + SAME_FETCH)
        if kind_of(body, content_type, url) is None:
            what = f"of type {content_type[:100]}" if content_type else "without a media type"
            advice = "send HTML, Markdown, text, PDF or an office file with its media type"
            return Written(url, page_id(url), f"a file {what} can't be read: {advice}")
        limits = Limits(self._settings.max_body_bytes, generation, place=Placing(origin_of(url)))
        page = make_page(url, generation, body, "html", limits, headers={"content-type": content_type})

        async def is_removed(_: UUID) -> bool:
            return is_held_back(record)

        sender = Sender(self._stores.blobs, self._publish, limits=limits, is_held_back=is_removed)
        sent = await sender.send(page)
        return Written(url, page_id(url), sent.reason if isinstance(sent, Skipped) else "")

    async def remove(self, writer: Writer, url: str) -> Written:
        """Remove the page at a canonical URL, whether it is known or not."""
        await self._send_away([self._removal(writer, url, await self._stores.pages.get(page_id(url)))])
        return Written(url, page_id(url))

    async def remove_below(self, writer: Writer, prefix: str) -> Below:
        """Remove the pages whose canonical URLs begin with a prefix, which names a host: MAX_REMOVED at most."""
        removed: list[tuple[PageRemoved, Withheld]] = []
        async for url in self._urls_below(prefix):
            record = await self._stores.pages.get(url.page_id)
            if not record.rows or _has_left(record) or was_removed_by_program(record):
                continue
            if len(removed) == MAX_REMOVED:
                await self._send_away(removed)
                return Below(len(removed), more=True)
            removed.append(self._removal(writer, url.url, record))
        await self._send_away(removed)
        return Below(len(removed), more=False)

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

    def _removal(self, writer: Writer, url: str, record: PageRecord) -> tuple[PageRemoved, Withheld]:
        now = self._now()
        ahead = WRITE_SECONDS + 2 * self._settings.clock_bound_seconds
        # So much later that it is no removal within the fetch that a program sent a moment ago.
        known = (part.generation for part in record.parts())
        generation = max([now + round(ahead * 1_000_000), *known]) + SAME_FETCH
        why = f"{BY_PROGRAM} (key {writer.key})"
        event = PageRemoved(page_id=page_id(url), url=url, generation=generation, reason="gone", detail=why)
        return event, Withheld(url=url, generation=generation, at=max(now, record.withheld.at + 1))

    async def _send_away(self, removed: Sequence[tuple[PageRemoved, Withheld]]) -> None:
        await self._publish.send_ahead([event for event, _ in removed])
        # Behind the events: what is withheld counts as removed, and is not removed by a repeated request.
        for event, part in removed:
            await self._stores.pages.put(event.page_id, part, part.at)


def _has_left(record: PageRecord) -> bool:
    """Return whether a page was removed since all that is known of it, and not as a duplicate."""
    last = max(removals(record), key=lambda removal: removal.generation)
    newest = max(part.generation for part in record.parts())
    return last.reason in _LEFT and last.generation >= newest
