"""The reads of the index by one research: each for its reader, in the time of a search, and without hidden pages."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from schemas.ids import page_id
from streams.answers.evidence import Evidence, evidence_near, evidence_of
from streams.answers.research.following import Link, Way
from streams.answers.research.loop import Searched
from streams.crawl.urls import InvalidUrl, canonicalize
from streams.gateway.content.reading import PageContent
from streams.gateway.content.similar import similar_pages
from streams.gateway.context import GatewayContext
from streams.gateway.http.problems import ProblemError
from streams.gateway.search.service import SearchService
from streams.links.page_links import MAX_ANCHOR_CHARS
from streams.search.request import MAX_QUERY_CHARS
from streams.stores.protocols import Filters, PageHits, Visible
from streams.vectors.bm25 import query_vector

NEAREST = 8
"""Number of statements of one page that are read."""
SIMILAR_PAGES = 3
AROUND = 3
"""Number of statements before and behind one that are read."""
MAX_STATEMENTS = 300
"""Maximum statements of a page among which those around one are found."""
MAX_LINKS = 60
"""Maximum links of a page that are looked up in the index."""


@dataclass(slots=True)
class IndexReads:
    """The reads of one research. See `streams.answers.research.loop.Index`."""

    context: GatewayContext
    service: SearchService
    content: PageContent
    visible: Visible
    on_partial: Callable[[], None]
    """Called when a part of a search failed."""

    async def search(self, query: str) -> Searched:
        found = await self.service.find(query[:MAX_QUERY_CHARS], self.visible)
        if found.failed:
            self.on_partial()
        return Searched(evidence_of(found), found.missing)

    async def around(self, statement: Evidence, query: str) -> Sequence[Evidence]:
        found = await self._nearest(statement.page_id, query, MAX_STATEMENTS, words=False)
        near = (each for each in found if abs(each.ordinal - statement.ordinal) <= AROUND)
        return sorted(near, key=lambda each: each.ordinal)

    async def of_page(self, way: Way, query: str) -> Sequence[Evidence]:
        return await self._nearest(way.page, query, NEAREST) if way.page else ()

    async def similar(self, page: Evidence, query: str) -> Sequence[Evidence]:
        try:
            data = await self.content.find(str(page.page_id), self.visible)
            async with self._in_time():
                pages = await similar_pages(self.context, data, self.visible, SIMILAR_PAGES, self.service.searcher)
        except ProblemError as error:
            return self._without(error)
        found = await asyncio.gather(*(self._nearest(each.page_id, query, NEAREST) for each in pages))
        return [each for of_page in found for each in of_page]

    async def links(self, page: Evidence) -> Sequence[Link]:
        try:
            data = await self.content.find(str(page.page_id), self.visible)
            normalized = data.record.normalized
            if normalized is None or not normalized.document_ref:
                return ()
            document = await self.content.read_document(data, normalized.document_ref)
        except ProblemError as error:
            return self._without(error)
        links: dict[UUID, Link] = {}
        for each in document.links:
            if each.in_content and each.text.strip() and len(links) < MAX_LINKS:
                try:
                    url = canonicalize(each.url.partition("#")[0])
                except InvalidUrl:
                    continue
                links.setdefault(page_id(url), Link(page_id(url), url, each.text[:MAX_ANCHOR_CHARS]))
        links.pop(page.page_id, None)
        async with self._in_time():
            known = await self.context.stores.normalized(list(links), visible=self.visible)
        return [link for page, link in links.items() if page in known]

    async def _nearest(self, page: UUID, query: str, limit: int, *, words: bool = True) -> list[Evidence]:
        """Return the statements of a page that are nearest to the query, the nearest first."""
        stores = self.context.stores
        async with self._in_time():
            model = await stores.embedder.look()
            [vector], info = await model.embedder.embed([query], "query"), await model.embedder.info("query")
            found = await stores.candidates(
                dense=vector.tolist(),
                sparse=query_vector(query) if words else None,
                visible=self.visible,
                filters=Filters(page_id=page),
                limit=limit,
                collection=model.collection,
            )
            hits = {hit.id: hit for hit in (*found.dense, *found.sparse)}
            shown = await self.service.searcher.leave_out([PageHits(page, tuple(hits.values()), 0.0)] if hits else [])
            record = (await stores.normalized([page], visible=self.visible)).get(page)
        similarities = {hit.id: info.closeness(hit.score) for hit in found.dense}
        return [each for group in shown for each in evidence_near(group.hits, record, similarities)]

    def _without(self, error: ProblemError) -> tuple[()]:
        """Return nothing of a page that asks for no copies, or left the index. A store that fails is noted."""
        if error.problem.status >= 500:
            self.on_partial()
        return ()

    def _in_time(self) -> asyncio.Timeout:
        return asyncio.timeout(self.context.settings.gateway.deadline_seconds)
