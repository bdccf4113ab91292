"""The source `panel` of a search: the panel of the entity that a query asks for, or a choice, beside the results.

Without imported entities it costs nothing: a search only looks at a note, which is read again in the background.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

import structlog

from streams.errors import RiffleError
from streams.knowledge.entity import Entity
from streams.knowledge.lookup.finding import Finder, Reader, others
from streams.knowledge.lookup.panel import Mention, Panel, may_quote
from streams.pages.document.consent import consent_of
from streams.search.deadline import Deadline
from streams.search.query_language.query import parse_query
from streams.search.request import SearchRequest
from streams.search.retrieval.model_fit import reader_of
from streams.seen.stores import SeenStores
from streams.settings import KnowledgeSettings
from streams.stores.protocols import Filters, Visible
from streams.stores.vector_collection import ANY
from streams.vectors.bm25 import query_vector

LOOK_SECONDS = 60.0
"""Time between two looks whether there are entities (seconds)."""
MENTIONS = 3
CANDIDATES = 12
"""Number of statements among which mentions are chosen."""
MAX_MENTION_CHARS = 400

log = structlog.get_logger(__name__)


class HasEntities:
    """A note whether entities were imported. It is read in the background, and says no until it was read."""

    def __init__(self, stores: SeenStores, clock: Callable[[], float] = time.monotonic) -> None:
        self._stores, self._clock = stores, clock
        self._has_some = False
        self._looks_again = 0.0
        self._looking: asyncio.Task[None] | None = None

    def __call__(self) -> bool:
        """Return the note. It never waits."""
        if (
            not self._has_some
            and self._clock() >= self._looks_again
            and not (self._looking and not self._looking.done())
        ):
            self._looking = asyncio.create_task(self.look())
        return self._has_some

    async def look(self) -> None:
        """Read it now. A store that doesn't answer leaves the note as it is."""
        self._looks_again = self._clock() + LOOK_SECONDS
        try:
            self._has_some = not await self._stores.entities.is_empty()
        except Exception as error:  # also of a store that is not open yet
            log.info("whether there are entities is unknown", error=str(error))


class PanelSource:
    """See `streams.search.core.Source`."""

    name = "panel"

    def __init__(
        self, stores: SeenStores, settings: KnowledgeSettings, has_entities: HasEntities | None = None
    ) -> None:
        self._stores, self._settings = stores, settings
        self._finder = Finder(stores)
        self.has_entities = has_entities or HasEntities(stores)

    async def find(self, request: SearchRequest, deadline: Deadline) -> Panel | None:
        """Return the panel of the first page of a query without operators, or None."""
        if not self.can_answer(request):
            return None
        parsed = parse_query(request.text)
        return (
            None
            if parsed.conditions.keys() - {"phrase"}
            else await self.look_up(
                parsed.text,
                request.visible,
                Filters(exclude_sites=request.exclude),
                reader=reader_of(parsed.text, request.accepted),
            )
        )

    def can_answer(self, request: SearchRequest) -> bool:
        """Return whether a query may have a panel: the first page of a search of all sites, if there are entities."""
        is_first_of_all = request.page == 1 and not request.host and not request.include
        return self._settings.panels and is_first_of_all and self.has_entities()

    async def look_up(
        self, text: str, visible: Visible, filters: Filters = ANY, *, minimum: float | None = None, reader: Reader = ()
    ) -> Panel | None:
        """Return what is shown for a text: a panel that is probable enough, a choice, or None.

        Mentions are visible statements that meet the filters.
        """
        lookup = await self._finder.look_up(text, reader)
        if lookup.title:
            return await self._finder.choice(lookup, reader)
        least = self._settings.confidence if minimum is None else minimum
        if not lookup.candidates or lookup.candidates[0].probability < least:
            return None
        best = lookup.candidates[0]
        panel = await self._panel(best.entity, best.probability, visible, filters, reader)
        return panel.model_copy(update={"others": tuple(others(lookup, best.entity))})

    async def panel_of(self, entity_id: str, visible: Visible, reader: Reader = ()) -> Panel | None:
        """Return the panel of an entity by its id, or None. Mentions are visible statements."""
        record = (await self._finder.records([entity_id], reader)).get(entity_id)
        if record is None or record.kind != "entity":
            return None
        return await self._panel(record, 1.0, visible, ANY, reader)

    async def _panel(
        self, entity: Entity, probability: float, visible: Visible, filters: Filters, reader: Reader
    ) -> Panel:
        panel, mentions = await asyncio.gather(
            self._finder.panel(entity, probability, reader), self.mentions(entity, visible, filters)
        )
        return panel.model_copy(update={"mentions": tuple(mentions)})

    async def mentions(self, entity: Entity, visible: Visible, filters: Filters) -> list[Mention]:
        """Return statements that have the entity's name, of different pages: the one that the reader sees, else the
        stored one. A failure leaves the panel without."""
        found = await self._mentions_of(entity.label, entity, visible, filters)
        if not found and entity.stored_label:
            return await self._mentions_of(entity.stored_label, entity, visible, filters)
        return found

    async def _mentions_of(self, label: str, entity: Entity, visible: Visible, filters: Filters) -> list[Mention]:
        try:
            found = await self._stores.candidates(
                dense=None,
                sparse=query_vector(label),
                visible=visible,
                filters=replace(filters, phrases=(label,)),
                limit=CANDIDATES,
            )
            records = await self._stores.normalized([hit.payload.page_id for hit in found.sparse], visible=visible)
        except RiffleError as error:
            log.info("a panel is without mentions", error=str(error))
            return []
        by_page = {
            hit.payload.page_id: Mention(text=hit.payload.text, title=hit.payload.title, url=hit.payload.url)
            for hit in reversed(found.sparse)
            if not hit.payload.doubtful
            and label.casefold() in hit.payload.text.casefold()
            and len(hit.payload.text) <= MAX_MENTION_CHARS
            and may_quote(hit.payload.text, hit.payload.url, entity.website)
        }
        allowed = [one for page, one in by_page.items() if consent_of(records.get(page)).allows_quoting(len(one.text))]
        return list(reversed(allowed))[:MENTIONS]
