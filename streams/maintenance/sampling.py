"""A sample of the pages, or of the searchable ones, from all parts of the ring of tokens."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from uuid import UUID

from streams.stores.protocols import Hit, Pages, VectorIndex
from streams.vectors.page_records import IndexedPage, indexed_page

FIRST_TOKEN, LAST_TOKEN = -(2**63), 2**63 - 1
TRIES = 4
"""Maximum pages that are looked at for each page of the sample: most pages that are known are not searchable."""
TOGETHER = 16
"""Number of pages that are read at the same time."""
TOGETHER_VECTORS = 512
"""Number of vectors in one request."""


async def sample_pages(
    pages: Pages, chance: random.Random, number: int, is_wanted: Callable[[IndexedPage], bool]
) -> list[UUID]:
    """Return at most `number` searchable pages. Of few pages, all that are wanted are found."""

    async def look(page_id: UUID) -> UUID | None:
        page = indexed_page(page_id, await pages.get(page_id))
        return page_id if page is not None and is_wanted(page) else None

    return await _sample(pages, chance, number, look)


async def sample_known_pages(pages: Pages, chance: random.Random, number: int) -> list[UUID]:
    """Return at most `number` pages that have a record, searchable or not. Of few pages, all are found."""

    async def look(page_id: UUID) -> UUID | None:
        return page_id

    return await _sample(pages, chance, number, look)


async def _sample(
    pages: Pages, chance: random.Random, number: int, look: Callable[[UUID], Awaitable[UUID | None]]
) -> list[UUID]:
    few = await _read_if_few(pages, chance, TRIES * number)
    found: dict[UUID, None] = {}
    for first in range(0, TRIES * number, TOGETHER):
        if len(found) == number:
            break
        size = min(TOGETHER, TRIES * number - first)
        if few is None:
            drawn = await _draw_run(pages, chance, size)
        else:
            drawn = [*few[first : first + size]]
        new = dict.fromkeys(page_id for page_id in drawn if page_id not in found)
        wanted = [page_id for page_id in await asyncio.gather(*map(look, new)) if page_id is not None]
        found |= dict.fromkeys(wanted[: number - len(found)])
    return list(found)


async def statement_vectors(index: VectorIndex, hits: Sequence[Hit]) -> tuple[list[UUID], list[Sequence[float]]]:
    """Return the vectors of the statements, and the page of each. A statement that was removed since has none."""
    owners: list[UUID] = []
    vectors: list[Sequence[float]] = []
    for part in (hits[first : first + TOGETHER_VECTORS] for first in range(0, len(hits), TOGETHER_VECTORS)):
        found = await index.dense_vectors([hit.id for hit in part])
        if len(found) == len(part):
            owners += [hit.payload.page_id for hit in part]
            vectors += found
            continue
        for hit in part:  # one is missing, and the answer does not say which one
            if own := await index.dense_vectors([hit.id]):
                owners.append(hit.payload.page_id)
                vectors += own
    return owners, vectors


async def _read_if_few(pages: Pages, chance: random.Random, limit: int) -> list[UUID] | None:
    """Return all pages in any order, or None if there are at least `limit`."""
    rows = await pages.scan(FIRST_TOKEN, LAST_TOKEN, limit)
    page_ids = [page_id for _, page_id in rows]
    chance.shuffle(page_ids)
    return page_ids if len(rows) < limit else None


async def _draw_run(pages: Pages, chance: random.Random, size: int) -> list[UUID]:
    """Return the pages that follow a random token. Tokens are hashes, so neighbours have nothing in common.

    A single page would be drawn as often as the gap before it is wide.
    """
    rows = await pages.scan(chance.randint(FIRST_TOKEN, LAST_TOKEN), LAST_TOKEN, size)
    if len(rows) < size:
        rows += await pages.scan(FIRST_TOKEN, LAST_TOKEN, size - len(rows))
    return [page_id for _, page_id in rows]
