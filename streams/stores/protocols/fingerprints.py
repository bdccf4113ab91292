"""Fingerprints, groups of duplicates, and evidence about URL alias rules."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar, Final, Protocol
from uuid import UUID, uuid5

from streams.stores.page_record import Deduplicated, PageRecord
from streams.stores.rows import Row


@dataclass(frozen=True, slots=True)
class Sight:
    """The first sight of a text at a page, or at another page of the same site."""

    sketch: bytes
    """The sketch of the text. Only texts similar to this one have its age, so no chain of small changes inherits it."""
    at: int
    """Microseconds since 1970 UTC."""
    is_own: bool = True
    """True if the page itself had the text, or a page that a URL rule or a canonical link makes the same page."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A page's fingerprint, with the facts that an election needs, and the decision about the page."""

    COLUMNS: ClassVar = frozenset(
        (
            "page_id",
            "representative",
            "decided_at",
            "sights",
            "inherited",
            "written_at",
            "group",
            "is_hidden",
            "in_links",
        )
    )

    page_id: UUID
    content_hash: str
    simhash: int
    """Unsigned, 64 bits."""
    url: str
    generation: int
    canonical_url: str | None = None
    first_seen: int = 0
    """When the page first had this text, or a similar one, microseconds since 1970 UTC."""
    in_links: int = 0
    """Number of distinct pages that link to the page, at most 48. It is not stored: an election counts them if they may
    decide it."""
    document_ref: str = ""
    words: int = 0
    sketch: bytes = b""
    """8-bit minwise hashes of the text's shingles. The share of equal ones estimates the Jaccard similarity."""
    keys: tuple[int, ...] = ()
    """The keys under which equal and similar texts are looked up, of 63 bits each. None: no text is a duplicate."""
    representative: UUID | None = None
    """The page's representative. None: undecided."""
    decided_at: int = 0
    """The write time of the decision. Like `written_at`, it comes from the store."""
    written_at: int = 0
    """The write time of the fingerprint."""
    simhash_version: int = 1
    """The version of the word weights in the SimHash. SimHashes of different versions are never compared."""
    sights: tuple[Sight, ...] = ()
    """The first sights of the texts that the page had. Empty if it had only the present text, since `first_seen`."""
    inherited: tuple[Sight, ...] = ()
    """First sights of this text at other pages of the site. Only `set_representative` writes them."""
    group: UUID | None = field(default=None, compare=False)
    """The id of the page's group, or of the page itself if it is a representative. It comes from the store."""
    is_hidden: bool = field(default=False, compare=False)
    """True if look-ups don't find the page. It comes from the store. For a hidden representative, `set_representative`
    must be called again: another worker made the page a duplicate at the same moment."""
    stored: Row | None = field(default=None, repr=False, compare=False)


class Unread(Enum):
    """The type of UNREAD."""

    UNREAD = 0


UNREAD: Final = Unread.UNREAD
"""A value in place of a page's row. The store reads the row then."""


Known = Fingerprint | None | Unread
"""A page's row as the caller has read it, which saves a read. The row may be out of date. None: there was no row."""


MIN_NEAR_WORDS = 50
"""Minimum length (words) of near-duplicates. In a shorter text, a few other words may change the meaning."""


MAX_FOUND = 32
"""Maximum number of pages that a look-up of fingerprints returns."""


def group_of(representative: UUID, text: str = "") -> UUID:
    """Return the id of the group of a representative with this content hash. Without a text it is the page's id."""
    return uuid5(representative, text) if text else representative


@dataclass(frozen=True, slots=True)
class AliasEvidence:
    """Two URLs that are one by a URL alias rule, and whether their pages were duplicates."""

    host: str
    rule: str
    slot: int
    """0..63. The slot follows from the pair, so that a pair counts once and a rule has at most 64 pairs."""
    url: str
    other: str
    agrees: bool


class Fingerprints(Protocol):
    """Fingerprints, read by key and never by a scan.

    A look-up finds representatives and undecided pages only. So its cost does not depend on the size of a group.
    """

    async def put(
        self, fingerprint: Fingerprint, at: int, former: Known = UNREAD, record: Deduplicated | None = None
    ) -> None:
        """Store the fingerprint under page and keys, in place of the page's former one, unless that is newer.

        If its representative is the page itself, this decision is written with it, at the same time. Otherwise the
        former decision stays. `record`: a part of the page's record that is written in the same write, at its own time.
        """

    async def get(self, page_id: UUID) -> Fingerprint | None: ...

    async def get_with_record(self, page_id: UUID) -> tuple[PageRecord, Fingerprint | None]:
        """Return the record and the fingerprint of a page, by one read."""

    async def get_all(self, page_ids: Sequence[UUID]) -> dict[UUID, Fingerprint]:
        """Return the pages that have a row, as they are stored: a duplicate is without its representative."""

    async def look_up(
        self, fingerprint: Fingerprint, similarity: float, own: Fingerprint | None = None
    ) -> list[Fingerprint]:
        """Return the page itself as it is stored now, and the pages that are like it, each once.

        These share a key and have at least this estimated similarity: at most MAX_FOUND, the most similar ones.

        `own`: the page's row if the caller has just stored it, and there was none before. It is returned as it is if no
        other page has a key of the text, which saves a read: a worker decides about this page only after it stored a
        page with one of these keys. None: the row is read.
        """

    async def remove(self, page_id: UUID, at: int, former: Known = UNREAD) -> None: ...

    async def set_representative(
        self,
        page_id: UUID,
        representative: UUID,
        at: int,
        inherited: Sequence[Sight] = (),
        representative_text: str = "",
        known: Known = UNREAD,
    ) -> None:
        """Store the page's representative. If the page represents itself, it leaves its group.

        `representative_text` is the content hash of the representative: a page with another text has another group.
        Without a fingerprint nothing is stored. Look-ups find the page afterwards if it is a representative. If
        `known` is out of date, the page may be hidden nevertheless: read the page again then, and repeat the call.
        """

    async def duplicates(self, representative: UUID, limit: int) -> list[Fingerprint]:
        """Return duplicates of this representative: all of them if they are fewer than `limit`."""

    async def move_duplicates(self, former: UUID, successor: UUID, at: int, kept_text: str = "") -> None:
        """Make all duplicates of one page duplicates of another one, at a cost that doesn't depend on their number.

        Fingerprints of the text with the content hash `kept_text` stay.
        """

    async def groups(self, representatives: Sequence[UUID], limit: int) -> dict[UUID, list[Fingerprint]]:
        """Return the duplicates of each representative that has some, about `limit` of each."""

    async def note_alias_evidence(self, evidence: AliasEvidence, at: int) -> None:
        """Store the evidence in its slot, in place of earlier evidence.

        Agreement never replaces disagreement, whichever is older.
        """

    async def alias_evidence(self, host: str) -> list[AliasEvidence]:
        """Return the evidence about a host's URLs, by rule and slot."""
