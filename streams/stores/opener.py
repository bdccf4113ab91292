"""The opening and closing of the stores that a stage, the gateway or a command needs."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, Literal

from streams.errors import UsageError
from streams.models.protocols import ChainModel, Embedder, OtherModels, Reranker
from streams.servers import STORES, Store, find, server_of
from streams.settings import Settings
from streams.stores.protocols import (
    ApiKeys,
    BlobCollection,
    Blobs,
    Entities,
    Fingerprints,
    FrontierStore,
    HostLinks,
    Ledger,
    Notes,
    PaceHolds,
    Pages,
    QueryCounts,
    Suggestions,
    VectorIndex,
)
from streams.stores.vector_collection import ENTITIES_ALIAS

Use = Literal["write", "read", "serve"]
"""The use of opened records. "write": this machine's clock is compared with the server's first, since times order
writes. "read": a write raises RuntimeError. "serve": the gateway, which counts what it spends and is no judge of pages.
"""
_ROLE = "role"


class _NotOpened:
    """A placeholder for a store that was not asked for. Its use raises an error that names the mistake."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> object:
        raise RuntimeError(f"{self._store} was not opened: add it to the stage's `stores` in streams/topology.py")


def _field_of(store: Store) -> Any:
    """Return a field that the server with this role fills."""
    return dataclasses.field(default=_NotOpened(store), metadata={_ROLE: store})


@dataclasses.dataclass(slots=True)
class Stores:
    """All stores of one process. The use of a store that was not asked for raises RuntimeError."""

    blobs: Blobs = _field_of("records")
    blob_collection: BlobCollection = _field_of("records")
    pages: Pages = _field_of("records")
    ledger: Ledger = _field_of("records")
    fingerprints: Fingerprints = _field_of("records")
    frontier: FrontierStore = _field_of("records")
    host_links: HostLinks = _field_of("records")
    notes: Notes = _field_of("records")
    pace_holds: PaceHolds = _field_of("records")
    query_counts: QueryCounts = _field_of("records")
    suggestions: Suggestions = _field_of("records")
    entities: Entities = _field_of("records")
    api_keys: ApiKeys = _field_of("records")
    vectors: VectorIndex = _field_of("vectors")
    entity_vectors: VectorIndex = _field_of("vectors")
    """The index of entities: a point for each panel, in collections of its own."""
    embedder: Embedder = _field_of("models")
    chains: ChainModel = _field_of("models")
    reranker: Reranker = _field_of("models")
    other_models: OtherModels = _field_of("models")
    unfinished_restore: Callable[[], Awaitable[str]] | None = dataclasses.field(
        default=None, metadata={_ROLE: "records"}
    )
    """A function that returns why a restore is not finished, or an empty string. None: the records were not opened."""
    clock_ahead: Callable[[], Awaitable[float]] | None = dataclasses.field(default=None, metadata={_ROLE: "records"})
    """A function that returns how far this machine's clock is ahead of the records' server (seconds). None: the records
    were not opened."""


def fields_of(store: Store) -> list[str]:
    """Return the names of the fields that the server with this role fills."""
    return [field.name for field in dataclasses.fields(Stores) if field.metadata[_ROLE] == store]


class _LateServer:
    """A server that is opened at the first call of one of its stores. A call raises StoreUnavailable if that fails."""

    def __init__(self, open_server: Callable[[], Awaitable[Any]]) -> None:
        self._open = open_server
        self._opened: Any = None
        self._opening = asyncio.Lock()

    async def opened(self) -> Any:
        async with self._opening:
            if self._opened is None:
                self._opened = await self._open()
            return self._opened

    async def close(self) -> None:
        if self._opened is not None:
            await self._opened.close()


class _LateStore:
    """A store of such a server. Only its coroutines can be called."""

    def __init__(self, server: _LateServer, name: str) -> None:
        self._server, self._name = server, name

    def __getattr__(self, method: str) -> Any:
        async def call(*args: Any, **fields: Any) -> Any:
            return await getattr(getattr(await self._server.opened(), self._name), method)(*args, **fields)

        return call


@asynccontextmanager
async def open_stores(
    settings: Settings, needs: Iterable[Store], late: Iterable[Store] = (), use: Use = "write"
) -> AsyncIterator[Stores]:
    """Open the stores of the roles in `needs`. Raises StoreUnavailable, which names the server and its address.

    Stores of further roles in `late` are opened at their first call. Raises UsageError if the records are opened to
    write and this machine's clock differs too much from their server's.
    """
    stores = Stores()
    deferred = set(late)
    wanted = set(needs)
    async with AsyncExitStack() as stack:
        for store in STORES:
            if store in wanted:
                opened = await _open(settings, store, use)
                stack.push_async_callback(opened.close)
                for name in fields_of(store):
                    setattr(stores, name, getattr(opened, name))
            elif store in deferred:
                server = _LateServer(partial(_open, settings, store, use))
                stack.push_async_callback(server.close)
                for name in fields_of(store):
                    setattr(stores, name, _LateStore(server, name))
        yield stores


async def _open(settings: Settings, store: Store, use: Use) -> Any:
    opened = await find(server_of(store).open)(settings)
    if "clock_ahead" not in fields_of(store):
        return opened
    try:
        if use == "write":
            await require_clock(opened.clock_ahead, settings.crawl.clock_bound_seconds)
        elif use == "read":
            opened.refuse_writes()
    except BaseException:
        await opened.close()
        raise
    return opened


async def require_clock(clock_ahead: Callable[[], Awaitable[float]], bound_seconds: float) -> float:
    """Return how far this clock is ahead of the server's (seconds). Raises UsageError if that is beyond the bound."""
    ahead = await clock_ahead()
    if abs(ahead) > bound_seconds:
        direction = "ahead of" if ahead > 0 else "behind"
        raise UsageError(
            f"the clock of this machine is {abs(ahead):.1f} s {direction} Cassandra's clock, "
            f"and {bound_seconds:g} s are allowed. Nothing was changed. Synchronize both clocks (NTP), "
            "or raise RIFFLE_CRAWL__CLOCK_BOUND_SECONDS on all workers"
        )
    return ahead


def memory_stores() -> Stores:
    """Return stores that hold everything in this process: for tests, and for trying a stage by hand."""
    from streams.models import memory as models
    from streams.stores import memory

    blobs, entities = memory.MemoryBlobs(), memory.MemoryEntities()
    host_links = memory.MemoryHostLinks()
    pages = memory.MemoryPages(blobs, host_links)
    fingerprints = memory.MemoryFingerprints(pages)
    return Stores(
        blobs=blobs,
        blob_collection=memory.MemoryBlobCollection(blobs, pages, fingerprints, entities),
        pages=pages,
        ledger=memory.MemoryLedger(),
        fingerprints=fingerprints,
        frontier=memory.MemoryFrontier(),
        host_links=host_links,
        notes=memory.MemoryNotes(),
        pace_holds=memory.MemoryPaceHolds(),
        query_counts=memory.MemoryQueryCounts(),
        suggestions=memory.MemorySuggestions(),
        entities=entities,
        api_keys=memory.MemoryApiKeys(),
        vectors=memory.MemoryIndex(),
        entity_vectors=memory.MemoryIndex(alias=ENTITIES_ALIAS),
        embedder=models.MemoryEmbedder(),
        chains=models.MemoryChains(),
        reranker=models.MemoryReranker(),
        other_models=models.MemoryOtherModels(),
    )
