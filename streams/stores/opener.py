"""Opens the stores that a stage, the gateway or a command needs, and closes them again."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import cast

from streams.models.protocols import ChainModel, Embedder, Reranker
from streams.settings import Settings
from streams.stores.protocols import (
    BlobCollection,
    Blobs,
    Fingerprints,
    FrontierStore,
    HostLinks,
    Ledger,
    Pages,
    Reindexing,
    VectorIndex,
)
from streams.topology import Store


class _NotOpened:
    """A placeholder for a store that was not asked for. Its use raises an error that names the mistake."""

    def __init__(self, store: str) -> None:
        self._store = store

    def __getattr__(self, name: str) -> object:
        raise RuntimeError(f"{self._store} was not opened: add it to the stage's `stores` in streams/topology.py")


@dataclass(slots=True)
class Stores:
    """All stores of one process. The use of one that was not asked for raises RuntimeError."""

    blobs: Blobs = cast(Blobs, _NotOpened("cassandra"))
    blob_collection: BlobCollection = cast(BlobCollection, _NotOpened("cassandra"))
    pages: Pages = cast(Pages, _NotOpened("cassandra"))
    ledger: Ledger = cast(Ledger, _NotOpened("cassandra"))
    fingerprints: Fingerprints = cast(Fingerprints, _NotOpened("cassandra"))
    frontier: FrontierStore = cast(FrontierStore, _NotOpened("cassandra"))
    host_links: HostLinks = cast(HostLinks, _NotOpened("cassandra"))
    reindexing: Reindexing = cast(Reindexing, _NotOpened("cassandra"))
    vectors: VectorIndex = cast(VectorIndex, _NotOpened("qdrant"))
    embedder: Embedder = cast(Embedder, _NotOpened("triton"))
    chains: ChainModel = cast(ChainModel, _NotOpened("triton"))
    reranker: Reranker = cast(Reranker, _NotOpened("triton"))
    clock_ahead: Callable[[], Awaitable[float]] | None = None
    """Returns by how many seconds this machine's clock is ahead of Cassandra's. None: Cassandra was not opened."""


@asynccontextmanager
async def open_stores(settings: Settings, needs: Iterable[Store]) -> AsyncIterator[Stores]:
    """Connect to what is needed. Raises StoreUnavailable, saying which server at which address."""
    # Imported here: a worker that needs no Triton shouldn't pay for gRPC's memory, and so on.
    stores = Stores()
    wanted = set(needs)
    async with AsyncExitStack() as stack:
        if "cassandra" in wanted:
            from streams.stores import cassandra

            session = await cassandra.connect(settings.cassandra)
            stack.push_async_callback(session.close)
            stores.blobs = cassandra.CassandraBlobs(session, settings.cassandra.blob_ttl_days)
            stores.blob_collection = cassandra.CassandraBlobCollection(session)
            stores.pages = cassandra.CassandraPages(session)
            stores.ledger = cassandra.CassandraLedger(session)
            stores.fingerprints = cassandra.CassandraFingerprints(session, settings.cassandra.simhash_tables)
            stores.frontier = cassandra.CassandraFrontier(session)
            stores.host_links = cassandra.CassandraHostLinks(session)
            stores.reindexing = cassandra.CassandraReindexing(session)
            stores.clock_ahead = session.clock_ahead_seconds
        if "triton" in wanted:
            from streams.models import triton

            models = await triton.open_models(settings)
            stack.push_async_callback(models.close)
            stores.embedder, stores.chains = models.embedder, models.chains
            stores.reranker = models.reranker
        if "qdrant" in wanted:
            from streams.stores.qdrant.index import QdrantIndex

            stores.vectors = QdrantIndex(settings.qdrant, production=settings.profile == "production")
            stack.push_async_callback(stores.vectors.close)
        yield stores


def memory_stores() -> Stores:
    """Stores that hold everything in this process: for tests, and for trying a stage by hand."""
    from streams.models import memory as models
    from streams.stores import memory

    blobs, pages, fingerprints = memory.MemoryBlobs(), memory.MemoryPages(), memory.MemoryFingerprints()
    return Stores(
        blobs=blobs,
        blob_collection=memory.MemoryBlobCollection(blobs, pages, fingerprints),
        pages=pages,
        ledger=memory.MemoryLedger(),
        fingerprints=fingerprints,
        frontier=memory.MemoryFrontier(),
        host_links=memory.MemoryHostLinks(),
        reindexing=memory.MemoryReindexing(),
        vectors=memory.MemoryIndex(),
        embedder=models.MemoryEmbedder(),
        chains=models.MemoryChains(),
        reranker=models.MemoryReranker(),
    )
