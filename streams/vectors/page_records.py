"""The place of a page in the index, by the page's records: its generations there, and how soon it was found. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple
from uuid import UUID

from schemas import PageEmbedded, PageRemoved
from schemas.envelope import COPIED_FIELDS
from streams.stores.page_quality import page_quality
from streams.stores.page_record import Indexed, PageRecord
from streams.stores.removals import is_held_back
from streams.stores.statement_payload import extension_of
from streams.topology import VERSIONS

_TYPE_NAME = re.compile("[A-Za-z]{3,40}")
_FILE_TYPES = {"markdown": "md", "text": "txt", "opendocument": "odt"}
_EXTENSIONS = {"opendocument": ("odt", "odp", "ods"), "text": ("txt", "rst", "asc", "csv", "log")}
_PLAIN_TYPES = frozenset({"webpage", "website", "object", "thing", "itempage", "creativework", "blog"})


class PageFacts(NamedTuple):
    """The facts about a page that each of its points has."""

    generation: int
    published: str = ""
    """The ISO date; empty if it is not known."""
    page_type: str = ""
    file_type: str = ""
    """The type of a file that is not HTML."""
    quality: float = 1.0
    """From 0 to 1."""
    left_out: int = 0
    """Number of statements beyond the bound of a page."""
    audience: str = ""
    """The private sites whose keys find the page; empty: everybody finds it."""
    family: str = ""
    """The name of the set of its versions in other languages; empty if it names none."""
    made: tuple[tuple[str, int], ...] = ()
    """The version of each stage whose result is in the points."""


@dataclass(frozen=True, slots=True)
class IndexedPage:
    """A page that searches may show, by its records. Two pages are equal if the same points follow from them."""

    page_id: UUID
    url: str
    generation: int
    statements: int
    """The number of the page's statements."""
    statements_ref: str
    """The reference of the page's statements."""
    facts: PageFacts


def indexed_page(page_id: UUID, record: PageRecord) -> IndexedPage | None:
    """Return the page, or None for a page that was never indexed or is removed."""
    indexed = record.indexed
    if indexed.generation < 0 or record.removed.generation >= indexed.generation:
        return None
    return IndexedPage(
        page_id,
        url=indexed.url or str(page_id),
        generation=indexed.generation,
        statements=indexed.statements,
        statements_ref=indexed.statements_ref,
        facts=facts_of(record, indexed.generation)._replace(made=_made_anew(indexed.made)),
    )


def _made_anew(made: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """Return the versions of points that are made from the records: only earlier stages have their former versions."""
    return tuple({**made, **{stage: VERSIONS[stage] for stage in ("embed", "index")}}.items()) if made else ()


def facts_of(record: PageRecord, generation: int) -> PageFacts:
    published = (record.normalized.published or "")[:10]
    return PageFacts(
        generation,
        published,
        page_type(record),
        file_type(record),
        page_quality(record).get("score", 1.0),
        record.indexed.left_out,
        record.normalized.audience,
        record.normalized.family,
        tuple(record.indexed.made.items()),
    )


def with_audience(facts: PageFacts, audience: str) -> PageFacts:
    """Return the facts of a page that has this audience by the sites as they are now.

    If the page was normalized for another one, its duplicates, links and words are to be made anew, as after
    `VectorIndex.set_audience`.
    """
    if audience == facts.audience:
        return facts
    return facts._replace(audience=audience, made=tuple({**dict(facts.made), "normalize": 0}.items()))


def with_embedded(record: PageRecord, event: PageEmbedded) -> PageRecord:
    """Return the record as it will be when the page of this event is indexed, as far as its facts follow from it."""
    made = versions_of(event)
    indexed = replace(record.indexed, readable=event.readable, left_out=event.left_out, made=made)
    return PageRecord({**record.rows, Indexed.PART: indexed.row()})


def unchanged_since(record: PageRecord, removal: PageRemoved) -> PageEmbedded | None:
    """Return the indexed content as an event of the visit that found it unchanged after this removal, or None."""
    decided, indexed = record.deduplicated, record.indexed
    is_later = decided.verdict == "unique" and decided.repeats and decided.generation > removal.generation
    is_stored = bool(indexed.statements_ref and indexed.vectors_ref)
    if not is_later or indexed.generation < (decided.document_generation or 0) or not is_stored:
        return None
    # The URL is the removal's: it decides who finds the page, and a damaged record may lack it.
    names = [name for name in PageEmbedded.model_fields if name not in COPIED_FIELDS and hasattr(indexed, name)]
    facts = {name: getattr(indexed, name) for name in names}
    return PageEmbedded.following(removal, **{**facts, "generation": decided.generation})


def versions_of(event: PageEmbedded) -> dict[str, int]:
    """Return the version of each stage whose result is in the points of this event."""
    return {**event.made, "index": VERSIONS["index"]}


def page_type(record: PageRecord) -> str:
    """Return the type of the page by its facts, as schema.org names it (`Recipe`).

    It is empty without a type, and for types that say only that a page is a page.
    """
    name = (record.normalized.type or "").rpartition("/")[2].partition(".")[0]
    return "" if not _TYPE_NAME.fullmatch(name) or name.lower() in _PLAIN_TYPES else name[0].upper() + name[1:]


def file_type(record: PageRecord) -> str:
    """Return the type of a file as `filetype:` has it; empty for a web page.

    The extension of the URL counts where it says more: `ods` for a sheet, `rst` for a plain text.
    """
    kind = record.normalized.format or ""
    extension = extension_of(record.normalized.url)
    return (extension if extension in _EXTENSIONS.get(kind, ()) else _FILE_TYPES.get(kind, kind)) if kind else ""


ALL_GENERATIONS = 1 << 62
"""A number above every generation."""


def superseded_below(record: PageRecord, generation: int) -> int | None:
    """Return the oldest generation whose points stay in the index; None if `generation` is still the newest.

    A newer page keeps only its own points, a removal only the points of later fetches, and a removal on request none.
    """
    if is_held_back(record):
        return ALL_GENERATIONS
    removed, indexed = record.removed.generation, record.indexed.generation
    below = max(removed + 1 if removed >= generation else 0, indexed if indexed > generation else 0)
    return below or None


HELD_SECONDS = 300.0
"""Time for which the age of the last page is shown. Later it says nothing about now: 0 is shown."""


class RecentAge:
    """The age of the last page that became searchable."""

    def __init__(self) -> None:
        self._age_seconds, self._noted = 0.0, float("-inf")

    def note(self, fetched: float, now: float) -> None:
        """Note a page that became searchable now. Both are seconds since 1970. An age is never below 0."""
        self._age_seconds, self._noted = max(now - fetched, 0.0), now

    def read(self, now: float) -> float:
        """Return the age (seconds); 0 if no page became searchable of late."""
        return self._age_seconds if now - self._noted < HELD_SECONDS else 0.0
