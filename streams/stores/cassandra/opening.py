"""The opening of all stores with the role `records`, over one session."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from streams.settings import Settings
from streams.stores.cassandra.api_access import CassandraApiKeys
from streams.stores.cassandra.blobs import CassandraBlobs
from streams.stores.cassandra.collection import CassandraBlobCollection
from streams.stores.cassandra.entities import CassandraEntities
from streams.stores.cassandra.fingerprints import CassandraFingerprints
from streams.stores.cassandra.frontier import CassandraFrontier
from streams.stores.cassandra.host_links import CassandraHostLinks
from streams.stores.cassandra.notes import CassandraNotes, CassandraPaceHolds
from streams.stores.cassandra.queries import CassandraQueryCounts, CassandraSuggestions
from streams.stores.cassandra.records import CassandraLedger, CassandraPages
from streams.stores.cassandra.restoring import refuse_unfinished_restore, unfinished_restore
from streams.stores.cassandra.session import connect


@dataclass(frozen=True, slots=True)
class Records:
    """The stores in Cassandra, with the names that `Stores` has for them."""

    blobs: CassandraBlobs
    blob_collection: CassandraBlobCollection
    pages: CassandraPages
    ledger: CassandraLedger
    fingerprints: CassandraFingerprints
    frontier: CassandraFrontier
    host_links: CassandraHostLinks
    notes: CassandraNotes
    pace_holds: CassandraPaceHolds
    query_counts: CassandraQueryCounts
    suggestions: CassandraSuggestions
    entities: CassandraEntities
    api_keys: CassandraApiKeys
    unfinished_restore: Callable[[], Awaitable[str]]
    clock_ahead: Callable[[], Awaitable[float]]
    refuse_writes: Callable[[], None]
    close: Callable[[], Awaitable[None]]


async def open_records(settings: Settings) -> Records:
    """Connect to the keyspace. Raises StoreUnavailable, also during a restore, and UsageError without a keyspace."""
    session = await connect(settings.cassandra)
    try:
        await refuse_unfinished_restore(session)
    except BaseException:
        await session.close()
        raise
    return Records(
        blobs=CassandraBlobs(session, settings.cassandra.blob_ttl_days),
        blob_collection=CassandraBlobCollection(session),
        pages=CassandraPages(session, settings.cassandra.blob_ttl_days),
        ledger=CassandraLedger(session),
        fingerprints=CassandraFingerprints(session),
        frontier=CassandraFrontier(session),
        host_links=CassandraHostLinks(session),
        notes=CassandraNotes(session),
        pace_holds=CassandraPaceHolds(session),
        query_counts=CassandraQueryCounts(session),
        suggestions=CassandraSuggestions(session),
        entities=CassandraEntities(session),
        api_keys=CassandraApiKeys(session),
        unfinished_restore=lambda: unfinished_restore(session),
        clock_ahead=session.clock_ahead_seconds,
        refuse_writes=session.refuse_writes,
        close=session.close,
    )
