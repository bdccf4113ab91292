"""A page's record: the latest facts of each stage about it, in parts. Pure.

Each part is stored as a row (`rows`). A new fact gets a field here, and mypy names the places that make the part.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar
from uuid import UUID

from schemas import PageFetched
from schemas.pages import ModelName
from streams.stores.rows import Missing, Row, read_row, row_of

Part = Literal[
    "fetched",
    "normalized",
    "deduplicated",
    "chunked",
    "indexed",
    "removed",
    "feed",
    "render",
    "moved",
    "withheld",
]
"""The parts of a page's record: each is written by one stage only, so no stage reads before it writes."""
Generation = Annotated[int, Missing(-1)]
"""Time of a fetch (microseconds since 1970 UTC), or -1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPart:
    """The facts that all parts have."""

    PART: ClassVar[Part]
    LENIENT: ClassVar = True

    url: str
    generation: Generation
    stored: Row | None = field(default=None, repr=False, compare=False)
    """The row that the part was read from, or None."""

    @classmethod
    def of_row(cls, row: Row) -> Self:
        """Return the part with the facts of this row. The row may lack any fact."""
        return read_row(cls, row)

    def row(self) -> dict[str, Any]:
        return row_of(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusablePart(StoredPart):
    """A part that a stage makes of the page, or the reason why it refuses the page."""

    refused: str | None = None

    @classmethod
    def of_refusal(cls, url: str, generation: int, reason: str) -> Self:
        return cls.of_row({"url": url, "generation": generation, "refused": reason})


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched(StoredPart):
    """The last answer to a request. Its row is the event, without facts that are None.

    An answer without content has the references of the last content, as long as the page may be in the index.
    """

    PART: ClassVar[Part] = "fetched"

    lease_id: UUID | None
    source: str
    """`crawl`, or the kind of an import."""
    origin: str
    """The name of the index that handed the page on; empty: none did."""
    outcome: str
    redirect_to: str | None
    body_ref: str | None
    body_bytes: int
    exchange_ref: str | None
    not_found_ref: str | None
    """The page that the host sends for a missing name, which the content was compared with. None: there was none."""
    headers: Mapping[str, str]

    @classmethod
    def of_event(cls, event: PageFetched) -> Self:
        # What is handed on is looked at once, and sweeps keep whatever a record refers to.
        return cls.of_row(event.model_dump(mode="json", exclude_none=True, exclude={"brought_ref"}))

    def event(self) -> PageFetched:
        return PageFetched.model_validate(self.row())


@dataclass(frozen=True, slots=True, kw_only=True)
class Normalized(RefusablePart):
    """The document of the page, or why the document was refused."""

    PART: ClassVar[Part] = "normalized"

    document_ref: str
    content_hash: str
    title: str
    description: str
    language: str
    language_confidence: float
    canonical: str | None
    alternates: Mapping[str, str]
    """The versions in other languages that the page names: canonical URLs by their language tags, in lower case."""
    directives: tuple[str, ...]
    text_chars: int
    blocks: int
    links: int
    author: str | None
    published: str | None
    """An ISO date, or a date and a time."""
    modified: str | None
    site_name: str | None
    image: str | None
    licence: str | None
    type: str | None
    format: str | None
    """The kind of the file, such as `pdf`. None: a web page."""
    typed: Mapping[str, str]
    """The facts for readers of results: rating, price, duration, accepted answer."""
    quality: Mapping[str, float]
    """The quality of the page (`score`) and its parts, from 0 to 1."""
    sign_in: str
    """`form`: the page is little more than a form to sign in; `beside`: it has one beside its content; else empty."""
    audience: str
    """The private sites whose keys find the page. Empty: everybody finds it."""

    @property
    def family(self) -> str:
        """The name of the set of pages that are versions of this one in other languages; empty if it names none.

        The set has the page itself. So two pages have one name only if each of them names the other one: who names the
        versions of another page is none of them.
        """
        urls = {url.partition("://")[2] for url in (self.url, *self.alternates.values())}
        return blake2b("\n".join(sorted(urls)).encode(), digest_size=12).hexdigest() if len(urls) > 1 else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedText:
    """The text of a removed page. From this text, the page gets its former age if it comes back."""

    content_hash: str
    first_seen: int
    """The page's first generation with the text."""
    sights: tuple[tuple[str, int, bool], ...] = ()
    """First sights of texts: the sketch in hexadecimal digits, the time, and whether the page itself had the text."""
    stored: Row | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deduplicated(StoredPart):
    """The decision about the page (unique, a duplicate, removed), and the changes that its event made.

    A removal has no document, and a page without a decision has no outcome: such facts are None.
    """

    PART: ClassVar[Part] = "deduplicated"

    document_ref: str | None
    content_hash: str | None
    words: int | None
    verdict: str | None
    """`unique`, `exact`, `near` or `removed`."""
    canonical_page_id: UUID | None
    canonical_url: str | None
    distance: int | None
    simhash: str | None
    repeats: bool | None
    """True if an earlier fetch had the same document, and the page was a representative already."""
    document_generation: int | None
    """The first generation with this document."""
    copied: float | None
    """Similarity to the most similar older page of another registrable domain, 0..1."""
    first_seen: int | None
    """When the page first had this text, or a similar one, microseconds since 1970 UTC."""
    settled: str | None
    crawl_id: str | None
    reason: str | None
    """Why the page was removed."""
    removed_text: RemovedText | None
    event: str | None
    """The event that wrote the record."""
    changes: tuple[UUID, ...] | None
    """Other pages with a decision that this event changed."""
    overtaken: Mapping[str, tuple[UUID, ...]] | None
    """Earlier events of the page, each with the pages that it changed. Such an event may have failed and come again."""
    at: int
    """Time of the write, microseconds since 1970 UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunked(RefusablePart):
    """Why the last statements of the page were refused. Statements that were not are part of `Indexed`."""

    PART: ClassVar[Part] = "chunked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed(StoredPart):
    """The points of the page in the index, and the vectors of its statements."""

    PART: ClassVar[Part] = "indexed"

    title: str
    language: str
    statements: int
    left_out: int = 0
    """Number of statements that a very long page has beyond its bound, as far as they can be counted."""
    made: Mapping[str, int] = field(default_factory=dict)
    """Version of each stage whose result is in it (`topology`)."""
    model: str
    model_version: str
    collection: str
    statements_ref: str
    vectors_ref: str
    dimensions: int
    readable: float | None = None
    """Share of its sentences that a reader can read, 0..1. None: too few, or not known."""
    at: int
    """Time of the write, microseconds since 1970 UTC."""

    @property
    def embedded_by(self) -> ModelName:
        return ModelName(self.model, self.model_version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed(StoredPart):
    """The last removal of the page."""

    PART: ClassVar[Part] = "removed"

    reason: str
    detail: str | None
    canonical_page_id: UUID | None
    withdrawn: int | None
    """The highest generation of the removals on request that were withdrawn."""
    at: int
    """Time of the write, microseconds since 1970 UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed(StoredPart):
    """A feed (RSS, Atom, JSON Feed), as it was read last."""

    PART: ClassVar[Part] = "feed"

    entries_hash: str = ""
    """Hash of the addresses and dates of its entries."""
    is_changed: bool = True
    """True if the entries were others before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRendered(StoredPart):
    """Why the last try to render the page in a browser left its static document."""

    PART: ClassVar[Part] = "render"

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved(StoredPart):
    """The last address of the same owner that redirected to the page. Its own record says whether it still does."""

    PART: ClassVar[Part] = "moved"

    source: str
    """The URL of that address. Empty: none did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld(StoredPart):
    """The last removal of the page by a program. No crawl fetches the page until a later answer is known."""

    PART: ClassVar[Part] = "withheld"

    at: int
    """Time of the write, microseconds since 1970 UTC."""


