"""Removals on request, as a page's records have them. Pure.

A removal on request holds until it is withdrawn (`riffle remove --undo`): no later fetch, import or replay brings the
page back. What was stored of the page before the removal is erased, also if the removal is withdrawn afterwards.
"""

from collections.abc import Mapping
from typing import Any

from streams.errors import MissingBlob, PageErased
from streams.stores.protocols import Blobs, Pages

Parts = Mapping[Any, Mapping[str, Any]]
"""A page's record, by part."""
WITHDRAWN = "withdrawn"
"""Field of the part `removed`: the highest generation of the removals on request that were withdrawn."""


def requested(parts: Parts) -> int:
    """The generation of the last removal on request, or -1. Dedup may have recorded it before the index stage."""
    removals = [parts.get("removed", {})]
    if parts.get("deduplicated", {}).get("verdict") == "removed":
        removals.append(parts["deduplicated"])
    return max((_generation(one) for one in removals if one.get("reason") == "request"), default=-1)


def withdrawn(parts: Parts) -> int:
    """The highest generation of the removals on request that were withdrawn, or -1."""
    return int(parts.get("removed", {}).get(WITHDRAWN, -1))


def is_held_back(parts: Parts) -> bool:
    """True if the page was removed on request, and the removal was not withdrawn."""
    return requested(parts) > withdrawn(parts)


def was_erased(parts: Parts, generation: int) -> bool:
    """True if a removal on request erased what was stored of this generation of the page."""
    return max(requested(parts), withdrawn(parts)) >= generation


def withdrawal(parts: Parts, now: int) -> dict[str, Any]:
    """The part `removed` after the removals on request were withdrawn. Its field `at` is the write time."""
    removed = parts.get("removed", {})
    at = max(now, int(removed.get("at", 0)) + 1)
    return {**removed, WITHDRAWN: requested(parts), "at": at}


async def blob_of_page(blobs: Blobs, pages: Pages, event: Any, ref: str) -> bytes:
    """The blob that an event of a page refers to. Raises PageErased or MissingBlob if it is missing."""
    try:
        return await blobs.get(ref)
    except MissingBlob as missing:
        if was_erased(await pages.get(event.page_id), event.generation):
            raise PageErased(f"page {event.page_id} was removed on request") from missing
        raise


def _generation(record: Mapping[str, Any]) -> int:
    return int(record.get("generation", -1))
