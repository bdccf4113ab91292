"""Events about the content of a page. They are keyed by page id."""

from typing import Annotated, ClassVar, Literal, NamedTuple
from uuid import UUID

from pydantic import Field

from schemas.crawl import PageSettled
from schemas.envelope import Event
from schemas.unknown_values import ReadAs


class PageEvent(Event):
    """The fields of all events about a page's content."""

    key_field: ClassVar[str] = "page_id"

    page_id: UUID
    url: str
    generation: int
    """Time of the fetch, microseconds since 1970 UTC. A lower generation never replaces a higher one."""
    crawl_id: str = ""


class PageNormalized(PageEvent):
    """A page was turned into a semantic document."""

    topic: ClassVar[str] = "pages.normalized"

    document_ref: str
    content_hash: str
    """Hash of the document's normalized text: equal for exact duplicates."""
    title: str = ""
    description: str = ""
    language: str = ""
    """BCP 47, or empty when unknown."""
    language_confidence: float = 0.0
    canonical_url: str | None = None
    directives: tuple[str, ...] = ()
    """Directives of robots metas and X-Robots-Tag, lower-case: noindex, nofollow, nosnippet, noarchive, noai, ..."""
    text_chars: int = 0
    links: int = 0
    quality: float | None = Field(None, ge=0, le=1)
    """The quality of the page by its text and markup. None: not known."""
    seen_at: int | None = Field(None, ge=0)
    """Time when Riffle saw an imported page first, microseconds since 1970 UTC. None: at its generation."""
    audience: str = ""
    """The private sites whose keys find the page (`riffle sites`). Empty: everybody finds it."""
    brought_ref: str | None = None
    """The vectors that an index handed on with the page, as in `pages.fetched`."""


class PageDeduplicated(PageEvent):
    """A page is unique, or a duplicate of another page. Most of these events also settle a fetch of the page."""

    topic: ClassVar[str] = "pages.deduplicated"
    key_field: ClassVar[str] = "host"

    host: str = ""
    """Host of the page. Empty in events of earlier versions, which have the page's id as key."""

    document_ref: str
    verdict: Annotated[Literal["unique", "exact", "near"], ReadAs("near")]
    canonical_page_id: UUID
    """The representative of the page's group. The page itself if it is unique or the representative."""
    distance: int = 0
    """Hamming distance of the fingerprints, 0..64. 0 if their versions differ."""
    simhash: str = ""
    """16 hexadecimal digits."""
    simhash_version: int = Field(1, ge=1)
    """Version of the fingerprint. Fingerprints of different versions can't be compared."""
    settles: Annotated[Literal["changed", "unchanged", "duplicate"], ReadAs("changed")] | None = None
    """The verdict on the fetch with this generation, as in `pages.settled`, which is not sent then. None: another page
    led to this decision."""
    quality: float | None = Field(None, ge=0, le=1)
    """The quality of the page, as in `pages.settled`."""
    is_new: bool = False
    """True if the page had never been in the index when it was compared."""
    brought_ref: str | None = None
    """As in PageNormalized. None if another page led to this decision."""

    def key(self) -> str:
        return self.host or str(self.page_id)

    def settled(self) -> PageSettled | None:
        """Return the final result of the fetch that this event settles, if it settles one."""
        if self.settles is None:
            return None
        representative = self.canonical_page_id if self.settles == "duplicate" else None
        return PageSettled.following(self, verdict=self.settles, canonical_page_id=representative, quality=self.quality)


class PageChunked(PageEvent):
    """A page was split into statements, each with its context."""

    topic: ClassVar[str] = "pages.chunked"

    statements_ref: str
    statements: int = Field(ge=0)
    left_out: int = Field(0, ge=0)
    """Number of statements that a very long page has beyond its bound, as far as they can be counted."""
    made: dict[str, int] = Field(default_factory=dict)
    """Version of each stage whose result is in it, by the name of the stage."""
    language: str = ""
    is_new: bool = False
    """As in PageDeduplicated: there are no former vectors of the page."""
    brought_ref: str | None = None
    """As in PageDeduplicated."""
    readable: float | None = Field(None, ge=0, le=1)
    """Share of its sentences that a reader can read. None: too few, or not known."""


class ModelName(NamedTuple):
    """An embedding model: vectors of two models can't be compared. Its graph has another name, which is a setting."""

    name: str
    version: str


class PageEmbedded(PageEvent):
    """The statements of a page were embedded: one vector per statement."""

    topic: ClassVar[str] = "pages.embedded"

    statements_ref: str
    vectors_ref: str
    statements: int = Field(ge=0)
    left_out: int = Field(0, ge=0)
    """As in PageChunked."""
    made: dict[str, int] = Field(default_factory=dict)
    """As in PageChunked."""
    model: str
    model_version: str
    dimensions: int
    readable: float | None = Field(None, ge=0, le=1)
    """As in PageChunked."""

    @property
    def embedded_by(self) -> ModelName:
        return ModelName(self.model, self.model_version)


class PageIndexed(PageEvent):
    """A page is searchable from now on."""

    topic: ClassVar[str] = "pages.indexed"

    title: str = ""
    language: str = ""
    statements: int = Field(ge=0)
    left_out: int = Field(0, ge=0)
    """As in PageChunked."""
    model: str
    model_version: str
    collection: str


RefusedBy = Annotated[Literal["robots", "budget", "address"], ReadAs("budget")]
"""Why a URL is not requested: its host's robots.txt, what the crawl may fetch of its host, or the rules of URLs."""


class PageRemoved(PageEvent):
    """A page must be removed from all stores that answer searches."""

    topic: ClassVar[str] = "pages.removed"

    reason: Annotated[
        Literal["gone", "noindex", "blocked", "duplicate", "refused", "unsupported", "request"], ReadAs("request")
    ]
    canonical_page_id: UUID | None = None
    """The representative, if the page is a duplicate."""
    detail: str | None = None
    refused_by: RefusedBy | None = None
    """The rule that refused the URL, for the reason `refused`. Absent in events of former releases."""
