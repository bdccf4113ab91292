"""The stores as the rest of Riffle sees them: small Protocols, and the plain values that pass through them.

Each has a real adapter (`cassandra/`, `qdrant.py`, `triton.py`) and a shipped fake (`memory/`); one contract
suite in `tests/` runs over both. Every method raises `StoreUnavailable` or `DeadlineExceeded` when the server doesn't
answer, which the runtime retries. Every write is idempotent: the same call twice leaves what one call leaves.

`at` is always an event's time in microseconds since 1970 UTC: an older write never replaces a newer one.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Literal, Protocol
from uuid import UUID, uuid5

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""Shape (n, dimensions), rows of unit length unless the model says otherwise."""

Part = Literal["fetched", "normalized", "deduplicated", "chunked", "embedded", "indexed", "removed"]
"""The parts of a page's record: each is written by one stage alone, so no stage reads before it writes."""


class Blobs(Protocol):
    """Content-addressed bytes: bodies, documents, statements, vectors."""

    async def put(self, content: bytes) -> str:
        """Store and return the reference: 64 hexadecimal digits, blake2b-256 of the content."""

    async def get(self, ref: str) -> bytes:
        """The content. Raises MissingBlob."""


@dataclass(frozen=True, slots=True)
class StoredBlob:
    """A blob without its content."""

    ref: str
    written_at: int
    """When it was stored last, microseconds since 1970 UTC."""


class BlobCollection(Protocol):
    """All blobs and all references to them, for the collection of those that nothing refers to.

    Rows are read in an order of positions from 0 to 2^64. A read from a position returns about `limit` rows, and the
    position where the next read starts, or None at the end.
    """

    @property
    def sources(self) -> Sequence[str]:
        """The tables whose rows refer to blobs."""

    async def references(
        self, source: str, position: int, limit: int, without: Collection[UUID] = ()
    ) -> tuple[list[bytes], int | None]:
        """References in the rows of a source, 32 bytes each, `without` those in the rows of these pages."""

    async def stored(self, position: int, limit: int) -> tuple[list[StoredBlob], int | None]:
        """Blobs, also those that were stored only in part."""

    async def candidates(self, position: int, limit: int) -> tuple[list[str], int | None]:
        """References of the blobs that a former sweep found unreferenced."""

    async def candidates_since(self, refs: Sequence[str]) -> dict[str, int]:
        """When each of these became a candidate, microseconds since 1970 UTC. Others are left out."""

    async def note_candidates(self, refs: Sequence[str], at: int) -> None: ...

    async def drop_candidates(self, refs: Sequence[str]) -> None: ...

    async def find(self, ref: str) -> StoredBlob | None: ...

    async def size_bytes(self, ref: str) -> int:
        """The size of the blob as it is stored."""

    async def delete(self, blob: StoredBlob) -> None:
        """Delete the blob, unless it was stored again since. It is no candidate any more."""


class Pages(Protocol):
    """Records: each stage's latest facts about a page. Values are of types that MessagePack has."""

    async def put(self, page_id: UUID, part: Part, value: Mapping[str, Any], at: int) -> None: ...

    async def get(self, page_id: UUID) -> dict[Part, dict[str, Any]]:
        """All parts; empty when nothing is known."""

    async def scan(self, after: int, upto: int, limit: int) -> list[tuple[int, UUID]]:
        """The next pages with a token above `after` and at most `upto`, by token: for jobs that visit every page.

        Tokens are hashes of page ids, from -2^63 to 2^63 - 1.
        """

    async def erase(self, page_id: UUID, before: int) -> None:
        """Erase what was written with an earlier time. A write of such a time that comes later is lost, too."""


@dataclass(frozen=True, slots=True)
class PartProgress:
    """The progress of one part of the ring of tokens."""

    token: int
    """The last token that is done."""
    pages: int = 0
    """Number of pages of this part that were written."""
    statements: int = 0


