"""The reads of the stores for what answers people and programs: each takes what its reader may see.

No read of a page has a default for that argument, and nothing here hands on a store of pages: who holds a `SeenStores`
can't read a page for nobody in particular. Stages and operators have `Stores`: they are no readers.

A page is seen by its address and the sites as they are now. So what was stored before a site became private is hidden
at once, whatever audience it was stored with. A hidden page is read no further than to learn its address: a client gets
the answer of a page that is not there, after as many reads.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from uuid import UUID

from streams.crawl.domains import is_page_below
from streams.crawl.frontier.hosts.host_state import Host
from streams.crawl.urls import host_of
from streams.errors import MissingBlob
from streams.ledger.history import read_record_and_history, url_of
from streams.maintenance.frontier_hosts import NOT_READ, InFrontier, read_in_frontier, reason_left_out, why_disallowed
from streams.models.protocols import ChainModel, Reranker
from streams.robot_name import ProductToken
from streams.seen.history import is_known_by_link, named_pages, seen_history, seen_record
from streams.seen.suggestions import SeesHost, seen_suggestions, seen_words
from streams.servers import Store
from streams.stores.opener import Stores
from streams.stores.page_record import Normalized, PageRecord, StoredPart
from streams.stores.protocols import (
    FOR_EVERYBODY,
    ApiKeys,
    Candidates,
    Entities,
    Filters,
    Fingerprint,
    FrontierHost,
    Hit,
    HostRank,
    NoteKind,
    Notes,
    PageClicks,
    PageLink,
    SparseVector,
    StoredSuggestion,
    StoredWord,
    Suggestions,
    Transition,
    Visible,
)
from streams.stores.rows import unpack_list
from streams.stores.searched_model import SearchedModel
from streams.stores.vector_collection import ENTITIES_ALIAS
from streams.vectors.recall import Recall, compare_searches

MAX_NAMED = 50
"""Maximum other pages that a record and a history may name to a reader who may not see all pages, and maximum hosts
that are asked for a page with a link to a host."""
_NO_PAGE = UUID(int=0)


def shows(visible: Visible, url: str) -> bool:
    """Return whether a reader may see a page with this address."""
    if not visible.is_limited:
        return True
    return (not visible.only or is_page_below(url, visible.only)) and not is_page_below(url, visible.hidden)


@dataclass(frozen=True, slots=True)
class SeenPage:
    """A page as a reader sees it: nothing of it names a page that the reader may not see."""

    url: str
    record: PageRecord
    history: tuple[Transition, ...]
    """Oldest first."""


class SeenStores:
    """The stores of one process that answers clients. The fields of `stores` may be filled, or exchanged, later."""

    def __init__(self, stores: Stores) -> None:
        self.__stores = stores
        self.__statements = SearchedModel(
            lambda: stores.embedder, lambda: stores.other_models, lambda: stores.vectors.active()
        )
        self.__entities = SearchedModel(
            lambda: stores.embedder,
            lambda: stores.other_models,
            lambda: stores.entity_vectors.active(),
            alias=ENTITIES_ALIAS,
        )

    # Stores that hold nothing of a page, or only what is made of pages for everybody.

    @property
    def embedder(self) -> SearchedModel:
        """The model of the collection of statements that searches read."""
        return self.__statements

    @property
    def entity_embedder(self) -> SearchedModel:
        """The model of the collection of entities that searches read."""
        return self.__entities

    @property
    def chains(self) -> ChainModel:
        return self.__stores.chains

    @property
    def reranker(self) -> Reranker:
        return self.__stores.reranker

    @property
    def notes(self) -> Notes:
        return self.__stores.notes

    @property
    def api_keys(self) -> ApiKeys:
        return self.__stores.api_keys

    @property
    def suggestions(self) -> "SeenSuggestions":
        return SeenSuggestions(lambda: self.__stores.suggestions)

    @property
    def entities(self) -> Entities:
        return self.__stores.entities

    async def nearest_entities(
        self, dense: Sequence[float], limit: int, collection: str | None = None
    ) -> Sequence[Hit]:
        """Return the entities with the nearest vectors, the nearest first."""
        found = await self.__stores.entity_vectors.candidates(
            dense=dense, sparse=None, visible=FOR_EVERYBODY, limit=limit, collection=collection
        )
        return found.dense

    async def entity_vectors(self, points: Sequence[UUID], collection: str | None = None) -> list[Sequence[float]]:
        """Return the vectors of these points of entities, without points that are missing."""
        return await self.__stores.entity_vectors.dense_vectors(points, collection)

    async def compare_searches(self, vector: Sequence[float], collection: str | None) -> Recall | None:
        """Return how well the index finds the nearest of all statements: two numbers, and no statement."""
        return await compare_searches(self.__stores.vectors, vector, collection)

    async def host_ranks(self, hosts: Sequence[str]) -> dict[str, HostRank]:
        """Return the ranks of hosts. The links of a private page have no part in them."""
        return dict(await self.__stores.host_links.ranks(hosts))

    async def examination(self) -> tuple[float, ...]:
        """Return the probability for each place of a result that a person looks at it."""
        return await self.__stores.query_counts.examination()

    async def clicks_of(self, language: str, query: str) -> Iterable[PageClicks]:
        """Return the clicks of a query that enough people asked. People without a key click: on pages for everybody."""
        return (await self.__stores.query_counts.clicks_of(language, query)).values()

    async def probe(self, store: Store) -> None:
        """Send the smallest request to the server with this role. Raises the store's errors."""
        match store:
            case "records":
                await self.__stores.ledger.history(_NO_PAGE)
            case "vectors":
                await self.__stores.vectors.collections()
            case "models":
                await self.__stores.embedder.embed(["ready"], "query")

    # Reads of pages.

    async def candidates(
        self,
        *,
        dense: Sequence[float] | None,
        sparse: SparseVector | None,
        visible: Visible,
        filters: Filters,
        limit: int,
        collection: str | None = None,
    ) -> Candidates:
        """Return the best statements by meaning and by words (`VectorIndex.candidates`)."""
        return await self.__stores.vectors.candidates(
            dense=dense,
            sparse=sparse,
            visible=visible,
            filters=filters,
            limit=limit,
            collection=collection,
        )

    async def search_pages(
        self,
        pages: Sequence[UUID],
        *,
        dense: Sequence[Sequence[float]],
        sparse: SparseVector | None,
        visible: Visible,
        filters: Filters,
        limit: int,
        collection: str | None = None,
    ) -> list[tuple[Hit, ...]]:
        """Return the best statements of each of these pages (`VectorIndex.search_pages`)."""
        return await self.__stores.vectors.search_pages(
            pages,
            dense=dense,
            sparse=sparse,
            visible=visible,
            filters=filters,
            limit=limit,
            collection=collection,
        )

    async def pages_with_words(
        self,
        words: Sequence[SparseVector],
        *,
        visible: Visible,
        filters: Filters,
        limit: int,
        collection: str | None = None,
    ) -> list[list[UUID]]:
        """Return the pages of the best statements by each vector of words (`VectorIndex.pages_with_words`)."""
        return await self.__stores.vectors.pages_with_words(
            words, visible=visible, filters=filters, limit=limit, collection=collection
        )

    async def first_statements(self, pages: Sequence[UUID], count: int, *, visible: Visible) -> list[Hit]:
        """Return the statements of these pages with an ordinal below `count` (`VectorIndex.first_statements`)."""
        return _seen_hits(await self.__stores.vectors.first_statements(pages, count), visible)

    async def statements(self, collection: str, page: UUID, *, visible: Visible) -> list[Hit]:
        """Return all statements of a page in this collection, by ordinal."""
        return _seen_hits(await self.__stores.vectors.scroll(collection, page), visible)

    async def vectors_of(
        self, hits: Sequence[Hit], *, visible: Visible, collection: str | None = None
    ) -> list[Sequence[float]]:
        """Return the vectors of these statements, without statements that are missing."""
        ids = [hit.id for hit in _seen_hits(hits, visible)]
        return await self.__stores.vectors.dense_vectors(ids, collection)

    async def normalized(self, pages: Sequence[UUID], *, visible: Visible) -> dict[UUID, Normalized]:
        """Return the part `normalized` of the record of each page that has one."""
        found = await self.__stores.pages.get_normalized(pages)
        return {page: part for page, part in found.items() if shows(visible, part.url)}

    async def page(self, page: UUID, address: str, *, visible: Visible) -> SeenPage | None:
        """Return what is known of a page. None: nothing, or the reader may not see the page.

        `address`: the page's URL, if the caller has it (`read_record_and_history`).
        """
        if address and not shows(visible, address):
            return None
        seen = partial(shows, visible)
        record, history = await read_record_and_history(self.__stores, page, address, shows=seen)
        url = address or url_of(record, history)
        if visible.is_limited and seen(url):
            unseen = await self._unseen(named_pages(page, record, history), visible)
            is_linked = is_known_by_link(history, seen)
            record, history = seen_record(record, seen, unseen), seen_history(history, seen, unseen)
            if not record.rows and not is_linked:  # only links that the reader may not see lead to the page
                return None
        return SeenPage(url, record, tuple(history)) if (record.rows or history) and seen(url) else None

    async def _unseen(self, pages: set[UUID], visible: Visible) -> set[UUID]:
        """Return the pages that the reader may not see, or of which too little is known."""
        asked = sorted(pages)[:MAX_NAMED]
        return pages - (await self.fingerprints(asked, visible=visible)).keys() if asked else set()

    async def content(self, part: StoredPart, ref: str, *, visible: Visible) -> bytes:
        """Return a blob that a part of a page's record refers to. Raises MissingBlob, also for any other blob."""
        if ref not in part.row().values() or not shows(visible, part.url):
            raise MissingBlob(ref)
        return await self.__stores.blobs.get(ref)

    async def fingerprint(self, page: UUID, *, visible: Visible) -> Fingerprint | None:
        found = await self.__stores.fingerprints.get(page)
        return found if found and shows(visible, found.url) else None

    async def fingerprints(self, pages: Sequence[UUID], *, visible: Visible) -> dict[UUID, Fingerprint]:
        """Return the fingerprints of these pages, as `Fingerprints.get_all` does."""
        found = await self.__stores.fingerprints.get_all(pages)
        return {page: each for page, each in found.items() if shows(visible, each.url)}

    async def duplicates(self, representative: UUID, limit: int, *, visible: Visible) -> list[Fingerprint]:
        """Return duplicates of this representative (`Fingerprints.duplicates`)."""
        return _seen_prints(await self.__stores.fingerprints.duplicates(representative, limit), visible)

    async def groups(
        self, representatives: Sequence[UUID], limit: int, *, visible: Visible
    ) -> dict[UUID, list[Fingerprint]]:
        """Return the duplicates of each representative that has some (`Fingerprints.groups`)."""
        found = await self.__stores.fingerprints.groups(representatives, limit)
        seen = {page: _seen_prints(others, visible) for page, others in found.items()}
        return {page: others for page, others in seen.items() if others}

    async def page_links(self, url: str, page: UUID, limit: int, *, visible: Visible) -> list[PageLink]:
        """Return the links to a page from pages of other domains."""
        found = await self.__stores.host_links.page_links(host_of(url), page, limit)
        return [link for link in found if shows(visible, link.source_url)]

    async def in_frontier(self, url: str, page: UUID, robot: ProductToken, now: int, *, visible: Visible) -> InFrontier:
        """Return what the frontier says of a URL.

        The host's row is no row, and says nothing of the URL, for a reader who sees no more
        of the host than that the crawler knows it: only a hidden page may lead there.
        """
        if not url or not shows(visible, url):
            return NOT_READ
        host, store = host_of(url), self.__stores.frontier
        if visible.is_limited:
            known = await store.url(host, page)
            is_seen = known is not None and (not known.referrer or shows(visible, known.referrer))
            if not is_seen:
                row = await store.host(host)
                row = row if await self._is_seen_host(host, row, visible) else None
                left_out = reason_left_out(url, row, now) or await why_disallowed(self.__stores.blobs, robot, url, row)
                return InFrontier(row, left_out)
        return await read_in_frontier(store, self.__stores.blobs, robot, url, now)

    async def _is_seen_host(self, host: str, row: FrontierHost | None, visible: Visible) -> bool:
        """Return whether something of a host is known that the reader may see: a page, a seed, or a page that links."""
        sources = await self.__stores.host_links.sources(host, MAX_NAMED)
        known = Host.from_row(row) if row else None
        is_crawled = known is not None and known.record.settled + known.record.of_strangers > 0
        is_seeded = known is not None and any(share.seeded for share in known.crawls.values())
        return is_crawled or is_seeded or any(shows(visible, url) for url in sources.values())


