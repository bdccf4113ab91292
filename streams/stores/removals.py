"""Removals on request, as a page's records have them. Pure.

A removal on request holds until it is withdrawn (`riffle remove --undo`): no later fetch, import or replay brings the
page back. What was stored of the page before the removal is erased, also if the removal is withdrawn afterwards.
"""

from dataclasses import replace
from typing import Any

from streams.errors import MissingBlob, PageErased
from streams.stores.page_record import Deduplicated, PageRecord, Removed
from streams.stores.protocols import Blobs, Pages


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


def was_refused(record: PageRecord) -> bool:
    """Return True if the page was refused since its last answer, such as by a robots.txt that forbids it."""
    last = max(removals(record), key=lambda removal: removal.generation)
    return last.reason == "refused" and last.generation > record.fetched.generation


def was_erased(record: PageRecord, generation: int) -> bool:
    """Return True if a removal on request erased what was stored of this generation of the page."""
    return max(requested(record), withdrawn(record)) >= generation


def withdrawal(record: PageRecord, now: int) -> Removed:
    """Return the part `removed` with the removals on request withdrawn. Its fact `at` is the write time."""
    return replace(record.removed, withdrawn=requested(record), at=max(now, record.removed.at + 1))


async def blob_of_page(blobs: Blobs, pages: Pages, event: Any, ref: str) -> bytes:
    """Return the blob that an event of a page refers to. Raises PageErased or MissingBlob if it is missing."""
    try:
        return await blobs.get(ref)
    except MissingBlob as missing:
        if was_erased(await pages.get(event.page_id), event.generation):
            raise PageErased(f"page {event.page_id} was removed on request") from missing
        raise