class Reindexing(Protocol):
    """The progress of `riffle reindex`, by collection and host (empty: all hosts), so that it goes on after a stop."""

    async def progress(self, collection: str, host: str) -> dict[int, PartProgress]: ...

    async def put(self, collection: str, host: str, part: int, progress: PartProgress) -> None: ...

    async def clear(self, collection: str, host: str) -> None: ...


@dataclass(frozen=True, slots=True)
class HostRank:
    """The in-links and the rank of a host, as far as they are known."""

    in_links: int = 0
    """Number of hosts that link to it, rounded down."""
    rank: float | None = None
    """Its PageRank, 1 for a host without links to it. None: not computed yet."""


class HostLinks(Protocol):
    """The graph of hosts: which hosts link to a host, and its rank."""

    async def sources(self, host: str, limit: int) -> dict[str, str]:
        """Hosts that link to this host, each with the URL of a page that does; `limit` of them at most."""

    async def add(self, host: str, source: str, source_url: str) -> None:
        """A page of the host `source` links to `host`. The last page of a source stays."""

    async def put_in_links(self, host: str, in_links: int) -> None: ...

    async def put_ranks(self, ranks: Mapping[str, float]) -> None: ...

    async def ranks(self, hosts: Collection[str]) -> dict[str, HostRank]:
        """The in-links and ranks of some hosts. Hosts without either are left out."""

    async def scan(self, after: int, upto: int, limit: int) -> list[tuple[int, str, tuple[str, ...]]]:
        """The next linked hosts with a token above `after` and at most `upto`, by token, each with its sources.

        Tokens are hashes of hosts, from -2^63 to 2^63 - 1.
        """


@dataclass(frozen=True, slots=True)
class Transition:
    """One step of a page's life, as the ledger keeps it."""

    page_id: UUID
    event_id: UUID
    topic: str
    source: str
    at: int
    """The event's time, microseconds since 1970 UTC."""
    outcome: str = ""
    """One line for people: what was found or decided."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """The event's data."""


class Ledger(Protocol):
    """Every transition of every page, by page."""

    async def record(self, *transitions: Transition) -> None:
        """Store transitions of one page together: all or none of them."""

    async def history(self, page_id: UUID) -> list[Transition]:
        """Oldest first."""

    async def erase(self, page_id: UUID, before: int) -> None:
        """Erase the transitions of an earlier time. One that is recorded later with such a time is lost, too."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """An embedding model, as the model repository describes it."""

    name: str
    version: str
    dimensions: int
    max_tokens: int = 256
    normalized: bool = True


class Embedder(Protocol):
    """The embedding model."""

    async def info(self, *, urgent: bool = False) -> ModelInfo:
        """The description of the model; with `urgent`, of the one that embeds queries."""

    async def embed(
        self, texts: Sequence[str], *, deadline_seconds: float | None = None, urgent: bool = False
    ) -> Vectors:
        """Shape (len(texts), dimensions). Any number of texts: batched as the model wants.

        `urgent`: a person waits for it, so it is served by the model for queries, or before bulk work.
        """


@dataclass(frozen=True, slots=True)
class Link:
    """The chain model's answer about one sentence. Sentences are named by their index."""

    antecedents: tuple[int, ...] = ()
    """The earlier sentences that it may need, the most probable first. None: it needs none."""
    followed: int = -1
    """The earlier sentence at which a chain through this one goes on, or -1."""
    need: float = 0.0
    """Probability that the sentence needs an earlier one."""
    leaf: float = 1.0
    """Probability that the sentence can be matched alone."""


def moved(link: Link, start: int) -> Link:
    """The link of a sentence whose page begins `start` sentences earlier."""
    followed = link.followed + start if link.followed >= 0 else -1
    return Link(tuple(at + start for at in link.antecedents), followed, link.need, link.leaf)


class ChainModel(Protocol):
    """The model that finds the antecedent of each sentence."""

    async def links(self, sentences: Sequence[str], *, deadline_seconds: float | None = None) -> list[Link]:
        """The link of each sentence of a page. An empty sentence is a break that no link crosses."""


