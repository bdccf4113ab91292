"""The job that makes entities of pages: all pages that other sites link to are visited, in the order of their tokens.

Nothing is remembered of the pages that were seen. Behind the last one, each stored entity of this source is looked at
again, and is removed if its page no longer has what it takes. What is as before is not sent, so a job may end at any
moment and begin again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from schemas import EntityChanged
from streams.errors import PoisonError
from streams.knowledge.entity import Part
from streams.knowledge.found.names import MIN_DOMAINS, SOURCE, agreed_names, entity_id_of, page_of
from streams.knowledge.found.subject import read_subject
from streams.links.page_links import DOMAINS, PAGES_PER_DOMAIN
from streams.links.ranking import FIRST_TOKEN, LAST_TOKEN
from streams.pages.document.codec import decode_document
from streams.pages.document.consent import Consent
from streams.stores.opener import Stores
from streams.stores.protocols import PartPlace
from streams.vectors.page_records import indexed_page

SCANNED_PAGES = 64
WALK_ROWS = 1_000
_MAX_LINKS = DOMAINS * PAGES_PER_DOMAIN


class Send(Protocol):
    """Sends events, and returns when they are delivered."""

    async def __call__(self, events: Sequence[EntityChanged], cause: str) -> None: ...


@dataclass(slots=True)
class Collected:
    """The counts of a job."""

    pages: int = 0
    """Number of pages that other sites link to."""
    named: int = 0
    """Number of pages with a name that enough sites use."""
    sent: int = 0
    """Number of entities that are new or changed."""
    unchanged: int = 0
    removed: int = 0


class Collector:
    """The job. `progress` gets the counts and the share of the pages that is done, after each step."""

    def __init__(
        self,
        stores: Stores,
        send: Send,
        *,
        min_domains: int = MIN_DOMAINS,
        progress: Callable[[Collected, float], None] = lambda _, __: None,
        wait_for_room: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._stores, self._send, self._min_domains = stores, send, min_domains
        self._progress, self._wait = progress, wait_for_room
        self.counts = Collected()

    async def run(self, cause: str) -> Collected:
        """Visit all pages, then the stored entities. `cause` names the job in its events. Raises the stores' errors."""
        after = FIRST_TOKEN
        while rows := await self._stores.host_links.scan_page_links(after, LAST_TOKEN, SCANNED_PAGES):
            if self._wait:
                await self._wait()
            await self._visit([page_id for _, page_id in rows], cause)
            after = rows[-1][0]
            self._progress(self.counts, (after - FIRST_TOKEN) / (LAST_TOKEN - FIRST_TOKEN))
        await self._take_back(cause)
        return self.counts

    async def _visit(self, pages: Sequence[UUID], cause: str) -> None:
        parts = await asyncio.gather(*(self.part_of(page_id) for page_id in pages))
        made = {entity_id_of(page): _bytes(part) for page, part in zip(pages, parts, strict=True) if part}
        self.counts.pages += len(pages)
        stored = await self._stores.entities.stored(SOURCE, list(made))
        events = []
        for entity_id, content in made.items():
            ref = await self._stores.blobs.put(content)
            if entity_id in stored and stored[entity_id].ref == ref:
                self.counts.unchanged += 1
            else:
                events.append(EntityChanged(entity_id=entity_id, source=SOURCE, record_ref=ref))
        if events:
            await self._send(events, cause)
        self.counts.sent += len(events)

    async def part_of(self, page_id: UUID) -> Part | None:
        """Return what a page says about its subject; None if it is not in the index, or has no subject with a name that
        others use."""
        links = await self._stores.host_links.page_links(page_id, _MAX_LINKS)
        names = agreed_names(links, self._min_domains)
        if not names:
            return None
        self.counts.named += 1
        record = await self._stores.pages.get(page_id)
        page, normalized = indexed_page(page_id, record), record.normalized
        if page is None or not normalized.document_ref:
            return None
        try:
            document = decode_document(await self._stores.blobs.get(normalized.document_ref))
        except PoisonError:  # it was removed meanwhile, or can't be read
            return None
        items = document.facts.get("structured")
        consent = Consent.of_directives(normalized.directives)
        return read_subject(items or (), names, page.url, consent, str(document.facts.get("image") or ""))

    async def _take_back(self, cause: str) -> None:
        """Remove the entities whose pages no longer have what it takes."""
        position: int | None = 0
        while position is not None:
            rows, position = await self._stores.entities.walk(position, WALK_ROWS)
            mine = {row.entity_id for row in rows if _is_mine(row)}
            gone = [one for one in sorted(mine) if not await self._is_there(one)]
            if gone:
                await self._send([EntityChanged(entity_id=one, source=SOURCE) for one in gone], cause)
            self.counts.removed += len(gone)
            self._progress(self.counts, 1.0)

    async def _is_there(self, entity_id: str) -> bool:
        page = page_of(entity_id)
        named = self.counts.named
        found = await self.part_of(page) if page else None
        self.counts.named = named
        return found is not None


def _is_mine(row: PartPlace) -> bool:
    return row.source == SOURCE and bool(row.part.ref)


def _bytes(part: Part) -> bytes:
    return part.model_dump_json(exclude_defaults=True).encode()
