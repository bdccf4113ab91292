"""Events of a page's understanding: keyed by page id from here on."""

from typing import ClassVar, Literal
from uuid import UUID

from pydantic import Field

from schemas.envelope import Event


class PageEvent(Event):
    """What every event about a page's content says."""

    key_field: ClassVar[str] = "page_id"

    page_id: UUID
    url: str
    generation: int
    """The fetch that it comes from, microseconds since 1970 UTC. A lower one never replaces a higher one."""
    crawl_id: str = ""


class PageNormalized(PageEvent):
    """The page as a clean semantic document."""

    topic: ClassVar[str] = "pages.normalized"

    document_ref: str
    content_hash: str
    """Of the document's normalized text: equal for exact duplicates."""
    title: str = ""
    description: str = ""
    language: str = ""
    """BCP 47, or empty when unknown."""
    language_confidence: float = 0.0
    canonical_url: str | None = None
    directives: tuple[str, ...] = ()
    """From the robots meta and X-Robots-Tag, lower-case: noindex, nofollow, nosnippet, noarchive, noai, ..."""
    text_chars: int = 0
    links: int = 0


class PageDeduplicated(PageEvent):
    """Unique, or a duplicate of another page."""

    topic: ClassVar[str] = "pages.deduplicated"

    document_ref: str
    verdict: Literal["unique", "exact", "near"]
    canonical_page_id: UUID
    """The page itself when it is unique or elected."""
    distance: int = 0
    """Hamming distance of the fingerprints, 0..64; 0 when they are of different versions."""
    simhash: str = ""
    """16 hexadecimal digits."""
    simhash_version: int = Field(1, ge=1)
    """Those of different versions can't be compared."""


class PageChunked(PageEvent):
    """The page as statements, each with the context that it needs."""

    topic: ClassVar[str] = "pages.chunked"

    statements_ref: str
    statements: int = Field(ge=0)
    language: str = ""


class PageEmbedded(PageEvent):
    """One vector per statement."""

    topic: ClassVar[str] = "pages.embedded"

    statements_ref: str
    vectors_ref: str
    statements: int = Field(ge=0)
    model: str
    model_version: str
    dimensions: int


class PageIndexed(PageEvent):
    """Searchable from now on."""

    topic: ClassVar[str] = "pages.indexed"

    title: str = ""
    language: str = ""
    statements: int = Field(ge=0)
    model: str
    model_version: str
    collection: str


class PageRemoved(PageEvent):
    """To be taken out of every store that answers searches."""

    topic: ClassVar[str] = "pages.removed"

    reason: Literal["gone", "noindex", "blocked", "duplicate", "refused", "unsupported", "request"]
    canonical_page_id: UUID | None = None
    """The page that stands for it, when it is a duplicate."""
    detail: str | None = None