class Reranker(Protocol):
    """The cross-encoder, which scores texts as answers to a query."""

    async def scores(
        self, query: str, texts: Sequence[str], *, deadline_seconds: float | None = None
    ) -> Sequence[float]:
        """The score of each text. Only those of one query can be compared."""


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Term ids and weights, same length."""

    indices: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """One statement in the vector index."""

    id: UUID
    dense: Sequence[float]
    sparse: SparseVector
    payload: Mapping[str, Any]
    """At least page_id, url, host, title, text, context, ordinal, language, generation."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions that results must meet. None and empty are no condition."""

    page_id: UUID | None = None
    host: str | None = None
    languages: tuple[str, ...] = ()
    """Any of these, as the points spell them; an empty one is that of points without a language."""
    exclude_hosts: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()
    """Hosts, of which any is meant with its subdomains."""
    exclude_sites: tuple[str, ...] = ()
    """Hosts that are left out with their subdomains."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A statement that matched."""

    id: UUID
    score: float
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PageHits:
    """The statements of one page that matched, best first."""

    page_id: UUID
    hits: tuple[Hit, ...]
    score: float
    """The page's own score: the best of each list may be two statements."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The two lists that a search is answered from, each with the best first and with its engine's scores."""

    dense: tuple[Hit, ...] = ()
    sparse: tuple[Hit, ...] = ()
    limit: int = 0
    """Maximum statements of a list. A shorter one has all that match."""


class VectorIndex(Protocol):
    """The index of statements by meaning and by words: a collection for each model version, and an alias for one."""

    async def ensure(self, model: ModelInfo) -> str:
        """Create the model's collection and payload indexes if need be; point the alias to it if there is none.

        Returns the collection's name.
        """

    async def active(self) -> str | None:
        """The collection that the alias points to, or None."""

    async def activate(self, collection: str) -> None:
        """Point the alias to this collection: searches read it from now on."""

    async def upsert(self, collection: str, points: Sequence[Point]) -> None: ...

    async def remove_page(
        self, collection: str, page_id: UUID, *, before_generation: int | None = None, keep: Sequence[UUID] = ()
    ) -> None:
        """Remove a page's points but those in `keep`; with `before_generation`, only those of an older generation."""

    async def candidates(
        self,
        *,
        dense: Sequence[float] | None,
        sparse: SparseVector | None,
        filters: Filters = Filters(),
        limit: int = 100,
    ) -> Candidates:
        """The best statements by meaning and by words. A list whose vector is None, or has no terms, is empty."""

    async def dense_vectors(self, ids: Sequence[UUID]) -> list[Sequence[float]]:
        """The dense vectors of these statements, in the order of the ids. Statements that are not there are left out.

        They are read from the collection that searches read. Engines may return them scaled to length 1.
        """

    async def nearest(self, collection: str, dense: Sequence[float], limit: int, *, exact: bool = False) -> list[Hit]:
        """The statements with the nearest vectors, as a search finds them; with `exact`, all vectors are compared."""

    async def scroll(self, collection: str, page_id: UUID) -> list[Hit]:
        """All points of a page, by ordinal. Scores are 0."""

    async def count(self, collection: str, page_id: UUID | None = None, generation: int | None = None) -> int:
        """The number of statements; of one page, and of one generation of it."""

    async def collections(self) -> list[str]: ...

    async def drop(self, collection: str) -> None:
        """Remove a former model's collection. Raises UsageError when searches still read it."""

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A page's fingerprint, with the facts that an election needs, and the decision about the page."""

    page_id: UUID
    content_hash: str
    simhash: int
    """Unsigned, 64 bits."""
    url: str
    generation: int
    canonical_url: str | None = None
    first_seen: int = 0
    """When the page was first fetched with this text, microseconds since 1970 UTC."""
    in_links: int = 0
    """Number of distinct pages that linked to the page when it was fetched. The ledger stores at most 48."""
    document_ref: str = ""
    words: int = 0
    sketch: bytes = b""
    """8-bit minwise hashes of the text's shingles. The share of equal ones estimates the Jaccard similarity."""
    bands: tuple[int, ...] = ()
    """Unsigned, 64 bits each. Two similar pages nearly always have at least one in common."""
    representative: UUID | None = None
    """The page's representative. None if that is undecided. Only `set_representative` writes it, `put` doesn't."""
    decided_at: int = 0
    """The write time of the decision. Like `written_at` it comes from the store."""
    written_at: int = 0
    """The write time of the fingerprint."""
    simhash_version: int = 1
    """The version of the word weights in the SimHash. Those of different versions are never compared."""
    site_first_seen: int = 0
    """When the page's site first had this text. Only `set_representative` writes it. 0 while the page is undecided."""
    group: UUID | None = field(default=None, compare=False)
    """The id of the page's group, or of the page itself if it is a representative. It comes from the store."""
    is_hidden: bool = field(default=False, compare=False)
    """True if look-ups don't find the page. It comes from the store. For a representative, `set_representative`
    must be called again: another worker made it a duplicate at the same moment."""

    @property
    def known_since(self) -> int:
        """`site_first_seen`, or `first_seen` while the page is undecided."""
        return self.site_first_seen or self.first_seen


