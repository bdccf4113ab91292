"""A sample of the searchable pages, from all parts of the ring of tokens."""

import random
from collections.abc import Callable
from uuid import UUID

from streams.stores.protocols import Pages
from streams.vectors.page_records import IndexedPage, indexed_page

FIRST_TOKEN, LAST_TOKEN = -(2**63), 2**63 - 1
TRIES = 4
"""Maximum pages that are looked at for each page of the sample: most pages that are known are not searchable."""


async def sample_pages(
    pages: Pages, chance: random.Random, number: int, is_wanted: Callable[[IndexedPage], bool]
) -> list[UUID]:
    """Return at most `number` searchable pages. Of few pages, all that are wanted are found."""
    few = await _read_if_few(pages, chance, TRIES * number)
    found: list[UUID] = []
    for attempt in range(TRIES * number):
        if len(found) == number:
            break
        if few is None:
            page_id = await _draw(pages, chance)
        else:
            page_id = few[attempt] if attempt < len(few) else None
        if page_id is None or page_id in found:
            continue
        page = indexed_page(page_id, await pages.get(page_id))
        if page is not None and is_wanted(page):
            found.append(page_id)
    return found


async def _read_if_few(pages: Pages, chance: random.Random, limit: int) -> list[UUID] | None:
    """Return all pages in any order, or None if there are at least `limit`."""
    rows = await pages.scan(FIRST_TOKEN, LAST_TOKEN, limit)
    page_ids = [page_id for _, page_id in rows]
    chance.shuffle(page_ids)
    return page_ids if len(rows) < limit else None


async def _draw(pages: Pages, chance: random.Random) -> UUID | None:
    rows = await pages.scan(chance.randint(FIRST_TOKEN, LAST_TOKEN), LAST_TOKEN, 1)
    return rows[0][1] if rows else None
