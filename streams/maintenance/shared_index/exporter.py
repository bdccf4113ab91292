"""The export of an index: searchable pages with their statements and vectors, and which pages left.

A page is left out if it asks for no copies, as in the export of an archive. Pages of private sites are only in it where
the operator asks for them. Pages are read by token, so none is written twice.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from streams.crawl.archives.exporter import ExportSource, Refusal, scan_all
from streams.crawl.urls import host_of
from streams.errors import MissingBlob, PoisonError
from streams.maintenance.page_copies import PRIVATE, is_private
from streams.maintenance.shared_index.card import Counts
from streams.maintenance.shared_index.layout import REMOVED
from streams.maintenance.shared_index.writing import IndexWriter
from streams.pages.document.codec import decode_document
from streams.pages.document.to_html import to_html
from streams.statements.statement import Statement, decode_statements
from streams.stores.page_record import Indexed, Normalized, PageRecord
from streams.stores.protocols import Site
from streams.stores.removals import is_held_back
from streams.vectors.brought import Made
from streams.vectors.page_records import IndexedPage, indexed_page
from streams.vectors.points import decode_vectors

_NO_DOCUMENT = "its document is no longer kept"


@dataclass(slots=True)
class IndexReport:
    """The progress of an export."""

    pages: int = 0
    statements: int = 0
    removals: int = 0
    share: float = 0.0
    """Share of the pages that were looked at (0..1)."""
    models: dict[Made, int] = field(default_factory=dict)
    """Number of pages by the way in which their vectors were made."""
    counts: Counts = field(default_factory=Counts)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The pages that are asked for."""

    hosts: frozenset[str]
    """Empty: all."""
    sites: Sequence[Site]
    """The sites of the installation."""
    with_private: bool

    def has(self, url: str) -> bool:
        return not self.hosts or host_of(url) in self.hosts


async def export_index(
    source: ExportSource, writer: IndexWriter, chosen: Chosen, refusal: Refusal, progress: Callable[[IndexReport], None]
) -> IndexReport:
    """Write the chosen pages and removals, and close the writer."""
    report = IndexReport()
    async for found, share in scan_all(source.pages):
        for page_id in found:
            await _add(source, writer, chosen, refusal, report, page_id)
        report.share = share
        progress(report)
    writer.close()
    report.share = 1.0
    progress(report)
    return report


async def _add(
    source: ExportSource, writer: IndexWriter, chosen: Chosen, refusal: Refusal, report: IndexReport, page_id: UUID
) -> None:
    record = await source.pages.get(page_id)
    page = indexed_page(page_id, record)
    if page is None:
        _add_removal(writer, chosen, report, page_id, record)
        return
    if not record.indexed.url or not chosen.has(page.url):
        return
    private = is_private(page.url, record, chosen.sites)
    reason = PRIVATE if private and not chosen.with_private else ""
    if reason := reason or refusal(record, await source.ledger.history(page_id)):
        report.counts.left_out[reason] += 1
        return
    try:
        html = to_html(decode_document(await source.blobs.get(record.normalized.document_ref)))
    except (MissingBlob, PoisonError):
        report.counts.left_out[_NO_DOCUMENT] += 1
        return
    statements, vectors = await _statements(source, record.indexed)
    writer.add(_document(page, record, html, is_private=private), statements, vectors)
    _count(report, page, record, len(statements), is_private=private)


async def _statements(source: ExportSource, indexed: Indexed) -> tuple[Sequence[Statement], NDArray[np.float16]]:
    """Return the statements of a page with their vectors; none if they are no longer kept."""
    try:
        page = decode_statements(await source.blobs.get(indexed.statements_ref))
        vectors = decode_vectors(await source.blobs.get(indexed.vectors_ref), indexed.statements_ref)
    except (MissingBlob, PoisonError):
        return (), np.empty((0, indexed.dimensions), np.float16)
    if len(vectors) != len(page.statements):
        return (), np.empty((0, indexed.dimensions), np.float16)
    return page.statements, vectors.astype(np.float16)


def _document(page: IndexedPage, record: PageRecord, html: str, *, is_private: bool) -> dict[str, Any]:
    normalized, made = record.normalized, _made(record.indexed)
    return {
        "page_id": str(page.page_id),
        "url": page.url,
        "fetched": page.generation,
        "title": record.indexed.title,
        "language": record.indexed.language,
        "author": normalized.author or "",
        "published": normalized.published or "",
        "licence": normalized.licence or "",
        "directives": list(normalized.directives),
        "alternates": list(normalized.alternates.items()),
        "private": is_private,
        "model": made.model,
        "model_version": made.model_version,
        "dimensions": made.dimensions,
        "stage_version": made.stage_version,
        "html": html,
    }


def _made(indexed: Indexed) -> Made:
    return Made(indexed.model, indexed.model_version, indexed.dimensions, indexed.made.get("embed", 0))


def _count(report: IndexReport, page: IndexedPage, record: PageRecord, statements: int, *, is_private: bool) -> None:
    report.pages += 1
    report.statements += statements
    made, counts = _made(record.indexed), report.counts
    report.models[made] = report.models.get(made, 0) + 1
    counts.hosts[host_of(page.url)] += 1
    counts.private += is_private
    counts.languages.update(_stated(record.indexed.language))
    counts.licences.update(_stated(record.normalized.licence))
    counts.wishes.update(record.normalized.directives)


def _stated(value: str | None) -> Iterable[str]:
    return [value] if value else []


def _add_removal(writer: IndexWriter, chosen: Chosen, report: IndexReport, page_id: UUID, record: PageRecord) -> None:
    """Add a page that left the index, by its id and the time of its removal."""
    removed, is_request = record.removed, is_held_back(record)
    was_indexed = record.has(Indexed) or record.has(Normalized)
    if removed.reason not in REMOVED or not (is_request or (was_indexed and removed.reason != "request")):
        return
    if not removed.url or not chosen.has(removed.url):
        return
    if is_private(removed.url, record, chosen.sites) and not chosen.with_private:
        return
    writer.add_removal({"page_id": str(page_id), "removed": removed.generation, "reason": removed.reason})
    report.removals += 1