class Unread(Enum):
    """The type of UNREAD."""

    UNREAD = 0


UNREAD: Final = Unread.UNREAD
"""In place of a page's row: the store reads it."""
Known = Fingerprint | None | Unread
"""A page's row as the caller has read it, which saves a read. It may be out of date. None: there was none."""

MIN_NEAR_WORDS = 50
"""Minimum length (words) of near-duplicates. In a shorter text a few other words may change all that it says."""
MAX_FOUND = 32
"""Maximum number of pages that a look-up of fingerprints returns."""


def group_of(representative: UUID, text: str = "") -> UUID:
    """The id of the group of a representative with this content hash. Without a text it is the page's id."""
    return uuid5(representative, text) if text else representative


@dataclass(frozen=True, slots=True)
class AliasEvidence:
    """Two URLs that a URL alias rule makes one, and whether their pages were duplicates."""

    host: str
    rule: str
    slot: int
    """0..63. It depends on the pair, so that a pair counts once and a rule has at most 64 pairs."""
    url: str
    other: str
    agrees: bool


class Fingerprints(Protocol):
    """Fingerprints, read by key and never by a scan.

    The look-ups `exact`, `near` and `similar` find representatives and undecided pages only. So their cost does not
    depend on the size of a group.
    """

    async def put(self, fingerprint: Fingerprint, at: int, former: Known = UNREAD) -> None:
        """Store it under its page, content hash, SimHash tables and bands. It replaces the page's former one.

        A text with less than MIN_NEAR_WORDS words is stored under its page and content hash alone.
        """

    async def get(self, page_id: UUID) -> Fingerprint | None: ...

    async def exact(self, content_hash: str) -> list[Fingerprint]:
        """Pages with this content, at most MAX_FOUND."""

    async def near(self, simhash: int, distance: int = 3, version: int = 1) -> list[Fingerprint]:
        """The nearest pages, at most MAX_FOUND: of this version, with at most `distance` other bits (at most 3)."""

    async def similar(self, fingerprint: Fingerprint, similarity: float) -> list[Fingerprint]:
        """The most similar pages, at most MAX_FOUND: they share a band and have at least this estimated similarity."""

    async def look_up(self, fingerprint: Fingerprint, distance: int, similarity: float) -> list[Fingerprint]:
        """The page itself as it is stored now, and all that `exact`, `near` and `similar` find for it.

        Each row is read once. A text with less than MIN_NEAR_WORDS words has no near or similar pages.
        """

    async def remove(self, page_id: UUID, at: int, former: Known = UNREAD) -> None: ...

    async def set_representative(
        self,
        page_id: UUID,
        representative: UUID,
        at: int,
        site_first_seen: int = 0,
        representative_text: str = "",
        known: Known = UNREAD,
    ) -> None:
        """Store the page's representative. If it is the page itself, the page leaves its group.

        `representative_text` is the content hash of the representative: a page with another text has another group.
        Without a fingerprint nothing is stored. Look-ups find the page afterwards if it is a representative. If
        `known` is out of date, the page may be hidden nevertheless: read it again, and repeat the call then.
        """

    async def duplicates(self, representative: UUID, limit: int) -> list[Fingerprint]:
        """Some duplicates of this representative: all, if they are less than `limit`."""

    async def move_duplicates(self, former: UUID, successor: UUID, at: int, kept_text: str = "") -> None:
        """Make all duplicates of one page duplicates of another one, at a cost that doesn't depend on their number.

        Those of the text with the content hash `kept_text` stay.
        """

    async def groups(self, representatives: Sequence[UUID], limit: int) -> dict[UUID, list[Fingerprint]]:
        """The duplicates of each representative that has some, about `limit` of each."""

    async def note_alias_evidence(self, evidence: AliasEvidence, at: int) -> None:
        """Store it in its slot, in place of what is there.

        Agreement never replaces disagreement, whichever is older.
        """

    async def alias_evidence(self, host: str) -> list[AliasEvidence]:
        """The evidence about a host's URLs, by rule and slot."""


