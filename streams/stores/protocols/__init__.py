"""The stores as the rest of Riffle sees them: small Protocols, and the plain values that pass through them.

Each Protocol has a real adapter (`cassandra`, `qdrant`) and a shipped fake (`memory`); one contract suite in `tests/`
runs over both. Every method raises `StoreUnavailable` or `DeadlineExceeded` when the server doesn't answer, and the
runtime tries again. Every write is idempotent: two equal calls leave the same state as one call.

`at` is always an event's time in microseconds since 1970 UTC: an older write never replaces a newer one.
"""

from streams.stores.protocols.api_access import (
    ApiKey,
    ApiKeys,
    Hook,
    HookSecret,
    Site,
    private_hosts,
)
from streams.stores.protocols.entities import Entities, NamedEntity, PartPlace, StoredEntity, StoredPart
from streams.stores.protocols.fingerprints import (
    MAX_FOUND,
    MIN_NEAR_WORDS,
    UNREAD,
    AliasEvidence,
    Fingerprint,
    Fingerprints,
    Known,
    Sight,
    Unread,
    group_of,
)
from streams.stores.protocols.frontier import (
    ALL_HOSTS,
    CRAWL_BUCKETS,
    FIRST_URLS,
    FURTHER_PARTS,
    ROWS_TOGETHER,
    CrawlCounts,
    CrawlState,
    FrontierHost,
    FrontierStore,
    FrontierUrl,
    HeldUrl,
    HostOrder,
    HostRows,
    HostShare,
    PartitionOwner,
    QueueEntry,
    UnreadLimits,
    further_part_of,
    total,
)
from streams.stores.protocols.host_links import HostLinks, HostRank, LinkGroup, PageLink
from streams.stores.protocols.notes import Notes, PaceHolds
from streams.stores.protocols.queries import (
    KEPT_DAYS,
    BuildNotes,
    CountedQuery,
    DayCounts,
    NewTitle,
    NoteKind,
    PageClicks,
    PartKind,
    PlaceCounts,
    PrefixRow,
    QueryCounts,
    StoredSuggestion,
    StoredWord,
    Suggestions,
)
from streams.stores.protocols.records import BlobCollection, Blobs, Ledger, Pages, StoredBlob, Transition
from streams.stores.protocols.vector_index import (
    EVERYTHING,
    FOR_EVERYBODY,
    Candidates,
    Filters,
    Hit,
    PageHits,
    Point,
    SparseVector,
    VectorIndex,
    Visible,
)