PART_TYPES: Mapping[Part, type[StoredPart]] = {
    part.PART: part
    for part in (
        Fetched,
        Normalized,
        Deduplicated,
        Chunked,
        Indexed,
        Removed,
        Feed,
        NotRendered,
        Moved,
        Withheld,
    )
}


P = TypeVar("P", bound=StoredPart)


def _part(kind: type[P]) -> cached_property[P]:
    """Return the property of a record that has its part of this class."""
    return cached_property(lambda record: kind.of_row(record.rows.get(kind.PART, {})))


@dataclass(frozen=True)
class PageRecord:
    """All parts of a page's record. A part that is not stored has the facts of an empty row."""

    rows: Mapping[str, Row] = field(default_factory=dict)
    """The rows of the stored parts by name, also the rows of parts that are unknown to this release."""

    fetched = _part(Fetched)
    normalized = _part(Normalized)
    deduplicated = _part(Deduplicated)
    chunked = _part(Chunked)
    indexed = _part(Indexed)
    removed = _part(Removed)
    feed = _part(Feed)
    not_rendered = _part(NotRendered)
    moved = _part(Moved)
    withheld = _part(Withheld)

    def why_not_rendered(self) -> str:
        """Return why a browser left the last answer as it was fetched, or an empty text."""
        refusal = self.not_rendered
        return refusal.reason if refusal.generation == self.fetched.generation else ""

    def parts(self) -> list[StoredPart]:
        """Return the parts that are stored and known to this release, in the order of a page's journey."""
        return [part.of_row(self.rows[part.PART]) for part in PART_TYPES.values() if self.has(part)]

    def has(self, part: type[StoredPart]) -> bool:
        """Return True if this part is stored."""
        return part.PART in self.rows
