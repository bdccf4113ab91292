"""The place of a page in the index, by the page's records: its generations there, and how soon it was found. Pure."""

import re
from dataclasses import dataclass, replace
from typing import NamedTuple
from uuid import UUID

from streams.stores.page_quality import page_quality
from streams.stores.page_record import Indexed, PageRecord
from streams.stores.removals import is_held_back
from streams.stores.statement_payload import extension_of

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
        facts=facts_of(record, indexed.generation),
    )


def facts_of(record: PageRecord, generation: int) -> PageFacts:
    published = (record.normalized.published or "")[:10]
    return PageFacts(
        generation, published, page_type(record), file_type(record), page_quality(record).get("score", 1.0)
    )


def with_readable(record: PageRecord, readable: float | None) -> PageRecord:
    """Return the record as it will be when a page whose statements are so readable is indexed."""
    return PageRecord({**record.rows, Indexed.PART: replace(record.indexed, readable=readable).row()})


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