CrawlState = Literal["queued", "deferred", "fetched", "settled", "redirected", "failed", "refused", "seen"]
"""The state of a URL in one crawl. Queued and fetched URLs are on their way. Deferred ones wait until the host answers
again. All other states are final."""
CRAWL_BUCKETS = 16
"""Number of buckets with the URLs of one crawl, by host. It is part of the stored rows' keys."""


@dataclass(frozen=True, slots=True)
class CrawlCounts:
    """The number of URLs in each state, as one owner of hosts has counted them. Only the sum over all owners is never
    negative, since hosts get another owner when the number of partitions changes."""

    urls: Mapping[CrawlState, int] = field(default_factory=dict)
    at: int = 0
    """The write time: greater with every write."""


def total(counts: Iterable[CrawlCounts]) -> dict[CrawlState, int]:
    """Return the sum of the counts of all owners, without states that no URL has."""
    found: dict[CrawlState, int] = {}
    for of_owner in counts:
        for state, number in of_owner.urls.items():
            found[state] = found.get(state, 0) + number
    return {state: number for state, number in found.items() if number}


@dataclass(frozen=True, slots=True)
class FrontierHost:
    """The frontier's row of a host. Only the agent that owns the host's Kafka partition writes it."""

    bucket: int
    """0..4095, from the host's name (`streams.stores.host_buckets`)."""
    host: str
    due: int | None
    """When the host is due, microseconds since 1970 UTC. None: nothing waits."""
    state: Mapping[str, Any]
    at: int
    """The write time: greater with every write of this host, whatever the clocks say."""


@dataclass(frozen=True, slots=True, order=True)
class QueueEntry:
    """A place in a host's queue. Entries are ordered by their fields."""

    position: int
    """When it is due, microseconds since 1970 UTC."""
    page_id: UUID


@dataclass(frozen=True, slots=True)
class FrontierUrl:
    """The frontier's row of a URL. It is the truth: a queue entry with another position is stale."""

    page_id: UUID
    url: str
    host: str
    state: Literal["queued", "done"]
    at: int
    """The write time: greater with every write of this URL."""
    position: int = 0
    attempt: int = 0
    """Failed fetches since the URL was queued."""
    depth: int = 0
    max_depth: int | None = None
    max_pages: int | None = None
    same_host: bool = False
    crawl_id: str = ""
    redirects: int = 0
    """Redirects that led here."""
    forced: bool = False
    cause: str = ""
    """Id of the event that queued the URL last. A redelivery of it changes nothing."""
    generation: int = 0
    """Generation of the last answer that was applied."""
    ok_generation: int = 0
    """Generation of the last answer with content. 0: there was none."""
    settled_generation: int = 0
    """Generation of the last answer that is settled."""
    lease_generation: int = 0
    """Highest generation that was given out with a lease which ended. The next lease has a higher one."""
    outcome: str = ""
    detail: str = ""
    etag: str | None = None
    last_modified: str | None = None
    why: str = ""
    """Why the URL was discovered first, as in `pages.discovered`. Empty in rows of earlier versions."""
    referrer: str = ""
    """The page that led to the URL first."""
    discovered_at: int = 0
    """When the URL was discovered first, microseconds since 1970 UTC."""


