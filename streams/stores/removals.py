"""Removals of pages, as their records have them. Pure.

A page that left (gone, `noindex`, or refused, such as by robots.txt) keeps a record without its text: when it was
fetched, and why it left. A page of a blocked host and a duplicate keep all, since both come back without a fetch.

A removal on request holds until it is withdrawn (`riffle remove --undo`): no later fetch, import or replay brings the
page back. What was stored of the page before the removal is erased, also if the removal is withdrawn afterwards.

A page that a program removed (`DELETE /api/v1/pages`) is gone for the crawler, too, until a program writes it again. A
part of its own says so (`Withheld`): a later removal, such as by robots.txt, replaces the part `removed`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from schemas import PageFetched
from streams.errors import MissingBlob, PageErased
from streams.stores.page_record import (
    Chunked,
    Deduplicated,
    Fetched,
    Indexed,
    Normalized,
    PageRecord,
    Removed,
    StoredPart,
)
from streams.stores.protocols import Blobs, Pages

BY_PROGRAM = "removed by a program"
"""The beginning of the detail of such a removal."""
_LEFT = frozenset({"gone", "noindex", "refused"})
_REFS = {"body_ref", "exchange_ref", "not_found_ref", "last_content"}
_OF_INDEX = frozenset({"url", "generation", "statements", "model", "model_version", "collection", "at"})
_KEPT: Mapping[type[StoredPart], frozenset[str]] = {
    Fetched: frozenset(PageFetched.model_fields) - _REFS,
    Normalized: frozenset({"url", "generation", "directives", "refused"}),
    Chunked: frozenset({"url", "generation", "refused"}),
    Indexed: _OF_INDEX,
}
"""The facts that the record of a page that left keeps, by part. The other parts hold no text of the page."""


def removals(record: PageRecord) -> list[Removed | Deduplicated]:
    """Return the parts with a removal. Dedup may have recorded a removal before the index stage."""
    decided = record.deduplicated
    return [record.removed, decided] if decided.verdict == "removed" else [record.removed]


def requested(record: PageRecord) -> int:
    """Return the generation of the last removal on request, or -1."""
    return max((one.generation for one in removals(record) if one.reason == "request"), default=-1)


def withdrawn(record: PageRecord) -> int:
    """Return the highest generation of the removals on request that were withdrawn, or -1."""
    highest = record.removed.withdrawn
    return -1 if highest is None else highest


def is_held_back(record: PageRecord) -> bool:
    """Return True if the page was removed on request, and the removal was not withdrawn."""
    return requested(record) > withdrawn(record)


def was_removed_by_program(record: PageRecord) -> bool:
    """Return True if a program removed the page, and nothing was written or imported since."""
    return record.withheld.generation > record.fetched.generation


def was_refused(record: PageRecord) -> bool:
    """Return True if the page was refused since its last answer, such as by a robots.txt that forbids it."""
    last = max(removals(record), key=lambda removal: removal.generation)
    return last.reason == "refused" and last.generation > record.fetched.generation


def has_left(record: PageRecord, answered_before: int | None = None) -> bool:
    """Return True if the page left the index and the groups of duplicates, and has no later content.

    `answered_before`: False for a page that was refused since an answer that is not older (microseconds since 1970
    UTC): a fetcher that was killed may still have to send that answer. All other removals follow from the last answer.
    """
    last, fetched = max(removals(record), key=lambda removal: removal.generation), record.fetched
    if last.reason not in _LEFT or record.deduplicated.document_ref:  # dedup has not handled the removal
        return False
    if last.reason == "refused" and answered_before is not None and fetched.generation >= answered_before:
        return False
    later = {type(part) for part in record.parts() if part.generation > last.generation} & _KEPT.keys()
    return not later or (later == {Fetched} and fetched.outcome != "ok")


def without_text(record: PageRecord) -> list[StoredPart]:
    """Return the parts of the record that have the page's text or references to it, without these."""
    found = []
    for part in record.parts():
        row, kept = part.row(), _KEPT.get(type(part))
        if kept is not None and not row.keys() <= kept:
            found.append(type(part).of_row({name: value for name, value in row.items() if name in kept}))
    return found


def was_erased(record: PageRecord, generation: int) -> bool:
    """Return True if a removal on request erased what was stored of this generation of the page."""
    return max(requested(record), withdrawn(record)) >= generation


def withdrawal(record: PageRecord, now: int) -> Removed:
    """Return the part `removed` with the removals on request withdrawn. Its fact `at` is the write time."""
    return replace(record.removed, withdrawn=requested(record), at=max(now, record.removed.at + 1))


def _was_erased_later(record: PageRecord, generation: int) -> bool:
    """Return True if a removal on request, or its withdrawal, was written after a visit of this generation began.

    A visit that begins behind the removal and is not read before the erasure loses its text to it, too.
    """
    asked = max(requested(record), withdrawn(record))
    return asked >= 0 and max(asked, record.removed.at) >= generation


async def blob_of_page(blobs: Blobs, pages: Pages, event: Any, ref: str) -> bytes:
    """Return the blob that an event of a page refers to. Raises PageErased or MissingBlob if it is missing."""
    try:
        return await blobs.get(ref)
    except MissingBlob as missing:
        if _was_erased_later(await pages.get(event.page_id), event.generation):
            raise PageErased(f"page {event.page_id} was removed on request") from missing
        raise