def _seen_hits(hits: Sequence[Hit], visible: Visible) -> list[Hit]:
    """Return the statements that the reader may see, also by the audience that the index has for them now."""
    audiences = ("", *visible.audiences)
    return [
        hit for hit in hits if shows(visible, hit.payload.url) and (visible.is_all or hit.payload.audience in audiences)
    ]


def _seen_prints(pages: Sequence[Fingerprint], visible: Visible) -> list[Fingerprint]:
    return [page for page in pages if shows(visible, page.url)]


class SeenSuggestions:
    """The suggestions, and the words of corrections, of one process that answers clients."""

    def __init__(self, store: Callable[[], Suggestions]) -> None:
        """`store`: returns the store as it is now."""
        self.__store = store

    async def parts(self, build: str, kind: NoteKind, shard: int) -> list[bytes]:
        """Return notes of a build (`BuildNotes`). They have no text of a page that is shown."""
        return await self.__store().parts(build, kind, shard)

    async def of_prefix(self, language: str, prefix: str, since: int, *, visible: Visible) -> list[StoredSuggestion]:
        """Return the rows of a prefix (`Suggestions.of_prefix`), also those that hide a text."""
        return seen_suggestions(await self.__store().of_prefix(language, prefix, since), _sight_of(visible))

    async def titles(self, beginning: str, *, visible: Visible) -> list[StoredSuggestion]:
        """Return new titles (`Suggestions.titles`)."""
        return seen_suggestions(await self.__store().titles(beginning), _sight_of(visible))

    async def built(self, build: str, shard: int, *, visible: Visible) -> list[StoredSuggestion]:
        """Return the suggestions of a shard of a build that gateways hold in memory."""
        values = await self.__store().parts(build, "list", shard)
        found = (each for value in values for each in unpack_list(StoredSuggestion, value))
        return seen_suggestions(found, _sight_of(visible))

    async def words(self, build: str, shard: int, *, visible: Visible) -> list[StoredWord]:
        """Return the words of a shard of a build."""
        return seen_words(await self.__store().parts(build, "words", shard), _sight_of(visible))


def _sight_of(visible: Visible) -> SeesHost | None:
    """Return what says whether a reader sees a host, and remembers it. None: the reader sees all."""
    return cache(lambda host: shows(visible, f"https://{host}/")) if visible.is_limited else None