@dataclass(frozen=True, slots=True)
class HeldUrl:
    """An alias that waits beside its target, in case the alias rule turns out to be wrong.

    A target has 16 slots, so their number is bounded by the pages of the host.
    """

    host: str
    """Host of the target."""
    target: UUID
    """The page that is fetched instead."""
    slot: int
    """0..15."""
    discovered: str
    """The event that discovered the alias, as JSON: enough to fetch it later."""
    at: int
    """The write time."""


@dataclass(frozen=True, slots=True)
class PartitionOwner:
    """The frontier worker that owns a partition."""

    partition: int
    worker: str
    epoch: int
    """Number that grows with each owner of the partition."""


class FrontierStore(Protocol):
    """The frontier's durable state: hosts, the time-ordered queue of each, and URLs.

    Every call reads or writes by key. A queue is read from a cursor, so entries already taken are never read again.
    """

    async def active_hosts(self, buckets: Sequence[int]) -> list[tuple[str, int]]:
        """Return name and due time of every host in these buckets that is due at some time."""

    async def owner(self, partition: int) -> PartitionOwner | None:
        """Return the owner with the highest epoch."""

    async def put_owner(self, owner: PartitionOwner) -> None:
        """Write the owner, unless one with a higher epoch is there."""

    async def host(self, bucket: int, host: str) -> FrontierHost | None: ...

    async def put_host(self, host: FrontierHost) -> None: ...

    async def push(self, host: str, entries: Sequence[QueueEntry], at: int) -> None:
        """Write entries of one queue together: all or none of them."""

    async def queued(self, host: str, after: QueueEntry | None, limit: int) -> list[QueueEntry]:
        """Return the next entries after the cursor `after` (None: from the start), in order, due or not."""

    async def trim(self, host: str, upto: QueueEntry, at: int) -> None:
        """Delete the entries up to and with `upto`, which the cursor has passed."""

    async def url(self, page_id: UUID) -> FrontierUrl | None: ...

    async def put_url(self, url: FrontierUrl) -> None: ...

    async def states(self, crawl_id: str, bucket: int, page_ids: Sequence[UUID]) -> dict[UUID, CrawlState]:
        """Return the states of some URLs in this crawl, without those that have none."""

    async def put_states(
        self, crawl_id: str, bucket: int, states: Mapping[UUID, CrawlState], owner: str, counts: CrawlCounts
    ) -> None:
        """Write states of URLs, and the counts of their owner with them: all or nothing."""

    async def owner_counts(self, crawl_id: str, bucket: int, owner: str) -> CrawlCounts:
        """Return the counts of one owner. Without any, they are empty."""

    async def crawl_counts(self, crawl_id: str) -> dict[CrawlState, int]:
        """Return the number of the crawl's URLs in each state, over all buckets and owners."""

    async def hold(self, held: HeldUrl) -> None:
        """Write the row, replacing the one in its target's slot."""

    async def held(self, host: str, after: HeldUrl | None, limit: int) -> list[HeldUrl]:
        """Return the held URLs of a host's targets after `after` (None: from the start), by target and slot."""

    async def held_for(self, host: str, target: UUID) -> list[HeldUrl]:
        """Return the held URLs of one target, by slot."""

    async def release(self, held: HeldUrl) -> None:
        """Delete the row, unless it was written again since."""
